//! A log in a file of lines. Every append holds the lock of the head's file, writes one line, syncs it, and then
//! overwrites the head: the head may be behind the lines after a crash, never ahead of them.

use std::fs::{File, OpenOptions};
use std::io::{self, BufRead as _, BufReader, ErrorKind, Seek as _, SeekFrom, Write as _};
use std::os::unix::fs::FileExt as _;
use std::path::Path;

use super::entry::{Head, empty, head_of, next_line};
use super::head_file::{Content, HeadFile, Mark, beside};
use bobcat_session::private;

use crate::Failure;
use crate::clock;

/// Appends an entry; it is durable on return, or nothing was appended.
pub(super) fn append(path: &Path, record_id: &str, body: &str) -> Result<(), Failure> {
    let shown = path.display();
    if path.is_dir() {
        return Err(format!("the decision log `{shown}` is a directory"));
    }
    try_append(path, record_id, body)
        .map_err(|error| format!("the decision log `{shown}` cannot be written: {error}"))
}

fn try_append(path: &Path, record_id: &str, body: &str) -> io::Result<()> {
    let head_file = HeadFile::lock(path)?;
    let mark = end(path, &head_file)?;
    let now = clock::now().ok_or_else(|| io::Error::other("the clock has no valid time"))?;
    let (line, head) = next_line(&mark.head, record_id, &now, body);
    let file = OpenOptions::new().write(true).open(path)?;
    let written = file.write_all_at(line.as_bytes(), mark.size);
    if let Err(error) = written.and_then(|()| file.sync_all()) {
        // An incomplete line would be set aside by the next append.
        let _ = file.set_len(mark.size);
        return Err(error);
    }
    // A mark that cannot be written stays behind the line, and the next append catches up.
    let _ = head_file.write(&Mark {
        head,
        size: mark.size + line.len() as u64,
    });
    Ok(())
}

/// The end of the log, after a crash repaired.
fn end(path: &Path, head_file: &HeadFile) -> io::Result<Mark> {
    let mark = match head_file.content()? {
        Content::Marked(mark) => mark,
        Content::Empty => created(path, head_file)?,
        Content::Damaged => {
            let shown = head_file.path().display();
            return Err(damaged(format!(
                "`{shown}` is damaged: verify the log, and begin another one"
            )));
        }
    };
    let (seq, known) = (mark.head.seq, mark.size);
    let size = match std::fs::metadata(path) {
        Ok(found) => found.len(),
        Err(error) if error.kind() == ErrorKind::NotFound => {
            return Err(damaged(format!(
                "it is missing, and its head names {seq} entries"
            )));
        }
        Err(error) => return Err(error),
    };
    if size < known {
        return Err(damaged(format!(
            "it has {size} bytes, and {known} were written: entries at the end are missing"
        )));
    }
    if size == known && (size > 0 || seq == 0) {
        return Ok(mark);
    }
    caught_up(path, head_file, mark)
}

/// Begins a log. A log with entries and without a head is refused: a removed tail would go unnoticed.
fn created(path: &Path, head_file: &HeadFile) -> io::Result<Mark> {
    private::create(path)?;
    if std::fs::metadata(path)?.len() > 0 {
        let shown = head_file.path().display();
        return Err(damaged(format!(
            "it has no valid `{shown}`: verify it, and begin another log"
        )));
    }
    let mark = Mark {
        head: empty(),
        size: 0,
    };
    head_file.write(&mark)?;
    head_file.sync()?;
    let directory = path.parent().filter(|it| !it.as_os_str().is_empty());
    File::open(directory.unwrap_or(Path::new(".")))?.sync_all()?;
    Ok(mark)
}

/// Follows lines that a crashed process wrote behind the head; sets an incomplete one aside.
fn caught_up(path: &Path, head_file: &HeadFile, mark: Mark) -> io::Result<Mark> {
    let mut file = BufReader::new(File::open(path)?);
    let mut mark = if mark.size == 0 && mark.head.seq > 0 {
        found_again(&mut file, &mark.head)? // a crash while pruning: the chain has the place
    } else {
        mark
    };
    file.seek(SeekFrom::Start(mark.size))?;
    let mut line = Vec::new();
    while next(&mut file, &mut line)? {
        let followed = head_of(ended(&line))
            .filter(|(head, previous)| head.seq == mark.head.seq + 1 && *previous == mark.head.hash)
            .ok_or_else(|| {
                damaged(format!(
                    "the line behind entry {} does not follow it",
                    mark.head.seq
                ))
            })?;
        mark = Mark {
            head: followed.0,
            size: mark.size + line.len() as u64,
        };
    }
    if !line.is_empty() {
        set_aside(path, &line, mark.size)?;
    }
    let _ = head_file.write(&mark);
    Ok(mark)
}

/// A line without its end.
fn ended(line: &[u8]) -> &[u8] {
    line.strip_suffix(b"\n").unwrap_or(line)
}

/// Reads a line with its end; false for an incomplete one, and at the end of the file.
fn next(file: &mut BufReader<File>, line: &mut Vec<u8>) -> io::Result<bool> {
    line.clear();
    file.read_until(b'\n', line)?;
    Ok(line.ends_with(b"\n"))
}

fn found_again(file: &mut BufReader<File>, head: &Head) -> io::Result<Mark> {
    let (mut line, mut size) = (Vec::new(), 0);
    while next(file, &mut line)? {
        size += line.len() as u64;
        if head_of(ended(&line)).is_some_and(|(found, _)| found == *head) {
            let head = head.clone();
            return Ok(Mark { head, size });
        }
    }
    Err(damaged(format!(
        "entry {}, which was written last, is missing",
        head.seq
    )))
}

/// Moves an incomplete line to `PATH-torn`: it was never acknowledged.
fn set_aside(path: &Path, line: &[u8], size: u64) -> io::Result<()> {
    let mut torn = private::open(&beside(path, "-torn"))?;
    torn.seek(SeekFrom::End(0))?;
    torn.write_all(&[line, b"\n"].concat())?;
    torn.sync_all()?;
    OpenOptions::new().write(true).open(path)?.set_len(size)
}

fn damaged(text: String) -> io::Error {
    io::Error::other(text)
}
