//! The command line: `HOST --policy FILE [--grant]`.

use std::ffi::OsString;
use std::path::PathBuf;

use crate::Failure;
use crate::host::Host;

const USAGE: &str = "usage: bobcat-hook HOST --policy FILE [--grant]";

/// A valid command line.
#[derive(Debug)]
pub(crate) struct Options {
    /// The host that asks.
    pub(crate) host: Host,
    /// The bundle file.
    pub(crate) policy: PathBuf,
    /// True if a permitted call is answered with the host's `allow`, which skips the host's own permissions.
    pub(crate) grant: bool,
}

impl Options {
    /// Reads the arguments after the program's name.
    pub(crate) fn parse(arguments: impl Iterator<Item = OsString>) -> Result<Self, Failure> {
        let (mut host, mut policy, mut grant) = (None, None, false);
        let mut arguments = arguments;
        while let Some(argument) = arguments.next() {
            let text = argument.to_str();
            match text {
                Some("--policy") => {
                    let file = arguments.next().ok_or_else(|| USAGE.to_owned())?;
                    set(&mut policy, PathBuf::from(file), "--policy")?;
                }
                Some("--grant") => grant = true,
                Some(text) if text.starts_with("--policy=") => {
                    let file = text.get("--policy=".len()..).unwrap_or_default();
                    set(&mut policy, PathBuf::from(file), "--policy")?;
                }
                Some(text) if !text.starts_with('-') => {
                    let named = Host::from_name(text).ok_or_else(|| {
                        format!("unknown host `{text}`; {USAGE}; hosts: {}", Host::names())
                    })?;
                    set(&mut host, named, "HOST")?;
                }
                _ => {
                    let shown = argument.to_string_lossy();
                    return Err(format!("unknown argument `{shown}`; {USAGE}"));
                }
            }
        }
        let missing = |what: &str| format!("{what} is missing; {USAGE}");
        Ok(Self {
            host: host.ok_or_else(|| missing("HOST"))?,
            policy: policy.ok_or_else(|| missing("--policy"))?,
            grant,
        })
    }
}

fn set<T>(place: &mut Option<T>, value: T, name: &str) -> Result<(), Failure> {
    match place.replace(value) {
        Some(_) => Err(format!("{name} is given twice; {USAGE}")),
        None => Ok(()),
    }
}
