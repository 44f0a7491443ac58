//! One session of a host, held by this process.

use std::path::{Path, PathBuf};

use bobcat_core::ir::memory::Scope;
use bobcat_core::json::value::Instant;
use bobcat_core::memory::{Extent, State};
use bobcat_core::program::Program;

use crate::record::Record;
use crate::replay::{self, End};
use crate::{Failure, MAX_RESULT_BYTES, directory, key};

const DOMAIN: &[u8] = b"bobcat/session/v1\0";
const SCOPE_DOMAIN: &[u8] = b"bobcat/scope/v1\0";
/// The scope that sessions of hosts share: no host names a tenant.
const SHARED: Scope = Scope::Principal;

/// A session that this process holds: no other one decides in it until this value is dropped.
#[derive(Debug)]
pub struct Session {
    own: Record,
    /// The record that sessions of its principal share.
    scope: Option<Record>,
    directory: PathBuf,
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
        let (identity, name) = key::file(DOMAIN, &[host, session]);
        let path = directory.join(format!("{name}.session"));
        let first = replay::session(host, session);
        let own = Record::open((program, Extent::Session), &path, (identity, &first))?;
        if own.is_new() {
            let from = usize::from_str_radix(name.get(..4).unwrap_or_default(), 16);
            directory::sweep(directory, from.unwrap_or(0));
        }
        Ok(Self {
            own,
            scope: None,
            directory: directory.to_owned(),
        })
    }

    /// The state of the session, as decisions read it.
    #[must_use]
    pub fn state(&self) -> &State {
        &self.own.state
    }

    /// The user's last words.
    #[must_use]
    pub fn task(&self) -> Option<&str> {
        self.own.state.task()
    }

    /// Gives the state the values of the measures `by: principal` for a decision at a time in RFC 3339. The record that
    /// sessions of this principal share is held with this session.
    ///
    /// # Errors
    /// The record cannot be used.
    pub fn share(
        &mut self,
        program: &Program,
        (kind, id): (&str, &str),
        at: &str,
    ) -> std::result::Result<(), Failure> {
        if id.is_empty() || !program.measures_by(SHARED) {
            return Ok(());
        }
        let mut scope = match self.scope.take() {
            Some(scope) => scope,
            None => {
                let (identity, name) = key::file(SCOPE_DOMAIN, &[SHARED.name(), kind, id]);
                let path = self.directory.join(format!("{name}.scope"));
                let first = replay::scope(SHARED.name(), &[kind, id]);
                let extent = (program, Extent::Scope(SHARED));
                Record::open(extent, &path, (identity, &first))?
            }
        };
        let now = Instant::parse(at).map(|at| at.micros);
        let mut values = scope.state.shared_values(program, now);
        if scope.repair(program)? {
            values = scope.state.shared_values(program, now);
        }
        for (name, value) in values {
            self.own.state.share(program, name, value);
        }
        self.scope = Some(scope);
        Ok(())
    }

    /// Makes the state again from the records, if a part of its snapshot that was read is damaged. True: a decision since
    /// [`Session::open`] has to be made again, after [`Session::share`].
    ///
    /// # Errors
    /// The record is damaged.
    pub fn repair(&mut self, program: &Program) -> std::result::Result<bool, Failure> {
        self.own.repair(program)
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
        let mut key = key::next(&self.own.state, &name);
        if self.repair(program)? {
            key = key::next(&self.own.state, &name);
        }
        self.own.append(&replay::call(&key, request))?;
        match &mut self.scope {
            Some(scope) if replay::counts(program, SHARED, request)? => {
                scope.append(&replay::call(&key, request))
            }
            Some(_) | None => Ok(()),
        }
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
        let mut key = key::last_open(&self.own.state, &name);
        if self.repair(program)? {
            key = key::last_open(&self.own.state, &name);
        }
        let Some(key) = key else {
            return Ok(());
        };
        let end = match result.value {
            _ if result.failed => End::Failed,
            Some(value) if value.len() <= MAX_RESULT_BYTES => End::Result(value),
            Some(_) | None => End::Unread,
        };
        self.own.append(&replay::end(&key, result.at, end))
    }

    /// Records the user's words.
    ///
    /// # Errors
    /// They could not be recorded.
    pub fn set_task(&mut self, text: &str) -> std::result::Result<(), Failure> {
        self.own.append(&replay::task(text))
    }

    /// This session, if [`Session::compact`] has something to do.
    #[must_use]
    pub fn if_due(self) -> Option<Self> {
        let is_due = self.records().any(|record| record.is_due);
        is_due.then_some(self)
    }

    /// Writes a snapshot, if the next process would have to read many records. This takes the longer the more calls the session
    /// has, so that it comes after the answer.
    pub fn compact(self) {
        self.records().for_each(Record::compact);
    }

    fn records(&self) -> impl Iterator<Item = &Record> {
        [&self.own].into_iter().chain(&self.scope)
    }
}
