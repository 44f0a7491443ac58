//! Traces: how every rule and every clause came out, for `explain`.

use crate::error::ErrorCode;

/// How a rule, or a part of its match, came out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TraceOutcome {
    /// True: the rule fires.
    True,
    /// False.
    False,
    /// The path is not there.
    Absent,
    /// The value cannot be judged.
    Error,
    /// A rule before this one decided.
    NotReached,
}

impl TraceOutcome {
    /// The name of the outcome.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::True => "true",
            Self::False => "false",
            Self::Absent => "absent",
            Self::Error => "error",
            Self::NotReached => "not_reached",
        }
    }
}

/// How one rule came out.
#[derive(Clone, Debug)]
pub struct RuleTrace {
    /// The rule, in evaluation order.
    pub rule: u32,
    /// How its match came out; of a host rule: true when it decided, false when it abstained.
    pub outcome: TraceOutcome,
    /// Why it could not be judged.
    pub error: Option<ErrorCode>,
    /// Its match; `None` for rules not reached and host rules.
    pub tree: Option<TraceNode>,
}

/// A part of a match, judged.
#[derive(Clone, Debug)]
pub enum TraceNode {
    /// True when every child is.
    All(TraceOutcome, Vec<TraceNode>),
    /// True when one child is.
    Any(TraceOutcome, Vec<TraceNode>),
    /// The negation of its child.
    Not(TraceOutcome, Box<TraceNode>),
    /// One clause.
    Leaf(ClauseTrace),
}

/// One clause, judged.
#[derive(Clone, Debug)]
pub struct ClauseTrace {
    /// How it came out.
    pub outcome: TraceOutcome,
    /// Index into [`super::Program::clauses`].
    pub clause: u32,
    /// The operand as JSON, cut.
    pub operand: String,
    /// The value read, as JSON, cut; `None` when there is none.
    pub value: Option<String>,
    /// Why it could not be judged.
    pub error: Option<ErrorCode>,
    /// Which leaf of the rule's match this is, in pre-order.
    pub index: u32,
}
