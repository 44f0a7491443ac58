//! Borrowed requests: the evaluator's source of values, host decisions and transformed arguments.

use super::constant::Const;
use super::memory::Memory;
use super::owned::OwnedValue;
use super::{Step, Value, View};
use crate::error::ErrorCode;
use crate::lang::path::{Field, Head, Key, Keys};

/// The rewrite of a `transform` rule, relative to the arguments.
#[derive(Clone, Debug, PartialEq)]
pub struct Transform {
    /// The operation at `path`.
    pub op: TransformOp,
    /// Keys below `args`; in the `lynx` profile one flat key.
    pub path: Vec<Box<str>>,
    /// The operand of `set` and `append`; null for `delete`.
    pub value: Const,
}

/// The operations of a transform.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransformOp {
    /// Sets a value, creating mappings on the way.
    Set,
    /// Extends a string or a list.
    Append,
    /// Removes a key.
    Delete,
}

/// The answer of a host rule to a request.
#[derive(Debug)]
pub enum HostAnswer<R: Request> {
    /// No decision: the next rule is evaluated.
    Abstain,
    /// A decision other than `transform` (in the `lynx` profile: any decision).
    Decided(R::Decision),
    /// A `transform`, and the request with the new arguments.
    Transformed(R::Decision, R),
    /// The rule could not be called, or its answer is not a decision.
    Failed(ErrorCode),
    /// The whole evaluation must stop (an interrupt); the implementation keeps the reason.
    Abort,
}

/// A request under decision. It owns nothing but references.
pub trait Request: Sized {
    /// A value inside the request.
    type Value: Value;
    /// The decision type of a host rule.
    type Decision;

    /// The tool, when [`Self::field`] finds a string there. PERF: every decision reads it.
    fn tool(&self) -> Option<&str>;

    /// The value of a fixed field. [`Step::Absent`] when the request does not have it.
    fn field(&self, field: Field) -> Step<Self::Value>;

    /// Puts the argument `key` into `place`: what [`Self::field`] and one step lead to. PERF: most clauses are about one,
    /// and a value that is moved after it was written in pieces has to wait for them.
    #[inline]
    fn arg(&self, key: Key<'_>, place: &mut Step<Self::Value>) {
        *place = match self.field(Field::Args) {
            Step::Found(args) => args.get(key),
            step => step,
        };
    }

    /// The flag that [`Self::field`] finds, where it finds one. PERF: a request that no rule decides reads two.
    #[inline]
    fn flag(&self, field: Field) -> Option<bool> {
        match self.field(field) {
            Step::Found(value) => match value.view() {
                View::Bool(flag) => Some(flag),
                _ => None,
            },
            Step::Absent | Step::Unreadable => None,
        }
    }

    /// The value at any other path of the `lynx` profile, by the host language's own rules; `None` is its null. Also called
    /// when a step of an `args` path was [`Step::Unreadable`] in that profile.
    ///
    /// # Errors
    /// The name of the exception that reading raised.
    fn lookup(&self, head: Head, keys: Keys<'_>) -> Result<Option<Self::Value>, ErrorCode> {
        let _ = (head, keys);
        Ok(None)
    }

    /// The state of the run that the request belongs to, if the decision has one.
    #[inline]
    fn memory(&self) -> Option<&dyn Memory> {
        None
    }

    /// The answer of host rule `host` (its index among the host rules, in evaluation order), which is rule `rule`.
    fn host(&self, host: u32, rule: u32) -> HostAnswer<Self>;

    /// The value of a fixed field of the request itself, whatever context was passed beside it.
    fn own_field(&self, field: Field) -> Step<Self::Value> {
        self.field(field)
    }

    /// This request with the arguments that a function made.
    ///
    /// # Errors
    /// [`ErrorCode::CannotTransform`].
    fn with_made(&self, args: OwnedValue<Self::Value>) -> Result<Self, ErrorCode>;

    /// This request with the arguments of the transform of rule `rule`.
    ///
    /// # Errors
    /// [`ErrorCode::CannotTransform`], or in the `lynx` profile the name of an exception.
    fn with_transform(&self, rule: u32, transform: &Transform) -> Result<Self, ErrorCode>;
}
