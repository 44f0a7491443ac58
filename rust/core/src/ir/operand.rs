//! Operands by operator: the guarantees that the strict profile gives to the evaluator.

use super::constant::is_plain;
use super::node::{Decode, bad};
use crate::clause::operand::{Check, Operand};
use crate::clause::ops::facet::{self, Within};
use crate::clause::ops::{Inside, Op, OperandType, Prepare};
use crate::clause::prepared::PreparedConst;
use crate::facets::Kind;
use crate::json::tape::{Item, Items, Node};
use crate::lang::path::{Field, Head};
use crate::value::constant::Const;

/// Returns true if an operand is, by its kind, one that the operator takes in every profile. PERF: most are, and need no
/// decoding to be checked.
pub(super) fn is_plainly_fit(op: Op, operand: Item<'_, '_>) -> bool {
    let number = |item: Item<'_, '_>| matches!(item.node(), Node::Int(_) | Node::Float(_));
    let text = |item: Item<'_, '_>| matches!(item.node(), Node::Text(..));
    match op.operand {
        OperandType::Any | OperandType::Scalar => is_plain(operand),
        OperandType::Text | OperandType::Texts | OperandType::Places => {
            is_plain(operand) && text(operand)
        }
        OperandType::Scalars => plain_items(operand).is_some(),
        OperandType::SomeScalars => {
            plain_items(operand).is_some_and(|mut items| items.next().is_some())
        }
        OperandType::Bound => is_plain(operand) && (number(operand) || text(operand)),
        OperandType::Bounds => plain_items(operand).is_some_and(|mut bounds| {
            match (bounds.next(), bounds.next(), bounds.next()) {
                (Some(lo), Some(hi), None) => (number(lo) && number(hi)) || (text(lo) && text(hi)),
                _ => false,
            }
        }),
        OperandType::Bool => matches!(operand.node(), Node::Bool(_)),
        OperandType::Tests(_)
        | OperandType::Facet(_)
        | OperandType::Part
        | OperandType::Sources
        | OperandType::Group => false,
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
    if op.operand == OperandType::Group {
        return Err(bad(format!("`{}` is a test of an element", op.name)));
    }
    operand_of(op, operand, (is_time, Kind::Plain))
}

/// Checks an operand. `is_time`: the operator tests the time; `kind`: the type of the value, of a derived one.
fn operand_of(op: Op, operand: &Operand, (is_time, kind): (bool, Kind)) -> Decode<()> {
    let accepted = match (operand, op.operand) {
        (Operand::Part(path, checks), OperandType::Part) => {
            let part = kind.at(path).filter(|_| !path.is_empty());
            all_of(checks, part, |test| {
                test.inside >= Inside::Element || test.name == "exists"
            })?
        }
        (Operand::Tests(checks), OperandType::Facet(facet)) if kind.is_text() => {
            all_of(checks, Some(facet.kind()), |test| {
                test.inside >= Inside::Element
            })?
        }
        (Operand::Sources(names), OperandType::Sources) => kind.is_tested() && !names.is_empty(),
        (Operand::Tests(checks), OperandType::Group) => {
            all_of(checks, Some(kind), |test| test.inside >= Inside::Element)?
        }
        (
            _,
            OperandType::Facet(_) | OperandType::Part | OperandType::Group | OperandType::Sources,
        )
        | (Operand::Part(..) | Operand::Sources(_), _) => false,
        (Operand::Ref(..), OperandType::Places) => is_searched(kind),
        (Operand::Places(places), OperandType::Places) => {
            let fits = |place: &Operand| match place {
                Operand::Const(text) => matches!(text, Const::Str(_)),
                place => matches!(place, Operand::Ref(..)),
            };
            !places.is_empty() && places.iter().all(fits) && is_searched(kind)
        }
        (Operand::Places(_), _) => false,
        (Operand::Const(text), OperandType::Places) => {
            matches!(text, Const::Str(_)) && is_searched(kind)
        }
        (Operand::Const(operand), _) => constant(op, operand, is_time) && is_of(op, operand, kind),
        (Operand::Ref(..), _) => op.relative.is_some() && kind.is_tested() && kind != Kind::Host,
        (Operand::Tests(checks), OperandType::Tests(derived)) => {
            let inner = match derived {
                Inside::Element | Inside::Nothing => kind.element(),
                Inside::Text => kind.is_tested().then_some(Kind::Text),
                Inside::Count => (kind.is_tested() || kind == Kind::Script).then_some(Kind::Number),
            };
            all_of(checks, inner, |test| test.inside >= derived)?
        }
        (Operand::Tests(_), _) => false,
    };
    if accepted {
        Ok(())
    } else {
        Err(bad(format!("`{}` does not take this operand", op.name)))
    }
}

/// Returns true for a type of values that are searched for in texts.
fn is_searched(kind: Kind) -> bool {
    matches!(
        kind,
        Kind::Plain | Kind::Element | Kind::Document | Kind::Text | Kind::Number | Kind::Host
    )
}

/// Checks tests of a value of a kind; false without a kind, without tests, and for operators that do not test it.
fn all_of(checks: &[Check], kind: Option<Kind>, fits: impl Fn(Op) -> bool) -> Decode<bool> {
    let Some(kind) = kind.filter(|_| !checks.is_empty()) else {
        return Ok(false);
    };
    for test in checks {
        operand_of(test.op, &test.operand, (false, kind))?;
    }
    Ok(checks.iter().all(|test| fits(test.op)))
}

/// Returns true if an operator with a constant tests values of a kind.
fn is_of(op: Op, operand: &Const, kind: Kind) -> bool {
    let prepared = || PreparedConst::prepare(operand);
    match (&op.prepare, kind) {
        (Prepare::Within, kind) => prepared()
            .and_then(|operand| Within::new(kind, &facet::texts(&operand)?))
            .is_some(),
        (Prepare::Constant(_), Kind::Version) => {
            matches!(
                op.operand,
                OperandType::Any | OperandType::Scalars | OperandType::Bound | OperandType::Bounds
            ) && op.inside >= Inside::Element
                && prepared().and_then(facet::versions).is_some()
        }
        (_, kind) => kind.is_tested(),
    }
}

fn constant(op: Op, operand: &Const, is_time: bool) -> bool {
    match op.operand {
        OperandType::Any => accepts_deep(operand, is_time),
        OperandType::Text => matches!(operand, Const::Str(_)),
        OperandType::Scalars => scalars(operand).is_some(),
        OperandType::Scalar => is_scalar(operand),
        OperandType::SomeScalars => scalars(operand).is_some_and(|items| !items.is_empty()),
        OperandType::Bound => rank(operand, is_time).is_some(),
        OperandType::Bounds => match operand {
            Const::List(bounds) => match bounds.as_slice() {
                [lo, hi] => rank(lo, is_time).is_some() && rank(lo, is_time) == rank(hi, is_time),
                _ => false,
            },
            _ => false,
        },
        OperandType::Bool => matches!(operand, Const::Bool(_)),
        OperandType::Texts => match operand {
            Const::Str(_) => true,
            Const::List(items) => {
                !items.is_empty() && items.iter().all(|item| matches!(item, Const::Str(_)))
            }
            _ => false,
        },
        OperandType::Places => matches!(operand, Const::Str(_)),
        OperandType::Tests(_)
        | OperandType::Facet(_)
        | OperandType::Part
        | OperandType::Sources
        | OperandType::Group => false,
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
