//! The state of a run: what the definitions of a policy have seen of its calls and their results.
//!
//! A state is a function of the policy and of the calls and results it was given, in order. What it cannot evaluate breaks
//! the definition for the rest of the run: reading it is an error, never a value.

mod dump;
mod events;
mod hash;
mod layers;
mod measures;
mod monitor;
mod reader;
mod records;
mod scope;
mod sources;
mod table;
mod task;

use std::collections::HashMap;
use std::sync::Arc;

use crate::bytes::hash::Keyed;
use crate::error::Fault;
use crate::ir::memory::{Definition, Scope};
use crate::num::exact::Exact;
use crate::num::number::Number;
use crate::program::Program;
use hash::Hash;
use layers::Layers;
use measures::{Tally, Window};
use monitor::Cell;
use records::Kept;
use table::Table;
use task::Task;

pub use dump::StateError;
pub use layers::{Layered, PAGE_BYTES, Pages};
pub use reader::Reader;

/// The reason why a definition has no value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Broken {
    /// Something could not be evaluated.
    Bad,
    /// A cap was passed.
    Limit,
    /// A source has more values than the state holds: those that it holds are right.
    Full,
}

impl Broken {
    fn of(fault: Fault) -> Self {
        match fault {
            Fault::BudgetExceeded | Fault::StateLimit => Self::Limit,
            _ => Self::Bad,
        }
    }

    fn fault(self) -> Fault {
        match self {
            Self::Bad => Fault::BadState,
            Self::Limit | Self::Full => Fault::StateLimit,
        }
    }
}

/// The state of one definition.
#[derive(Clone, Debug)]
struct Tracker {
    broken: Option<Broken>,
    kind: Tracked,
}

#[derive(Clone, Debug, PartialEq)]
enum Tracked {
    Measure(Tally),
    Formula(Vec<Cell>),
    Source,
}

/// A call that the state knows.
#[derive(Clone, Debug)]
enum Known {
    /// Its result is not there yet.
    Open(Box<Open>),
    /// It ended.
    Ended,
}

/// What the result of a call, or its release, needs of the call.
#[derive(Clone, Debug, Default)]
struct Open {
    /// The number of the call.
    call: u64,
    /// The measures that count it, with its amount.
    amounts: Vec<(u32, Exact)>,
    /// The sources that take values from its result, a bit each.
    sources: u64,
    /// The names of the call, of a call of a source.
    names: Option<(Box<str>, Box<str>)>,
    /// Its parts that tests of results read; `None`: they are too large.
    kept: Option<Kept>,
}

/// The calls that a state is given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Extent {
    /// Those of a run.
    #[default]
    Run,
    /// Those of a whole session, so that it has the values `by: session`, too.
    Session,
    /// Those of a scope: it has the values of this `by` alone.
    Scope(Scope),
}

impl Extent {
    /// Returns true if the state counts the calls of a measure with this `by` itself.
    fn counts(self, by: Option<Scope>) -> bool {
        match self {
            Self::Run => by.is_none(),
            Self::Session => matches!(by, None | Some(Scope::Session)),
            Self::Scope(scope) => by == Some(scope),
        }
    }

    /// The hash of the definitions of a program for such a state.
    fn hash(self, program: &Program) -> [u8; 32] {
        let kind = match self {
            Self::Run => "",
            Self::Session => "in a session",
            Self::Scope(scope) => scope.name(),
        };
        hash::sha256(&[program.memory_bytes(), kind.as_bytes()])
    }
}

/// The state of one run.
#[derive(Clone, Debug)]
pub struct State {
    extent: Extent,
    /// The SHA-256 of the definitions.
    memory: [u8; 32],
    task: Option<Arc<Task>>,
    /// The time of the last event.
    last: Option<i64>,
    trackers: Vec<Tracker>,
    /// Calls that are not in layers, or are another thing now.
    calls: HashMap<Hash, Known, Keyed>,
    /// The number of calls that are known.
    known: usize,
    /// The number of the next call.
    next: u64,
    table: Table,
    layers: Layers,
    /// True if there were more calls than the state knows.
    full: bool,
}

/// No call of this key is known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownCall;

impl State {
    /// The state of a run in which nothing has happened.
    #[must_use]
    pub fn new(program: &Program, task: Option<&str>) -> Self {
        Self::of(Extent::Run, program, task)
    }

    /// The state of a run, a session or a scope in which nothing has happened.
    #[must_use]
    pub fn of(extent: Extent, program: &Program, task: Option<&str>) -> Self {
        let definitions = program.memory().map_or(&[][..], |memory| &memory.items);
        let trackers = definitions.iter().map(|definition| Tracker {
            broken: None,
            kind: match definition {
                Definition::Measure(measure) if !extent.counts(measure.by) => {
                    Tracked::Measure(Tally::Shared(None))
                }
                Definition::Measure(measure) if measure.within.is_some() => {
                    Tracked::Measure(Tally::Window(Window::default()))
                }
                Definition::Measure(_) => Tracked::Measure(Tally::Total(Exact::default())),
                Definition::Formula(nodes) => Tracked::Formula(vec![Cell::default(); nodes.len()]),
                Definition::Source(_) => Tracked::Source,
            },
        });
        Self {
            extent,
            memory: extent.hash(program),
            task: task.map(|task| Arc::new(Task::new(task))),
            last: None,
            trackers: trackers.collect(),
            calls: HashMap::default(),
            known: 0,
            next: 0,
            table: Table::default(),
            layers: Layers::default(),
            full: false,
        }
    }

    /// Returns true if the state is one of the definitions of `program`.
    #[must_use]
    pub fn is_of(&self, program: &Program) -> bool {
        self.memory == self.extent.hash(program)
    }

    /// The task of the run.
    #[must_use]
    pub fn task(&self) -> Option<&str> {
        self.task.as_ref().map(|task| &*task.text)
    }

    /// Sets the task: calls and decisions from here on read this one.
    pub fn set_task(&mut self, task: Option<&str>) {
        self.task = task.map(|task| Arc::new(Task::new(task)));
    }

    /// Returns true for a call without an end, false for one that has ended; `None`: no such call is known.
    #[must_use]
    pub fn is_open(&self, key: &str) -> Option<bool> {
        self.knows(&hash::of_key(key))
    }

    fn knows(&self, key: &Hash) -> Option<bool> {
        match self.calls.get(key) {
            Some(known) => Some(matches!(known, Known::Open(_))),
            None => self.layers.is_open(key),
        }
    }

    /// Returns true if a page of a layer was asked for that cannot be read or is damaged: the state is not what it was.
    #[must_use]
    pub fn is_damaged(&self) -> bool {
        self.layers.is_damaged()
    }

    /// The state as decisions of `program` read it.
    #[must_use]
    pub fn reader<'s>(&'s self, program: &'s Program) -> Reader<'s> {
        Reader {
            definitions: program.memory(),
            state: self,
        }
    }

    /// Takes the failure of a call: it stays counted, and has no result.
    ///
    /// # Errors
    /// The call is not known.
    pub fn failed(&mut self, program: &Program, key: &str) -> Result<(), UnknownCall> {
        self.end(program, key).map(|_| ())
    }

    /// Takes a call back from counts and sums: it certainly did not happen. Its key is free again.
    ///
    /// # Errors
    /// The call is not known, or has ended.
    pub fn release(&mut self, program: &Program, key: &str) -> Result<(), UnknownCall> {
        let Some(definitions) = program.memory() else {
            return Ok(());
        };
        self.thaw();
        let hash = hash::of_key(key);
        match self.calls.get(&hash) {
            Some(Known::Open(_)) => {}
            _ if self.full => return Ok(()),
            Some(Known::Ended) | None => return Err(UnknownCall),
        }
        let Some(Known::Open(open)) = self.calls.remove(&hash) else {
            return Err(UnknownCall);
        };
        self.known -= 1;
        for (number, amount) in &open.amounts {
            if let Some(tracker) = self.trackers.get_mut(*number as usize)
                && let Tracked::Measure(tally) = &mut tracker.kind
                && definitions.items.len() > *number as usize
                && let Err(broken) = tally.release(open.call, *amount)
            {
                tracker.broken = Some(broken);
            }
        }
        Ok(())
    }

    /// Ends a call; `None`: it has ended.
    fn end(&mut self, program: &Program, key: &str) -> Result<Option<Box<Open>>, UnknownCall> {
        if program.memory().is_none() {
            return Ok(None);
        }
        let hash = hash::of_key(key);
        let known = match self.calls.get_mut(&hash) {
            Some(known) => Some(std::mem::replace(known, Known::Ended)),
            None => self.layers.call(&hash, self.trackers.len()),
        };
        match known {
            Some(Known::Open(open)) => {
                self.calls.insert(hash, Known::Ended);
                Ok(Some(open))
            }
            Some(Known::Ended) => Ok(None),
            None if self.full => Ok(None),
            None => Err(UnknownCall),
        }
    }

    /// Shows the values of all results so far to decisions: those of one reply do not see one another's.
    pub fn next_reply(&mut self) {
        self.table.show();
    }

    /// Begins another run of the same conversation: counts, sums and formulas start anew, values of sources stay.
    pub fn next_turn(&mut self, program: &Program, task: Option<&str>) {
        self.thaw();
        let fresh = Self::of(self.extent, program, task);
        for (tracker, fresh) in self.trackers.iter_mut().zip(fresh.trackers) {
            if tracker.kind != Tracked::Source {
                *tracker = fresh;
            }
        }
        self.task = fresh.task;
        self.calls = fresh.calls;
        self.known = 0;
        self.full = false;
        self.table.show();
    }

    /// Sets the value of a measure over more than the run, or the reason why it has none; false: there is no such measure.
    pub fn share(&mut self, program: &Program, name: &str, value: Result<Number, Fault>) -> bool {
        let number = program.memory().and_then(|memory| memory.find(name));
        let tracker = number.and_then(|number| self.trackers.get_mut(number as usize));
        let Some(tracker) = tracker else {
            return false;
        };
        let Tracked::Measure(Tally::Shared(held)) = &mut tracker.kind else {
            return false;
        };
        tracker.broken = match &value {
            Ok(_) | Err(Fault::NoState) => None,
            Err(fault) => Some(Broken::of(*fault)),
        };
        *held = value.ok();
        true
    }
}
