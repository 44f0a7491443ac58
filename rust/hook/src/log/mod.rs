//! The decision log: one chained entry for each call, written before the answer.
//!
//! The format and the lock are those of `python/bobcat/decision_log`; the tests let both write to one file. Only logs of
//! lines (`.jsonl`) are written here, others by the hook in Python.

#[cfg(unix)]
mod entry;
#[cfg(unix)]
mod head_file;
#[cfg(unix)]
mod jsonl;
pub(crate) mod record;

use std::ffi::OsStr;

use crate::Failure;

/// Returns true for a path that ends in `.jsonl` and is no URL.
pub(crate) fn is_lines(target: &OsStr) -> bool {
    target.as_encoded_bytes().ends_with(b".jsonl") && !target.to_str().is_some_and(is_url)
}

fn is_url(text: &str) -> bool {
    let known = |c: char| c.is_ascii_alphanumeric() || matches!(c, '+' | '.' | '-');
    text.split_once("://").is_some_and(|(scheme, _)| {
        scheme.len() > 1
            && scheme.starts_with(|c: char| c.is_ascii_alphabetic())
            && scheme.chars().all(known)
    })
}

/// Appends an entry with this body of canonical JSON; it is durable on return, or nothing was appended.
#[cfg(unix)]
pub(crate) fn append(target: &OsStr, record_id: &str, body: &str) -> Result<(), Failure> {
    jsonl::append(std::path::Path::new(target), record_id, body)
}

/// Refuses: Python has no lock for such a log on this platform either.
#[cfg(not(unix))]
pub(crate) fn append(_target: &OsStr, _record_id: &str, _body: &str) -> Result<(), Failure> {
    Err("this platform has no `flock`: keep the log in SQLite".to_owned())
}

#[cfg(test)]
mod tests {
    use super::is_lines;

    #[test]
    fn a_target_is_read_as_python_does() {
        for (target, lines) in [
            ("a.jsonl", true),
            ("/b/.jsonl", true),
            ("c://d.jsonl", true),
            ("a.db", false),
            ("a.JSONL", false),
            ("", false),
            ("sqlite:///a.jsonl", false),
            ("postgres://h/a.jsonl", false),
        ] {
            assert_eq!(is_lines(target.as_ref()), lines, "{target}");
        }
    }
}
