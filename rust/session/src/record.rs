//! One record of calls, and the state that it makes, held by this process.

use std::path::Path;

use bobcat_core::memory::{Extent, State};
use bobcat_core::program::{Program, Scratch};

use crate::journal::{Journal, Mark};
use crate::snapshot::Snapshot;
use crate::{Failure, replay};

/// Bytes and records behind a snapshot that lead to another one.
const SNAPSHOT_BYTES: u64 = 256 << 10;
const SNAPSHOT_RECORDS: usize = 64;

/// A record that this process holds: no other one decides by it until this value is dropped.
#[derive(Debug)]
pub(crate) struct Record {
    journal: Journal,
    pub(crate) state: State,
    snapshot: Snapshot,
    extent: Extent,
    /// The end of the last record that is in the state.
    end: Mark,
    /// True if a snapshot is to be written.
    pub(crate) is_due: bool,
}

impl Record {
    /// Opens the file at `path` and makes its state; a missing file is created with `first`. The bytes of `identity` are
    /// those of no other file.
    pub(crate) fn open(
        (program, extent): (&Program, Extent),
        path: &Path,
        (identity, first): (Vec<u8>, &str),
    ) -> Result<Self, Failure> {
        let mut journal = Journal::open(path, identity, first)?;
        let snapshot = Snapshot::beside(path, program);
        let (state, end, is_due) = restored((program, extent), &mut journal, &snapshot)?;
        Ok(Self {
            journal,
            state,
            snapshot,
            extent,
            end,
            is_due,
        })
    }

    /// Returns true if this process created the file.
    pub(crate) fn is_new(&self) -> bool {
        self.journal.is_new
    }

    /// Makes the state again, if a part of its snapshot that was read is damaged; true: what was read is to be read again.
    pub(crate) fn repair(&mut self, program: &Program) -> Result<bool, Failure> {
        if !self.state.is_damaged() {
            return Ok(false);
        }
        (self.state, self.end, self.is_due) = rebuilt((program, self.extent), &mut self.journal)?;
        Ok(true)
    }

    /// Appends a record; it is durable on return.
    pub(crate) fn append(&mut self, record: &str) -> Result<(), Failure> {
        self.journal.append(record)
    }

    /// Writes a snapshot, if one is due.
    pub(crate) fn compact(&self) {
        if self.is_due {
            self.snapshot.save(&self.end, &self.state);
        }
    }
}

/// A state, the end of the last record that is in it, and true if there are many records behind its snapshot.
type Restored = (State, Mark, bool);

/// The state that the records make, with a snapshot where it is one of them.
fn restored(
    (program, extent): (&Program, Extent),
    journal: &mut Journal,
    snapshot: &Snapshot,
) -> Result<Restored, Failure> {
    if let Some(from) = snapshot.load(program, extent)
        && let Some(restored) = replayed((program, extent), journal, from)?
    {
        return Ok(restored);
    }
    rebuilt((program, extent), journal)
}

/// The state that the records alone make.
fn rebuilt(
    (program, extent): (&Program, Extent),
    journal: &mut Journal,
) -> Result<Restored, Failure> {
    let begin = (journal.begin(), State::of(extent, program, None));
    replayed((program, extent), journal, begin)?.ok_or_else(|| journal.damaged())
}

/// The state after the records behind `from`; `None`: they do not follow it, or its snapshot is damaged.
fn replayed(
    (program, extent): (&Program, Extent),
    journal: &mut Journal,
    (from, mut state): (Mark, State),
) -> Result<Option<Restored>, Failure> {
    let (start, mut records) = (from.size, 0);
    let mut scratch = Scratch::default();
    let read = journal.read(from, |record| {
        records += 1;
        replay::apply((program, extent), &mut state, record, &mut scratch)
    });
    if state.is_damaged() {
        return Ok(None);
    }
    let Some(end) = read? else {
        return Ok(None);
    };
    state.next_reply();
    let is_due = records > SNAPSHOT_RECORDS || end.size - start > SNAPSHOT_BYTES;
    Ok(Some((state, end, is_due)))
}
