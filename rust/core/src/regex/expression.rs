//! The expression of a pattern: kept until automata are built from it, and parsed again when another one is needed.
//!
//! PERF: an expression takes 3.8 KiB, more than the automaton of the pattern.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use regex_syntax::hir::{Hir, Look};

use super::dialect::stack::Built;
use super::rewrite::Rewrite;
use super::{Dialect, parsed};

/// A parsed pattern.
#[derive(Debug)]
pub(super) struct Expression {
    /// The expression to search for, with the looks of the dialect that no engine has.
    pub(super) hir: Hir,
    /// The expression that an automaton searches for, if it is another one.
    rewritten: Option<Hir>,
}

impl Expression {
    /// The expression, and the use of an automaton for it.
    pub(super) fn new(hir: Hir, dialect: Dialect) -> (Self, Rewrite) {
        let (rewrite, rewritten) = Rewrite::new(&hir, dialect);
        (Self { hir, rewritten }, rewrite)
    }

    /// The expression that an automaton searches for, of a pattern for which there is one.
    pub(super) fn target(&self) -> &Hir {
        self.rewritten.as_ref().unwrap_or(&self.hir)
    }
}

/// Where in a text a pattern has to match.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Anchors {
    /// Anywhere.
    None,
    /// At the start.
    Start,
    /// At the start, and to the end.
    Whole,
}

impl Anchors {
    /// `hir`, with these anchors.
    pub(super) fn around(self, hir: Hir) -> Hir {
        let (start, end) = (Hir::look(Look::Start), Hir::look(Look::End));
        match self {
            Self::None => hir,
            Self::Start => Hir::concat(vec![start, hir]),
            Self::Whole => Hir::concat(vec![start, hir, end]),
        }
    }
}

/// The expression of a pattern, as long as it is kept.
#[derive(Debug)]
pub(super) struct Kept(Mutex<Option<Arc<Expression>>>);

impl Kept {
    pub(super) fn new(expression: Expression) -> Self {
        Self(Mutex::new(Some(Arc::new(expression))))
    }

    /// The expression of `text`, the pattern's own. INVARIANT: the text was accepted before, so there is one.
    pub(super) fn get(
        &self,
        text: &str,
        dialect: Dialect,
        anchors: Anchors,
    ) -> Option<Arc<Expression>> {
        if let Some(kept) = &*self.lock() {
            return Some(Arc::clone(kept));
        }
        let Built(hir) = parsed::<Built<false>>(text, dialect).ok()?.built;
        let (expression, _) = Expression::new(anchors.around(hir), dialect);
        Some(Arc::new(expression))
    }

    /// Drops the expression.
    pub(super) fn forget(&self) {
        *self.lock() = None;
    }

    #[cfg(test)]
    pub(super) fn is_kept(&self) -> bool {
        self.lock().is_some()
    }

    fn lock(&self) -> MutexGuard<'_, Option<Arc<Expression>>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::Anchors;
    use crate::budget::Steps;
    use crate::regex::{CacheBudget, Dialect, MatchSet, Pattern, PatternSet};

    const TEXTS: [&str; 8] = ["", "ab", "xab", "abx", "a b\n", "é ab", "aé", "ab\nab"];

    fn patterns() -> Vec<Pattern> {
        let mut all = Vec::new();
        for text in ["a.?b", r"\bab\b", "ab$", "^a", r"(?i)A[^b]|b\Z", r"a\B"] {
            let anchors = [Anchors::None, Anchors::Start, Anchors::Whole];
            let python = anchors.map(|anchors| (Dialect::Python, anchors));
            for from in python.into_iter().chain([(Dialect::Re2, Anchors::None)]) {
                all.extend(Pattern::parse_anchored(text, from, &CacheBudget::default()));
            }
        }
        assert_eq!(all.len(), 23);
        all
    }

    #[test]
    fn patterns_find_the_same_without_their_expressions() {
        let (kept, forgotten) = (patterns(), patterns());
        for pattern in &forgotten {
            pattern.forget_expression();
            assert!(!pattern.keeps_expression());
        }
        for text in TEXTS
            .map(String::from)
            .into_iter()
            .chain([format!("{}ab", "é".repeat(200))])
        {
            for (kept, forgotten) in kept.iter().zip(&forgotten) {
                let (one, other) = (kept.is_match(&text), forgotten.is_match(&text));
                assert_eq!(one, other, "{:?} in {text:?}", kept.text());
                assert_eq!(one, forgotten.is_match_plain(&text));
                assert_eq!(kept.prefixes(), forgotten.prefixes());
            }
            let found = |patterns: &[Pattern]| {
                let mut found = MatchSet::new();
                let patterns: Vec<&Pattern> = patterns.iter().collect();
                let set = PatternSet::build(&patterns);
                set.matches_within(&text, &mut found, &Steps::endless())
                    .expect("endless steps");
                found
            };
            assert_eq!(found(&kept), found(&forgotten), "{text:?}");
        }
    }
}
