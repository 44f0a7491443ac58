//! The connectives of the four truth values, as operations on diagrams.

use super::budget::Stop;
use super::dd::{ABSENT, Dd, Diagrams, ERROR, FALSE, Operation, TRUE};

/// Connectives of the four truth values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Connect {
    /// A false item makes it false; else one in error an error; else an absent one absent.
    All,
    /// The same with a true item that makes it true.
    Any,
}

impl Operation for Connect {
    fn id(&self) -> u32 {
        *self as u32
    }

    fn known(&mut self, left: Dd, right: Dd) -> Option<Dd> {
        let (strong, weak) = match self {
            Self::All => (FALSE, TRUE),
            Self::Any => (TRUE, FALSE),
        };
        if left == strong || right == strong {
            return Some(strong);
        }
        if left == weak || left == right {
            return Some(right);
        }
        if right == weak {
            return Some(left);
        }
        match (left.value(), right.value()) {
            (Some(_), Some(_)) if left == ERROR || right == ERROR => Some(ERROR),
            (Some(_), Some(_)) => Some(ABSENT),
            _ => None,
        }
    }
}

const NOT: u32 = 2;
const RESTRICTS: u32 = 3;

impl Diagrams {
    /// The connective of two functions.
    pub(super) fn connect(&mut self, by: Connect, left: Dd, right: Dd) -> Result<Dd, Stop> {
        self.apply(&mut { by }, left, right)
    }

    /// The negation: what is neither true nor false stays.
    pub(super) fn not(&mut self, function: Dd) -> Result<Dd, Stop> {
        self.map(NOT, function, &mut |value| match Dd::terminal(value) {
            FALSE => TRUE,
            TRUE => FALSE,
            other => other,
        })
    }

    /// The function with false in the place of absent, as in rules that restrict.
    pub(super) fn absent_is_false(&mut self, function: Dd) -> Result<Dd, Stop> {
        self.map(
            RESTRICTS,
            function,
            &mut |value| match Dd::terminal(value) {
                ABSENT => FALSE,
                other => other,
            },
        )
    }
}
