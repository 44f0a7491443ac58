//! Patterns: text in one of two dialects, judged at load, searched in linear time.
//!
//! [`Pattern::parse`] accepts exactly what it can give the dialect's own meaning, or says why not. A [`Matcher`] searches one
//! pattern, a [`PatternSet`] many at once. Automata are built when they are first used; every cap is checked by `parse`.
//!
//! ```
//! use bobcat_core::pattern::{Dialect, MatchSet, Pattern, PatternSet};
//!
//! let rm = Pattern::parse(r"\brm\s+-rf\b", Dialect::Re2)?;
//! let sudo = Pattern::parse("^sudo ", Dialect::Re2)?;
//! assert!(rm.compile().is_match("cd / && rm -rf ."));
//! let mut found = MatchSet::new();
//! PatternSet::build(&[&rm, &sudo]).matches("sudo rm -rf .", &mut found);
//! assert_eq!(found.iter().collect::<Vec<_>>(), [0, 1]);
//! # Ok::<(), bobcat_core::pattern::PatternError>(())
//! ```

mod automaton;
mod class;
mod cursor;
mod error;
mod lane;
mod literal;
mod matcher;
mod plain;
mod python;
mod python_class;
mod re2;
mod re2_class;
mod seeds;
mod set;
mod spans;
mod stack;
mod tables;

use std::sync::Arc;

use regex_syntax::hir::{Hir, HirKind, Look};

pub use crate::limits::MAX_PATTERN_CHARS;
pub use error::PatternError;
pub use literal::LiteralKind;
pub use matcher::Matcher;
pub use set::{MatchSet, PatternSet};
pub use spans::{Groups, Spans};
pub use stack::{MAX_COST, MAX_NESTING};

/// Whose meaning a pattern has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Dialect {
    /// `google-re2` with default options, on UTF-8.
    Re2,
    /// `re.search` of `CPython` 3.11 on `str`.
    Python,
}

/// A pattern that was accepted: parsed, within every cap, not yet compiled. Cloning is cheap.
#[derive(Clone, Debug)]
pub struct Pattern {
    inner: Arc<Inner>,
}

/// A pattern and what was built for it so far: shared by its copies, its matchers and the sets it is in.
#[derive(Debug)]
struct Inner {
    text: String,
    dialect: Dialect,
    /// What is searched for, with looks of the dialect that no engine has.
    hir: Hir,
    cost: usize,
    /// How many places in the pattern a search may be at, at once.
    weight: usize,
    literal: Option<LiteralKind>,
    lane: lane::Lane,
    built: matcher::Built,
}

impl Inner {
    /// What an automaton searches for, if it can.
    fn target(&self) -> Option<&Hir> {
        match &self.lane.target {
            lane::Target::Itself => Some(&self.hir),
            lane::Target::Rewritten(hir) => Some(hir),
            lane::Target::Nothing => None,
        }
    }
}

impl Pattern {
    /// The [cost](Self::cost) of `text`, when [`Pattern::parse`] accepts it. The same parser, which builds nothing: a third of
    /// the time.
    ///
    /// # Errors
    /// Those of [`Pattern::parse`].
    pub fn check(text: &str, dialect: Dialect) -> Result<usize, PatternError> {
        parsed::<()>(text, dialect).map(|piece| piece.cost)
    }

    /// Parses `text`.
    ///
    /// # Errors
    /// A [`PatternError`] when the dialect refuses the text, when its meaning cannot be kept in linear time, or at a cap.
    pub fn parse(text: &str, dialect: Dialect) -> Result<Self, PatternError> {
        let stack::Piece {
            built: hir, cost, ..
        } = parsed::<Hir>(text, dialect)?;
        let (literal, lane) = (literal::kind(&hir), lane::Lane::new(&hir, dialect));
        let built = matcher::Built::default();
        let inner = Inner {
            text: text.to_owned(),
            dialect,
            weight: weight(&hir),
            hir,
            cost,
            literal,
            lane,
            built,
        };
        Ok(Self {
            inner: Arc::new(inner),
        })
    }

    /// This pattern where it matches at the start of a text; `whole`: and to its end.
    #[must_use]
    pub fn anchored(&self, whole: bool) -> Self {
        let mut parts = vec![Hir::look(Look::Start), self.inner.hir.clone()];
        if whole {
            parts.push(Hir::look(Look::End));
        }
        let hir = Hir::concat(parts);
        let (literal, lane) = (
            literal::kind(&hir),
            lane::Lane::new(&hir, self.inner.dialect),
        );
        let inner = Inner {
            text: self.inner.text.clone(),
            dialect: self.inner.dialect,
            weight: self.inner.weight,
            hir,
            cost: self.inner.cost,
            literal,
            lane,
            built: matcher::Built::default(),
        };
        Self {
            inner: Arc::new(inner),
        }
    }

    /// The text that was parsed.
    #[must_use]
    pub fn text(&self) -> &str {
        &self.inner.text
    }

    /// The dialect it was parsed in.
    #[must_use]
    pub fn dialect(&self) -> Dialect {
        self.inner.dialect
    }

    /// The size of the pattern with its repetitions written out, at most [`MAX_COST`]; its automaton takes a few times as
    /// many bytes.
    #[must_use]
    pub fn cost(&self) -> usize {
        self.inner.cost
    }

    /// The literal test this pattern amounts to, if it is no more than that.
    #[must_use]
    pub fn literal_kind(&self) -> Option<LiteralKind> {
        self.inner.literal.clone()
    }

    /// A matcher for this pattern. Free: what it needs is built by the first search, and shared.
    #[must_use]
    pub fn compile(&self) -> Matcher {
        Matcher::new(self)
    }
}

/// The places in a pattern, its repetitions written out.
fn weight(hir: &Hir) -> usize {
    match hir.kind() {
        HirKind::Empty | HirKind::Look(_) => 0,
        HirKind::Literal(literal) => literal.0.len(),
        HirKind::Class(_) => 1,
        HirKind::Capture(capture) => weight(&capture.sub),
        HirKind::Repetition(repetition) => {
            let times = repetition.max.unwrap_or(repetition.min).max(1);
            weight(&repetition.sub).saturating_mul(times as usize)
        }
        HirKind::Concat(parts) | HirKind::Alternation(parts) => {
            let weights = parts.iter().map(weight);
            weights.fold(0, usize::saturating_add)
        }
    }
}

/// What `text` means, as far as it is built, within every cap.
fn parsed<B: stack::Build>(text: &str, dialect: Dialect) -> Result<stack::Piece<B>, PatternError> {
    if text.len() > MAX_PATTERN_CHARS {
        let chars = text.chars().count();
        if chars > MAX_PATTERN_CHARS {
            let message =
                format!("the pattern has {chars} characters, more than {MAX_PATTERN_CHARS}");
            return Err(PatternError::new("too_long", 0, chars, message));
        }
    }
    let piece = match dialect {
        Dialect::Re2 => re2::parse(text)?,
        Dialect::Python => python::parse(text)?,
    };
    if piece.cost > MAX_COST {
        let (end, message) = (text.chars().count(), "the pattern is too large");
        return Err(PatternError::new("too_large", 0, end, message));
    }
    Ok(piece)
}
