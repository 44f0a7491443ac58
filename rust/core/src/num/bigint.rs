//! Big integers, as far as decisions need more of them than the crates of `num` have. Results may pass the cap of
//! [`MAX_INT_BITS`] bits: callers check [`BigInt::bits`].

use std::cmp::Ordering;

pub use num_bigint::BigInt;
use num_bigint::Sign;
use num_integer::Integer;
pub use num_traits::Signed;
use num_traits::{FromPrimitive, ToPrimitive};

use crate::limits::MAX_INT_BITS;

/// The integer written as `-?[0-9]+`; `None` when `text` is not, or is above the cap.
#[must_use]
pub fn parse_decimal(text: &str) -> Option<BigInt> {
    let digits = text.strip_prefix('-').unwrap_or(text);
    // 10^n needs more than 3.32 n bits: longer texts are above the cap without reading them.
    let significant = digits.trim_start_matches('0').len() as u64;
    let sound = digits.bytes().all(|digit| digit.is_ascii_digit());
    if significant > MAX_INT_BITS / 3 || !sound {
        return None;
    }
    let value: BigInt = text.parse().ok()?;
    (value.bits() <= MAX_INT_BITS).then_some(value)
}

/// The integer as 64 bits, when it fits.
#[must_use]
pub fn to_i64(value: &BigInt) -> Option<i64> {
    value.to_i64()
}

/// The exact order of an integer to a float; `None` for NaN.
#[must_use]
pub fn compare_float(left: &BigInt, right: f64) -> Option<Ordering> {
    if !right.is_finite() {
        return 0.0.partial_cmp(&right);
    }
    // left == floor(right) < right when right has a fraction.
    let floor = right.floor();
    let by_floor = left.cmp(&truncated(floor));
    Some(by_floor.then(floor.partial_cmp(&right)?))
}

/// The integer part of a finite float.
#[must_use]
pub fn truncated(value: f64) -> BigInt {
    BigInt::from_f64(value).unwrap_or_default()
}

/// The quotient, rounded down, and the rest, with the sign of the divisor; `None` when that is zero.
#[must_use]
pub fn divided(left: &BigInt, right: &BigInt) -> Option<(BigInt, BigInt)> {
    (right.sign() != Sign::NoSign).then(|| left.div_mod_floor(right))
}

/// The nearest float, ties to even; `None` when it is out of range.
#[must_use]
pub fn to_f64(value: &BigInt) -> Option<f64> {
    value.to_f64().filter(|value| value.is_finite())
}

/// The float nearest to the quotient; `None` when it is out of the range of normal floats, or the divisor is zero.
#[must_use]
pub fn ratio(left: &BigInt, right: &BigInt) -> Option<f64> {
    let shift = 66 + right.bits() as i64 - left.bits() as i64;
    let top = left.magnitude() << shift.max(0);
    let bottom = right.magnitude() << (-shift).max(0);
    if right.sign() == Sign::NoSign || left.sign() == Sign::NoSign {
        return (right.sign() != Sign::NoSign).then_some(0.0);
    }
    let (mut quotient, rest) = top.div_rem(&bottom);
    // The remainder sets the last bit, far below the significant ones.
    if rest.bits() > 0 {
        quotient.set_bit(0, true);
    }
    let nearest = to_f64(&BigInt::from_biguint(left.sign() * right.sign(), quotient))?;
    // The exponent takes the shift, without another rounding.
    let exponent = ((nearest.to_bits() >> 52) & 0x7ff) as i64 - shift;
    (1..=2046)
        .contains(&exponent)
        .then(|| f64::from_bits(nearest.to_bits().wrapping_sub((shift as u64) << 52)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn floats_compare_exactly_with_integers_beyond_64_bits() {
        let big = BigInt::from(1) << 100;
        let float = 2.0_f64.powi(100);
        assert_eq!(compare_float(&big, float), Some(Ordering::Equal));
        assert_eq!(compare_float(&(&big + 1), float), Some(Ordering::Greater));
        assert_eq!(compare_float(&BigInt::from(-3), -2.5), Some(Ordering::Less));
        assert_eq!(compare_float(&BigInt::from(2), 2.5), Some(Ordering::Less));
        assert_eq!(
            compare_float(&big, f64::NEG_INFINITY),
            Some(Ordering::Greater)
        );
        assert_eq!(compare_float(&big, f64::NAN), None);
    }

    #[test]
    fn quotients_are_rounded_once() {
        let value = |text: &str| text.parse::<BigInt>().expect("digits");
        assert_eq!(ratio(&value("-1"), &value("3")), Some(-1.0 / 3.0));
        // 2^53 + 1 lies between two floats: the following digits decide.
        let tie = value("9007199254740993");
        assert_eq!(ratio(&tie, &value("1")), Some(9_007_199_254_740_992.0));
        let above = &tie * 1_000_000 + 1;
        assert_eq!(
            ratio(&above, &value("1000000")),
            Some(9_007_199_254_740_994.0)
        );
        assert_eq!(ratio(&(BigInt::from(1) << 1_024), &value("1")), None);
        assert_eq!(ratio(&value("1"), &(BigInt::from(1) << 1_023)), None);
        assert_eq!(ratio(&value("1"), &value("0")), None);
    }
}
