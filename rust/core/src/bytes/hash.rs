//! A fast hash of short byte strings, for tables that are looked up while a policy is loaded or evaluated.
//!
//! Unkeyed it may be made to collide: a table that outsiders fill either keys it ([`Keyed`]) or survives collisions.

use std::hash::{BuildHasher, Hasher, RandomState};

const SEED: u64 = 0x9e37_79b9_7f4a_7c15;

const LAST: u64 = 0xe703_7ed1_a0b4_28db;

#[inline]
fn fold(a: u64, b: u64) -> u64 {
    let wide = u128::from(a) * u128::from(b);
    (wide as u64) ^ ((wide >> 64) as u64)
}

/// The hash of `bytes` under `key`.
#[inline]
pub(crate) fn hash(bytes: &[u8], key: u64) -> u64 {
    let (words, rest) = bytes.as_chunks::<8>();
    let mut state = key ^ bytes.len() as u64 ^ SEED;
    for word in words {
        state = fold(state ^ u64::from_le_bytes(*word), SEED);
    }
    fold(state ^ tail(rest), LAST)
}

/// At most seven bytes as a number; different bytes of the same length are different numbers.
#[inline]
fn tail(rest: &[u8]) -> u64 {
    match (rest.first_chunk::<4>(), rest.last_chunk::<4>(), rest) {
        (Some(first), Some(last), _) => {
            u64::from(u32::from_le_bytes(*first)) << 32 | u64::from(u32::from_le_bytes(*last))
        }
        (_, _, [first, .., last]) => {
            let middle = rest.get(rest.len() / 2).copied().unwrap_or_default();
            u64::from(*first) << 16 | u64::from(middle) << 8 | u64::from(*last)
        }
        (_, _, [only]) => u64::from(*only),
        _ => 0,
    }
}

/// Builds hashers with a secret random key.
#[derive(Clone, Debug)]
pub(crate) struct Keyed(u64);

impl Default for Keyed {
    fn default() -> Self {
        Self(RandomState::new().hash_one(SEED))
    }
}

impl BuildHasher for Keyed {
    type Hasher = KeyedHasher;

    #[inline]
    fn build_hasher(&self) -> KeyedHasher {
        KeyedHasher(self.0)
    }
}

/// The state of one hash under a [`Keyed`].
#[derive(Debug)]
pub(crate) struct KeyedHasher(u64);

impl Hasher for KeyedHasher {
    #[inline]
    fn write(&mut self, bytes: &[u8]) {
        self.0 = hash(bytes, self.0);
    }

    #[inline]
    fn write_u8(&mut self, value: u8) {
        self.write_u64(value.into());
    }

    #[inline]
    fn write_u32(&mut self, value: u32) {
        self.write_u64(value.into());
    }

    #[inline]
    fn write_u64(&mut self, value: u64) {
        self.0 = fold(self.0 ^ value, SEED);
    }

    #[inline]
    fn write_usize(&mut self, value: usize) {
        self.write_u64(value as u64);
    }

    #[inline]
    fn finish(&self) -> u64 {
        self.0
    }
}

#[cfg(test)]
mod tests {
    use super::tail;

    #[test]
    fn different_tails_of_one_length_are_different_numbers() {
        for length in 0..8_usize {
            let mut seen = std::collections::HashSet::new();
            for changed in 0..length {
                for byte in 1..=u8::MAX {
                    let mut bytes = vec![0; length];
                    bytes[changed] = byte;
                    assert!(seen.insert(tail(&bytes)), "{bytes:?}");
                }
            }
            assert!(seen.insert(tail(&vec![0; length])), "zeros");
        }
    }
}
