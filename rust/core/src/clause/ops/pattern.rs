//! `matches`: a pattern, searched anywhere in a text.

use super::{Facts, IndexKey, Inside, OperandType, Operator, OperatorTest, Prepare, operators};
use crate::budget::{Pace, Steps};
use crate::clause::lynx::LynxOp;
use crate::error::Fault;
use crate::regex::{LiteralKind, Matcher, Pattern};
use crate::value::class::{Class, Classes};
use crate::value::{Value, View};

operators! {
    "matches" OperandType::Text, Text, None, Some(LynxOp::Matches), Prepare::Search;
}

/// A pattern, and what searches it.
#[derive(Debug)]
pub struct Search {
    /// The pattern.
    pub pattern: Pattern,
    matcher: Matcher,
}

impl Search {
    /// The search for `pattern`.
    #[must_use]
    pub fn new(pattern: Pattern) -> Self {
        let matcher = pattern.compile();
        Self { pattern, matcher }
    }

    /// Returns true if the pattern is found in `text`.
    #[inline]
    #[must_use]
    pub fn is_match(&self, text: &str) -> bool {
        self.matcher.is_match(text)
    }

    /// The same, within what is left of a budget.
    #[inline]
    pub(crate) fn is_match_within(&self, text: &str, steps: &Steps) -> Result<bool, Fault> {
        self.matcher.is_match_within(text, steps)
    }
}

impl OperatorTest for Search {
    const PACE: Pace = Pace::Search;

    #[inline]
    fn eval<V: Value>(&self, _: &V, view: &View<'_>, steps: &Steps) -> Result<bool, Fault> {
        match view {
            View::Str(text) => self.is_match_within(text, steps),
            _ => Err(Fault::WrongType),
        }
    }

    fn facts(&self) -> Facts {
        Facts {
            cost: self.pattern.literal_kind().map_or(20, |_| 3),
            guard_cost: 2,
            fails: Classes::ALL.without(Class::String),
        }
    }

    fn key(&self) -> IndexKey<'_> {
        IndexKey::Pattern(match self.pattern.literal_kind() {
            Some(LiteralKind::Exact(text)) => Some(text),
            Some(LiteralKind::Prefix(_) | LiteralKind::Suffix(_) | LiteralKind::Contains(_))
            | None => None,
        })
    }

    fn prepare(&self) {
        self.matcher.prepare();
    }
}
