//! `matches`: a pattern, searched anywhere in a text.

use super::{Facts, IndexKey, Inside, OperandType, Operator, OperatorTest, Prepare, operators};
use crate::budget::{Pace, Steps};
use crate::clause::lynx::LynxOp;
use crate::error::Fault;
use crate::regex::{LiteralKind, NfaCompiler, Pattern};
use crate::value::class::{Class, Classes};
use crate::value::{Value, View};

operators! {
    "matches" OperandType::Text, Text, None, Some(LynxOp::Matches), Prepare::Search;
}

impl OperatorTest for Pattern {
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
            cost: self.literal_kind().map_or(20, |_| 3),
            guard_cost: 2,
            fails: Classes::ALL.without(Class::String),
        }
    }

    fn key(&self) -> IndexKey<'_> {
        IndexKey::Pattern(match self.literal_kind() {
            Some(LiteralKind::Exact(text)) => Some(text),
            Some(LiteralKind::Prefix(_) | LiteralKind::Suffix(_) | LiteralKind::Contains(_))
            | None => None,
        })
    }

    fn prepare(&self, compiler: &NfaCompiler) {
        Self::prepare(self, compiler);
    }
}
