//! The command line: `HOST --policy FILE [--grant] [--log LOG] [--approvals STORE] [--state DIRECTORY] [--candidate FILE]`.

use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

use crate::Failure;
use crate::host::Host;

const USAGE: &str = "usage: bobcat-hook HOST --policy FILE [--grant] [--log LOG] [--approvals STORE] [--state DIRECTORY] [--candidate FILE]";

/// A valid command line.
#[derive(Debug)]
pub(crate) struct Options {
    /// The host that asks.
    pub(crate) host: Host,
    /// The bundle file.
    pub(crate) policy: PathBuf,
    /// True if a permitted call is answered with the host's `allow`, which skips the host's own permissions.
    pub(crate) grant: bool,
    /// The decision log: a path or a URL.
    pub(crate) log: Option<OsString>,
    /// The URL of the store that keeps approvals.
    pub(crate) approvals: Option<OsString>,
    /// The directory of sessions.
    pub(crate) state: Option<PathBuf>,
    /// The bundle file of a candidate, whose other decisions the log gets.
    pub(crate) candidate: Option<PathBuf>,
}

impl Options {
    /// Reads the arguments after the program's name.
    pub(crate) fn parse(arguments: impl Iterator<Item = OsString>) -> Result<Self, Failure> {
        let (mut host, mut policy, mut grant) = (None, None, false);
        let (mut log, mut approvals, mut state, mut candidate) = (None, None, None, None);
        let mut arguments = arguments;
        while let Some(argument) = arguments.next() {
            let shown = argument.to_string_lossy().into_owned();
            let unknown = || format!("unknown argument `{shown}`; {USAGE}");
            let (name, attached) = split(&argument);
            match name {
                "--policy" | "--log" | "--approvals" | "--state" | "--candidate" => {
                    let value = attached.or_else(|| arguments.next());
                    let value = value.ok_or_else(|| format!("{name} has no value; {USAGE}"))?;
                    let place = match name {
                        "--policy" => &mut policy,
                        "--log" => &mut log,
                        "--approvals" => &mut approvals,
                        "--candidate" => &mut candidate,
                        _ => &mut state,
                    };
                    set(place, value, name)?;
                }
                "--grant" if attached.is_none() => grant = true,
                text if !text.is_empty() && !text.starts_with('-') && attached.is_none() => {
                    let named = Host::from_name(text).ok_or_else(|| {
                        format!("unknown host `{text}`; {USAGE}; hosts: {}", Host::names())
                    })?;
                    set(&mut host, named, "HOST")?;
                }
                _ => return Err(unknown()),
            }
        }
        let missing = |what: &str| format!("{what} is missing; {USAGE}");
        if candidate.is_some() && log.is_none() {
            return Err(format!(
                "--candidate needs --log, which gets its divergences; {USAGE}"
            ));
        }
        Ok(Self {
            host: host.ok_or_else(|| missing("HOST"))?,
            policy: policy.ok_or_else(|| missing("--policy"))?.into(),
            grant,
            log,
            approvals,
            state: state.map(PathBuf::from),
            candidate: candidate.map(PathBuf::from),
        })
    }
}

/// The name of an option and the value behind its equals sign; another argument is all name, or none if it is not UTF-8.
fn split(argument: &OsStr) -> (&str, Option<OsString>) {
    let Some(text) = argument.to_str() else {
        return ("", None);
    };
    match text.split_once('=') {
        Some((name, value)) if name.starts_with("--") => (name, Some(value.into())),
        _ => (text, None),
    }
}

fn set<T>(place: &mut Option<T>, value: T, name: &str) -> Result<(), Failure> {
    match place.replace(value) {
        Some(_) => Err(format!("{name} is given twice; {USAGE}")),
        None => Ok(()),
    }
}
