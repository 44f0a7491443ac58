//! Environment of a function: reads of the request, and observation of the run for an explanation.

use crate::error::Fault;
use crate::lang::path::Field;
use crate::pyfn::ast::Statement;
use crate::value::memory::{LeafValue, Reading, Wanted};
use crate::value::{Step, Value};

/// The environment through which a function reads the request.
pub(crate) trait Env {
    /// A value of the request.
    type Value: Value;
    /// Reads a path of the program.
    fn step(&mut self, path: u32) -> &Step<Self::Value>;
    /// The value of a fixed field; `own`: of the request itself, whatever context was passed beside it.
    fn field(&mut self, field: Field, own: bool) -> Step<Self::Value>;

    /// Reads a definition of the state of the run. It takes steps of the decision.
    fn reading(&mut self, definition: u32) -> Result<Reading, Fault>;
    /// Returns true if a value came from one of some sources. It takes steps of the decision.
    fn drawn(&mut self, wanted: Wanted, value: &LeafValue<'_>) -> Result<bool, Fault>;

    /// Returns the number of steps left of the decision.
    fn fuel_left(&self) -> u64;
    /// Takes steps from those of the decision; whether there were as many.
    fn took(&mut self, fuel: u64) -> bool;

    // Events for an explanation; a decision ignores them.

    /// A statement begins.
    #[inline]
    fn enter(&mut self, _statement: &Statement) {}
    /// The condition of an `if` was evaluated; `None`: it failed.
    #[inline]
    fn tried(&mut self, _statement: &Statement, _truth: Option<bool>) {}
    /// A statement ended.
    #[inline]
    fn left(&mut self, _statement: &Statement, _how: End) {}
    /// A local was read.
    #[inline]
    fn local(&mut self, _slot: u32, _seen: impl FnOnce() -> LocalValue<Self::Value>) {}
}

/// The way a statement ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// Control continues after it, or with the loop around it.
    Onward,
    /// The function returned.
    Returned,
    /// By an exception or a fault.
    Failed,
}

/// A local, for people.
pub(crate) enum LocalValue<V> {
    /// A value of the request.
    Read(V),
    /// A value built by the function, as text.
    Made(String),
    /// Something that has no text.
    Nothing,
}
