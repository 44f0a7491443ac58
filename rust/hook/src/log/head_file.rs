//! The file beside a log: its lock, and the position, hash and size up to which the log is known to be written.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Read as _};
use std::os::unix::fs::FileExt as _;
use std::path::{Path, PathBuf};

use bobcat_session::{lock, private};
use sha2::{Digest as _, Sha256};

use super::entry::{Head, hex};

const NAME: &str = "bobcat-log";
const CHECK_DIGITS: usize = 16;
const MAX_BYTES: u64 = 4096;

/// A head, and the number of bytes up to its end.
#[derive(Clone, Debug)]
pub(super) struct Mark {
    pub(super) head: Head,
    pub(super) size: u64,
}

/// The locked file of one log. The lock ends with it.
pub(super) struct HeadFile {
    path: PathBuf,
    file: File,
}

/// The content of the file.
pub(super) enum Content {
    Empty,
    Damaged,
    Marked(Mark),
}

impl HeadFile {
    /// Opens and locks the file beside the log at `path`.
    pub(super) fn lock(path: &Path) -> io::Result<Self> {
        let path = beside(path, "-head");
        let file = lock::lock(&path, private::open)?;
        Ok(Self { path, file })
    }

    /// Reads the mark.
    pub(super) fn content(&self) -> io::Result<Content> {
        let mut data = Vec::new();
        (&self.file).take(MAX_BYTES).read_to_end(&mut data)?;
        Ok(if data.is_empty() {
            Content::Empty
        } else {
            parsed(&data).map_or(Content::Damaged, Content::Marked)
        })
    }

    /// Overwrites the mark.
    pub(super) fn write(&self, mark: &Mark) -> io::Result<()> {
        let Mark { head, size } = mark;
        let text = format!("{NAME} {:020} {size:020} {} ", head.seq, head.hash);
        let line = format!("{text}{}\n", check(&text));
        self.file.write_all_at(line.as_bytes(), 0)
    }

    /// Makes the mark durable.
    pub(super) fn sync(&self) -> io::Result<()> {
        self.file.sync_all()
    }

    /// The path of the file.
    pub(super) fn path(&self) -> &Path {
        &self.path
    }
}

/// The path of a file beside a log.
pub(super) fn beside(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(suffix);
    name.into()
}

fn parsed(data: &[u8]) -> Option<Mark> {
    let text = std::str::from_utf8(data).ok()?;
    let text = text.strip_suffix('\n').unwrap_or(text);
    let at = text.rfind(' ')? + 1;
    let (text, stated) = text.split_at_checked(at)?;
    let mut words = text.trim_end_matches(' ').split(' ');
    let [name, seq, size, hash] = [words.next()?, words.next()?, words.next()?, words.next()?];
    let digits = |word: &str| word.bytes().all(|byte| byte.is_ascii_digit());
    let valid = name == NAME && words.next().is_none() && digits(seq) && digits(size);
    if !valid || check(text) != stated {
        return None;
    }
    Some(Mark {
        head: Head {
            seq: seq.parse().ok()?,
            hash: hash.to_owned(),
        },
        size: size.parse().ok()?,
    })
}

fn check(text: &str) -> String {
    let mut digits = hex(&Sha256::digest(text));
    digits.truncate(CHECK_DIGITS);
    digits
}
