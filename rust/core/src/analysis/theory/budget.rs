//! Budgets of the decision procedures.

use std::fmt;
use std::sync::Arc;

/// The budgets of one question.
#[derive(Clone)]
pub struct TheoryBudget {
    /// The most states that one search builds.
    pub states: usize,
    /// Returns true when the time is over. Asked now and then; `None` is no limit.
    pub is_over: Option<Arc<dyn Fn() -> bool + Send + Sync>>,
}

impl Default for TheoryBudget {
    fn default() -> Self {
        Self {
            states: 200_000,
            is_over: None,
        }
    }
}

impl fmt::Debug for TheoryBudget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TheoryBudget")
            .field("states", &self.states)
            .finish_non_exhaustive()
    }
}

/// The reason for which there is no answer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GaveUp {
    /// The kind of reason.
    pub code: GaveUpCode,
    /// The reason for a reader.
    pub message: String,
}

impl GaveUp {
    /// The budget of states was hit.
    pub(super) fn states(most: usize) -> Self {
        Self {
            code: GaveUpCode::States,
            message: format!("more than {most} states"),
        }
    }
}

/// The kinds of reasons for which there is no answer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum GaveUpCode {
    /// The budget of states.
    States,
    /// The time is over.
    Seconds,
    /// A pattern that is not accepted.
    Pattern,
}
