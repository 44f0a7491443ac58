//! Decisions of the evaluator, as indexes; the host converts them.

use std::fmt;

use crate::error::ErrorCode;
use crate::pyfn::decision::FunctionDecision;
use crate::value::request::Request;

/// The reason of [`StaticOutcome::MissingShadow`].
pub const MISSING_SHADOW: &str = "irreversible action with no shadow; default policy";

/// The reason of [`StaticOutcome::NoMatch`].
pub const NO_MATCH: &str = "no rule matched; default policy";

/// The reason of [`DecidedBy::ErrorDeny`].
#[must_use]
pub fn rule_error(id: impl fmt::Display, code: &ErrorCode) -> String {
    format!("rule `{id}` could not be judged ({code}); denied")
}

/// A rule that could not be evaluated and was skipped.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Marker {
    /// The rule, in evaluation order.
    pub rule: u32,
    /// The reason.
    pub code: ErrorCode,
}

/// The origin of a decision.
#[derive(Clone, Debug, PartialEq)]
pub enum DecidedBy<D> {
    /// A declarative rule.
    Rule(u32),
    /// A host rule, with its answer.
    Host(u32, D),
    /// A function, with its decision.
    Function(u32, FunctionDecision),
    /// A rule that restricts, or a host rule, could not be evaluated: the verdict is `deny`.
    ErrorDeny(u32, ErrorCode),
    /// No rule fired.
    NoMatch,
    /// No rule fired on an irreversible action without a shadow.
    MissingShadow,
    /// A host rule requested a stop; the request implementation has the reason.
    Aborted,
}

impl<D> DecidedBy<D> {
    /// The rule that decided, if one did.
    #[must_use]
    pub fn rule(&self) -> Option<u32> {
        match self {
            Self::Rule(rule)
            | Self::Host(rule, _)
            | Self::Function(rule, _)
            | Self::ErrorDeny(rule, _) => Some(*rule),
            Self::NoMatch | Self::MissingShadow | Self::Aborted => None,
        }
    }

    /// The rule that decided, if one did, with the decision of its function.
    #[must_use]
    pub fn rule_and_function(&self) -> Option<(u32, Option<&FunctionDecision>)> {
        let function = match self {
            Self::Function(_, decision) => Some(decision),
            _ => None,
        };
        self.rule().map(|rule| (rule, function))
    }
}

/// A decision that does not depend on the request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StaticOutcome {
    /// A declarative rule.
    Rule(u32),
    /// A function, with the number of a static decision: [`FunctionDecision::Always`].
    Function(u32, u32),
    /// No rule fired.
    NoMatch,
    /// No rule fired on an irreversible action without a shadow.
    MissingShadow,
}

impl<R: Request> From<StaticOutcome> for Outcome<R> {
    fn from(known: StaticOutcome) -> Self {
        Self {
            decided: match known {
                StaticOutcome::Rule(rule) => DecidedBy::Rule(rule),
                StaticOutcome::Function(rule, number) => {
                    DecidedBy::Function(rule, FunctionDecision::Always(number))
                }
                StaticOutcome::NoMatch => DecidedBy::NoMatch,
                StaticOutcome::MissingShadow => DecidedBy::MissingShadow,
            },
            markers: Vec::new(),
            transforms: Vec::new(),
            transformed: None,
        }
    }
}

/// The kind of rule result that decided.
#[derive(Clone, Debug, PartialEq)]
pub enum Origin<D> {
    /// Its match.
    Match,
    /// The answer of the host.
    Host(D),
    /// The decision of its function.
    Function(FunctionDecision),
}

impl<D> Origin<D> {
    /// The decision of a function.
    #[must_use]
    pub fn function(&self) -> Option<&FunctionDecision> {
        match self {
            Self::Function(decision) => Some(decision),
            Self::Match | Self::Host(_) => None,
        }
    }
}

/// A transform on the way to the decision.
#[derive(Clone, Debug, PartialEq)]
pub struct TransformStep<D> {
    /// The rule.
    pub rule: u32,
    /// The kind of result that decided.
    pub origin: Origin<D>,
}

/// The decision on one request. The common case allocates nothing.
#[derive(Debug)]
pub struct Outcome<R: Request> {
    /// The origin of the decision.
    pub decided: DecidedBy<R::Decision>,
    /// The rules skipped in error, in the order of evaluation, each once.
    pub markers: Vec<Marker>,
    /// The transforms before the deciding rule, in the order they were made. The deciding rule is not among them:
    /// `matched_rules` is markers, then these, then the deciding rule.
    pub transforms: Vec<TransformStep<R::Decision>>,
    /// The request with the effective arguments, when a transform was made (`decided` and `transforms` name the rules).
    pub transformed: Option<Box<R>>,
}
