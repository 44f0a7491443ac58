//! The operators of the `lynx` profile: Python's own, on the types this crate has exactly.
//!
//! Whatever has no exact counterpart here (tuples, sets, dates, strings with lone surrogates, patterns that need
//! backtracking) is judged by the host language through [`Value::judge_opaque`].

use std::cmp::Ordering;

use crate::error::ErrorCode;
use crate::matcher::number::{Number, compare};
use crate::matcher::operand::Operand;
use crate::matcher::{Fault, Relation, Search};
use crate::rule::Op;
use crate::value::constant::{Const, Exotic};
use crate::value::{Key, Step, Value, View};
use crate::work::{Pace, Steps};

/// A clause of the `lynx` profile.
#[derive(Debug)]
pub struct Foreign {
    op: Op,
    /// `None`: only the host language has this operand.
    operand: Option<Operand>,
    /// The answer for null, which is also that for a missing value.
    on_null: bool,
    /// The pattern of `matches`; `None`: only the host language can search it.
    pattern: Option<Search>,
}

/// Items of an operand that are compared in one step.
const ITEMS_A_STEP: u64 = 8;

/// Why a clause has no answer here.
enum Trouble {
    /// Python raises `TypeError`.
    TypeError,
    /// The host language must be asked.
    Delegate,
    /// There are no steps left.
    Spent,
}

impl From<Fault> for Trouble {
    fn from(_: Fault) -> Self {
        Self::Spent
    }
}

type Judged = Result<bool, Trouble>;

impl Foreign {
    /// Prepares a clause.
    #[must_use]
    pub fn prepare(op: Op, operand: &Const, pattern: Option<Search>) -> Self {
        let on_null = match (op, operand) {
            (Op::Eq, Const::Null) => true,
            (
                Op::In,
                Const::List(items) | Const::Exotic(Exotic::Set(items) | Exotic::Tuple(items)),
            ) => items.contains(&Const::Null),
            _ => false,
        };
        let mut operand = Operand::prepare(operand);
        if let (Op::ContainsAny | Op::ContainsAll, Some(Operand::Str(text))) = (op, &operand) {
            // Iterating a string gives its characters.
            operand = Some(Operand::List(
                text.chars()
                    .map(|c| Operand::Str(c.to_string().into()))
                    .collect(),
            ));
        }
        Self {
            op,
            operand,
            on_null,
            pattern,
        }
    }

    /// Judges a value; `None` is null.
    ///
    /// # Errors
    /// The name of the exception.
    pub fn judge<V: Value>(
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
        match self.answer(value, &view, steps) {
            Ok(answer) => Ok(answer),
            Err(Trouble::TypeError) => Err(ErrorCode::TypeError),
            Err(Trouble::Spent) => Err(ErrorCode::BudgetExceeded),
            Err(Trouble::Delegate) => value.judge_opaque(clause),
        }
    }

    fn answer<V: Value>(&self, value: &V, view: &View<'_>, steps: &Steps) -> Judged {
        if let View::Str(text) = view {
            steps.text(text.len(), Pace::Search)?;
        }
        if self.op == Op::Matches {
            return match (view, &self.pattern) {
                (View::Str(text), Some(search)) => Ok(search.is_match_within(text, steps)?),
                (View::Str(_) | View::BadStr | View::Opaque, _) => Err(Trouble::Delegate),
                _ => Ok(false),
            };
        }
        let Some(operand) = &self.operand else {
            return Err(Trouble::Delegate);
        };
        if matches!(view, View::Opaque) {
            return Err(Trouble::Delegate);
        }
        match self.op {
            Op::Eq => equal(value, view, operand),
            Op::In => is_in(value, view, operand, steps),
            Op::Contains => contains(value, view, operand, steps),
            Op::ContainsAny => contains_each((value, view), operand, true, steps),
            Op::ContainsAll => contains_each((value, view), operand, false, steps),
            Op::Gt => ordered(Relation::Gt, value, view, operand),
            Op::Ge => ordered(Relation::Ge, value, view, operand),
            Op::Lt => ordered(Relation::Lt, value, view, operand),
            Op::Le => ordered(Relation::Le, value, view, operand),
            Op::Between => between(value, view, operand),
            Op::NotBetween => between(value, view, operand).map(|inside| !inside),
            Op::Matches
            | Op::Exists
            | Op::StartsWith
            | Op::EndsWith
            | Op::Length
            | Op::Lower
            | Op::Any
            | Op::All
            | Op::None => Err(Trouble::Delegate),
        }
    }
}

/// A bool as the number it is to Python.
fn as_number<'v>(view: &View<'v>) -> View<'v> {
    match view {
        View::Bool(value) => View::Int(i64::from(*value)),
        other => other.clone(),
    }
}

fn operand_number(operand: &Operand) -> Option<Number> {
    match operand {
        Operand::Bool(value) => Some(Number::Int(i64::from(*value))),
        Operand::Number(number) => Some(number.clone()),
        _ => None,
    }
}

fn equal<V: Value>(value: &V, view: &View<'_>, operand: &Operand) -> Judged {
    match (view, operand) {
        (View::Opaque | View::Timestamp(_), _) | (_, Operand::Timestamp(_)) => {
            Err(Trouble::Delegate)
        }
        (View::Null, Operand::Null) => Ok(true),
        (View::Str(left), Operand::Str(right)) => Ok(*left == right.as_ref()),
        (
            View::Bool(_) | View::Int(_) | View::BigInt(_) | View::Float(_),
            Operand::Bool(_) | Operand::Number(_),
        ) => {
            let number = operand_number(operand);
            Ok(number
                .is_some_and(|right| compare(&as_number(view), &right) == Some(Ordering::Equal)))
        }
        (View::List, Operand::List(items)) => {
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
        (View::Map, Operand::Map(entries)) => {
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
                    Step::Unreadable => return Err(Trouble::Delegate),
                }
            }
            Ok(true)
        }
        _ => Ok(false),
    }
}

/// `value in operand`: by hash when every item is a str, int, float or bool, else one by one.
fn is_in<V: Value>(value: &V, view: &View<'_>, operand: &Operand, steps: &Steps) -> Judged {
    let Operand::List(items) = operand else {
        return Err(Trouble::Delegate);
    };
    let hashed = items.iter().all(|item| {
        matches!(
            item,
            Operand::Bool(_) | Operand::Number(_) | Operand::Str(_)
        )
    });
    if hashed && matches!(view, View::List | View::Map) {
        return Err(Trouble::TypeError);
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
fn contains<V: Value>(value: &V, view: &View<'_>, operand: &Operand, steps: &Steps) -> Judged {
    if let View::Str(text) = view {
        steps.text(text.len(), Pace::Compare)?;
    }
    steps.take(value.len() as u64)?;
    match (view, operand) {
        (View::Opaque | View::Timestamp(_) | View::BadStr, _) | (_, Operand::Timestamp(_)) => {
            Err(Trouble::Delegate)
        }
        (View::Str(text), Operand::Str(needle)) => Ok(text.contains(needle.as_ref())),
        (View::List, operand) => {
            let mut index = 0;
            while let Some(item) = value.item(index) {
                if equal(&item, &item.view(), operand)? {
                    return Ok(true);
                }
                index += 1;
            }
            Ok(false)
        }
        (View::Map, Operand::List(_) | Operand::Map(_)) => Err(Trouble::TypeError),
        (View::Map, operand) => {
            let (mut found, mut plain) = (false, true);
            value.each_entry(&mut |key, _| {
                match (&key, operand) {
                    (View::Str(key), Operand::Str(wanted)) => found = *key == wanted.as_ref(),
                    (View::Str(_) | View::BadStr, _) => {}
                    _ => plain = false,
                }
                !found
            });
            if found || plain {
                Ok(found)
            } else {
                Err(Trouble::Delegate)
            }
        }
        _ => Err(Trouble::TypeError),
    }
}

/// `any(item in value for item in operand)`, or `all(..)`.
fn contains_each<V: Value>(
    (value, view): (&V, &View<'_>),
    operand: &Operand,
    decisive: bool,
    steps: &Steps,
) -> Judged {
    let items = match operand {
        Operand::List(items) => items,
        Operand::Map(_) => return Err(Trouble::Delegate),
        _ => return Err(Trouble::TypeError),
    };
    for item in items {
        if contains(value, view, item, steps)? == decisive {
            return Ok(decisive);
        }
    }
    Ok(!decisive)
}

fn ordered<V: Value>(relation: Relation, value: &V, view: &View<'_>, operand: &Operand) -> Judged {
    match (view, operand) {
        (View::Opaque | View::Timestamp(_) | View::BadStr | View::HugeInt, _)
        | (_, Operand::Timestamp(_)) => Err(Trouble::Delegate),
        (View::Str(left), Operand::Str(right)) => Ok(relation.holds((*left).cmp(right))),
        (
            View::Bool(_) | View::Int(_) | View::BigInt(_) | View::Float(_),
            Operand::Bool(_) | Operand::Number(_),
        ) => {
            let order = operand_number(operand).and_then(|right| compare(&as_number(view), &right));
            Ok(order.is_some_and(|order| relation.holds(order)))
        }
        (View::List, Operand::List(items)) => {
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
        _ => Err(Trouble::TypeError),
    }
}

/// `lo <= value <= hi`
fn between<V: Value>(value: &V, view: &View<'_>, operand: &Operand) -> Judged {
    let Operand::List(bounds) = operand else {
        return Err(Trouble::Delegate);
    };
    let [lo, hi] = bounds.as_slice() else {
        return Err(Trouble::Delegate);
    };
    Ok(ordered(Relation::Ge, value, view, lo)? && ordered(Relation::Le, value, view, hi)?)
}
