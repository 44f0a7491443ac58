//! The state of a run, as the clauses of a decision read it.

use super::{Value, View};
use crate::budget::Steps;
use crate::error::Fault;
use crate::num::exact::Exact;
use crate::num::number::Number;

/// A value of the state of a run.
#[derive(Clone, Debug, PartialEq)]
pub enum Reading {
    /// Of a formula.
    Bool(bool),
    /// Of a measure.
    Number(Number),
}

impl Value for Reading {
    fn view(&self) -> View<'_> {
        match self {
            Self::Bool(value) => View::Bool(*value),
            Self::Number(Number::Int(value)) => View::Int(*value),
            Self::Number(Number::Big(value)) => View::BigInt(value.clone()),
            Self::Number(Number::Float(value)) => View::Float(*value),
        }
    }
}

/// A value that results of a run can hold: a text or a number.
#[derive(Clone, Debug, PartialEq)]
pub enum LeafValue<'v> {
    /// A text.
    Text(&'v str),
    /// A number.
    Number(Number),
}

impl<'v> LeafValue<'v> {
    /// The text or number that a view is.
    #[must_use]
    pub fn of(view: &View<'v>) -> Option<Self> {
        match view {
            View::Str(text) => Some(Self::Text(text)),
            view => super::compare::number(view).map(Self::Number),
        }
    }
}

/// The names that `from` lists.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Wanted {
    /// The task.
    pub task: bool,
    /// The other sources, a bit each.
    pub sources: u64,
    /// True if the value is in lower case: it is compared with the lower case of others.
    pub lower: bool,
}

/// The amount that the proposed call adds to a measure.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Amount(pub(crate) Exact);

/// The place that a value came from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Origin {
    /// The name of the source in the policy's memory; `None`: the task.
    pub source: Option<u32>,
    /// The tool of the call whose result had the value.
    pub tool: String,
    /// The key of that call.
    pub key: String,
    /// The field of the result, its steps joined by dots.
    pub field: String,
}

/// The state of a run.
pub trait Memory {
    /// The value of a measure or a formula. `now`: the time of the decision; `this`: the amount of the proposed call.
    ///
    /// # Errors
    /// The state cannot answer.
    fn read(
        &self,
        definition: u32,
        now: Option<i64>,
        this: Option<Amount>,
    ) -> Result<Reading, Fault>;

    /// Returns true if a value came from one of some sources.
    ///
    /// # Errors
    /// The value is not found, and a source cannot answer.
    fn drawn(&self, wanted: Wanted, value: &LeafValue<'_>, steps: &Steps) -> Result<bool, Fault>;

    /// The places that a value came from, for `explain`.
    fn origins(&self, value: &LeafValue<'_>) -> Vec<Origin>;
}
