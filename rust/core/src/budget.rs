//! The step budget of one decision.
//!
//! Clauses take steps for work that grows with the request: elements of lists, long texts, functions. A clause that needs
//! more than is left is in error ([`Fault::BudgetExceeded`]), and so is every later one that needs any, so that a decision
//! ends soon after. INVARIANT: the charge is a function of the policy and the request, never of time.
//!
//! PERF: nothing is charged for a clause on a scalar or a short text.

use std::cell::Cell;

use crate::error::Fault;
use crate::limits::{FREE_TEXT, MAX_DECISION_STEPS};

/// The number of bytes of a text that one step covers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u16)]
pub(crate) enum Pace {
    /// A new text is made from it.
    Make = 16,
    /// An automaton searches it.
    Search = 64,
    /// It is compared, copied or counted.
    Compare = 1024,
}

/// The steps that are left of a decision.
#[derive(Debug)]
pub struct Steps(Cell<u64>);

impl Default for Steps {
    #[inline]
    fn default() -> Self {
        Self(Cell::new(MAX_DECISION_STEPS))
    }
}

impl Steps {
    /// Takes some steps.
    ///
    /// # Errors
    /// Fewer steps are left; then the budget is empty.
    #[inline]
    pub(crate) fn take(&self, steps: u64) -> Result<(), Fault> {
        match self.0.get().checked_sub(steps) {
            Some(left) => {
                self.0.set(left);
                Ok(())
            }
            None => self.spent(),
        }
    }

    /// Takes the steps of one pass over a text.
    ///
    /// # Errors
    /// Those of [`Self::take`].
    #[inline]
    pub(crate) fn text(&self, bytes: usize, pace: Pace) -> Result<(), Fault> {
        if bytes < FREE_TEXT {
            return Ok(());
        }
        self.take(bytes as u64 / pace as u64)
    }

    /// No step is left.
    #[cold]
    pub(crate) fn spent(&self) -> Result<(), Fault> {
        self.0.set(0);
        Err(Fault::BudgetExceeded)
    }

    /// An unlimited budget.
    pub(crate) fn endless() -> Self {
        Self(Cell::new(u64::MAX))
    }

    /// The budget with the remaining steps of another one.
    pub(crate) fn of(left: u64) -> Self {
        Self(Cell::new(left))
    }

    /// Returns the number of steps left.
    #[inline]
    pub(crate) fn left(&self) -> u64 {
        self.0.get()
    }

    /// Returns the number of steps taken.
    #[must_use]
    pub fn taken(&self) -> u64 {
        MAX_DECISION_STEPS.saturating_sub(self.0.get())
    }
}
