//! Hashes of keys and values. Collisions cannot be found, so that a state needs no secret, and none is in its snapshot.

use sha2::{Digest as _, Sha256};

use crate::num::number::Number;
use crate::value::memory::LeafValue;

/// Half of a SHA-256.
pub(super) type Hash = [u8; 16];

/// The SHA-256 of some bytes.
pub(super) fn sha256(parts: &[&[u8]]) -> [u8; 32] {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update(part);
    }
    hash.finalize().into()
}

pub(super) fn half(parts: &[&[u8]]) -> Hash {
    let whole = sha256(parts);
    whole.first_chunk().copied().unwrap_or_default()
}

/// The hash of the key of a call.
pub(super) fn of_key(key: &str) -> Hash {
    half(&[b"k", key.as_bytes()])
}

/// The hash of a text in lower case, of a value that is written in another way.
pub(super) fn of_lower(text: &str) -> Hash {
    half(&[b"l", text.as_bytes()])
}

/// The hash of a value: equal numbers are one value, and no number is a text.
pub(super) fn of_value(value: &LeafValue<'_>) -> Hash {
    match value {
        LeafValue::Text(text) => half(&[b"t", text.as_bytes()]),
        LeafValue::Number(Number::Int(number)) => half(&[b"i", number.to_string().as_bytes()]),
        LeafValue::Number(Number::Big(number)) => half(&[b"i", number.to_string().as_bytes()]),
        LeafValue::Number(Number::Float(number)) => {
            // A float beyond 64 bits without a fraction is an integer, too.
            if number.fract() == 0.0 {
                let whole = crate::num::bigint::truncated(*number);
                half(&[b"i", whole.to_string().as_bytes()])
            } else {
                half(&[b"f", &number.to_bits().to_le_bytes()])
            }
        }
    }
}
