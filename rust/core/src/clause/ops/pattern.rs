//! `matches`: a pattern, searched anywhere in a text.

use super::{IndexKey, Inside, OperandType, Operator, OperatorTest, Prepare};
use crate::budget::{Pace, Steps};
use crate::clause::lynx::LynxOp;
use crate::error::Fault;
use crate::regex::{LiteralKind, Matcher, Pattern};
use crate::value::class::Class;
use crate::value::{Value, View};

pub(super) const OPERATORS: &[Operator] = &[Operator {
    name: "matches",
    operand: OperandType::Text,
    relative: None,
    inside: Inside::Text,
    lynx: Some(LynxOp::Matches),
    prepare: Prepare::Search,
}];

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

    fn cost(&self) -> u32 {
        match self.pattern.literal_kind() {
            Some(_) => 3,
            None => 20,
        }
    }

    fn guard_cost(&self) -> u32 {
        2
    }

    fn may_fail(&self, class: Class) -> bool {
        class != Class::String
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
