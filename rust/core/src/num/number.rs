//! Numbers of a policy, and their exact comparison with numbers of a request.

use std::cmp::Ordering;

use super::bigint::{BigInt, compare_float};

/// A number. An integral float is held as the integer it is; NaN, in the `lynx` profile only, compares with nothing.
#[derive(Clone, Debug, PartialEq)]
pub enum Number {
    /// An integer of at most 64 bits.
    Int(i64),
    /// A larger integer.
    Big(BigInt),
    /// A float with a fraction, or infinite, or integral beyond 64 bits.
    Float(f64),
}

impl Number {
    /// The number of a float.
    #[must_use]
    pub fn from_float(value: f64) -> Self {
        integral(value).map_or(Self::Float(value), Self::Int)
    }

    /// The exact order; `None` with NaN.
    #[must_use]
    pub fn compare(&self, other: &Self) -> Option<Ordering> {
        match (self, other) {
            (Self::Int(left), Self::Int(right)) => Some(left.cmp(right)),
            (Self::Int(left), Self::Big(right)) => Some(BigInt::from(*left).cmp(right)),
            (Self::Int(left), Self::Float(right)) => compare_int_float(*left, *right),
            (Self::Big(left), Self::Int(right)) => Some(left.cmp(&BigInt::from(*right))),
            (Self::Big(left), Self::Big(right)) => Some(left.cmp(right)),
            (Self::Big(left), Self::Float(right)) => compare_float(left, *right),
            (Self::Float(left), Self::Float(right)) => left.partial_cmp(right),
            (Self::Float(_), Self::Int(_) | Self::Big(_)) => {
                other.compare(self).map(Ordering::reverse)
            }
        }
    }
}

/// The 64-bit integer a float is, if it is one.
#[must_use]
pub fn integral(value: f64) -> Option<i64> {
    // 2^63 is the first float above every i64; the cast of a float within is exact when it has no fraction.
    const TOP: f64 = 9_223_372_036_854_775_808.0;
    ((-TOP..TOP).contains(&value) && value.fract() == 0.0).then_some(value as i64)
}

/// The order of an integer to a float; `None` for NaN.
#[must_use]
pub fn compare_int_float(left: i64, right: f64) -> Option<Ordering> {
    const TOP: f64 = 9_223_372_036_854_775_808.0;
    if right.is_nan() {
        return None;
    }
    if right >= TOP {
        return Some(Ordering::Less);
    }
    if right < -TOP {
        return Some(Ordering::Greater);
    }
    let floor = right.floor();
    Some(left.cmp(&(floor as i64)).then(if floor < right {
        Ordering::Less
    } else {
        Ordering::Equal
    }))
}
