//! Errors of patterns.

use std::fmt;

/// A refusal: a stable code, the range of the pattern in code points, and a message.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PatternError {
    /// Stable code, listed in `docs/reference/patterns.md`.
    pub code: &'static str,
    /// First code point concerned.
    pub start: usize,
    /// One past the last code point concerned.
    pub end: usize,
    /// The description of the error: lower case, no full stop.
    pub message: String,
}

impl PatternError {
    pub(crate) fn new(
        code: &'static str,
        start: usize,
        end: usize,
        message: impl Into<String>,
    ) -> Self {
        Self {
            code,
            start,
            end,
            message: message.into(),
        }
    }
}

impl fmt::Display for PatternError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (at {}..{})", self.message, self.start, self.end)
    }
}

impl std::error::Error for PatternError {}
