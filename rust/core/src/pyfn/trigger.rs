//! Triggers: if none holds for a request, the function returns `None` without raising.

use crate::value::class::Classes;

/// A trigger of a function at one path: if none of its triggers holds for a request, the function returns None.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Trigger {
    pub(crate) path: u32,
    /// The node whose test it is.
    pub(crate) node: Option<u32>,
    /// The clause of that test: holds for a value that it is true of, or cannot evaluate.
    pub(crate) clause: Option<u32>,
    /// True if an absent value satisfies the trigger, too.
    pub(crate) missing: bool,
    /// Values of these classes.
    pub(crate) classes: Classes,
}
