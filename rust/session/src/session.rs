//! One session of a host, held by this process.

use std::path::Path;

use bobcat_core::memory::State;
use bobcat_core::program::{Program, Scratch};
use sha2::{Digest as _, Sha256};

use crate::journal::{Journal, Mark};
use crate::replay::{self, End};
use crate::snapshot::Snapshot;
use crate::{Failure, MAX_RESULT_BYTES, directory, hex, key};

const DOMAIN: &[u8] = b"bobcat/session/v1\0";
const NAME_DIGITS: usize = 32;
/// Bytes and records behind a snapshot that lead to another one.
const SNAPSHOT_BYTES: u64 = 256 << 10;
const SNAPSHOT_RECORDS: usize = 64;

/// A session that this process holds: no other one decides in it until this value is dropped.
#[derive(Debug)]
pub struct Session {
    journal: Journal,
    state: State,
    snapshot: Snapshot,
    /// The end of the last record that is in the state.
    end: Mark,
    /// True if a snapshot is to be written.
    is_due: bool,
}

/// The result of a call, as the host reports it after the call.
#[derive(Clone, Copy, Debug)]
pub struct Result<'t> {
    /// The id that the host gave the call, if it gives one.
    pub id: Option<&'t str>,
    /// The tool.
    pub tool: &'t str,
    /// The arguments that ran, as canonical JSON.
    pub args: &'t str,
    /// The value as canonical JSON; `None`: it has no exact JSON.
    pub value: Option<&'t str>,
    /// True if the call failed.
    pub failed: bool,
    /// The time in RFC 3339.
    pub at: &'t str,
}

impl Session {
    /// Opens the session of a host in a directory, and makes its state for the definitions of `program`.
    ///
    /// # Errors
    /// The directory cannot be used, or the record of the session is damaged.
    pub fn open(
        program: &Program,
        directory: &Path,
        (host, session): (&str, &str),
    ) -> std::result::Result<Self, Failure> {
        directory::prepare(directory)?;
        let mut identity = DOMAIN.to_vec();
        identity.extend((host.len() as u64).to_be_bytes());
        identity.extend(host.as_bytes());
        identity.extend(session.as_bytes());
        let digest = Sha256::digest(&identity);
        let mut name = hex(&digest);
        name.truncate(NAME_DIGITS);
        let path = directory.join(format!("{name}.session"));
        let mut journal = Journal::open(&path, identity, &replay::session(host, session))?;
        if journal.is_new {
            let from = digest.iter().take(4);
            directory::sweep(
                directory,
                from.fold(0, |sum, byte| sum << 8 | usize::from(*byte)),
            );
        }
        let snapshot = Snapshot::beside(&path, program);
        let (state, end, is_due) = restored(program, &mut journal, &snapshot)?;
        Ok(Self {
            journal,
            state,
            snapshot,
            end,
            is_due,
        })
    }

    /// The state of the session, as decisions read it.
    #[must_use]
    pub fn state(&self) -> &State {
        &self.state
    }

    /// The user's last words.
    #[must_use]
    pub fn task(&self) -> Option<&str> {
        self.state.task()
    }

    /// Makes the state again from the records, if a part of its snapshot that was read is damaged. True: a decision since
    /// [`Session::open`] has to be made again.
    ///
    /// # Errors
    /// The record is damaged.
    pub fn repair(&mut self, program: &Program) -> std::result::Result<bool, Failure> {
        if !self.state.is_damaged() {
            return Ok(false);
        }
        (self.state, self.end, self.is_due) = rebuilt(program, &mut self.journal)?;
        Ok(true)
    }

    /// Records a call that may run: its request as canonical JSON, and of that the tool and the arguments. It is durable on return.
    ///
    /// # Errors
    /// The call could not be recorded, and must not run.
    pub fn call(
        &mut self,
        program: &Program,
        request: &str,
        (id, tool, args): (Option<&str>, &str, &str),
    ) -> std::result::Result<(), Failure> {
        let name = key::name(id, tool, args);
        let mut key = key::next(&self.state, &name);
        if self.repair(program)? {
            key = key::next(&self.state, &name);
        }
        self.journal.append(&replay::call(&key, request))
    }

    /// Records the end of a call. One that is not on record, as it was refused, has none.
    ///
    /// # Errors
    /// The end could not be recorded.
    pub fn result(
        &mut self,
        program: &Program,
        result: Result<'_>,
    ) -> std::result::Result<(), Failure> {
        let name = key::name(result.id, result.tool, result.args);
        let mut key = key::last_open(&self.state, &name);
        if self.repair(program)? {
            key = key::last_open(&self.state, &name);
        }
        let Some(key) = key else {
            return Ok(());
        };
        let end = match result.value {
            _ if result.failed => End::Failed,
            Some(value) if value.len() <= MAX_RESULT_BYTES => End::Result(value),
            Some(_) | None => End::Unread,
        };
        self.journal.append(&replay::end(&key, result.at, end))
    }

    /// Records the user's words.
    ///
    /// # Errors
    /// They could not be recorded.
    pub fn set_task(&mut self, text: &str) -> std::result::Result<(), Failure> {
        self.journal.append(&replay::task(text))
    }

    /// This session, if [`Session::compact`] has something to do.
    #[must_use]
    pub fn if_due(self) -> Option<Self> {
        self.is_due.then_some(self)
    }

    /// Writes a snapshot, if the next process would have to read many records. This takes the longer the more calls the session
    /// has, so that it comes after the answer.
    pub fn compact(self) {
        if self.is_due {
            self.snapshot.save(&self.end, &self.state);
        }
    }
}

/// A state, the end of the last record that is in it, and true if there are many records behind its snapshot.
type Restored = (State, Mark, bool);

/// The state that the records make, with a snapshot where it is one of them.
fn restored(
    program: &Program,
    journal: &mut Journal,
    snapshot: &Snapshot,
) -> std::result::Result<Restored, Failure> {
    if let Some(from) = snapshot.load(program)
        && let Some(restored) = replayed(program, journal, from)?
    {
        return Ok(restored);
    }
    rebuilt(program, journal)
}

/// The state that the records alone make.
fn rebuilt(program: &Program, journal: &mut Journal) -> std::result::Result<Restored, Failure> {
    let begin = (journal.begin(), State::new(program, None));
    replayed(program, journal, begin)?.ok_or_else(|| journal.damaged())
}

/// The state after the records behind `from`; `None`: they do not follow it, or its snapshot is damaged.
fn replayed(
    program: &Program,
    journal: &mut Journal,
    (from, mut state): (Mark, State),
) -> std::result::Result<Option<Restored>, Failure> {
    let (start, mut records) = (from.size, 0);
    let mut scratch = Scratch::default();
    let read = journal.read(from, |record| {
        records += 1;
        replay::apply(program, &mut state, record, &mut scratch)
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
