//! The file of a session: a head, which names the end of the last record, and a record a line, chained by checksums.
//!
//! Records are written first, then the head: after a crash the head may be behind the records, never ahead of them. An
//! incomplete line behind the head is that of a process that ended before it answered, and is dropped.

use std::fs::{File, OpenOptions};
use std::io::{
    self, BufRead as _, BufReader, ErrorKind, Read as _, Seek as _, SeekFrom, Write as _,
};
use std::path::{Path, PathBuf};

use sha2::{Digest as _, Sha256};

use crate::{Failure, MAX_RECORD_BYTES, hex, lock, private};

const NAME: &str = "bobcat-session 1";
const CHECK_DIGITS: usize = 32;
/// The name, the size with 20 digits, two checksums, the spaces between them and the line end.
const HEAD_BYTES: usize = NAME.len() + 20 + 2 * CHECK_DIGITS + 4;

/// The end of a record.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Mark {
    /// The bytes up to it.
    pub(crate) size: u64,
    /// The checksum of it and all before it.
    pub(crate) check: String,
}

/// The locked file of one session. The lock ends with it.
#[derive(Debug)]
pub(crate) struct Journal {
    path: PathBuf,
    file: File,
    /// The bytes that every checksum covers: those of another session are never right.
    identity: Vec<u8>,
    /// The end of the last record that is known to be written.
    known: Mark,
    /// The end of the last whole record, once all were read.
    end: Option<Mark>,
    /// True if the file did not exist.
    pub(crate) is_new: bool,
}

impl Journal {
    /// Opens and locks the file at `path`; a missing one is created with `first` as its first record.
    pub(crate) fn open(path: &Path, identity: Vec<u8>, first: &str) -> Result<Self, Failure> {
        let said = |error: io::Error| {
            let shown = path.display();
            format!("the record of this session, `{shown}`, cannot be used: {error}")
        };
        let mut is_new = false;
        let opened = lock::lock(path, open);
        let file = match opened {
            Err(error) if error.kind() == ErrorKind::NotFound => {
                create(path, &identity, first).map_err(said)?;
                is_new = true;
                lock::lock(path, open).map_err(said)?
            }
            opened => opened.map_err(said)?,
        };
        let known = read_head(&file, &identity).map_err(said)?;
        let known = known.ok_or_else(|| damaged(path))?;
        Ok(Self {
            path: path.to_owned(),
            file,
            identity,
            known,
            end: None,
            is_new,
        })
    }

    /// The place before the first record.
    pub(crate) fn begin(&self) -> Mark {
        begin(&self.identity)
    }

    /// Visits the records behind `from`. `None`: they do not follow it, or are damaged.
    pub(crate) fn read(
        &mut self,
        from: Mark,
        mut visit: impl FnMut(&str) -> Result<(), Failure>,
    ) -> Result<Option<Mark>, Failure> {
        let failed = |error: io::Error| unreadable(&self.path, &error);
        let size = self.file.metadata().map_err(failed)?.len();
        if size < self.known.size || from.size > self.known.size {
            return Ok(None);
        }
        let mut file = BufReader::with_capacity(1 << 16, &self.file);
        file.seek(SeekFrom::Start(from.size)).map_err(failed)?;
        let (mut mark, mut line) = (from, Vec::new());
        loop {
            if mark.size == self.known.size && mark != self.known {
                return Ok(None);
            }
            line.clear();
            file.read_until(b'\n', &mut line).map_err(failed)?;
            let Some(whole) = line.strip_suffix(b"\n") else {
                break;
            };
            let Some(record) = std::str::from_utf8(whole)
                .ok()
                .and_then(|text| text.split_once('\t'))
                .filter(|(stated, record)| *stated == check(&mark.check, record))
            else {
                return Ok(None);
            };
            visit(record.1)?;
            let next = mark.size + line.len() as u64;
            if mark.size < self.known.size && next > self.known.size {
                return Ok(None);
            }
            mark = Mark {
                size: next,
                check: record.0.to_owned(),
            };
        }
        if mark.size < self.known.size {
            return Ok(None);
        }
        self.end = Some(mark.clone());
        Ok(Some(mark))
    }

    /// Appends a record behind the last one; it is durable on return, or not written.
    pub(crate) fn append(&mut self, record: &str) -> Result<(), Failure> {
        let end = self.end.take().ok_or_else(|| damaged(&self.path))?;
        let line = line(&end.check, record);
        let next = Mark {
            size: end.size + line.len() as u64,
            check: check(&end.check, record),
        };
        if next.size > MAX_RECORD_BYTES {
            let shown = self.path.display();
            return Err(format!(
                "the record of this session, `{shown}`, would pass its limit of {MAX_RECORD_BYTES} bytes; begin another session"
            ));
        }
        if let Err(error) = self.write(&end, &line, &next) {
            let _ = self.file.set_len(end.size);
            return Err(unreadable(&self.path, &error));
        }
        (self.known, self.end) = (next.clone(), Some(next));
        Ok(())
    }

    fn write(&self, end: &Mark, line: &str, next: &Mark) -> io::Result<()> {
        if self.file.metadata()?.len() > end.size {
            self.file.set_len(end.size)?;
        }
        write_at(&self.file, end.size, line)?;
        write_at(&self.file, 0, &head(&self.identity, next))?;
        self.file.sync_data()
    }

    /// The error of a record that is not whole.
    pub(crate) fn damaged(&self) -> Failure {
        damaged(&self.path)
    }
}

fn damaged(path: &Path) -> Failure {
    format!(
        "the record of this session, `{}`, is damaged or of another session: begin another session, or remove the file, which forgets the calls on it",
        path.display()
    )
}

fn unreadable(path: &Path, error: &io::Error) -> Failure {
    let shown = path.display();
    format!("the record of this session, `{shown}`, cannot be used: {error}")
}

fn open(path: &Path) -> io::Result<File> {
    if !std::fs::symlink_metadata(path)?.is_file() {
        return Err(io::Error::other("it is no file"));
    }
    OpenOptions::new().read(true).write(true).open(path)
}

/// Creates the file with its head and its first record. It is there as a whole or not at all.
fn create(path: &Path, identity: &[u8], first: &str) -> io::Result<()> {
    let part = path.with_extension(format!("{}.part", std::process::id()));
    let _ = std::fs::remove_file(&part);
    let begin = begin(identity);
    let line = line(&begin.check, first);
    let mark = Mark {
        size: begin.size + line.len() as u64,
        check: check(&begin.check, first),
    };
    let mut file = private::new(&part)?;
    let linked = file
        .write_all((head(identity, &mark) + &line).as_bytes())
        .and_then(|()| file.sync_all())
        .and_then(|()| std::fs::hard_link(&part, path));
    std::fs::remove_file(&part)?;
    match linked {
        Err(error) if error.kind() == ErrorKind::AlreadyExists => Ok(()),
        Err(error) => Err(error),
        Ok(()) => sync_directory(path),
    }
}

#[cfg(unix)]
fn sync_directory(path: &Path) -> io::Result<()> {
    match path.parent() {
        Some(directory) => File::open(directory)?.sync_all(),
        None => Ok(()),
    }
}

/// Directories cannot be opened as files on this platform.
#[cfg(not(unix))]
fn sync_directory(_path: &Path) -> io::Result<()> {
    Ok(())
}

fn write_at(mut file: &File, at: u64, text: &str) -> io::Result<()> {
    file.seek(SeekFrom::Start(at))?;
    file.write_all(text.as_bytes())
}

fn begin(identity: &[u8]) -> Mark {
    Mark {
        size: HEAD_BYTES as u64,
        check: digest(&[identity]),
    }
}

fn line(before: &str, record: &str) -> String {
    format!("{}\t{record}\n", check(before, record))
}

fn check(before: &str, record: &str) -> String {
    digest(&[before.as_bytes(), record.as_bytes()])
}

fn head(identity: &[u8], mark: &Mark) -> String {
    let text = format!("{NAME} {:020} {} ", mark.size, mark.check);
    let check = digest(&[identity, text.as_bytes()]);
    text + &check + "\n"
}

/// The mark of the head; `None` for a head that is not whole.
fn read_head(mut file: &File, identity: &[u8]) -> io::Result<Option<Mark>> {
    let mut data = Vec::with_capacity(HEAD_BYTES);
    file.seek(SeekFrom::Start(0))?;
    file.take(HEAD_BYTES as u64).read_to_end(&mut data)?;
    let parsed = || {
        let text = std::str::from_utf8(&data).ok()?;
        let mut words = text.strip_prefix(NAME)?.split_ascii_whitespace();
        let (size, check) = (words.next()?.parse().ok()?, words.next()?.to_owned());
        let mark = Mark { size, check };
        (head(identity, &mark) == text).then_some(mark)
    };
    Ok(parsed())
}

fn digest(parts: &[&[u8]]) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part);
    }
    let mut digits = hex(&hash.finalize());
    digits.truncate(CHECK_DIGITS);
    digits
}
