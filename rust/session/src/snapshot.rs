//! The state of a session up to one of its records, so that a process reads the records behind it alone.
//!
//! A snapshot is a copy of what the record says: one that is missing, damaged, of other definitions or not of this record
//! is made again.

use std::io::Write as _;
use std::path::{Path, PathBuf};

use bobcat_core::memory::State;
use bobcat_core::program::Program;
use sha2::{Digest as _, Sha256};

use crate::journal::Mark;
use crate::{hex, private};

const NAME: &str = "bobcat-snapshot 1";
const NAME_DIGITS: usize = 16;

/// The file of the snapshots of one session, for the definitions of one policy.
#[derive(Debug)]
pub(crate) struct Snapshot(PathBuf);

impl Snapshot {
    /// The file beside the record at `path`.
    pub(crate) fn beside(path: &Path, program: &Program) -> Self {
        let mut digits = hex(&Sha256::digest(program.memory_bytes()));
        digits.truncate(NAME_DIGITS);
        Self(path.with_extension(format!("{digits}.snapshot")))
    }

    /// The state, and the end of the record up to which it goes.
    pub(crate) fn load(&self, program: &Program) -> Option<(Mark, State)> {
        let data = std::fs::read(&self.0).ok()?;
        let at = data.iter().position(|byte| *byte == b'\n')?;
        let (head, body) = data.split_at_checked(at + 1)?;
        let mut words = std::str::from_utf8(head)
            .ok()?
            .strip_prefix(NAME)?
            .split_ascii_whitespace();
        let (size, check) = (words.next()?.parse().ok()?, words.next()?.to_owned());
        let state = State::load(program, body).ok()?;
        Some((Mark { size, check }, state))
    }

    /// Replaces the snapshot. One that cannot be written is no failure: the records say the same.
    pub(crate) fn save(&self, mark: &Mark, state: &State) {
        let part = self
            .0
            .with_extension(format!("{}.part", std::process::id()));
        let _ = std::fs::remove_file(&part);
        let text = format!("{NAME} {} {}\n", mark.size, mark.check);
        let written = private::new(&part).and_then(|mut file| {
            file.write_all(text.as_bytes())?;
            file.write_all(&state.dump())
        });
        if written
            .and_then(|()| std::fs::rename(&part, &self.0))
            .is_err()
        {
            let _ = std::fs::remove_file(&part);
        }
    }
}
