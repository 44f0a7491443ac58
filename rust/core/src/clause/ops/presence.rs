//! `exists`, which tests the path, not its value, and `empty`, which is true of null, too.

use super::{Facts, IndexKey, Inside, OperandType, Operator, OperatorTest, Prepare, operators};
use crate::budget::Steps;
use crate::clause::predicate::Test;
use crate::clause::prepared::PreparedConst;
use crate::error::Fault;
use crate::value::class::{Class, Classes};
use crate::value::{Value, View};

operators! {
    "exists" OperandType::Bool, Nothing, None, None, Prepare::Constant(|operand| prepared(operand, Presence::Exists));
    "empty" OperandType::Bool, Text, None, None, Prepare::Constant(|operand| prepared(operand, Presence::Empty));
}

fn prepared(operand: PreparedConst, test: impl Fn(bool) -> Presence) -> Option<Test> {
    match operand {
        PreparedConst::Bool(wanted) => Some(Test::Presence(test(wanted))),
        _ => None,
    }
}

/// A test of what is there at all.
#[derive(Debug)]
pub enum Presence {
    /// The path exists, or does not. Evaluated before the value is read: see [`crate::clause::predicate::evaluate`].
    Exists(bool),
    /// The value is null or has no characters, items or entries; or it has.
    Empty(bool),
}

impl OperatorTest for Presence {
    #[inline]
    fn eval<V: Value>(&self, value: &V, view: &View<'_>, _: &Steps) -> Result<bool, Fault> {
        let wanted = match self {
            Self::Exists(wanted) => return Ok(*wanted),
            Self::Empty(wanted) => *wanted,
        };
        let empty = match view {
            View::Null => true,
            View::Str(text) => text.is_empty(),
            View::List => value.len() == 0,
            View::Map => value.checked_len().ok_or(Fault::WrongType)? == 0,
            _ => false,
        };
        Ok(empty == wanted)
    }

    fn facts(&self) -> Facts {
        Facts {
            cost: 1,
            guard_cost: 20,
            fails: match self {
                Self::Exists(_) => Classes::default(),
                Self::Empty(_) => Classes::default().with(Class::Mapping).with(Class::Broken),
            },
        }
    }

    fn key(&self) -> IndexKey<'_> {
        match self {
            Self::Exists(false) => IndexKey::Missing,
            Self::Exists(true) | Self::Empty(_) => IndexKey::Scan,
        }
    }
}
