//! Patterns: text in one of two dialects, checked at load, searched in linear time.
//!
//! [`Pattern::parse`] accepts exactly the patterns to which it can give the dialect's own meaning, and returns the reason
//! otherwise. A pattern searches a text for itself, a [`PatternSet`] for many at once. Automata are built when they are first
//! used; every cap is checked by `parse`.
//!
//! ```
//! use bobcat_core::regex::{Dialect, MatchSet, Pattern, PatternSet};
//!
//! let rm = Pattern::parse(r"\brm\s+-rf\b", Dialect::Re2)?;
//! let sudo = Pattern::parse("^sudo ", Dialect::Re2)?;
//! assert!(rm.is_match("cd / && rm -rf ."));
//! let mut found = MatchSet::new();
//! PatternSet::build(&[&rm, &sudo]).matches("sudo rm -rf .", &mut found);
//! assert_eq!(found.iter().collect::<Vec<_>>(), [0, 1]);
//! # Ok::<(), bobcat_core::regex::PatternError>(())
//! ```

mod cache;
mod captures;
pub(crate) mod dialect;
mod error;
mod expression;
mod literal;
mod multi;
mod nfa;
mod nfa_compiler;
mod nfa_sim;
mod prefilter;
mod rewrite;
mod single;
#[cfg(feature = "analysis")]
pub(crate) mod states;

use std::sync::Arc;

use regex_syntax::hir::{Hir, HirKind};

pub use crate::limits::MAX_PATTERN_CHARS;
pub use cache::CacheBudget;
pub use captures::{Captures, Groups};
use dialect::stack::Built;
pub use dialect::stack::{MAX_COST, MAX_NESTING};
pub use error::PatternError;
pub(crate) use expression::Anchors;
use expression::{Expression, Kept};
pub use literal::LiteralKind;
pub use multi::{MatchSet, PatternSet};
pub(crate) use nfa_compiler::NfaCompiler;
use rewrite::Target;

/// The regular-expression syntax and semantics of a pattern.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Dialect {
    /// `google-re2` with default options, on UTF-8.
    Re2,
    /// `re.search` of `CPython` 3.11 on `str`.
    Python,
}

/// A pattern that was accepted: parsed, within every cap. Its parts are built by the first search, and shared by its clones;
/// cloning is cheap, and all threads may search the same one.
#[derive(Clone, Debug)]
pub struct Pattern {
    inner: Arc<Inner>,
}

/// A pattern and its lazily built parts: shared by its copies and its sets.
#[derive(Debug)]
struct Inner {
    text: String,
    dialect: Dialect,
    expression: Kept,
    anchors: Anchors,
    cost: usize,
    /// The number of positions in the pattern that a search may be at, at once.
    weight: usize,
    literal: Option<LiteralKind>,
    rewrite: rewrite::Rewrite,
    built: single::Built,
    /// The cache budget of the automata of the pattern alone.
    budget: CacheBudget,
}

impl Inner {
    /// The expression; see [`Kept::get`].
    fn expression(&self) -> Option<Arc<Expression>> {
        self.expression.get(&self.text, self.dialect, self.anchors)
    }

    /// The same of a pattern that an automaton can search for.
    fn searched(&self) -> Option<Arc<Expression>> {
        match self.rewrite.target {
            Target::Itself | Target::Rewritten => self.expression(),
            Target::Nothing => None,
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
    /// A [`PatternError`] when the dialect rejects the text, when its meaning cannot be kept in linear time, or at a cap.
    pub fn parse(text: &str, dialect: Dialect) -> Result<Self, PatternError> {
        Self::parse_within(text, dialect, &CacheBudget::default())
    }

    /// The same, whose automata keep their states within `budget`.
    ///
    /// # Errors
    /// Those of [`Pattern::parse`].
    pub fn parse_within(
        text: &str,
        dialect: Dialect,
        budget: &CacheBudget,
    ) -> Result<Self, PatternError> {
        Self::parse_anchored(text, (dialect, Anchors::None), budget)
    }

    /// The same with anchors around the text.
    ///
    /// # Errors
    /// Those of [`Pattern::parse`].
    pub(crate) fn parse_anchored(
        text: &str,
        (dialect, anchors): (Dialect, Anchors),
        budget: &CacheBudget,
    ) -> Result<Self, PatternError> {
        let dialect::stack::Piece {
            built: Built(hir),
            cost,
            ..
        } = parsed::<Built<false>>(text, dialect)?;
        let (weight, hir) = (weight(&hir), anchors.around(hir));
        let literal = literal::kind(&hir);
        let (expression, rewrite) = Expression::new(hir, dialect);
        let inner = Inner {
            text: text.to_owned(),
            dialect,
            anchors,
            cost,
            weight,
            literal,
            rewrite,
            expression: Kept::new(expression),
            built: single::Built::default(),
            budget: budget.clone(),
        };
        Ok(Self {
            inner: Arc::new(inner),
        })
    }

    /// Drops the expression that automata are built from: those that are usually needed are there.
    pub(crate) fn forget_expression(&self) {
        self.inner.expression.forget();
    }

    /// Returns true if it has its expression.
    #[cfg(test)]
    pub(crate) fn keeps_expression(&self) -> bool {
        self.inner.expression.is_kept()
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

    /// A text that is in every matching text; `None`: no such text of two bytes or more is known.
    #[must_use]
    pub fn needle(&self) -> Option<String> {
        let expression = self.inner.expression()?;
        let needle = std::str::from_utf8(prefilter::needle(&expression.hir)?);
        needle.ok().map(String::from)
    }

    /// Texts with one of which every matching text begins; `None`: no such texts are known.
    #[must_use]
    pub fn prefixes(&self) -> Option<Vec<String>> {
        literal::prefixes(&self.inner.expression()?.hir)
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

/// Parses `text` as far as `B` builds it, within every cap.
fn parsed<B: dialect::stack::Build>(
    text: &str,
    dialect: Dialect,
) -> Result<dialect::stack::Piece<B>, PatternError> {
    if text.len() > MAX_PATTERN_CHARS {
        let chars = text.chars().count();
        if chars > MAX_PATTERN_CHARS {
            let message =
                format!("the pattern has {chars} characters, more than {MAX_PATTERN_CHARS}");
            return Err(PatternError::new("too_long", 0, chars, message));
        }
    }
    let piece = match dialect {
        Dialect::Re2 => dialect::re2::parse(text)?,
        Dialect::Python => dialect::python::parse(text)?,
    };
    if piece.cost > MAX_COST {
        let (end, message) = (text.chars().count(), "the pattern is too large");
        return Err(PatternError::new("too_large", 0, end, message));
    }
    Ok(piece)
}
