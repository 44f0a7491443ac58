//! Compiled `re` patterns of a function.

use std::sync::OnceLock;

use crate::regex::{Anchors, CacheBudget, Captures, Dialect, PatternError};

/// The place where a pattern must match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum How {
    Search,
    Match,
    FullMatch,
}

/// A pattern.
#[derive(Debug)]
pub(crate) struct Pattern {
    pub(crate) how: How,
    pub(crate) parsed: crate::regex::Pattern,
    /// The engine that finds its groups; `None`: there is no such engine for this pattern.
    pub(crate) captures: OnceLock<Option<Captures>>,
}

impl Pattern {
    /// Parses the pattern `text`, which includes its flags, and whose automata keep their states within `budget`.
    ///
    /// # Errors
    /// The errors of the `python` dialect.
    pub(crate) fn new(text: &str, how: How, budget: &CacheBudget) -> Result<Self, PatternError> {
        let anchors = match how {
            How::Search => Anchors::None,
            How::Match => Anchors::Start,
            How::FullMatch => Anchors::Whole,
        };
        let parse = crate::regex::Pattern::parse_anchored;
        Ok(Self {
            how,
            parsed: parse(text, (Dialect::Python, anchors), budget)?,
            captures: OnceLock::new(),
        })
    }

    /// Returns the cost of its automaton.
    pub(crate) fn cost(&self) -> usize {
        self.parsed.cost()
    }
}
