//! `eq`: equality of scalars, of bools, and of lists and mappings as a whole.

use super::{Facts, IndexKey, Inside, OperandType, Operator, OperatorTest, Prepare, operators};
use crate::budget::Steps;
use crate::clause::inline::InlineTest;
use crate::clause::lynx::LynxOp;
use crate::clause::ops::reference::{Relative, equal, single};
use crate::clause::predicate::Test;
use crate::clause::prepared::{PreparedConst, deep_equal, scalar_equal};
use crate::error::Fault;
use crate::num::number::Number;
use crate::value::class::{Class, Classes};
use crate::value::{Value, View};

operators! {
    "eq" OperandType::Any, Count, Some(Relative::Equal), Some(LynxOp::Eq), Prepare::Constant(|operand| Some(match operand {
        PreparedConst::List(_) | PreparedConst::Map(_) => Test::EqualDeep(Deep(operand)),
        PreparedConst::Bool(wanted) => Test::EqualBool(Flag(wanted)),
        operand => Test::Equal(Scalar(operand)),
    }));
}

/// A scalar that is no bool.
#[derive(Debug)]
pub struct Scalar(pub PreparedConst);

impl OperatorTest for Scalar {
    #[inline]
    fn eval<V: Value>(&self, _: &V, view: &View<'_>, _: &Steps) -> Result<bool, Fault> {
        match view {
            View::List | View::Map => Err(Fault::WrongType),
            view => Ok(scalar_equal(view, &self.0)),
        }
    }

    fn facts(&self) -> Facts {
        Facts {
            cost: 1,
            guard_cost: 0,
            fails: Classes::SHAPES,
        }
    }

    fn key(&self) -> IndexKey<'_> {
        match &self.0 {
            PreparedConst::Str(text) => IndexKey::Scalars(std::slice::from_ref(text), &[]),
            PreparedConst::Number(Number::Int(number)) => {
                IndexKey::Scalars(&[], std::slice::from_ref(number))
            }
            _ => IndexKey::Scan,
        }
    }

    fn inline(&self) -> InlineTest {
        InlineTest::equal(&self.0)
    }
}

/// A bool.
#[derive(Debug)]
pub struct Flag(pub bool);

impl OperatorTest for Flag {
    #[inline]
    fn eval<V: Value>(&self, _: &V, view: &View<'_>, _: &Steps) -> Result<bool, Fault> {
        match view {
            View::Bool(value) => Ok(*value == self.0),
            View::Null => Ok(false),
            // What a tool takes for true may be `1` or `"yes"`.
            _ => Err(Fault::WrongType),
        }
    }

    fn facts(&self) -> Facts {
        Facts {
            cost: 1,
            // One value of two passes.
            guard_cost: 8,
            fails: Classes::ALL.without(Class::Bool).without(Class::Null),
        }
    }

    fn inline(&self) -> InlineTest {
        InlineTest::Flag(self.0)
    }
}

/// A list or a mapping.
#[derive(Debug)]
pub struct Deep(PreparedConst);

impl OperatorTest for Deep {
    #[inline]
    fn eval<V: Value>(&self, value: &V, view: &View<'_>, steps: &Steps) -> Result<bool, Fault> {
        match view {
            View::List | View::Map => deep_equal(value, &self.0, steps),
            View::Null => Ok(false),
            _ => Err(Fault::WrongType),
        }
    }

    fn facts(&self) -> Facts {
        Facts {
            cost: 6,
            guard_cost: 6,
            fails: Classes::ALL.without(Class::Null),
        }
    }
}

/// Compares with the scalar at another path.
pub(super) fn related(here: &View<'_>, there: &View<'_>) -> Result<bool, Fault> {
    match (single(here)?, single(there)?) {
        (View::Bool(left), View::Bool(right)) => Ok(left == right),
        (View::Null, View::Bool(_)) => Ok(false),
        // As with a bool in the policy.
        (_, View::Bool(_)) => Err(Fault::WrongType),
        (left, right) => Ok(equal(left, right)),
    }
}
