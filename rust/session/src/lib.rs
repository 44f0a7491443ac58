//! The record of an agent's session in a file, from which each process of a hook makes the state of the session.
//!
//! A hook is a process for each tool call. `bobcat-hook` and, through `bobcat._core`, `bobcat hook` open a session, decide
//! with its state, and append the call before they answer. One process holds the session at a time, so that two calls
//! at once are decided one after the other.
//!
//! INVARIANT: a file that is not the whole record of this session is an error, never a shorter record.

#![forbid(unsafe_code)]

mod directory;
mod journal;
mod key;
pub mod lock;
pub mod private;
mod record;
mod replay;
mod request;
mod session;
mod snapshot;

pub use directory::{DIRECTORY_VARIABLE, default_directory};
pub use request::SessionRequest;
pub use session::{Result, Session};

/// The reason why a session cannot be used: one line for people.
pub type Failure = String;

/// Days after which a session that no process has written to is removed.
pub const KEPT_DAYS: u64 = 90;
/// Bytes of the record of one session.
pub const MAX_RECORD_BYTES: u64 = 256 << 20;
/// Bytes of the JSON of a result that rules can read; of a longer one only the end of its call is on record.
pub const MAX_RESULT_BYTES: usize = 1 << 20;

/// `digest` in hexadecimal digits.
fn hex(digest: &[u8]) -> String {
    digest.iter().map(|byte| format!("{byte:02x}")).collect()
}
