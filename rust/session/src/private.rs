//! Files that only their owner can read, as in `python/bobcat/stores/private_files.py`: the mode ignores the umask, and
//! existing files keep theirs. On platforms without such modes, files have those of their directory.

use std::fs::{DirBuilder, File, OpenOptions};
use std::io::{self, ErrorKind};
use std::path::Path;

#[cfg(unix)]
const FILE_MODE: u32 = 0o600;
#[cfg(unix)]
const DIRECTORY_MODE: u32 = 0o700;

/// Creates an empty file, unless it exists.
///
/// # Errors
/// Those of the file system.
pub fn create(path: &Path) -> io::Result<()> {
    match new(path) {
        Err(error) if error.kind() != ErrorKind::AlreadyExists => Err(error),
        _ => Ok(()),
    }
}

/// Opens a file to read and write; a missing one is created.
///
/// # Errors
/// Those of the file system.
pub fn open(path: &Path) -> io::Result<File> {
    match new(path) {
        // Created, if it was removed meanwhile.
        Err(error) if error.kind() == ErrorKind::AlreadyExists => {
            options().create(true).truncate(false).open(path)
        }
        opened => opened,
    }
}

/// Creates a file to read and write.
///
/// # Errors
/// It exists, or those of the file system.
pub fn new(path: &Path) -> io::Result<File> {
    let file = options().create_new(true).open(path)?;
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;

        file.set_permissions(std::fs::Permissions::from_mode(FILE_MODE))?;
    }
    Ok(file)
}

/// Creates a directory and those above it, unless it exists.
///
/// # Errors
/// Those of the file system.
pub fn create_directory(path: &Path) -> io::Result<()> {
    let mut builder = DirBuilder::new();
    builder.recursive(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::DirBuilderExt as _;

        builder.mode(DIRECTORY_MODE);
    }
    builder.create(path)
}

fn options() -> OpenOptions {
    let mut options = OpenOptions::new();
    options.read(true).write(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt as _;

        options.mode(FILE_MODE);
    }
    options
}
