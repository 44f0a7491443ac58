//! Exact comparison of viewed numbers with numbers of a policy.

use std::cmp::Ordering;

use super::View;
use crate::num::number::Number;

/// The number that a view is.
pub(crate) fn number(view: &View<'_>) -> Option<Number> {
    match view {
        View::Int(value) => Some(Number::Int(*value)),
        View::BigInt(value) => Some(Number::Big(value.clone())),
        View::Float(value) => Some(Number::from_float(*value)),
        View::Null
        | View::Bool(_)
        | View::HugeInt
        | View::Str(_)
        | View::BadStr
        | View::List
        | View::Map
        | View::Timestamp(_)
        | View::Opaque => None,
    }
}

/// The order of numbers other than NaN.
pub(crate) fn order(left: &Number, right: &Number) -> Ordering {
    left.compare(right).unwrap_or(Ordering::Equal)
}

/// The order of a viewed number to `right`; `None` when the view is no number, or NaN, or above the cap.
#[inline]
#[must_use]
pub fn compare(left: &View<'_>, right: &Number) -> Option<Ordering> {
    match (left, right) {
        (View::Int(left), Number::Int(right)) => Some(left.cmp(right)),
        _ => number(left)?.compare(right),
    }
}
