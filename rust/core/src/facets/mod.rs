//! Facets: the meaning of a text argument, parsed or refused.
//!
//! Each module parses texts of one form. It accepts a text only if every program that reads it understands the same by it; any
//! other text is [`Undecidable`], and the clause that asked is in error. A facet reads no file, no name service and no
//! environment.

use std::fmt;

/// The reason why a text has no certain meaning.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Undecidable {
    /// A stable, documented code.
    pub code: &'static str,
    /// The byte offset in the text at which its meaning became uncertain.
    pub at: usize,
    /// The construct at that place, for a person.
    pub detail: String,
}

impl Undecidable {
    /// The reason `code` at the byte offset `at`.
    pub fn new(code: &'static str, at: usize, detail: impl Into<String>) -> Self {
        Self {
            code,
            at,
            detail: detail.into(),
        }
    }
}

impl fmt::Display for Undecidable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at byte {}: {}", self.code, self.at, self.detail)
    }
}

impl std::error::Error for Undecidable {}
