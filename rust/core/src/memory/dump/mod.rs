//! Snapshots: a state as bytes, bound to the definitions it is of.
//!
//! INVARIANT: the bytes may come from anywhere. What is not the snapshot of a state of these definitions is refused; a
//! changed snapshot fails its checksum. Counts are checked against the bytes that are left before anything is made.

pub(super) mod reader;
pub(super) mod writer;

use std::fmt;

use super::{Known, State, hash};
use crate::limits::MAX_STATE_BYTES;
use crate::program::Program;
use reader::In;
use writer::Out;

/// The beginning of a snapshot, with the version of its format.
const MAGIC: &[u8; 8] = b"BCSTATE\x01";

pub(super) const CHECKSUM: usize = 32;

/// Bytes are no snapshot of a state.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StateError {
    /// They are no snapshot, or a damaged one.
    Damaged,
    /// They are a snapshot of a state of other definitions.
    OtherPolicy,
    /// They are longer than [`MAX_STATE_BYTES`].
    TooLarge,
}

impl fmt::Display for StateError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Damaged => {
                f.write_str("the bytes are not a snapshot of a run's state, or a damaged one")
            }
            Self::OtherPolicy => f.write_str("the snapshot is of a policy with other definitions"),
            Self::TooLarge => write!(f, "the snapshot is longer than {MAX_STATE_BYTES} bytes"),
        }
    }
}

impl State {
    /// The state as bytes.
    #[must_use]
    pub fn dump(&self) -> Vec<u8> {
        if self.is_layered() {
            let mut whole = self.clone();
            whole.thaw();
            return whole.dump();
        }
        let mut out = Out(MAGIC.to_vec());
        out.0.extend(self.memory);
        out.front(self, Out::tracked);
        let mut calls: Vec<_> = self.calls.iter().collect();
        calls.sort_unstable_by_key(|(key, _)| **key);
        out.list(&calls, |out, (key, known)| {
            out.0.extend(**key);
            match known {
                Known::Ended => out.byte(0),
                Known::Open(open) => {
                    out.byte(1);
                    out.open(open);
                }
            }
        });
        out.list(&self.table.calls, |out, call| {
            out.text(&call.tool);
            out.text(&call.key);
        });
        out.list(&self.table.entries, |out, entry| {
            // An entry before this one, or none.
            out.unsigned(u64::from(entry.next.wrapping_add(1)));
            out.unsigned(entry.call.into());
            out.unsigned(entry.source.into());
            out.unsigned(entry.field.into());
        });
        let mut heads: Vec<_> = self.table.heads.iter().collect();
        heads.sort_unstable_by_key(|(_, head)| **head);
        out.list(&heads, |out, (value, head)| {
            out.0.extend(**value);
            out.unsigned(u64::from(**head));
        });
        out.unsigned(self.table.visible.into());
        let checksum = hash::sha256(&[&out.0]);
        out.0.extend(checksum);
        out.0
    }

    /// The state that [`State::dump`] wrote.
    ///
    /// # Errors
    /// The bytes are no snapshot of a state of the definitions of `program`.
    pub fn load(program: &Program, bytes: &[u8]) -> Result<Self, StateError> {
        if bytes.len() > MAX_STATE_BYTES {
            return Err(StateError::TooLarge);
        }
        let (body, checksum) = bytes
            .len()
            .checked_sub(CHECKSUM)
            .and_then(|at| bytes.split_at_checked(at))
            .ok_or(StateError::Damaged)?;
        if !body.starts_with(MAGIC) || hash::sha256(&[body]) != checksum {
            return Err(StateError::Damaged);
        }
        let mut state = Self::new(program, None);
        let mut bytes = In(body.get(MAGIC.len()..).unwrap_or_default());
        let memory: [u8; 32] = bytes.array().ok_or(StateError::Damaged)?;
        if memory != state.memory {
            return Err(StateError::OtherPolicy);
        }
        bytes
            .state(program, &mut state)
            .filter(|()| bytes.0.is_empty())
            .ok_or(StateError::Damaged)?;
        Ok(state)
    }
}
