//! Arithmetic on big integers, as far as functions need it. Results may pass the cap: callers check [`BigInt::bits`].

use std::cmp::Ordering;

use super::BigInt;

impl BigInt {
    /// Returns true if the number is below zero.
    #[must_use]
    pub fn is_negative(&self) -> bool {
        self.negative
    }

    /// The integer without its sign.
    #[must_use]
    pub fn abs(&self) -> Self {
        Self::new(false, self.limbs.clone())
    }

    /// The integer with the other sign.
    #[must_use]
    pub fn negated(&self) -> Self {
        Self::new(!self.negative, self.limbs.clone())
    }

    /// The sum.
    #[must_use]
    pub fn plus(&self, other: &Self) -> Self {
        if self.negative == other.negative {
            return Self::new(self.negative, sum(&self.limbs, &other.limbs));
        }
        match magnitudes(&self.limbs, &other.limbs) {
            Ordering::Less => Self::new(other.negative, difference(&other.limbs, &self.limbs)),
            Ordering::Equal => Self::from(0),
            Ordering::Greater => Self::new(self.negative, difference(&self.limbs, &other.limbs)),
        }
    }

    /// The difference.
    #[must_use]
    pub fn minus(&self, other: &Self) -> Self {
        self.plus(&other.negated())
    }

    /// The product.
    #[must_use]
    pub fn times(&self, other: &Self) -> Self {
        let mut limbs = vec![0_u64; self.limbs.len() + other.limbs.len()];
        for (at, &left) in self.limbs.iter().enumerate() {
            let mut carry = 0_u128;
            let row = limbs.iter_mut().skip(at);
            let rights = other.limbs.iter().copied().chain(std::iter::repeat(0));
            for (limb, right) in row.zip(rights) {
                let wide = u128::from(left) * u128::from(right) + u128::from(*limb) + carry;
                *limb = wide as u64;
                carry = wide >> 64;
            }
        }
        Self::new(self.negative != other.negative, limbs)
    }

    /// The quotient, rounded down, and the rest, with the sign of the divisor; `None` when that is zero.
    #[must_use]
    pub fn divided(&self, other: &Self) -> Option<(Self, Self)> {
        let (quotient, rest) = divided(&self.limbs, &other.limbs)?;
        let quotient = Self::new(self.negative != other.negative, quotient);
        let rest = Self::new(self.negative, rest);
        if rest.limbs.is_empty() || rest.negative == other.negative {
            return Some((quotient, rest));
        }
        Some((quotient.minus(&Self::from(1)), rest.plus(other)))
    }

    /// The two's complement of at least `words` words, the sign in the last.
    fn complement(&self, words: usize) -> Vec<u64> {
        let mut limbs = self.limbs.clone();
        limbs.resize(words, 0);
        if self.negative {
            let mut carry = true;
            for limb in &mut limbs {
                let (value, more) = (!*limb).overflowing_add(u64::from(carry));
                *limb = value;
                carry = more;
            }
        }
        limbs
    }

    /// A bitwise operation, as on two's complements without end.
    #[must_use]
    pub fn bitwise(&self, other: &Self, apply: impl Fn(u64, u64) -> u64) -> Self {
        let words = self.limbs.len().max(other.limbs.len()) + 1;
        let limbs: Vec<u64> = self
            .complement(words)
            .into_iter()
            .zip(other.complement(words))
            .map(|(left, right)| apply(left, right))
            .collect();
        let negative = limbs.last().is_some_and(|limb| limb >> 63 == 1);
        if !negative {
            return Self::new(false, limbs);
        }
        let twin = Self {
            negative: true,
            limbs,
        };
        let magnitude = twin.complement(words);
        Self::new(true, magnitude)
    }

    /// This integer times a power of two.
    #[must_use]
    pub fn shifted(&self, bits: u64) -> Self {
        let (words, rest) = ((bits / 64) as usize, (bits % 64) as u32);
        let mut limbs = vec![0; words];
        let mut carry = 0_u64;
        for limb in &self.limbs {
            limbs.push((limb << rest) | carry);
            carry = limb.checked_shr(64 - rest).unwrap_or(0);
        }
        limbs.push(carry);
        Self::new(self.negative, limbs)
    }

    /// The nearest float, ties to even; `None` when it is out of range.
    #[must_use]
    pub fn to_f64(&self) -> Option<f64> {
        self.scaled(0)
    }

    /// The float nearest to this times `2^-down`; a bit of this that is set below all others may stand for more of them.
    /// `None` when it is out of the range of normal floats.
    fn scaled(&self, down: i64) -> Option<f64> {
        let bits = self.bits();
        if bits == 0 {
            return Some(0.0);
        }
        let word = |at: usize| self.limbs.get(at).copied().unwrap_or(0);
        // The top 64 bits, and whether anything is set below them.
        let (top, sticky) = if bits <= 64 {
            (word(0) << (64 - bits), false)
        } else {
            let low = bits - 64;
            let (at, rest) = ((low / 64) as usize, (low % 64) as u32);
            let top = (word(at) >> rest) | word(at + 1).checked_shl(64 - rest).unwrap_or(0);
            let below = self.limbs.iter().take(at).any(|limb| *limb != 0)
                || word(at) & ((1_u64 << rest) - 1) != 0;
            (top, below)
        };
        let mut mantissa = top >> 11;
        let rest = top & 0x7ff;
        let up = rest > 0x400 || (rest == 0x400 && (sticky || mantissa & 1 == 1));
        mantissa += u64::from(up);
        let mut exponent = bits as i64 - 1 - down;
        if mantissa >> 53 == 1 {
            mantissa >>= 1;
            exponent += 1;
        }
        if !(-1022..=1023).contains(&exponent) {
            return None;
        }
        let sign = u64::from(self.negative) << 63;
        let bits = sign | (((exponent + 1023) as u64) << 52) | (mantissa & ((1 << 52) - 1));
        Some(f64::from_bits(bits))
    }

    /// The float nearest to the quotient; `None` when it is out of the range of normal floats. The divisor is not zero.
    #[must_use]
    pub fn ratio(&self, other: &Self) -> Option<f64> {
        let shift = 66 + other.bits() as i64 - self.bits() as i64;
        let (up, down) = if shift >= 0 {
            (shift as u64, 0)
        } else {
            (0, shift.unsigned_abs())
        };
        let (left, right) = (self.abs().shifted(up), other.abs().shifted(down));
        let (quotient, rest) = left.divided(&right)?;
        // What is left sets the last bit, far below those that count.
        let quotient = if rest.bits() == 0 {
            quotient
        } else {
            quotient.bitwise(&Self::from(1), |left, right| left | right)
        };
        let quotient = Self::new(self.negative != other.negative, quotient.limbs);
        quotient.scaled(shift)
    }

    /// The integer a finite float is when what is behind the point is cut off.
    #[must_use]
    pub fn truncated(value: f64) -> Self {
        Self::from_integral(value.trunc())
    }
}

fn magnitudes(left: &[u64], right: &[u64]) -> Ordering {
    left.len()
        .cmp(&right.len())
        .then_with(|| left.iter().rev().cmp(right.iter().rev()))
}

fn sum(left: &[u64], right: &[u64]) -> Vec<u64> {
    let length = left.len().max(right.len()) + 1;
    let mut carry = 0_u128;
    let word = |limbs: &[u64], at: usize| u128::from(limbs.get(at).copied().unwrap_or(0));
    (0..length)
        .map(|at| {
            let wide = word(left, at) + word(right, at) + carry;
            carry = wide >> 64;
            wide as u64
        })
        .collect()
}

/// `left - right`, which is not below zero.
fn difference(left: &[u64], right: &[u64]) -> Vec<u64> {
    let mut borrow = false;
    left.iter()
        .enumerate()
        .map(|(at, &limb)| {
            let (value, one) = limb.overflowing_sub(right.get(at).copied().unwrap_or(0));
            let (value, two) = value.overflowing_sub(u64::from(borrow));
            borrow = one || two;
            value
        })
        .collect()
}

fn trimmed(limbs: &mut Vec<u64>) {
    while limbs.last() == Some(&0) {
        limbs.pop();
    }
}

/// Quotient and rest of magnitudes.
fn divided(left: &[u64], right: &[u64]) -> Option<(Vec<u64>, Vec<u64>)> {
    match right {
        [] => None,
        [divisor] => {
            let mut quotient = left.to_vec();
            let mut rest = 0_u128;
            for limb in quotient.iter_mut().rev() {
                let wide = (rest << 64) | u128::from(*limb);
                *limb = (wide / u128::from(*divisor)) as u64;
                rest = wide % u128::from(*divisor);
            }
            Some((quotient, vec![rest as u64]))
        }
        _ => {
            // Bit by bit: integers this large are rare, and bounded.
            let mut quotient = vec![0_u64; left.len()];
            let mut rest: Vec<u64> = Vec::with_capacity(right.len() + 1);
            for (at, limb) in left.iter().enumerate().rev() {
                for bit in (0..64).rev() {
                    let mut carry = (limb >> bit) & 1;
                    for word in &mut rest {
                        let next = *word >> 63;
                        *word = (*word << 1) | carry;
                        carry = next;
                    }
                    if carry != 0 {
                        rest.push(carry);
                    }
                    if magnitudes(&rest, right).is_ge() {
                        rest = difference(&rest, right);
                        trimmed(&mut rest);
                        if let Some(word) = quotient.get_mut(at) {
                            *word |= 1 << bit;
                        }
                    }
                }
            }
            Some((quotient, rest))
        }
    }
}
