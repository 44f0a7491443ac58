//! The answer on standard output.

use std::io::{self, Write};

use crate::Failure;

/// Writes the whole answer; an empty one writes nothing.
pub(crate) fn write(answer: &str) -> Result<(), Failure> {
    if answer.is_empty() {
        return Ok(());
    }
    let line = [answer, "\n"].concat();
    write_all(line.as_bytes())
        .map_err(|error| format!("the answer could not be written: {error}; the call is refused"))
}

/// Writes to a duplicate of the descriptor: `Stdout` takes a closed one as written.
#[cfg(unix)]
fn write_all(bytes: &[u8]) -> io::Result<()> {
    use std::fs::File;
    use std::os::fd::AsFd as _;
    use std::os::unix::fs::{FileTypeExt as _, MetadataExt as _};

    let mut stdout = File::from(io::stdout().as_fd().try_clone_to_owned()?);
    let kind = stdout.metadata()?;
    // The runtime opens the null device in place of a closed descriptor, which discards the answer.
    if kind.file_type().is_char_device() && kind.rdev() == std::fs::metadata("/dev/null")?.rdev() {
        return Err(io::Error::other(
            "standard output is closed or the null device",
        ));
    }
    stdout.write_all(bytes)?;
    stdout.flush()
}

#[cfg(not(unix))]
fn write_all(bytes: &[u8]) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    stdout.write_all(bytes)?;
    stdout.flush()
}
