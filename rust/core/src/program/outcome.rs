//! Decisions, as the evaluator gives them: indexes, to be dressed by the host.

use crate::error::ErrorCode;
use crate::script::Said;
use crate::value::request::Request;

/// A rule that could not be judged and was skipped.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Marker {
    /// The rule, in evaluation order.
    pub rule: u32,
    /// Why.
    pub code: ErrorCode,
}

/// Who decided.
#[derive(Clone, Debug, PartialEq)]
pub enum Decided<D> {
    /// A declarative rule.
    Rule(u32),
    /// A host rule, with what it answered.
    Host(u32, D),
    /// A function, with what it said.
    Function(u32, Said),
    /// A rule that restricts, or a host rule, could not be judged: the verdict is `deny`.
    ErrorDeny(u32, ErrorCode),
    /// No rule fired.
    NoMatch,
    /// No rule fired on an irreversible action without a shadow.
    MissingShadow,
    /// A host rule asked to stop; the request implementation knows why.
    Aborted,
}

impl<D> Decided<D> {
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
}

/// A decision that is there before the request is: the same for every request that gets it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Known {
    /// A declarative rule.
    Rule(u32),
    /// A function, with which of the decisions that are always the same: [`Said::Always`].
    Function(u32, u32),
    /// No rule fired.
    NoMatch,
    /// No rule fired on an irreversible action without a shadow.
    MissingShadow,
}

impl<R: Request> From<Known> for Outcome<R> {
    fn from(known: Known) -> Self {
        Self {
            decided: match known {
                Known::Rule(rule) => Decided::Rule(rule),
                Known::Function(rule, number) => Decided::Function(rule, Said::Always(number)),
                Known::NoMatch => Decided::NoMatch,
                Known::MissingShadow => Decided::MissingShadow,
            },
            markers: Vec::new(),
            via: Vec::new(),
            transformed: None,
        }
    }
}

/// What a rule decided by.
#[derive(Clone, Debug, PartialEq)]
pub enum By<D> {
    /// Its match.
    Match,
    /// The answer of the host.
    Host(D),
    /// What its function said.
    Function(Said),
}

/// A transform on the way to the decision.
#[derive(Clone, Debug, PartialEq)]
pub struct Via<D> {
    /// The rule.
    pub rule: u32,
    /// What it decided by.
    pub by: By<D>,
}

/// The decision on one request. The common case allocates nothing.
#[derive(Debug)]
pub struct Outcome<R: Request> {
    /// Who decided.
    pub decided: Decided<R::Decision>,
    /// The rules skipped in error, in the order they were met, each once.
    pub markers: Vec<Marker>,
    /// The transforms that a later rule answered for, in the order they were made. The deciding rule is not among them:
    /// `matched_rules` is markers, then these, then the deciding rule.
    pub via: Vec<Via<R::Decision>>,
    /// The request with the effective arguments, when a transform was made (`decided` and `via` tell by whom).
    pub transformed: Option<Box<R>>,
}
