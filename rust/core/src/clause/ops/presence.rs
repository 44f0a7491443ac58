//! `exists`: the one operator that tests the path, not its value.

use super::{IndexKey, Inside, OperandType, Operator, OperatorTest, Prepare};
use crate::budget::Steps;
use crate::clause::predicate::Test;
use crate::clause::prepared::PreparedConst;
use crate::error::Fault;
use crate::value::class::Class;
use crate::value::{Value, View};

pub(super) const OPERATORS: &[Operator] = &[Operator {
    name: "exists",
    operand: OperandType::Bool,
    relative: None,
    inside: Inside::Nothing,
    lynx: None,
    prepare: Prepare::Constant(|operand| match operand {
        PreparedConst::Bool(wanted) => Some(Test::Presence(Presence::Exists(wanted))),
        _ => None,
    }),
}];

/// A test of what is there at all.
#[derive(Debug)]
pub enum Presence {
    /// The path exists, or does not. Evaluated before the value is read: see [`crate::clause::predicate::judge`].
    Exists(bool),
}

impl OperatorTest for Presence {
    #[inline]
    fn eval<V: Value>(&self, _: &V, _: &View<'_>, _: &Steps) -> Result<bool, Fault> {
        match self {
            Self::Exists(wanted) => Ok(*wanted),
        }
    }

    fn cost(&self) -> u32 {
        1
    }

    fn guard_cost(&self) -> u32 {
        20
    }

    fn may_fail(&self, _: Class) -> bool {
        match self {
            Self::Exists(_) => false,
        }
    }

    fn key(&self) -> IndexKey<'_> {
        match self {
            Self::Exists(false) => IndexKey::Missing,
            Self::Exists(true) => IndexKey::Scan,
        }
    }
}
