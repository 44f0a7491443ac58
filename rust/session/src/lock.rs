//! Files that one process holds at a time.

use std::fs::{File, Metadata, TryLockError};
use std::io;
use std::path::Path;
use std::thread;
use std::time::{Duration, Instant};

/// The time that a process waits for others: less than the deadline of the hook.
const BUSY: Duration = Duration::from_secs(4);
/// The time between two attempts to lock.
const POLL: Duration = Duration::from_micros(500);

/// Opens the file at `path` by `open` and locks it, until it is closed. The file is the one that has this path then.
///
/// # Errors
/// Those of `open` and of the file system. Another process has held the file for too long.
pub fn lock(path: &Path, open: impl Fn(&Path) -> io::Result<File>) -> io::Result<File> {
    let until = Instant::now() + BUSY;
    loop {
        let file = open(path)?;
        loop {
            match file.try_lock() {
                Ok(()) => break,
                Err(TryLockError::Error(error)) => return Err(error),
                Err(TryLockError::WouldBlock) if Instant::now() > until => {
                    return Err(io::Error::other(
                        "another process has locked it for too long",
                    ));
                }
                Err(TryLockError::WouldBlock) => thread::sleep(POLL),
            }
        }
        // Removed or replaced meanwhile: the lock on it excludes no one.
        let opened = file.metadata()?;
        if std::fs::metadata(path).is_ok_and(|named| is_same(&named, &opened)) {
            return Ok(file);
        }
        if Instant::now() > until {
            return Err(io::Error::other(format!(
                "`{}` is replaced again and again",
                path.display()
            )));
        }
    }
}

#[cfg(unix)]
fn is_same(one: &Metadata, other: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt as _;

    (one.dev(), one.ino()) == (other.dev(), other.ino())
}

/// An open file cannot be removed or replaced on this platform.
#[cfg(not(unix))]
fn is_same(_one: &Metadata, _other: &Metadata) -> bool {
    true
}
