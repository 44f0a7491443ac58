//! Traces: the results of every rule and every clause, for `explain`.

use crate::error::ErrorCode;
use crate::lang::path::Head;

/// The result of a rule, or of a part of its match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TraceOutcome {
    /// True: the rule fires.
    True,
    /// False.
    False,
    /// The path is absent.
    Absent,
    /// The value cannot be evaluated.
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

/// The trace of one rule.
#[derive(Clone, Debug)]
pub struct RuleTrace {
    /// The rule, in evaluation order.
    pub rule: u32,
    /// The result of its match; for a host rule: true when it decided, false when it abstained.
    pub outcome: TraceOutcome,
    /// The reason why it could not be evaluated.
    pub error: Option<ErrorCode>,
    /// Its match; `None` for rules not reached and rules that have none.
    pub tree: Option<TraceNode>,
    /// The trace of its function; `None` for rules not reached and for rules that are not functions.
    pub function: Option<FunctionTrace>,
}

/// The trace of a function. Statements are identified by their numbers in pre-order, those of the functions it calls
/// included.
#[derive(Clone, Debug)]
pub struct FunctionTrace {
    /// The `return` that was reached, or the statement that raised; `None` at the end of the function.
    pub at: Option<u32>,
    /// The conditions of its `if`s, in the order in which they were first evaluated.
    pub conditions: Vec<ConditionTrace>,
}

/// The condition of one `if`.
#[derive(Clone, Debug)]
pub struct ConditionTrace {
    /// The `if`.
    pub statement: u32,
    /// The last result: true, false, or in error.
    pub outcome: TraceOutcome,
    /// The number of evaluations.
    pub times: u32,
    /// The values read the last time.
    pub reads: Vec<ReadTrace>,
}

/// One value a condition read.
#[derive(Clone, Debug)]
pub struct ReadTrace {
    /// Its source.
    pub from: ReadFrom,
    /// The value as truncated JSON; `None` if it is absent.
    pub value: Option<String>,
}

/// The source of a value that a condition reads.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ReadFrom {
    /// The local in this slot.
    Local(u32),
    /// A path of the request.
    Path(Head, Vec<Box<str>>),
}

impl ReadFrom {
    /// Returns true if this is a path above `longer`.
    #[must_use]
    pub fn leads_to(&self, longer: &Self) -> bool {
        match (self, longer) {
            (Self::Path(head, keys), Self::Path(other, more)) => {
                head == other && keys.len() < more.len() && more.starts_with(keys)
            }
            _ => false,
        }
    }
}

/// A part of a match, evaluated.
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

/// One clause, evaluated.
#[derive(Clone, Debug)]
pub struct ClauseTrace {
    /// The result.
    pub outcome: TraceOutcome,
    /// Index into [`super::Program::clauses`].
    pub clause: u32,
    /// The operand as truncated JSON.
    pub operand: String,
    /// The value read, as truncated JSON; `None` if it is absent.
    pub value: Option<String>,
    /// The texts of a facet, parsed, or the code and the place that made one undecidable; `None` without a facet.
    pub parsed: Option<String>,
    /// The reason why it could not be evaluated.
    pub error: Option<ErrorCode>,
    /// The index of this leaf in the rule's match, in pre-order.
    pub index: u32,
}
