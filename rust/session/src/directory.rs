//! The directory of sessions: its place, its permissions, and the removal of unused sessions.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::{Failure, KEPT_DAYS, private};

/// The environment variable that names the directory.
pub const DIRECTORY_VARIABLE: &str = "BOBCAT_HOOK_STATE";
/// Files that one process examines to remove old ones.
const MAX_EXAMINED: usize = 1_000;
/// Names that it reads.
const MAX_NAMES: usize = 50_000;

/// The directory, by the environment: `BOBCAT_HOOK_STATE`, or `bobcat/hooks` in the user's directory for state.
///
/// # Errors
/// The environment names no directory.
pub fn default_directory() -> Result<PathBuf, Failure> {
    let set = |name: &str| -> Option<OsString> {
        std::env::var_os(name).filter(|value| !value.is_empty())
    };
    if let Some(directory) = set(DIRECTORY_VARIABLE) {
        return absolute(directory.into(), DIRECTORY_VARIABLE);
    }
    let base = match set("XDG_STATE_HOME").map(PathBuf::from) {
        // Relative ones are to be ignored, by the specification of this variable.
        Some(base) if base.is_absolute() => Some(base),
        _ => set("HOME")
            .map(|home| Path::new(&home).join(".local/state"))
            .or_else(|| set("LOCALAPPDATA").map(PathBuf::from)),
    };
    match base {
        Some(base) if base.is_absolute() => Ok(base.join("bobcat").join("hooks")),
        _ => Err(format!(
            "the policy remembers, and there is no home directory to keep its sessions in: set {DIRECTORY_VARIABLE}, or give `--state DIRECTORY`"
        )),
    }
}

fn absolute(directory: PathBuf, name: &str) -> Result<PathBuf, Failure> {
    if directory.is_absolute() {
        return Ok(directory);
    }
    let shown = directory.display();
    Err(format!("{name} is `{shown}`, and must be an absolute path"))
}

/// Creates the directory, or checks that others cannot write there.
pub(crate) fn prepare(directory: &Path) -> Result<(), Failure> {
    let shown = directory.display();
    let said = |error| format!("the directory of sessions, `{shown}`, cannot be used: {error}");
    private::create_directory(directory).map_err(|error| said(error.to_string()))?;
    let found = fs::metadata(directory).map_err(|error| said(error.to_string()))?;
    if is_open(&found) {
        return Err(said(
            "others can write there; `chmod go-w` prevents that".to_owned(),
        ));
    }
    Ok(())
}

#[cfg(unix)]
fn is_open(found: &fs::Metadata) -> bool {
    use std::os::unix::fs::PermissionsExt as _;

    found.permissions().mode() & 0o022 != 0
}

#[cfg(not(unix))]
fn is_open(_found: &fs::Metadata) -> bool {
    false
}

/// Removes files of sessions that no process has written to for [`KEPT_DAYS`]. It examines a part of a large directory, which
/// `from` chooses.
pub(crate) fn sweep(directory: &Path, from: usize) {
    let Some(limit) = SystemTime::now().checked_sub(Duration::from_secs(KEPT_DAYS * 86_400)) else {
        return;
    };
    let Ok(entries) = fs::read_dir(directory) else {
        return;
    };
    let names = entries.take(MAX_NAMES).flatten().map(|entry| entry.path());
    let names: Vec<PathBuf> = names.filter(|path| is_ours(path)).collect();
    let from = from.checked_rem(names.len()).unwrap_or(0);
    for path in names
        .iter()
        .cycle()
        .skip(from)
        .take(names.len().min(MAX_EXAMINED))
    {
        let is_old =
            |found: fs::Metadata| found.is_file() && found.modified().is_ok_and(|at| at < limit);
        if fs::symlink_metadata(path).is_ok_and(is_old) {
            // One that a process holds stays; one that waits for it finds that its file no longer has this name.
            let held = fs::File::open(path).map(|file| (file.try_lock().is_ok(), file));
            if let Ok((true, file)) = held
                && file.metadata().is_ok_and(is_old)
            {
                let _ = fs::remove_file(path);
            }
        }
    }
}

fn is_ours(path: &Path) -> bool {
    let extension = path.extension().and_then(|extension| extension.to_str());
    matches!(extension, Some("session" | "snapshot" | "layer" | "part"))
}
