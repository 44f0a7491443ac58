//! Exact sums: integers and floats are added without rounding, so that the order of calls does not change a sum and what
//! was added can be taken back.

use num_traits::ToPrimitive;

use super::bigint::BigInt;
use super::number::Number;

/// Most binary digits behind the point: the float of a sum is a normal one.
const MAX_SHIFT: u16 = 960;

/// The number `mantissa / 2^shift`, with the least `shift`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Exact {
    pub(crate) mantissa: i128,
    pub(crate) shift: u16,
}

impl Exact {
    pub(crate) const ONE: Self = Self {
        mantissa: 1,
        shift: 0,
    };

    /// The number of these parts; `None` with more digits behind the point than any sum has.
    pub(crate) fn new(mantissa: i128, shift: u16) -> Option<Self> {
        (shift <= MAX_SHIFT).then(|| Self { mantissa, shift }.reduced())
    }

    fn reduced(self) -> Self {
        let zeros = if self.mantissa == 0 {
            self.shift
        } else {
            (self.mantissa.trailing_zeros() as u16).min(self.shift)
        };
        Self {
            mantissa: self.mantissa >> zeros.min(127),
            shift: self.shift - zeros,
        }
    }

    /// The number of a finite float; `None` if it has too many digits.
    pub(crate) fn from_float(value: f64) -> Option<Self> {
        if value == 0.0 {
            return Some(Self::default());
        }
        let bits = value.to_bits();
        let exponent = (bits >> 52 & 0x7ff) as i32;
        let fraction = bits & ((1 << 52) - 1);
        let whole = if exponent == 0 {
            fraction
        } else {
            fraction | 1 << 52
        };
        let zeros = whole.trailing_zeros() as i32;
        let (mantissa, scale) = (i128::from(whole >> zeros), exponent.max(1) - 1075 + zeros);
        let mantissa = if value < 0.0 { -mantissa } else { mantissa };
        if scale < 0 {
            return Self::new(mantissa, u16::try_from(-scale).ok()?);
        }
        let shifted = scaled(mantissa, scale as u32)?;
        Some(Self {
            mantissa: shifted,
            shift: 0,
        })
    }

    /// The number; `None` if it has too many digits.
    pub(crate) fn from_number(number: &Number) -> Option<Self> {
        match number {
            Number::Int(value) => Some(Self {
                mantissa: i128::from(*value),
                shift: 0,
            }),
            Number::Big(value) => Some(Self {
                mantissa: value.to_i128()?,
                shift: 0,
            }),
            Number::Float(value) => value.is_finite().then(|| Self::from_float(*value))?,
        }
    }

    /// The sum; `None` if it has too many digits.
    pub(crate) fn add(self, other: Self) -> Option<Self> {
        let shift = self.shift.max(other.shift);
        let left = scaled(self.mantissa, u32::from(shift - self.shift))?;
        let right = scaled(other.mantissa, u32::from(shift - other.shift))?;
        let mantissa = left.checked_add(right)?;
        Some(Self { mantissa, shift }.reduced())
    }

    /// The difference; `None` if it has too many digits.
    pub(crate) fn sub(self, other: Self) -> Option<Self> {
        self.add(Self {
            mantissa: other.mantissa.checked_neg()?,
            ..other
        })
    }

    /// The integer, or the nearest float.
    pub(crate) fn number(self) -> Number {
        if self.shift > 0 {
            return Number::Float(self.mantissa as f64 * 2.0_f64.powi(-i32::from(self.shift)));
        }
        match i64::try_from(self.mantissa) {
            Ok(value) => Number::Int(value),
            Err(_) => Number::Big(BigInt::from(self.mantissa)),
        }
    }
}

/// `value * 2^by`.
fn scaled(value: i128, by: u32) -> Option<i128> {
    if value == 0 {
        return Some(0);
    }
    let factor = 1_i128.checked_shl(by).filter(|factor| *factor > 0)?;
    value.checked_mul(factor)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn exact(value: f64) -> Exact {
        Exact::from_float(value).expect("few digits")
    }

    #[test]
    fn sums_of_floats_are_rounded_once() {
        let mut sum = Exact::default();
        for _ in 0..10 {
            sum = sum.add(exact(0.1)).expect("few digits");
        }
        assert_eq!(sum.number(), Number::Float(1.0));
        for _ in 0..10 {
            sum = sum.sub(exact(0.1)).expect("few digits");
        }
        assert_eq!(sum, Exact::default());
    }

    #[test]
    fn every_float_is_itself() {
        for value in [1.5, -0.1, 1e30, 19.99, -1e-200, 2.0_f64.powi(100), 5e-324] {
            match Exact::from_float(value) {
                Some(found) => match found.number() {
                    Number::Float(same) => assert_eq!(same, value),
                    Number::Int(same) => assert_eq!(same as f64, value),
                    Number::Big(same) => assert_eq!(same.to_f64(), Some(value)),
                },
                None => assert!(value < 1e-280),
            }
        }
    }

    #[test]
    fn too_many_digits_have_no_sum() {
        assert_eq!(Exact::from_float(1e300), None);
        assert_eq!(Exact::from_number(&Number::Float(f64::INFINITY)), None);
        assert_eq!(exact(1e30).add(exact(1e-30)), None);
        assert_eq!(Exact::new(1, MAX_SHIFT + 1), None);
        let least = Exact::new(i128::MIN, 0).expect("an integer");
        assert_eq!(Exact::default().sub(least), None);
    }
}
