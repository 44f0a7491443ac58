//! Clauses of the `lynx` profile as an index sees them: the values that make one true, and those that may raise.
//!
//! INVARIANT: both are upper bounds. A value that is not named makes the clause false, without an exception.

use super::inline::InlineTest;
use super::lynx::{ITEMS_A_STEP, LynxOp, LynxTest};
use super::ops::membership::ScalarSet;
use super::ops::ordering::Relation;
use super::ops::{Facts, IndexKey, Interval, OperatorTest as _};
use super::prepared::PreparedConst;
use crate::num::number::Number;
use crate::value::class::{Class, Classes};

/// Null raises no exception with any operator, nor does a missing value.
const ALL: Classes = Classes::ALL.without(Class::Null);

/// Values of types that only the host language has, and instants.
const HOST: Classes = Classes::NONE.with(Class::Timestamp).with(Class::Broken);

/// The cost of a guard that the host language evaluates.
const HOST_COST: u32 = 40;

impl LynxTest {
    /// The facts that the choice of a guard needs.
    pub(crate) fn facts(&self) -> Facts {
        Facts {
            cost: self.cost(),
            guard_cost: self.guard_cost(),
            fails: self.fails(),
        }
    }

    fn cost(&self) -> u32 {
        match (self.op, &self.operand, self.pattern()) {
            (LynxOp::Matches, _, Some(pattern)) => pattern.facts().cost,
            (LynxOp::Matches, _, None) | (_, None, _) => HOST_COST,
            (LynxOp::Eq | LynxOp::Order(_) | LynxOp::Between | LynxOp::NotBetween, ..) => 1,
            (LynxOp::In, ..) => 4,
            (LynxOp::ContainsAny | LynxOp::ContainsAll, Some(PreparedConst::List(items)), _) => {
                5 + 2 * items.len() as u32
            }
            (LynxOp::Contains | LynxOp::ContainsAny | LynxOp::ContainsAll, ..) => 7,
        }
    }

    /// The same test with its operand inline, if it has one.
    pub(crate) fn inline(&self) -> InlineTest {
        match (self.op, &self.operand, &self.members) {
            (LynxOp::Eq, Some(PreparedConst::Bool(value)), _) => InlineTest::Flag(*value),
            (LynxOp::Eq, Some(operand), _) => InlineTest::equal(operand),
            (LynxOp::In, Some(PreparedConst::List(items)), Some(members))
                if (items.len() as u64) < ITEMS_A_STEP =>
            {
                let numbers = items.iter().map(|item| match item {
                    PreparedConst::Number(number) => Some(number.clone()),
                    _ => None,
                });
                match numbers.collect::<Option<Vec<_>>>() {
                    Some(numbers) if !numbers.is_empty() => {
                        InlineTest::one_of_numbers(false, numbers.into_iter())
                    }
                    _ => InlineTest::one_of(false, &members.strings),
                }
            }
            (LynxOp::Order(relation), Some(bound), _) => InlineTest::order(relation, bound),
            (op @ (LynxOp::Between | LynxOp::NotBetween), Some(PreparedConst::List(bounds)), _) => {
                match bounds.as_slice() {
                    [lo, hi] => InlineTest::between(op == LynxOp::NotBetween, lo, hi),
                    _ => InlineTest::None,
                }
            }
            _ => InlineTest::None,
        }
    }

    fn guard_cost(&self) -> u32 {
        if self.operand.is_none() || (self.op == LynxOp::Matches && self.pattern().is_none()) {
            return HOST_COST;
        }
        match (self.op, self.key()) {
            (LynxOp::Eq, IndexKey::Scan) => 6,
            (LynxOp::Eq, _) => 0,
            (LynxOp::In, _) => match &self.members {
                Some(members) if members.key().is_some() => {
                    (members.strings.len() + members.ints.len()) as u32
                }
                _ => 8,
            },
            (LynxOp::Matches, _) => 2,
            (LynxOp::Contains | LynxOp::ContainsAny | LynxOp::ContainsAll, _) => 3,
            (LynxOp::Order(_), _) => 6,
            (LynxOp::Between | LynxOp::NotBetween, _) => 4,
        }
    }

    /// The classes of values that may raise an exception.
    fn fails(&self) -> Classes {
        if self.op == LynxOp::Matches {
            return match self.pattern() {
                Some(_) => HOST,
                None => HOST.with(Class::String),
            };
        }
        let Some(operand) = &self.operand else {
            return ALL;
        };
        match self.op {
            LynxOp::Eq => match operand {
                PreparedConst::Timestamp(_) => ALL,
                // An element may be of a type that only the host language has.
                PreparedConst::List(_) => HOST.with(Class::List),
                PreparedConst::Map(_) => HOST.with(Class::Mapping),
                _ => HOST,
            },
            LynxOp::In => match (&self.members, operand) {
                // A list or a mapping has no hash.
                (Some(_), PreparedConst::List(items)) if !items.contains(&PreparedConst::Null) => {
                    HOST.with(Class::List)
                        .with(Class::Mapping)
                        .with(Class::Plain)
                }
                (Some(_), _) => HOST,
                (None, _) => ALL,
            },
            LynxOp::Contains => not_holding(std::slice::from_ref(operand)),
            LynxOp::ContainsAny | LynxOp::ContainsAll => match operand {
                PreparedConst::List(items) => not_holding(items),
                _ => ALL,
            },
            LynxOp::Order(_) => comparable(std::slice::from_ref(operand)),
            LynxOp::Between | LynxOp::NotBetween => match operand {
                PreparedConst::List(bounds) => comparable(bounds),
                _ => ALL,
            },
            LynxOp::Matches => ALL,
        }
    }

    /// The key under which an index lists the rules that have it as a guard, beside null where that makes it true.
    pub(crate) fn key(&self) -> IndexKey<'_> {
        if self.op == LynxOp::Matches {
            return match self.pattern() {
                Some(pattern) => pattern.key(),
                None => IndexKey::Scan,
            };
        }
        let Some(operand) = &self.operand else {
            return IndexKey::Scan;
        };
        match (self.op, operand) {
            (LynxOp::Eq, PreparedConst::Null) => IndexKey::Scalars(&[], &[]),
            (LynxOp::Eq, PreparedConst::Str(text)) => {
                IndexKey::Scalars(std::slice::from_ref(text), &[])
            }
            (LynxOp::Eq, PreparedConst::Number(Number::Int(number))) => {
                IndexKey::Scalars(&[], std::slice::from_ref(number))
            }
            (LynxOp::Eq, PreparedConst::Bool(value)) => {
                IndexKey::Scalars(&[], if *value { &[1] } else { &[0] })
            }
            (LynxOp::In, _) => {
                let key = self.members.as_ref().and_then(ScalarSet::key);
                key.unwrap_or(IndexKey::Scan)
            }
            (LynxOp::Contains, operand) => needles(std::slice::from_ref(operand), false),
            (LynxOp::ContainsAny, PreparedConst::List(items)) => needles(items, false),
            (LynxOp::ContainsAll, PreparedConst::List(items)) => needles(items, true),
            (LynxOp::Order(relation), operand) => match ordinary(operand) {
                Some(bound) => IndexKey::Intervals(vec![beyond(relation, bound)]),
                None => IndexKey::Scan,
            },
            (op @ (LynxOp::Between | LynxOp::NotBetween), PreparedConst::List(bounds)) => {
                intervals(op == LynxOp::NotBetween, bounds)
            }
            _ => IndexKey::Scan,
        }
    }
}

/// The classes in which `needles` are not looked for without a chance of an exception.
fn not_holding(needles: &[PreparedConst]) -> Classes {
    let classes = without_text(needles);
    match needles.iter().all(is_scalar) {
        true => classes.without(Class::Plain),
        false => classes,
    }
}

/// The classes but strings, if all of `operands` are.
fn without_text(operands: &[PreparedConst]) -> Classes {
    match operands
        .iter()
        .all(|operand| matches!(operand, PreparedConst::Str(_)))
    {
        true => ALL.without(Class::String),
        false => ALL,
    }
}

fn is_scalar(operand: &PreparedConst) -> bool {
    matches!(
        operand,
        PreparedConst::Null
            | PreparedConst::Bool(_)
            | PreparedConst::Number(_)
            | PreparedConst::Str(_)
    )
}

/// The classes that do not compare with each of `bounds`.
fn comparable(bounds: &[PreparedConst]) -> Classes {
    let numbers =
        |bound: &PreparedConst| matches!(bound, PreparedConst::Number(_) | PreparedConst::Bool(_));
    if bounds.iter().all(numbers) {
        ALL.without(Class::Number).without(Class::Bool)
    } else {
        without_text(bounds)
    }
}

/// One of these needles, or `all` of them. Of the latter one is enough to look for. With several, one that is there does
/// not make the clause true: the search for an earlier one may raise.
fn needles(items: &[PreparedConst], all: bool) -> IndexKey<'_> {
    let fits = |item: &PreparedConst| match item {
        PreparedConst::Str(text) => !text.is_empty(),
        PreparedConst::Number(Number::Int(_)) => true,
        _ => false,
    };
    // An element is compared with every item. One that is a list may hold a value whose comparison raises.
    let scalars = items.iter().all(is_scalar);
    let needles: Vec<&PreparedConst> = match all {
        true => items.iter().find(|item| fits(item)).into_iter().collect(),
        false if items.iter().all(fits) => items.iter().collect(),
        false => Vec::new(),
    };
    if needles.is_empty() || !scalars {
        return IndexKey::Scan;
    }
    IndexKey::Needles {
        exact: items.len() == 1,
        needles,
    }
}

fn intervals(outside: bool, bounds: &[PreparedConst]) -> IndexKey<'static> {
    let [lo, hi] = bounds else {
        return IndexKey::Scan;
    };
    match (ordinary(lo), ordinary(hi)) {
        (Some(lo), Some(hi)) if outside => {
            IndexKey::Intervals(vec![beyond(Relation::Lt, lo), beyond(Relation::Gt, hi)])
        }
        (Some(lo), Some(hi)) => IndexKey::Intervals(vec![Interval {
            from: Some((lo, true)),
            to: Some((hi, true)),
        }]),
        _ => IndexKey::Scan,
    }
}

fn beyond(relation: Relation, bound: Number) -> Interval {
    let (from, to) = match relation {
        Relation::Gt => (Some((bound, false)), None),
        Relation::Ge => (Some((bound, true)), None),
        Relation::Lt => (None, Some((bound, false))),
        Relation::Le => (None, Some((bound, true))),
    };
    Interval { from, to }
}

/// A bound that is a number of ordinary size, or a bool, which is one to Python.
fn ordinary(bound: &PreparedConst) -> Option<Number> {
    match bound {
        PreparedConst::Bool(value) => Some(Number::Int(i64::from(*value))),
        PreparedConst::Number(Number::Float(value)) if value.is_nan() => None,
        PreparedConst::Number(number @ (Number::Int(_) | Number::Float(_))) => Some(number.clone()),
        _ => None,
    }
}
