//! `starts_with`, `ends_with`: one of some texts at an end of a text.

use std::cmp::Ordering;

use super::{Facts, IndexKey, Inside, OperandType, Operator, OperatorTest, Prepare, operators};
use crate::budget::Steps;
use crate::clause::ops::reference::Relative;
use crate::clause::predicate::Test;
use crate::clause::prepared::PreparedConst;
use crate::error::Fault;
use crate::value::class::{Class, Classes};
use crate::value::{Value, View};

operators! {
    "starts_with" OperandType::Texts, Text, Some(Relative::At(End::Start)), None,
        Prepare::Constant(|operand| Affix::prepared(End::Start, operand));
    "ends_with" OperandType::Texts, Text, Some(Relative::At(End::End)), None,
        Prepare::Constant(|operand| Affix::prepared(End::End, operand));
}

/// Texts of which one must be at an end.
#[derive(Debug)]
pub struct Affix {
    end: End,
    texts: Vec<Box<str>>,
}

impl Affix {
    /// The test for `texts`, the fewest that mean the same.
    #[must_use]
    pub fn new(end: End, texts: Vec<Box<str>>) -> Self {
        let texts = end.fewest(texts);
        Self { end, texts }
    }

    fn prepared(end: End, operand: PreparedConst) -> Option<Test> {
        let items = match operand {
            PreparedConst::List(items) => items,
            operand => vec![operand],
        };
        let text = |item| match item {
            PreparedConst::Str(text) => Some(text),
            _ => None,
        };
        let texts = items.into_iter().map(text).collect::<Option<_>>()?;
        Some(Test::Affix(Self::new(end, texts)))
    }
}

impl OperatorTest for Affix {
    #[inline]
    fn eval<V: Value>(&self, _: &V, view: &View<'_>, _: &Steps) -> Result<bool, Fault> {
        match view {
            View::Str(text) => Ok(self.end.has_one(text, &self.texts)),
            _ => Err(Fault::WrongType),
        }
    }

    fn facts(&self) -> Facts {
        Facts {
            cost: 1 + self.texts.len() as u32,
            guard_cost: 2,
            fails: Classes::ALL.without(Class::String),
        }
    }

    fn key(&self) -> IndexKey<'_> {
        IndexKey::Affixes(self.end, &self.texts)
    }
}

/// Compares with the text at another path.
pub(super) fn related(end: End, left: &View<'_>, right: &View<'_>) -> Result<bool, Fault> {
    match (left, right) {
        (View::Str(text), View::Str(affix)) => Ok(end.is_at(text, affix)),
        _ => Err(Fault::WrongType),
    }
}

/// An end of a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// The start.
    Start,
    /// The end.
    End,
}

impl End {
    /// Returns true if `text` has `affix` at this end.
    #[inline]
    #[must_use]
    pub fn is_at(self, text: &str, affix: &str) -> bool {
        match self {
            Self::Start => text.starts_with(affix),
            Self::End => text.ends_with(affix),
        }
    }
}

/// So many affixes are compared one by one.
const FEW_AFFIXES: usize = 8;

impl End {
    /// The order in which a text that another one has at this end precedes it, as closely as possible.
    fn order(self, left: &str, right: &str) -> Ordering {
        match self {
            Self::Start => left.cmp(right),
            Self::End => left.bytes().rev().cmp(right.bytes().rev()),
        }
    }

    /// `affixes` in order, without those that have another one at this end.
    fn fewest(self, mut affixes: Vec<Box<str>>) -> Vec<Box<str>> {
        affixes.sort_by(|a, b| self.order(a, b));
        // INVARIANT: every text between an affix and a text that has it has it too, so it is the last one kept.
        affixes.dedup_by(|text, kept| self.is_at(text, kept));
        affixes
    }

    /// Returns true if `text` has one of `affixes` at this end. `affixes` is a result of [`Self::fewest`].
    fn has_one(self, text: &str, affixes: &[Box<str>]) -> bool {
        if affixes.len() <= FEW_AFFIXES {
            return affixes.iter().any(|affix| self.is_at(text, affix));
        }
        let after = affixes.partition_point(|affix| self.order(affix, text).is_le());
        let last = after.checked_sub(1).and_then(|at| affixes.get(at));
        last.is_some_and(|affix| self.is_at(text, affix))
    }
}
