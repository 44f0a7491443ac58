//! The solver for numbers and instants.

use super::{GaveUp, GaveUpCode, Solved};
use crate::num::number::Number;

/// A test of a number.
#[derive(Clone, Debug, PartialEq)]
pub enum NumberTest {
    /// Greater than the bound; `true`: or equal.
    Above(Number, bool),
    /// Less than the bound; `true`: or equal.
    Below(Number, bool),
    /// Within two bounds, both inclusive.
    Between(Number, Number),
    /// Equal to one of these.
    OneOf(Vec<Number>),
}

/// The numbers that a path can have.
#[derive(Clone, Debug, PartialEq)]
pub enum Domain {
    /// Integers within the caps and floats, infinite ones last.
    Any,
    /// Integers from the first to the last one: lengths, and instants in microseconds.
    Integers(i64, i64),
}

/// A small number with exactly these results outside of `excluded`, near a bound, an integer if one fits; or the
/// smallest set of the wanted results that contradict, by their indexes.
#[must_use]
pub fn solve(
    _wanted: &[(&NumberTest, bool)],
    _excluded: &[Number],
    _domain: &Domain,
) -> Solved<Number, usize> {
    Solved::GaveUp(GaveUp {
        code: GaveUpCode::States,
        message: "no solver of numbers".to_owned(),
    })
}
