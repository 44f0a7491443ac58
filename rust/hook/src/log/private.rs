//! Files that only their owner can read, as in `python/bobcat/stores/private_files.py`: the mode ignores the umask, and
//! existing files keep theirs.

use std::fs::{File, OpenOptions, Permissions};
use std::io::{self, ErrorKind};
use std::os::unix::fs::{OpenOptionsExt as _, PermissionsExt as _};
use std::path::Path;

const FILE_MODE: u32 = 0o600;

/// Creates an empty file, unless it exists.
pub(super) fn create(path: &Path) -> io::Result<()> {
    match new(path) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => Err(error),
        _ => Ok(()),
    }
}

/// Opens a file to read and write; a missing one is created.
pub(super) fn open(path: &Path) -> io::Result<File> {
    match new(path) {
        // Created, if it was removed meanwhile.
        Err(error) if error.kind() == ErrorKind::AlreadyExists => OpenOptions::new()
            .read(true)
            .write(true)
            .create(true)
            .truncate(false)
            .mode(FILE_MODE)
            .open(path),
        opened => opened,
    }
}

fn new(path: &Path) -> io::Result<File> {
    let file = OpenOptions::new()
        .read(true)
        .write(true)
        .create_new(true)
        .mode(FILE_MODE)
        .open(path)?;
    file.set_permissions(Permissions::from_mode(FILE_MODE))?;
    Ok(file)
}
