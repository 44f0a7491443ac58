//! Big integers, as far as decisions need them: read, compare exactly, and calculate.

mod arithmetic;

use std::cmp::Ordering;
use std::fmt;

use crate::limits::MAX_INT_BITS;

/// A signed integer of any size up to [`MAX_INT_BITS`] bits. Equality and order are those of the numbers.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct BigInt {
    negative: bool,
    /// Little-endian limbs without leading zeros; zero has none, and is not negative.
    limbs: Vec<u64>,
}

impl BigInt {
    fn new(negative: bool, mut limbs: Vec<u64>) -> Self {
        while limbs.last() == Some(&0) {
            limbs.pop();
        }
        Self {
            negative: negative && !limbs.is_empty(),
            limbs,
        }
    }

    /// The integer with this sign and big-endian magnitude; `None` above the cap.
    #[must_use]
    pub fn from_be_bytes(negative: bool, magnitude: &[u8]) -> Option<Self> {
        let limbs = magnitude
            .rchunks(8)
            .map(|chunk| {
                chunk
                    .iter()
                    .fold(0_u64, |limb, &byte| (limb << 8) | u64::from(byte))
            })
            .collect();
        let value = Self::new(negative, limbs);
        (value.bits() <= MAX_INT_BITS).then_some(value)
    }

    /// The integer written as `-?[0-9]+`; `None` when `text` is not, or is above the cap.
    #[must_use]
    pub fn parse_decimal(text: &str) -> Option<Self> {
        let (negative, digits) = text
            .strip_prefix('-')
            .map_or((false, text), |rest| (true, rest));
        let digits = digits.as_bytes();
        let significant = digits
            .iter()
            .position(|&d| d != b'0')
            .map_or(&[][..], |at| digits.split_at(at).1);
        // 10^n needs more than 3.32 n bits: longer texts are above the cap without reading them.
        if digits.is_empty() || significant.len() as u64 > MAX_INT_BITS / 3 {
            return None;
        }
        let mut limbs: Vec<u64> = Vec::with_capacity(significant.len() / 19 + 1);
        for &digit in significant {
            if !digit.is_ascii_digit() {
                return None;
            }
            let mut carry = u128::from(digit - b'0');
            for limb in &mut limbs {
                let wide = u128::from(*limb) * 10 + carry;
                *limb = wide as u64;
                carry = wide >> 64;
            }
            if carry != 0 {
                limbs.push(carry as u64);
            }
        }
        let value = Self::new(negative, limbs);
        (value.bits() <= MAX_INT_BITS).then_some(value)
    }

    /// The number of bits of the magnitude.
    #[must_use]
    pub fn bits(&self) -> u64 {
        self.limbs.last().map_or(0, |top| {
            self.limbs.len() as u64 * 64 - u64::from(top.leading_zeros())
        })
    }

    /// This integer as 64 bits, when it fits.
    #[must_use]
    pub fn to_i64(&self) -> Option<i64> {
        match (self.limbs.as_slice(), self.negative) {
            ([], _) => Some(0),
            ([limb], false) => i64::try_from(*limb).ok(),
            ([limb], true) => 0_i64.checked_sub_unsigned(*limb),
            _ => None,
        }
    }

    /// The exact order against a 64-bit integer.
    #[must_use]
    pub fn cmp_i64(&self, other: i64) -> Ordering {
        self.cmp(&Self::from(other))
    }

    /// The exact order against a float; `None` for NaN.
    #[must_use]
    pub fn cmp_f64(&self, other: f64) -> Option<Ordering> {
        if other.is_nan() {
            return None;
        }
        if other.is_infinite() {
            return Some(if other > 0.0 {
                Ordering::Less
            } else {
                Ordering::Greater
            });
        }
        let floor = other.floor();
        let by_floor = self.cmp(&Self::from_integral(floor));
        // self == floor(other) < other when other has a fraction.
        Some(if by_floor == Ordering::Equal && floor < other {
            Ordering::Less
        } else {
            by_floor
        })
    }

    /// The integer of a finite float without a fraction.
    fn from_integral(value: f64) -> Self {
        let bits = value.to_bits();
        let exponent = ((bits >> 52) & 0x7ff) as i64;
        let mantissa = if exponent == 0 {
            0
        } else {
            (bits & ((1 << 52) - 1)) | (1 << 52)
        };
        let shift = exponent - 1075;
        let negative = value < 0.0;
        if shift <= 0 {
            let magnitude = if shift > -64 { mantissa >> -shift } else { 0 };
            return Self::new(negative, vec![magnitude]);
        }
        let (words, rest) = ((shift / 64) as usize, (shift % 64) as u32);
        let wide = u128::from(mantissa) << rest;
        let mut limbs = vec![0; words];
        limbs.extend([wide as u64, (wide >> 64) as u64]);
        Self::new(negative, limbs)
    }
}

impl From<i64> for BigInt {
    fn from(value: i64) -> Self {
        Self::new(value < 0, vec![value.unsigned_abs()])
    }
}

impl Ord for BigInt {
    fn cmp(&self, other: &Self) -> Ordering {
        let magnitude = || {
            self.limbs
                .len()
                .cmp(&other.limbs.len())
                .then_with(|| self.limbs.iter().rev().cmp(other.limbs.iter().rev()))
        };
        match (self.negative, other.negative) {
            (false, true) => Ordering::Greater,
            (true, false) => Ordering::Less,
            (false, false) => magnitude(),
            (true, true) => magnitude().reverse(),
        }
    }
}

impl PartialOrd for BigInt {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl fmt::Display for BigInt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        const CHUNK: u64 = 10_000_000_000_000_000_000;
        let mut limbs = self.limbs.clone();
        let mut chunks = Vec::new();
        while !limbs.is_empty() {
            let mut remainder = 0_u128;
            for limb in limbs.iter_mut().rev() {
                let wide = (remainder << 64) | u128::from(*limb);
                *limb = (wide / u128::from(CHUNK)) as u64;
                remainder = wide % u128::from(CHUNK);
            }
            chunks.push(remainder as u64);
            while limbs.last() == Some(&0) {
                limbs.pop();
            }
        }
        let mut text = chunks.pop().unwrap_or(0).to_string();
        for chunk in chunks.iter().rev() {
            text.push_str(&format!("{chunk:019}"));
        }
        f.pad_integral(!self.negative, "", &text)
    }
}

impl fmt::Debug for BigInt {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}
