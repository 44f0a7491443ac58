//! Trace of a function on one request: the statement that decided, and the conditions on the way with the values that they
//! read.
//!
//! [`Tracer`] wraps the request that the walk over a function reads. It changes nothing: the traced code is the code that
//! runs.

use std::collections::HashMap;

use super::render;
use crate::error::Fault;
use crate::lang::path::{Field, Head};
use crate::program::{ConditionTrace, FunctionTrace, Program, ReadFrom, ReadTrace, TraceOutcome};
use crate::pyfn::ast::{Code, Statement};
use crate::pyfn::interp::env::{End, Env, LocalValue};
use crate::pyfn::walk::statements;
use crate::value::memory::{LeafValue, Reading, Wanted};
use crate::value::{Step, Value};

/// Values shown of one run of a function; conditions after that are listed without.
const MOST_READS: usize = 10_000;

/// Bytes of text made of locals in one run of a function; locals read after that are not shown.
const MOST_TEXT: usize = 10_000_000;

/// A request that records the reads of a function.
///
/// INVARIANT: a read costs the same whatever the size of the value that is read: a condition in a loop reads it at every turn,
/// and only the last turn is shown. Values of the request become text in `finish`; the text of locals, which may change in
/// between, is made at once, within [`MOST_TEXT`].
pub(super) struct Tracer<'w, W: Env> {
    env: &'w mut W,
    program: &'w Program,
    numbers: HashMap<*const Statement, u32>,
    tried: Vec<Condition<W::Value>>,
    /// The conditions that are being evaluated, and the reads of each so far.
    open: Vec<Vec<Read<W::Value>>>,
    returned: Option<u32>,
    failed: Option<u32>,
    reads_left: usize,
    text_left: usize,
}

/// The last evaluation of a condition.
struct Condition<V> {
    statement: u32,
    outcome: TraceOutcome,
    times: u32,
    reads: Vec<Read<V>>,
}

/// A value that a condition read.
struct Read<V> {
    from: ReadFrom,
    value: Recorded<V>,
}

enum Recorded<V> {
    Absent,
    Value(V),
    Text(String),
}

impl<V: Value> Recorded<V> {
    fn of(step: &Step<V>) -> Self {
        match step {
            Step::Found(value) => Self::Value(value.clone()),
            Step::Absent | Step::Unreadable => Self::Absent,
        }
    }

    fn render(self) -> Option<String> {
        match self {
            Self::Absent => None,
            Self::Value(value) => Some(render::value(&value)),
            Self::Text(text) => Some(text),
        }
    }
}

impl<'w, W: Env> Tracer<'w, W> {
    pub(super) fn new(program: &'w Program, body: &[Statement], env: &'w mut W) -> Self {
        Self {
            env,
            program,
            numbers: statements(body)
                .into_iter()
                .map(std::ptr::from_ref)
                .zip(0..)
                .collect(),
            tried: Vec::new(),
            open: Vec::new(),
            returned: None,
            failed: None,
            reads_left: MOST_READS,
            text_left: MOST_TEXT,
        }
    }

    /// The trace. `raised`: the function ended by an exception, or by a fault.
    pub(super) fn finish(self, raised: bool) -> FunctionTrace {
        FunctionTrace {
            at: if raised {
                self.failed.or(self.returned)
            } else {
                self.returned
            },
            conditions: self.tried.into_iter().map(Condition::render).collect(),
        }
    }

    fn number(&self, statement: &Statement) -> Option<u32> {
        self.numbers.get(&std::ptr::from_ref(statement)).copied()
    }

    fn keep(&mut self, from: ReadFrom, value: Recorded<W::Value>) {
        if self.reads_left == 0 {
            return;
        }
        let Some(reads) = self.open.last_mut() else {
            return;
        };
        self.reads_left -= 1;
        match reads.iter_mut().find(|read| read.from == from) {
            Some(read) => read.value = value,
            None => reads.push(Read { from, value }),
        }
    }
}

impl<W: Env> Env for Tracer<'_, W> {
    type Value = W::Value;

    fn step(&mut self, path: u32) -> &Step<W::Value> {
        if let (false, Some(known)) = (self.open.is_empty(), self.program.paths.get(path as usize))
        {
            let keys = self.program.path_keys(known).iter();
            let keys = keys.map(|key| key.text.into()).collect();
            let value = Recorded::of(self.env.step(path));
            self.keep(ReadFrom::Path(known.head, keys), value);
        }
        self.env.step(path)
    }

    fn reading(&mut self, definition: u32) -> Result<Reading, Fault> {
        let found = self.env.reading(definition);
        if !self.open.is_empty() {
            let names = self.program.memory().map_or(&[][..], |known| &known.names);
            let name = names.get(definition as usize).cloned().unwrap_or_default();
            let value = match &found {
                Ok(reading) => Recorded::Text(render::value(reading)),
                Err(_) => Recorded::Absent,
            };
            self.keep(ReadFrom::Path(Head::Run, vec![name]), value);
        }
        found
    }

    fn drawn(&mut self, wanted: Wanted, value: &LeafValue<'_>) -> Result<bool, Fault> {
        self.env.drawn(wanted, value)
    }

    fn fuel_left(&self) -> u64 {
        self.env.fuel_left()
    }

    fn took(&mut self, fuel: u64) -> bool {
        self.env.took(fuel)
    }

    fn field(&mut self, field: Field, own: bool) -> Step<W::Value> {
        let step = self.env.field(field, own);
        if !self.open.is_empty() {
            let (head, keys) = field.path();
            let keys = keys.iter().map(|key| Box::from(*key)).collect();
            let value = Recorded::of(&step);
            self.keep(ReadFrom::Path(head, keys), value);
        }
        step
    }

    fn enter(&mut self, statement: &Statement) {
        match statement {
            Statement::If(..) => self.open.push(Vec::new()),
            Statement::Return(_) => self.returned = None,
            _ => {}
        }
    }

    fn tried(&mut self, statement: &Statement, truth: Option<bool>) {
        let mut reads = self.open.pop().unwrap_or_default();
        // A read of a missing value is repeated step by step, to raise Python's exception.
        let gone: Vec<ReadFrom> = reads
            .iter()
            .filter(|read| matches!(read.value, Recorded::Absent))
            .map(|read| read.from.clone())
            .collect();
        reads.retain(|read| !gone.iter().any(|longer| read.from.leads_to(longer)));
        let Some(statement) = self.number(statement) else {
            return;
        };
        let outcome = match truth {
            Some(true) => TraceOutcome::True,
            Some(false) => TraceOutcome::False,
            None => TraceOutcome::Error,
        };
        match self
            .tried
            .iter_mut()
            .find(|known| known.statement == statement)
        {
            Some(known) => {
                known.outcome = outcome;
                known.times = known.times.saturating_add(1);
                known.reads = reads;
            }
            None => self.tried.push(Condition {
                statement,
                outcome,
                times: 1,
                reads,
            }),
        }
    }

    fn left(&mut self, statement: &Statement, how: End) {
        match how {
            End::Failed => {
                if self.failed.is_none() {
                    self.failed = self.number(statement);
                }
                return;
            }
            // Returns of inlined functions in this statement are over.
            End::Onward => self.returned = None,
            End::Returned => {
                // A value that an inlined function returns for its caller is decided at its own `return`.
                if let Statement::Return(value) = statement
                    && !(matches!(value, Code::Inline(_)) && self.returned.is_some())
                {
                    self.returned = self.number(statement);
                }
            }
        }
        // Exceptions before the end of this statement have been caught.
        self.failed = None;
    }

    fn local(&mut self, slot: u32, seen: impl FnOnce() -> LocalValue<W::Value>) {
        if self.open.is_empty() || self.reads_left == 0 || self.text_left == 0 {
            return;
        }
        let value = match seen() {
            LocalValue::Read(value) => Recorded::Value(value),
            LocalValue::Made(text) => {
                self.text_left = self.text_left.saturating_sub(text.len());
                Recorded::Text(render::cut(&text))
            }
            LocalValue::Nothing => return,
        };
        self.keep(ReadFrom::Local(slot), value);
    }
}

impl<V: Value> Condition<V> {
    fn render(self) -> ConditionTrace {
        ConditionTrace {
            statement: self.statement,
            outcome: self.outcome,
            times: self.times,
            reads: self
                .reads
                .into_iter()
                .map(|read| ReadTrace {
                    from: read.from,
                    value: read.value.render(),
                })
                .collect(),
        }
    }
}
