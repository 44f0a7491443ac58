//! A policy and its decisions: the few names that a program needs.

use std::fmt;

use crate::bundle::{Bundle, BundleError};
use crate::decision::{self, Undecided};
use crate::error::DecodeError;
use crate::json::value::JsonRequest;
use crate::program::Scratch;

pub use crate::decision::Decision;

/// A compiled policy.
///
/// It is immutable, and threads may share it. Indexes and automata are made on first use.
#[derive(Debug)]
pub struct Policy(Bundle);

impl Policy {
    /// Reads a bundle, as `bobcat compile` writes it. Digests are verified, signatures are not.
    ///
    /// # Errors
    /// The bytes are no bundle, a damaged one, or one that needs Python: the `lynx` profile, or rules that were not compiled.
    pub fn from_bundle(data: &[u8]) -> Result<Self, BundleError> {
        Bundle::from_bytes(data).map(Self)
    }

    /// The digest of the policy, in hexadecimal: `bundle.id` of the Python package.
    #[must_use]
    pub fn id(&self) -> &str {
        &self.0.id
    }

    /// The number of rules.
    #[must_use]
    pub fn rule_count(&self) -> usize {
        self.0.program.rule_count()
    }

    /// Decides on a request in JSON: `{"tool": ..., "args": {...}}`, with `context` and `declared` where rules read them.
    ///
    /// A rule that cannot be evaluated is named in [`Decision::rules`], and never permits a call. Rules that remember a run
    /// have no state here: they fail closed.
    ///
    /// # Errors
    /// The text is not a request. Such a call must not run.
    pub fn evaluate(&self, request: &[u8]) -> Result<Evaluated, EvaluateError> {
        let request = JsonRequest::parse(request)?;
        let mut scratch = Scratch::default();
        let (decision, transformed) = decision::decide(&self.0.program, &request, &mut scratch)?;
        Ok(Evaluated {
            decision,
            args: transformed.map(|made| made.args_json()),
        })
    }
}

/// The decision on a request.
#[derive(Clone, Debug, PartialEq)]
pub struct Evaluated {
    /// The decision.
    pub decision: Decision,
    /// The arguments that the call must run with, as JSON; `None`: those of the request.
    pub args: Option<String>,
}

/// The reason why there is no decision. Such a call must not run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum EvaluateError {
    /// The text is not a request.
    BadRequest(DecodeError),
    /// The policy cannot be decided here.
    Undecided(Undecided),
}

impl fmt::Display for EvaluateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::BadRequest(error) => error.fmt(f),
            Self::Undecided(error) => error.fmt(f),
        }
    }
}

impl std::error::Error for EvaluateError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        Some(match self {
            Self::BadRequest(error) => error,
            Self::Undecided(error) => error,
        })
    }
}

impl From<DecodeError> for EvaluateError {
    fn from(error: DecodeError) -> Self {
        Self::BadRequest(error)
    }
}

impl From<Undecided> for EvaluateError {
    fn from(error: Undecided) -> Self {
        Self::Undecided(error)
    }
}
