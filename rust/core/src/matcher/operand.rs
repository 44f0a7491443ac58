//! Operands: constants of a policy as matchers compare them, with keys prepared.

use std::cmp::Ordering;

use super::number::{Number, compare};
use super::{Fault, sound};
use crate::value::constant::Const;
use crate::value::{Key, Step, Value, View};
use crate::work::Steps;

/// A prepared constant.
#[derive(Clone, Debug, PartialEq)]
pub enum Operand {
    /// `null`
    Null,
    /// A boolean.
    Bool(bool),
    /// A number.
    Number(Number),
    /// A string.
    Str(Box<str>),
    /// An instant.
    Timestamp(i64),
    /// A list.
    List(Vec<Operand>),
    /// A mapping, sorted by key.
    Map(Vec<(Box<str>, Operand)>),
}

impl Operand {
    /// Prepares a constant; `None` when it is exotic.
    #[must_use]
    pub fn prepare(constant: &Const) -> Option<Self> {
        Some(match constant {
            Const::Null => Self::Null,
            Const::Bool(value) => Self::Bool(*value),
            Const::Int(value) => Self::Number(Number::Int(*value)),
            Const::BigInt(value) => Self::Number(
                value
                    .to_i64()
                    .map_or_else(|| Number::Big(value.clone()), Number::Int),
            ),
            Const::Float(value) => Self::Number(Number::from_float(*value)),
            Const::Str(text) => Self::Str(text.clone()),
            Const::Timestamp(micros) => Self::Timestamp(*micros),
            Const::List(items) => {
                Self::List(items.iter().map(Self::prepare).collect::<Option<_>>()?)
            }
            Const::Map(entries) => {
                let entry =
                    |(key, value): &(Box<str>, Const)| Some((key.clone(), Self::prepare(value)?));
                let mut sorted: Vec<_> = entries.iter().map(entry).collect::<Option<_>>()?;
                sorted.sort_by(|(a, _), (b, _)| a.cmp(b));
                Self::Map(sorted)
            }
            Const::Exotic(_) => return None,
        })
    }
}

/// Equality of scalars: values of different type are not equal.
#[inline]
#[must_use]
pub fn scalar_equal(view: &View<'_>, operand: &Operand) -> bool {
    match (view, operand) {
        (View::Null, Operand::Null) => true,
        (View::Bool(left), Operand::Bool(right)) => left == right,
        (View::Str(left), Operand::Str(right)) => *left == right.as_ref(),
        (View::Timestamp(left), Operand::Timestamp(right)) => left == right,
        (view, Operand::Number(right)) => compare(view, right) == Some(Ordering::Equal),
        _ => false,
    }
}

/// Deep equality; reads at most as deep as the operand.
///
/// # Errors
/// A value met before the answer is known cannot be judged, or the steps are spent.
pub(crate) fn deep_equal<V: Value>(
    value: &V,
    operand: &Operand,
    steps: &Steps,
) -> Result<bool, Fault> {
    steps.take(1)?;
    let view = sound(value.view())?;
    match operand {
        Operand::List(items) => {
            if !matches!(view, View::List) || value.len() != items.len() {
                return Ok(false);
            }
            for (index, item) in items.iter().enumerate() {
                let Some(element) = value.item(index) else {
                    return Ok(false);
                };
                if !deep_equal(&element, item, steps)? {
                    return Ok(false);
                }
            }
            Ok(true)
        }
        Operand::Map(entries) => {
            if !matches!(view, View::Map) {
                return Ok(false);
            }
            if value.checked_len().ok_or(Fault::WrongType)? != entries.len() {
                return Ok(false);
            }
            for (key, item) in entries {
                match value.get(Key::unprepared(key)) {
                    Step::Found(element) => {
                        if !deep_equal(&element, item, steps)? {
                            return Ok(false);
                        }
                    }
                    Step::Absent => return Ok(false),
                    Step::Unreadable => return Err(Fault::WrongType),
                }
            }
            Ok(true)
        }
        Operand::Null
        | Operand::Bool(_)
        | Operand::Number(_)
        | Operand::Str(_)
        | Operand::Timestamp(_) => Ok(scalar_equal(&view, operand)),
    }
}
