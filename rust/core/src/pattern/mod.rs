//! Patterns: text in one of two dialects, judged at load, searched in linear time.
//!
//! [`Pattern::parse`] accepts exactly what it can give the dialect's own meaning, or says why not. A [`Matcher`] searches one
//! pattern, a [`PatternSet`] many at once. Automata are built when they are first used; every cap is checked by `parse`.

mod error;
mod literal;
mod matcher;
mod set;

pub use error::PatternError;
pub use literal::LiteralKind;
pub use matcher::Matcher;
pub use set::{MatchSet, PatternSet};

use regex_syntax::hir::Hir;

/// Longest pattern, in code points.
pub const MAX_PATTERN_CHARS: usize = 1_000;

/// Whose meaning a pattern has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Dialect {
    /// `google-re2` with default options, on UTF-8.
    Re2,
    /// `re.search` of `CPython` 3.11 on `str`.
    Python,
}

/// A pattern that was accepted: parsed, within every cap, not yet compiled.
#[derive(Clone, Debug)]
pub struct Pattern {
    text: String,
    dialect: Dialect,
    hir: Hir,
}

impl Pattern {
    /// Parses `text`.
    ///
    /// # Errors
    /// A [`PatternError`] when the dialect refuses the text, when its meaning cannot be kept in linear time, or at a cap.
    pub fn parse(text: &str, dialect: Dialect) -> Result<Self, PatternError> {
        let chars = text.chars().count();
        if chars > MAX_PATTERN_CHARS {
            let message = format!("the pattern has {chars} characters, more than {MAX_PATTERN_CHARS}");
            return Err(PatternError::new("too_long", 0, chars, message));
        }
        let hir = regex_syntax::parse(text).map_err(|error| PatternError::new("syntax", 0, chars, error.to_string()))?;
        Ok(Self { text: text.to_owned(), dialect, hir })
    }

    /// The text that was parsed.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.text
    }

    /// The dialect it was parsed in.
    #[must_use]
    pub fn dialect(&self) -> Dialect {
        self.dialect
    }

    /// The literal test this pattern amounts to, if it is no more than that.
    #[must_use]
    pub fn literal_kind(&self) -> Option<LiteralKind> {
        literal::kind(&self.hir)
    }

    /// A matcher of its own for this pattern. Cheap: the automaton is built by the first search.
    #[must_use]
    pub fn compile(&self) -> Matcher {
        Matcher::new(self)
    }
}
