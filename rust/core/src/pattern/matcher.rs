//! One pattern, searched alone.

use regex_automata::meta::Regex;

use super::{LiteralKind, Pattern};

/// Searches one pattern in a text, anywhere. Safe to use from many threads.
#[derive(Debug)]
pub struct Matcher {
    literal: Option<LiteralKind>,
    regex: Option<Regex>,
}

impl Matcher {
    pub(super) fn new(pattern: &Pattern) -> Self {
        let regex = Regex::builder().build_from_hir(&pattern.hir).ok();
        Self { literal: pattern.literal_kind(), regex }
    }

    /// Whether the pattern is found in `text`.
    #[must_use]
    pub fn is_match(&self, text: &str) -> bool {
        match (&self.literal, &self.regex) {
            (Some(literal), _) => literal.is_match(text),
            (None, Some(regex)) => regex.is_match(text),
            (None, None) => false,
        }
    }
}
