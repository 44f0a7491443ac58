//! The operators of the `lynx` profile: Python's own, on the types this crate has exactly.
//!
//! Whatever has no exact counterpart here (tuples, sets, dates, strings with lone surrogates, patterns that need
//! backtracking) is evaluated by the host language through [`Value::eval_opaque`].

use std::cmp::Ordering;

use super::ops::membership::ScalarSet;
use super::ops::ordering::Relation;
use super::prepared::PreparedConst;
use crate::budget::{Pace, Steps};
use crate::error::{ErrorCode, Fault};
use crate::lang::path::Key;
use crate::num::number::Number;
use crate::regex::{NfaCompiler, Pattern};
use crate::value::compare::compare;
use crate::value::constant::{Const, HostConst};
use crate::value::{Step, Value, View};

/// A clause of the `lynx` profile.
#[derive(Debug)]
pub struct LynxTest {
    pub(super) op: LynxOp,
    /// `None`: only the host language has this operand.
    pub(super) operand: Option<PreparedConst>,
    /// The result for null and for a missing value.
    on_null: bool,
    /// The pattern of `matches`; `None`: only the host language can search it.
    pattern: Option<Pattern>,
    /// The scalars of `in`, where all are strings, numbers, bools and null.
    pub(super) members: Option<ScalarSet>,
}

/// The operators of the profile.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are the operators of the profile")]
pub enum LynxOp {
    Eq,
    Matches,
    In,
    Contains,
    ContainsAny,
    ContainsAll,
    Order(Relation),
    Between,
    NotBetween,
}

/// Items of an operand that are compared in one step.
pub(super) const ITEMS_A_STEP: u64 = 8;

/// The reason why a clause is not evaluated here.
enum Undecided {
    /// Python raises `TypeError`.
    TypeError,
    /// Only the host language can evaluate it.
    Delegate,
    /// There are no steps left.
    Spent,
}

impl From<Fault> for Undecided {
    fn from(_: Fault) -> Self {
        Self::Spent
    }
}

type LynxResult = Result<bool, Undecided>;

impl LynxTest {
    /// Prepares a clause.
    #[must_use]
    pub fn new(op: LynxOp, operand: &Const, pattern: Option<Pattern>) -> Self {
        let on_null = match (op, operand) {
            (LynxOp::Eq, Const::Null) => true,
            (
                LynxOp::In,
                Const::List(items)
                | Const::HostConst(HostConst::Set(items) | HostConst::Tuple(items)),
            ) => items.contains(&Const::Null),
            _ => false,
        };
        let mut operand = PreparedConst::prepare(operand);
        if let (LynxOp::ContainsAny | LynxOp::ContainsAll, Some(PreparedConst::Str(text))) =
            (op, &operand)
        {
            // Iterating a string gives its characters.
            operand = Some(PreparedConst::List(
                text.chars()
                    .map(|c| PreparedConst::Str(c.to_string().into()))
                    .collect(),
            ));
        }
        let members = match (op, &operand) {
            (LynxOp::In, Some(operand)) => ScalarSet::of_python(operand),
            _ => None,
        };
        Self {
            op,
            operand,
            on_null,
            pattern,
            members,
        }
    }

    /// The result for null and for a missing value.
    #[inline]
    pub(crate) fn on_null(&self) -> bool {
        self.on_null
    }

    /// Builds what the first evaluation would build.
    pub(crate) fn prepare(&self, compiler: &NfaCompiler) {
        if let Some(pattern) = &self.pattern {
            pattern.prepare(compiler);
        }
    }

    /// The pattern of `matches`, unless only the host language can search it.
    pub(crate) fn pattern(&self) -> Option<&Pattern> {
        self.pattern.as_ref()
    }

    /// Evaluates a value; `None` is null.
    ///
    /// # Errors
    /// The name of the exception.
    pub fn evaluate<V: Value>(
        &self,
        clause: u32,
        value: Option<&V>,
        steps: &Steps,
    ) -> Result<bool, ErrorCode> {
        let Some(value) = value else {
            return Ok(self.on_null);
        };
        let view = value.view();
        if matches!(view, View::Null) {
            return Ok(self.on_null);
        }
        match self.compare_value(value, &view, steps) {
            Ok(truth) => Ok(truth),
            Err(Undecided::TypeError) => Err(ErrorCode::TypeError),
            Err(Undecided::Spent) => Err(ErrorCode::BudgetExceeded),
            Err(Undecided::Delegate) => value.eval_opaque(clause),
        }
    }

    fn compare_value<V: Value>(&self, value: &V, view: &View<'_>, steps: &Steps) -> LynxResult {
        if let View::Str(text) = view {
            steps.text(text.len(), Pace::Search)?;
        }
        if self.op == LynxOp::Matches {
            return match (view, &self.pattern) {
                (View::Str(text), Some(pattern)) => Ok(pattern.is_match_within(text, steps)?),
                (View::Str(_) | View::BadStr | View::Opaque, _) => Err(Undecided::Delegate),
                _ => Ok(false),
            };
        }
        let Some(operand) = &self.operand else {
            return Err(Undecided::Delegate);
        };
        if matches!(view, View::Opaque) {
            return match self.op {
                LynxOp::Eq | LynxOp::Order(_) | LynxOp::Between | LynxOp::NotBetween
                    if begins_with_text(operand) && value.is_plain_instant() =>
                {
                    instant_beside_text(self.op)
                }
                _ => Err(Undecided::Delegate),
            };
        }
        match self.op {
            LynxOp::Eq => equal(value, view, operand),
            LynxOp::In => {
                let known = self.members.as_ref();
                let known = known.and_then(|known| known.holds_python(view));
                match (known, operand) {
                    (Some(held), PreparedConst::List(items)) => {
                        steps.take(items.len() as u64 / ITEMS_A_STEP)?;
                        Ok(held)
                    }
                    _ => is_in(value, view, operand, steps),
                }
            }
            LynxOp::Contains => contains(value, view, operand, steps),
            LynxOp::ContainsAny => contains_each((value, view), operand, true, steps),
            LynxOp::ContainsAll => contains_each((value, view), operand, false, steps),
            LynxOp::Order(relation) => ordered(relation, value, view, operand),
            LynxOp::Between => between(value, view, operand),
            LynxOp::NotBetween => between(value, view, operand).map(|inside| !inside),
            LynxOp::Matches => Err(Undecided::Delegate),
        }
    }
}

/// Returns true if the first comparison with an operand is one with a text.
fn begins_with_text(operand: &PreparedConst) -> bool {
    match operand {
        PreparedConst::Str(_) => true,
        PreparedConst::List(bounds) => matches!(bounds.first(), Some(PreparedConst::Str(_))),
        _ => false,
    }
}

/// A `datetime` and a text: they differ, and have no order. PERF: Python takes 0.5 us to say so, for every rule.
fn instant_beside_text(op: LynxOp) -> LynxResult {
    match op {
        LynxOp::Eq => Ok(false),
        _ => Err(Undecided::TypeError),
    }
}

/// A bool as the number it is to Python.
fn as_number<'v>(view: &View<'v>) -> View<'v> {
    match view {
        View::Bool(value) => View::Int(i64::from(*value)),
        other => other.clone(),
    }
}

fn operand_number(operand: &PreparedConst) -> Option<Number> {
    match operand {
        PreparedConst::Bool(value) => Some(Number::Int(i64::from(*value))),
        PreparedConst::Number(number) => Some(number.clone()),
        _ => None,
    }
}

fn equal<V: Value>(value: &V, view: &View<'_>, operand: &PreparedConst) -> LynxResult {
    match (view, operand) {
        (View::Opaque | View::Timestamp(_), _) | (_, PreparedConst::Timestamp(_)) => {
            Err(Undecided::Delegate)
        }
        (View::Null, PreparedConst::Null) => Ok(true),
        (View::Str(left), PreparedConst::Str(right)) => Ok(*left == right.as_ref()),
        (
            View::Bool(_) | View::Int(_) | View::BigInt(_) | View::Float(_),
            PreparedConst::Bool(_) | PreparedConst::Number(_),
        ) => {
            let number = operand_number(operand);
            Ok(number
                .is_some_and(|right| compare(&as_number(view), &right) == Some(Ordering::Equal)))
        }
        (View::List, PreparedConst::List(items)) => {
            if value.len() != items.len() {
                return Ok(false);
            }
            for (index, item) in items.iter().enumerate() {
                let Some(element) = value.item(index) else {
                    return Ok(false);
                };
                if !equal(&element, &element.view(), item)? {
                    return Ok(false);
                }
            }
            Ok(true)
        }
        (View::Map, PreparedConst::Map(entries)) => {
            if value.len() != entries.len() {
                return Ok(false);
            }
            for (key, item) in entries {
                match value.get(Key::unprepared(key)) {
                    Step::Found(element) => {
                        if !equal(&element, &element.view(), item)? {
                            return Ok(false);
                        }
                    }
                    Step::Absent => return Ok(false),
                    Step::Unreadable => return Err(Undecided::Delegate),
                }
            }
            Ok(true)
        }
        _ => Ok(false),
    }
}

/// `value in operand`: by hash when every item is a str, int, float or bool, else one by one.
fn is_in<V: Value>(
    value: &V,
    view: &View<'_>,
    operand: &PreparedConst,
    steps: &Steps,
) -> LynxResult {
    let PreparedConst::List(items) = operand else {
        return Err(Undecided::Delegate);
    };
    let hashed = items.iter().all(|item| {
        matches!(
            item,
            PreparedConst::Bool(_) | PreparedConst::Number(_) | PreparedConst::Str(_)
        )
    });
    if hashed && matches!(view, View::List | View::Map) {
        return Err(Undecided::TypeError);
    }
    steps.take(items.len() as u64 / ITEMS_A_STEP)?;
    for item in items {
        if equal(value, view, item)? {
            return Ok(true);
        }
    }
    Ok(false)
}

/// `operand in value`
fn contains<V: Value>(
    value: &V,
    view: &View<'_>,
    operand: &PreparedConst,
    steps: &Steps,
) -> LynxResult {
    if let View::Str(text) = view {
        steps.text(text.len(), Pace::Compare)?;
    }
    steps.take(value.len() as u64)?;
    match (view, operand) {
        (View::Opaque | View::Timestamp(_) | View::BadStr, _)
        | (_, PreparedConst::Timestamp(_)) => Err(Undecided::Delegate),
        (View::Str(text), PreparedConst::Str(needle)) => Ok(text.contains(needle.as_ref())),
        (View::List, operand) => {
            for item in value.items() {
                if equal(&item, &item.view(), operand)? {
                    return Ok(true);
                }
            }
            Ok(false)
        }
        (View::Map, PreparedConst::List(_) | PreparedConst::Map(_)) => Err(Undecided::TypeError),
        (View::Map, operand) => {
            let (mut found, mut plain) = (false, true);
            value.each_entry(&mut |key, _| {
                match (&key, operand) {
                    (View::Str(key), PreparedConst::Str(wanted)) => found = *key == wanted.as_ref(),
                    (View::Str(_) | View::BadStr, _) => {}
                    _ => plain = false,
                }
                !found
            });
            if found || plain {
                Ok(found)
            } else {
                Err(Undecided::Delegate)
            }
        }
        _ => Err(Undecided::TypeError),
    }
}

/// `any(item in value for item in operand)`, or `all(..)`.
fn contains_each<V: Value>(
    (value, view): (&V, &View<'_>),
    operand: &PreparedConst,
    decisive: bool,
    steps: &Steps,
) -> LynxResult {
    let items = match operand {
        PreparedConst::List(items) => items,
        PreparedConst::Map(_) => return Err(Undecided::Delegate),
        _ => return Err(Undecided::TypeError),
    };
    for item in items {
        if contains(value, view, item, steps)? == decisive {
            return Ok(decisive);
        }
    }
    Ok(!decisive)
}

fn ordered<V: Value>(
    relation: Relation,
    value: &V,
    view: &View<'_>,
    operand: &PreparedConst,
) -> LynxResult {
    match (view, operand) {
        (View::Opaque | View::Timestamp(_) | View::BadStr | View::HugeInt, _)
        | (_, PreparedConst::Timestamp(_)) => Err(Undecided::Delegate),
        (View::Str(left), PreparedConst::Str(right)) => Ok(relation.holds((*left).cmp(right))),
        (
            View::Bool(_) | View::Int(_) | View::BigInt(_) | View::Float(_),
            PreparedConst::Bool(_) | PreparedConst::Number(_),
        ) => {
            let order = operand_number(operand).and_then(|right| compare(&as_number(view), &right));
            Ok(order.is_some_and(|order| relation.holds(order)))
        }
        (View::List, PreparedConst::List(items)) => {
            for (index, item) in items.iter().enumerate() {
                let Some(element) = value.item(index) else {
                    break;
                };
                if !equal(&element, &element.view(), item)? {
                    return ordered(relation, &element, &element.view(), item);
                }
            }
            Ok(relation.holds(value.len().cmp(&items.len())))
        }
        _ => Err(Undecided::TypeError),
    }
}

/// `lo <= value <= hi`
fn between<V: Value>(value: &V, view: &View<'_>, operand: &PreparedConst) -> LynxResult {
    let PreparedConst::List(bounds) = operand else {
        return Err(Undecided::Delegate);
    };
    let [lo, hi] = bounds.as_slice() else {
        return Err(Undecided::Delegate);
    };
    Ok(ordered(Relation::Ge, value, view, lo)? && ordered(Relation::Le, value, view, hi)?)
}
