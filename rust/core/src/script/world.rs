//! What a function reads the request through, and what an explanation wants to hear of its run.

use super::node::Statement;
use crate::path::Field;
use crate::value::{Step, Value};

/// What a function reads the request through.
pub(crate) trait World {
    /// A value of the request.
    type Value: Value;
    /// What a path of the program leads to.
    fn step(&mut self, path: u32) -> &Step<Self::Value>;
    /// Whether what [`Self::step`] gave for a path is what it would give now, without being read again.
    fn holds(&self, _path: u32) -> bool {
        false
    }
    /// The value of a fixed field; `own`: of the request itself, whatever context was passed beside it.
    fn field(&mut self, field: Field, own: bool) -> Step<Self::Value>;

    /// How many steps are left of the decision.
    fn steps_left(&self) -> u64;
    /// Takes steps from those of the decision; whether there were as many.
    fn took(&mut self, steps: u64) -> bool;

    // What an explanation wants to know; who only decides does not listen.

    /// A statement begins.
    #[inline]
    fn enter(&mut self, _statement: &Statement) {}
    /// The condition of an `if` was judged; `None`: it could not be.
    #[inline]
    fn tried(&mut self, _statement: &Statement, _truth: Option<bool>) {}
    /// A statement ended.
    #[inline]
    fn left(&mut self, _statement: &Statement, _how: End) {}
    /// A local was read.
    #[inline]
    fn local(&mut self, _slot: u32, _seen: impl FnOnce() -> Seen<Self::Value>) {}
}

/// How a statement ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum End {
    /// What stands after it is next, or the loop around it.
    Onward,
    /// The function returned.
    Returned,
    /// By an exception or a fault.
    Failed,
}

/// A local, for people.
pub(crate) enum Seen<V> {
    /// A value of the request.
    Read(V),
    /// What the function made, as text.
    Made(String),
    /// Something that has no text.
    Nothing,
}
