//! `gt`, `ge`, `lt`, `le`, `between`, `not_between`: the order of a value to bounds of its type.

use std::cmp::Ordering;

use super::{
    Facts, IndexKey, Inside, Interval, OperandType, Operator, OperatorTest, Prepare, operators,
};
use crate::budget::Steps;
use crate::clause::inline::InlineTest;
use crate::clause::lynx::LynxOp;
use crate::clause::ops::reference::Relative;
use crate::clause::predicate::Test;
use crate::clause::prepared::PreparedConst;
use crate::error::Fault;
use crate::num::number::Number;
use crate::value::class::{Class, Classes};
use crate::value::compare::{compare, number};
use crate::value::{Value, View};

operators! {
    "gt" OperandType::Bound, Count, Some(Relative::Order(Relation::Gt)), Some(LynxOp::Order(Relation::Gt)),
        Prepare::Constant(|bound| Some(Test::Order(Order(Relation::Gt, bound))));
    "ge" OperandType::Bound, Count, Some(Relative::Order(Relation::Ge)), Some(LynxOp::Order(Relation::Ge)),
        Prepare::Constant(|bound| Some(Test::Order(Order(Relation::Ge, bound))));
    "lt" OperandType::Bound, Count, Some(Relative::Order(Relation::Lt)), Some(LynxOp::Order(Relation::Lt)),
        Prepare::Constant(|bound| Some(Test::Order(Order(Relation::Lt, bound))));
    "le" OperandType::Bound, Count, Some(Relative::Order(Relation::Le)), Some(LynxOp::Order(Relation::Le)),
        Prepare::Constant(|bound| Some(Test::Order(Order(Relation::Le, bound))));
    "between" OperandType::Bounds, Count, None, Some(LynxOp::Between),
        Prepare::Constant(|bounds| Between::prepared(bounds, false));
    "not_between" OperandType::Bounds, Count, None, Some(LynxOp::NotBetween),
        Prepare::Constant(|bounds| Between::prepared(bounds, true));
}

/// The order an ordering operator asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    /// Greater.
    Gt,
    /// Greater or equal.
    Ge,
    /// Less.
    Lt,
    /// Less or equal.
    Le,
}

impl Relation {
    /// Returns true if a value with this ordering relative to the operand passes.
    #[must_use]
    pub fn holds(self, order: Ordering) -> bool {
        match self {
            Self::Gt => order == Ordering::Greater,
            Self::Ge => order != Ordering::Less,
            Self::Lt => order == Ordering::Less,
            Self::Le => order != Ordering::Greater,
        }
    }
}

/// A comparison with one bound.
#[derive(Debug)]
pub struct Order(pub Relation, pub PreparedConst);

impl OperatorTest for Order {
    #[inline]
    fn eval<V: Value>(&self, _: &V, view: &View<'_>, _: &Steps) -> Result<bool, Fault> {
        to_bound(view, &self.1).map(|order| self.0.holds(order))
    }

    fn facts(&self) -> Facts {
        Facts {
            cost: 1,
            guard_cost: 6,
            fails: other_than(&self.1),
        }
    }

    fn key(&self) -> IndexKey<'_> {
        let Some(bound) = ordinary(&self.1) else {
            return IndexKey::Scan;
        };
        IndexKey::Intervals(vec![match self.0 {
            Relation::Gt => interval(Some((bound, false)), None),
            Relation::Ge => interval(Some((bound, true)), None),
            Relation::Lt => interval(None, Some((bound, false))),
            Relation::Le => interval(None, Some((bound, true))),
        }])
    }

    fn inline(&self) -> InlineTest {
        match &self.1 {
            PreparedConst::Timestamp(bound) => InlineTest::instant(self.0, *bound),
            bound => InlineTest::order(self.0, bound),
        }
    }
}

/// A comparison with two bounds, both within.
#[derive(Debug)]
pub struct Between {
    lo: PreparedConst,
    hi: PreparedConst,
    /// True if the result is negated.
    negated: bool,
}

impl Between {
    fn prepared(bounds: PreparedConst, negated: bool) -> Option<Test> {
        let PreparedConst::List(bounds) = bounds else {
            return None;
        };
        let [lo, hi] = <[PreparedConst; 2]>::try_from(bounds).ok()?;
        Some(Test::Between(Self { lo, hi, negated }))
    }
}

impl OperatorTest for Between {
    #[inline]
    fn eval<V: Value>(&self, _: &V, view: &View<'_>, _: &Steps) -> Result<bool, Fault> {
        let inside = to_bound(view, &self.lo)? != Ordering::Less
            && to_bound(view, &self.hi)? != Ordering::Greater;
        Ok(inside != self.negated)
    }

    fn facts(&self) -> Facts {
        Facts {
            cost: 1,
            guard_cost: 4,
            fails: other_than(&self.lo),
        }
    }

    fn key(&self) -> IndexKey<'_> {
        match (ordinary(&self.lo), ordinary(&self.hi)) {
            (Some(lo), Some(hi)) if self.negated => IndexKey::Intervals(vec![
                interval(None, Some((lo, false))),
                interval(Some((hi, false)), None),
            ]),
            (Some(lo), Some(hi)) => {
                IndexKey::Intervals(vec![interval(Some((lo, true)), Some((hi, true)))])
            }
            _ => IndexKey::Scan,
        }
    }

    fn inline(&self) -> InlineTest {
        match (&self.lo, &self.hi) {
            (PreparedConst::Timestamp(from), PreparedConst::Timestamp(to)) => {
                InlineTest::Instant(self.negated, *from, *to)
            }
            (from, to) => InlineTest::between(self.negated, from, to),
        }
    }
}

/// Compares with the value at another path.
pub(super) fn related(left: &View<'_>, right: &View<'_>) -> Result<Ordering, Fault> {
    match (left, right) {
        (View::Str(left), View::Str(right)) => Ok(left.cmp(right)),
        (View::Timestamp(left), View::Timestamp(right)) => Ok(left.cmp(right)),
        (left, right) => number(right)
            .and_then(|right| compare(left, &right))
            .ok_or(Fault::WrongType),
    }
}

/// The order of a value to a bound of the same type.
fn to_bound(view: &View<'_>, bound: &PreparedConst) -> Result<Ordering, Fault> {
    match (view, bound) {
        (View::Str(text), PreparedConst::Str(bound)) => Ok((*text).cmp(bound)),
        (View::Timestamp(at), PreparedConst::Timestamp(bound)) => Ok(at.cmp(bound)),
        (view, PreparedConst::Number(bound)) => compare(view, bound).ok_or(Fault::WrongType),
        _ => Err(Fault::WrongType),
    }
}

/// The classes of the values that do not compare with a bound.
fn other_than(bound: &PreparedConst) -> Classes {
    match bound {
        PreparedConst::Number(_) => Classes::ALL.without(Class::Number),
        PreparedConst::Str(_) => Classes::ALL.without(Class::String),
        PreparedConst::Timestamp(_) => Classes::ALL.without(Class::Timestamp),
        PreparedConst::Null
        | PreparedConst::Bool(_)
        | PreparedConst::List(_)
        | PreparedConst::Map(_) => Classes::ALL,
    }
}

/// A bound that is a number of ordinary size.
fn ordinary(bound: &PreparedConst) -> Option<Number> {
    match bound {
        PreparedConst::Number(number @ (Number::Int(_) | Number::Float(_))) => Some(number.clone()),
        _ => None,
    }
}

fn interval(from: Option<(Number, bool)>, to: Option<(Number, bool)>) -> Interval {
    Interval { from, to }
}
