//! Errors as values: the reasons why a clause or a rule could not be evaluated, or a whole policy could not be loaded.

use std::fmt;
use std::sync::Arc;

/// The reason why a rule could not be evaluated; the CODE of `<rule_error:RULE:CODE>`.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum ErrorCode {
    /// The value has a type that the operator does not accept.
    WrongType,
    /// The value is NaN.
    Nan,
    /// The value is a string with a lone surrogate.
    BadUnicode,
    /// The value is an integer above [`crate::limits::MAX_INT_BITS`].
    OutOfRange,
    /// The arguments cannot be rewritten.
    CannotTransform,
    /// The answer of a host rule is not a decision.
    NotADecision,
    /// A function took more than [`crate::limits::MAX_SCRIPT_STEPS`] steps.
    TooManySteps,
    /// A function made more than [`crate::limits::MAX_SCRIPT_BYTES`] bytes, or too deep a value.
    TooLarge,
    /// The decision took more than [`crate::limits::MAX_DECISION_STEPS`] steps.
    BudgetExceeded,
    /// A facet could not decide the meaning of a text.
    Undecidable,
    /// The decision was made without the state of a run, which the rule reads.
    NoState,
    /// The run met something that a definition cannot evaluate.
    BadState,
    /// The run passed a cap of [`crate::limits`] on its state.
    StateLimit,
    /// A function used an operation without an exact implementation here.
    Unsupported,
    /// Python's `TypeError`; `lynx` profile and host rules.
    TypeError,
    /// Any other exception, by the name of its type.
    Named(Arc<str>),
}

impl ErrorCode {
    /// The code as written in a marker.
    #[must_use]
    pub fn as_str(&self) -> &str {
        match self {
            Self::WrongType => "wrong_type",
            Self::Nan => "nan",
            Self::BadUnicode => "bad_unicode",
            Self::OutOfRange => "out_of_range",
            Self::CannotTransform => "cannot_transform",
            Self::NotADecision => "not_a_decision",
            Self::TooManySteps => "too_many_steps",
            Self::TooLarge => "too_large",
            Self::BudgetExceeded => "budget_exceeded",
            Self::Undecidable => "undecidable",
            Self::NoState => "no_state",
            Self::BadState => "bad_state",
            Self::StateLimit => "state_limit",
            Self::Unsupported => "unsupported",
            Self::TypeError => "TypeError",
            Self::Named(name) => name,
        }
    }
}

impl fmt::Display for ErrorCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// IR bytes, or a request given as JSON, are rejected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DecodeError {
    /// A stable, documented code.
    pub code: &'static str,
    /// The place and the limit.
    pub message: String,
}

impl DecodeError {
    /// An error with `code` and `message`.
    pub fn new(code: &'static str, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
        }
    }
}

impl fmt::Display for DecodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.code, self.message)
    }
}

impl std::error::Error for DecodeError {}

/// The reason why a value cannot be evaluated, in the strict profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// [`ErrorCode::WrongType`]
    WrongType,
    /// [`ErrorCode::Nan`]
    Nan,
    /// [`ErrorCode::BadUnicode`]
    BadUnicode,
    /// [`ErrorCode::OutOfRange`]
    OutOfRange,
    /// [`ErrorCode::BudgetExceeded`]
    BudgetExceeded,
    /// [`ErrorCode::Undecidable`]
    Undecidable,
    /// [`ErrorCode::NoState`]
    NoState,
    /// [`ErrorCode::BadState`]
    BadState,
    /// [`ErrorCode::StateLimit`]
    StateLimit,
}

impl From<Fault> for ErrorCode {
    fn from(fault: Fault) -> Self {
        match fault {
            Fault::WrongType => Self::WrongType,
            Fault::Nan => Self::Nan,
            Fault::BadUnicode => Self::BadUnicode,
            Fault::OutOfRange => Self::OutOfRange,
            Fault::BudgetExceeded => Self::BudgetExceeded,
            Fault::Undecidable => Self::Undecidable,
            Fault::NoState => Self::NoState,
            Fault::BadState => Self::BadState,
            Fault::StateLimit => Self::StateLimit,
        }
    }
}
