//! Operands by operator: the guarantees that the strict profile gives to the evaluator.

use super::constant::is_plain;
use super::node::{Decode, bad};
use crate::clause::operand::{Check, Operand};
use crate::json::tape::{Item, Items, Node};
use crate::lang::Op;
use crate::lang::path::{Field, Head};
use crate::value::constant::Const;

/// Returns true if an operand is, by its kind, one that the operator takes in every profile. PERF: most are, and need no
/// decoding to be checked.
pub(super) fn is_plainly_fit(op: Op, operand: Item<'_, '_>) -> bool {
    let number = |item: Item<'_, '_>| matches!(item.node(), Node::Int(_) | Node::Float(_));
    let text = |item: Item<'_, '_>| matches!(item.node(), Node::Text(..));
    match op {
        Op::Eq | Op::Contains => is_plain(operand),
        Op::Matches => is_plain(operand) && text(operand),
        Op::In | Op::ContainsAny => plain_items(operand).is_some(),
        Op::ContainsAll => plain_items(operand).is_some_and(|mut items| items.next().is_some()),
        Op::Gt | Op::Ge | Op::Lt | Op::Le => {
            is_plain(operand) && (number(operand) || text(operand))
        }
        Op::Between | Op::NotBetween => plain_items(operand).is_some_and(|mut bounds| {
            match (bounds.next(), bounds.next(), bounds.next()) {
                (Some(lo), Some(hi), None) => (number(lo) && number(hi)) || (text(lo) && text(hi)),
                _ => false,
            }
        }),
        Op::Exists => matches!(operand.node(), Node::Bool(_)),
        Op::StartsWith | Op::EndsWith => is_plain(operand) && text(operand),
        Op::Length | Op::Lower | Op::Any | Op::All | Op::None => false,
    }
}

/// The elements of a list of plain scalars.
fn plain_items<'t, 'a>(item: Item<'t, 'a>) -> Option<Items<'t, 'a>> {
    item.items().filter(|items| {
        let mut items = *items;
        items.all(is_plain)
    })
}

/// Checks the operand of a leaf of the strict profile.
pub(super) fn check(op: Op, operand: &Operand, head: Head, path: &[Box<str>]) -> Decode<()> {
    let is_time = matches!(Field::resolve(head, path), Some((Field::Timestamp, _)));
    operand_of(op, operand, is_time)
}

fn operand_of(op: Op, operand: &Operand, is_time: bool) -> Decode<()> {
    let accepted = match (operand, op) {
        (Operand::Const(operand), _) => constant(op, operand, is_time),
        (
            Operand::Ref(..),
            Op::Eq
            | Op::In
            | Op::Contains
            | Op::Gt
            | Op::Ge
            | Op::Lt
            | Op::Le
            | Op::StartsWith
            | Op::EndsWith,
        ) => true,
        (Operand::Tests(checks), Op::Length | Op::Lower | Op::Any | Op::All | Op::None) => {
            for test in checks {
                operand_of(test.op, &test.operand, false)?;
            }
            !checks.is_empty() && checks.iter().all(|test| is_test_of(op, test))
        }
        _ => false,
    };
    if accepted {
        Ok(())
    } else {
        Err(bad(format!("`{}` does not take this operand", op.as_str())))
    }
}

/// Returns true if a nesting operator can have such tests: it derives a number, a string or an element from the value.
fn is_test_of(outer: Op, test: &Check) -> bool {
    match outer {
        Op::Length => matches!(
            test.op,
            Op::Eq | Op::In | Op::Gt | Op::Ge | Op::Lt | Op::Le | Op::Between | Op::NotBetween
        ),
        Op::Lower => !matches!(
            test.op,
            Op::Exists | Op::Length | Op::Lower | Op::Any | Op::All | Op::None
        ),
        _ => test.op != Op::Exists,
    }
}

fn constant(op: Op, operand: &Const, is_time: bool) -> bool {
    match op {
        Op::Eq => accepts_deep(operand, is_time),
        Op::Matches => matches!(operand, Const::Str(_)),
        Op::In | Op::ContainsAny => scalars(operand).is_some(),
        Op::Contains => is_scalar(operand),
        Op::ContainsAll => scalars(operand).is_some_and(|items| !items.is_empty()),
        Op::Gt | Op::Ge | Op::Lt | Op::Le => rank(operand, is_time).is_some(),
        Op::Between | Op::NotBetween => match operand {
            Const::List(bounds) => match bounds.as_slice() {
                [lo, hi] => rank(lo, is_time).is_some() && rank(lo, is_time) == rank(hi, is_time),
                _ => false,
            },
            _ => false,
        },
        Op::Exists => matches!(operand, Const::Bool(_)),
        Op::StartsWith | Op::EndsWith => match operand {
            Const::Str(_) => true,
            Const::List(items) => {
                !items.is_empty() && items.iter().all(|item| matches!(item, Const::Str(_)))
            }
            _ => false,
        },
        Op::Length | Op::Lower | Op::Any | Op::All | Op::None => false,
    }
}

fn is_scalar(operand: &Const) -> bool {
    matches!(
        operand,
        Const::Null
            | Const::Bool(_)
            | Const::Int(_)
            | Const::BigInt(_)
            | Const::Float(_)
            | Const::Str(_)
    )
}

fn scalars(operand: &Const) -> Option<&[Const]> {
    match operand {
        Const::List(items)
            if items
                .iter()
                .all(|item| is_scalar(item) || matches!(item, Const::Timestamp(_))) =>
        {
            Some(items)
        }
        _ => None,
    }
}

fn accepts_deep(operand: &Const, is_time: bool) -> bool {
    match operand {
        Const::List(items) => items.iter().all(|item| accepts_deep(item, false)),
        Const::Map(entries) => entries.iter().all(|(_, value)| accepts_deep(value, false)),
        Const::Timestamp(_) => is_time,
        other => is_scalar(other),
    }
}

/// The kind of an ordered operand: 0 number, 1 string, 2 instant.
fn rank(operand: &Const, is_time: bool) -> Option<u8> {
    match operand {
        Const::Int(_) | Const::BigInt(_) | Const::Float(_) => Some(0),
        Const::Str(_) => Some(1),
        Const::Timestamp(_) if is_time => Some(2),
        Const::Timestamp(_)
        | Const::Null
        | Const::Bool(_)
        | Const::List(_)
        | Const::Map(_)
        | Const::HostConst(_) => None,
    }
}
