//! Keys of calls: what an event before a call and the event after it have in common.

use bobcat_core::memory::State;
use sha2::{Digest as _, Sha256};

use crate::hex;

const DOMAIN: &[u8] = b"bobcat/session-call/v1\0";
const NAME_DIGITS: usize = 32;

/// The bytes that say of whom a file is, and its name without an extension.
pub(crate) fn file(domain: &[u8], parts: &[&str]) -> (Vec<u8>, String) {
    let mut identity = domain.to_vec();
    let (last, others) = parts.split_last().unwrap_or((&"", &[]));
    for part in others {
        identity.extend((part.len() as u64).to_be_bytes());
        identity.extend(part.as_bytes());
    }
    identity.extend(last.as_bytes());
    let mut name = hex(&Sha256::digest(&identity));
    name.truncate(NAME_DIGITS);
    (identity, name)
}

/// The name of the calls of a tool with these arguments, as canonical JSON, and this id of the host, if it gives one.
pub(crate) fn name(id: Option<&str>, tool: &str, args: &str) -> String {
    let mut hash = Sha256::new();
    hash.update(DOMAIN);
    for part in [id.unwrap_or_default(), tool, args] {
        hash.update((part.len() as u64).to_be_bytes());
        hash.update(part);
    }
    let mut name = hex(&hash.finalize());
    name.truncate(NAME_DIGITS);
    name
}

/// The key of the next call of this name.
pub(crate) fn next(state: &State, name: &str) -> String {
    key(name, count(state, name))
}

/// The key of the last call of this name that has not ended.
pub(crate) fn last_open(state: &State, name: &str) -> Option<String> {
    let keys = (0..count(state, name))
        .rev()
        .map(|number| key(name, number));
    keys.into_iter()
        .find(|key| state.is_open(key) == Some(true))
}

fn key(name: &str, number: u64) -> String {
    format!("{name}~{number}")
}

/// The number of calls of a name that the state knows: their keys are numbered from 0.
fn count(state: &State, name: &str) -> u64 {
    let knows = |number| state.is_open(&key(name, number)).is_some();
    let mut past = 1;
    while knows(past - 1) {
        past *= 2;
    }
    let (mut low, mut high) = (past / 2, past - 1);
    while low < high {
        let middle = low + (high - low) / 2;
        if knows(middle) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    low
}
