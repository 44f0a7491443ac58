//! The solver for numbers and instants.
//!
//! The tests divide the numbers at their constants. A value is one of them, or lies between two neighbours: the nearest
//! integer there, or the nearest float.

use std::cmp::Ordering;

use super::Solved;
use crate::limits::MAX_INT_BITS;
use crate::num::bigint::{BigInt, Signed, to_f64, truncated};
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

impl NumberTest {
    /// Returns true if a number passes. NaN passes nothing.
    #[must_use]
    pub fn passes(&self, value: &Number) -> bool {
        let order = |bound: &Number| value.compare(bound);
        match self {
            Self::Above(bound, inclusive) => match order(bound) {
                Some(Ordering::Greater) => true,
                Some(Ordering::Equal) => *inclusive,
                Some(Ordering::Less) | None => false,
            },
            Self::Below(bound, inclusive) => match order(bound) {
                Some(Ordering::Less) => true,
                Some(Ordering::Equal) => *inclusive,
                Some(Ordering::Greater) | None => false,
            },
            Self::Between(least, most) => {
                order(least).is_some_and(Ordering::is_ge)
                    && order(most).is_some_and(Ordering::is_le)
            }
            Self::OneOf(values) => values
                .iter()
                .any(|other| order(other) == Some(Ordering::Equal)),
        }
    }
}

/// The numbers that a path can have.
#[derive(Clone, Debug, PartialEq)]
pub enum Domain {
    /// Integers within the caps, and floats, infinite ones last.
    Any,
    /// Integers from the first to the last one: lengths, and instants in microseconds.
    Integers(i64, i64),
}

/// A small number with exactly these results outside of `excluded`, near a bound, an integer if one fits; or as few of the
/// wanted results as were found that contradict, by their indexes. The excluded numbers count with every conflict.
#[must_use]
pub fn solve(
    wanted: &[(&NumberTest, bool)],
    excluded: &[Number],
    domain: &Domain,
) -> Solved<Number, usize> {
    let bounds = Bounds::new(wanted);
    if let Some(value) = find(wanted, &bounds.relevant, excluded, domain) {
        return Solved::Value(value);
    }
    let mut conflict = bounds.opposed().unwrap_or(bounds.relevant);
    for place in (0..conflict.len()).rev() {
        let mut fewer = conflict.clone();
        fewer.remove(place);
        if find(wanted, &fewer, excluded, domain).is_none() {
            conflict = fewer;
        }
    }
    Solved::Conflict(conflict)
}

/// A bound: the number, whether it is within, and the wanted result that asks for it.
type Bound<'n> = (&'n Number, bool, usize);

/// The tightest bounds of wanted results.
struct Bounds<'n> {
    low: Option<Bound<'n>>,
    high: Option<Bound<'n>>,
    /// The results of the bounds, and those that are more than bounds, ascending.
    relevant: Vec<usize>,
}

impl<'n> Bounds<'n> {
    fn new(wanted: &[(&'n NumberTest, bool)]) -> Self {
        let (mut low, mut high) = (None, None);
        let mut relevant = Vec::new();
        for (at, (test, result)) in wanted.iter().enumerate() {
            match (test, result) {
                (NumberTest::Above(bound, inclusive), true) => {
                    tighten(&mut low, (bound, *inclusive, at), Ordering::Greater);
                }
                (NumberTest::Below(bound, inclusive), false) => {
                    tighten(&mut low, (bound, !inclusive, at), Ordering::Greater);
                }
                (NumberTest::Below(bound, inclusive), true) => {
                    tighten(&mut high, (bound, *inclusive, at), Ordering::Less);
                }
                (NumberTest::Above(bound, inclusive), false) => {
                    tighten(&mut high, (bound, !inclusive, at), Ordering::Less);
                }
                (NumberTest::Between(least, most), true) => {
                    tighten(&mut low, (least, true, at), Ordering::Greater);
                    tighten(&mut high, (most, true, at), Ordering::Less);
                }
                (NumberTest::Between(..), false) | (NumberTest::OneOf(_), _) => relevant.push(at),
            }
        }
        relevant.extend(low.iter().chain(&high).map(|(_, _, at)| *at));
        relevant.sort_unstable();
        relevant.dedup();
        Self {
            low,
            high,
            relevant,
        }
    }

    /// The results of the bounds, if no number is between them.
    fn opposed(&self) -> Option<Vec<usize>> {
        let ((low, from, first), (high, to, second)) = (self.low?, self.high?);
        let apart = match low.compare(high) {
            Some(Ordering::Less) => false,
            Some(Ordering::Equal) => !(from && to),
            Some(Ordering::Greater) | None => true,
        };
        let mut places = vec![first.min(second), first.max(second)];
        places.dedup();
        apart.then_some(places)
    }

    fn admits(&self, value: &Number) -> bool {
        let low = self
            .low
            .is_none_or(|(low, inclusive, _)| match value.compare(low) {
                Some(Ordering::Greater) => true,
                Some(Ordering::Equal) => inclusive,
                Some(Ordering::Less) | None => false,
            });
        low && self
            .high
            .is_none_or(|(high, inclusive, _)| match value.compare(high) {
                Some(Ordering::Less) => true,
                Some(Ordering::Equal) => inclusive,
                Some(Ordering::Greater) | None => false,
            })
    }
}

fn tighten<'n>(known: &mut Option<Bound<'n>>, bound: Bound<'n>, tighter: Ordering) {
    let better = match known {
        None => true,
        Some((number, inclusive, _)) => match bound.0.compare(number) {
            Some(Ordering::Equal) => *inclusive && !bound.1,
            order => order == Some(tighter),
        },
    };
    if better {
        *known = Some(bound);
    }
}

/// The best number with some of the results.
fn find(
    wanted: &[(&NumberTest, bool)],
    places: &[usize],
    excluded: &[Number],
    domain: &Domain,
) -> Option<Number> {
    let kept: Vec<(&NumberTest, bool)> = places
        .iter()
        .filter_map(|at| wanted.get(*at).copied())
        .collect();
    let bounds = Bounds::new(&kept);
    // Of the results that are bounds only the tightest count.
    let more: Vec<(&NumberTest, bool)> = bounds
        .relevant
        .iter()
        .filter_map(|at| kept.get(*at).copied())
        .collect();
    let mut constants: Vec<Number> = Vec::new();
    for (test, _) in &more {
        match test {
            NumberTest::Above(bound, _) | NumberTest::Below(bound, _) => {
                constants.push(bound.clone());
            }
            NumberTest::Between(least, most) => constants.extend([least.clone(), most.clone()]),
            NumberTest::OneOf(values) => constants.extend_from_slice(values),
        }
    }
    constants.extend_from_slice(excluded);
    if let Domain::Integers(first, last) = domain {
        constants.extend([Number::Int(*first), Number::Int(*last)]);
    }
    constants.retain(|value| !matches!(value, Number::Float(value) if !value.is_finite()));
    constants.sort_by(|left, right| left.compare(right).unwrap_or(Ordering::Equal));
    constants.dedup_by(|left, right| left.compare(right) == Some(Ordering::Equal));

    let mut candidates = vec![Number::Int(1), Number::Int(0)];
    let mut below = None;
    for constant in &constants {
        candidates.extend(between(below, Some(constant)));
        candidates.push(constant.clone());
        below = Some(constant);
    }
    candidates.extend(between(below, None));
    candidates.extend([f64::INFINITY, f64::NEG_INFINITY].map(Number::Float));
    candidates.retain(|value| bounds.admits(value) && is_in(domain, value));
    candidates.sort_by(preference);
    candidates.into_iter().find(|value| {
        more.iter()
            .all(|(test, result)| test.passes(value) == *result)
            && !excluded
                .iter()
                .any(|other| value.compare(other) == Some(Ordering::Equal))
    })
}

fn is_in(domain: &Domain, value: &Number) -> bool {
    match (domain, value) {
        (Domain::Any, Number::Big(value)) => value.bits() <= MAX_INT_BITS,
        (Domain::Any, Number::Int(_)) => true,
        (Domain::Any, Number::Float(value)) => !value.is_nan(),
        (Domain::Integers(first, last), Number::Int(value)) => (first..=last).contains(&value),
        (Domain::Integers(..), Number::Big(_) | Number::Float(_)) => false,
    }
}

/// Integers precede fractions, small numbers large ones, positive ones negative ones.
fn preference(left: &Number, right: &Number) -> Ordering {
    let fraction = |value: &Number| matches!(value, Number::Float(value) if value.fract() != 0.0);
    let infinite = |value: &Number| matches!(value, Number::Float(value) if value.is_infinite());
    let negative = |value: &Number| value.compare(&Number::Int(0)) == Some(Ordering::Less);
    let by_size = size(left).compare(&size(right)).unwrap_or(Ordering::Equal);
    // One is more of a number than zero.
    let zero = |value: &Number| value.compare(&Number::Int(0)) == Some(Ordering::Equal);
    let one = |value: &Number| value.compare(&Number::Int(1)) == Some(Ordering::Equal);
    let by_size = match (zero(left) && one(right), one(left) && zero(right)) {
        (true, _) => Ordering::Greater,
        (_, true) => Ordering::Less,
        (false, false) => by_size,
    };
    infinite(left)
        .cmp(&infinite(right))
        .then(fraction(left).cmp(&fraction(right)))
        .then(by_size)
        .then(negative(left).cmp(&negative(right)))
}

fn size(value: &Number) -> Number {
    match value {
        Number::Int(value) => value
            .checked_abs()
            .map_or_else(|| Number::Big(BigInt::from(*value).abs()), Number::Int),
        Number::Big(value) => Number::Big(value.abs()),
        Number::Float(value) => Number::Float(value.abs()),
    }
}

/// The greatest integer that is not above a finite number, and whether it is the number.
fn floor(value: &Number) -> (BigInt, bool) {
    match value {
        Number::Int(value) => (BigInt::from(*value), true),
        Number::Big(value) => (value.clone(), true),
        Number::Float(value) => (truncated(value.floor()), value.fract() == 0.0),
    }
}

fn integer(value: BigInt) -> Number {
    match i64::try_from(&value) {
        Ok(value) => Number::Int(value),
        Err(_) => Number::Big(value),
    }
}

/// Numbers between two neighbours: an integer near a bound, else a float with few digits.
fn between(low: Option<&Number>, high: Option<&Number>) -> Vec<Number> {
    let within = |value: &Number| {
        low.is_none_or(|low| value.compare(low) == Some(Ordering::Greater))
            && high.is_none_or(|high| value.compare(high) == Some(Ordering::Less))
    };
    let mut found = Vec::new();
    if let Some(low) = low {
        found.push(integer(floor(low).0 + 1));
    }
    if let Some(high) = high {
        let (floor, exact) = floor(high);
        found.push(integer(if exact { floor - 1 } else { floor }));
    }
    found.retain(within);
    if found.is_empty()
        && let (Some(low), Some(high)) = (low, high)
    {
        let (low, high) = (nearest(low), nearest(high));
        let middle = low + (high - low) / 2.0;
        let rounded = (1..=17).filter_map(|digits| format!("{middle:.digits$}").parse().ok());
        let near = [middle, low.next_up(), low.next_down(), low];
        let mut floats = rounded.chain(near).map(Number::from_float);
        found.extend(floats.find(within));
    }
    found
}

/// The float nearest to a number.
fn nearest(value: &Number) -> f64 {
    match value {
        Number::Int(value) => *value as f64,
        Number::Big(value) => to_f64(value).unwrap_or(f64::MAX),
        Number::Float(value) => *value,
    }
}
