//! Budgets of a question, and the reasons for which one stays open.

use std::fmt;
use std::sync::Arc;

use super::theory::{GaveUp, GaveUpCode, TheoryBudget};

/// The most states of automata that one search builds, unless the caller gives another number.
pub const STATES: usize = 200_000;
/// The most nodes of decision diagrams of one tool. They take some 600 MiB; a few more would double the table that finds them.
pub const NODES: usize = 7_000_000;
/// The most assignments that one search tries.
pub const ASSIGNMENTS: usize = 20_000;
/// The most requests that one search builds beyond what it knows exactly, and asks the evaluator about.
pub(super) const GUESSES: usize = 24;

/// Returns true when the time is over, or the caller wants no more.
pub type Clock = Arc<dyn Fn() -> bool + Send + Sync>;

/// The budgets of the questions of one [`Analysis`](super::Analysis).
#[derive(Clone)]
pub struct Budget {
    /// The most states of one search of a text.
    pub states: usize,
    /// The most nodes of decision diagrams of one tool.
    pub nodes: usize,
    /// The most assignments that one search tries.
    pub assignments: usize,
    /// Returns true when the time is over.
    pub is_over: Option<Clock>,
}

impl Default for Budget {
    fn default() -> Self {
        Self {
            states: STATES,
            nodes: NODES,
            assignments: ASSIGNMENTS,
            is_over: None,
        }
    }
}

impl fmt::Debug for Budget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Budget")
            .field("states", &self.states)
            .field("nodes", &self.nodes)
            .field("assignments", &self.assignments)
            .finish_non_exhaustive()
    }
}

impl Budget {
    /// The budget of searches of texts.
    pub(super) fn theory(&self) -> TheoryBudget {
        TheoryBudget {
            states: self.states,
            is_over: self.is_over.clone(),
        }
    }

    /// Stops when the time is over.
    ///
    /// # Errors
    /// The time is over.
    pub(super) fn check(&self) -> Result<(), Stop> {
        match &self.is_over {
            Some(is_over) if is_over() => Err(Stop::Seconds),
            _ => Ok(()),
        }
    }
}

/// The reason for which a search ended early.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Stop {
    /// The budget of nodes.
    Nodes(usize),
    /// The budget of states.
    States(String),
    /// The budget of assignments.
    Assignments(usize),
    /// The time is over.
    Seconds,
    /// The caller stopped it.
    Stopped,
    /// A pattern has no automaton.
    Pattern(String),
    /// A mistake of the analysis itself.
    Internal(String),
}

impl Stop {
    /// Returns true if the whole question ends, not one search of it.
    pub(super) fn ends(&self) -> bool {
        matches!(self, Self::Seconds | Self::Stopped | Self::Internal(_))
    }
}

impl From<GaveUp> for Stop {
    fn from(reason: GaveUp) -> Self {
        match reason.code {
            GaveUpCode::States => Self::States(reason.message),
            GaveUpCode::Seconds => Self::Seconds,
            GaveUpCode::Pattern => Self::Pattern(reason.message),
        }
    }
}

/// A reason for which an answer is unknown.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Reason {
    pub(super) code: &'static str,
    pub(super) message: String,
    pub(super) policy: Option<usize>,
    pub(super) rule: Option<u32>,
    pub(super) path: Option<String>,
}

impl Reason {
    pub(super) fn new(code: &'static str, message: impl Into<String>) -> Self {
        Self {
            code,
            message: message.into(),
            policy: None,
            rule: None,
            path: None,
        }
    }

    /// The reason of a clause about `path`, a value of the state of a run.
    pub(super) fn memory(path: String) -> Self {
        Self {
            path: Some(path),
            ..Self::new("memory", "a clause reads the state of a run")
        }
    }
}

impl From<Stop> for Reason {
    fn from(stop: Stop) -> Self {
        match stop {
            Stop::Nodes(most) => Self::new(
                "budget_nodes",
                format!("the decision diagram has more than {most} nodes"),
            ),
            Stop::States(message) => Self::new("budget_states", message),
            Stop::Assignments(most) => Self::new(
                "budget_assignments",
                format!("{most} assignments were tried"),
            ),
            Stop::Seconds => Self::new("budget_seconds", "the time is over"),
            Stop::Stopped => Self::new("stopped", "the caller stopped the analysis"),
            Stop::Pattern(message) => Self::new("budget_states", message),
            Stop::Internal(message) => Self::new("internal", message),
        }
    }
}
