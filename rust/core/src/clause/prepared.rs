//! Operands: constants of a policy as matchers compare them, with keys prepared.

use std::cmp::Ordering;

use super::predicate::sound;
use crate::budget::Steps;
use crate::error::Fault;
use crate::lang::path::Key;
use crate::num::bigint::to_i64;
use crate::num::number::Number;
use crate::value::compare::compare;
use crate::value::constant::Const;
use crate::value::{Step, Value, View};

/// A prepared constant.
#[derive(Clone, Debug, PartialEq)]
pub enum PreparedConst {
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
    List(Vec<PreparedConst>),
    /// A mapping, sorted by key.
    Map(Vec<(Box<str>, PreparedConst)>),
}

impl PreparedConst {
    /// Prepares a constant; `None` when it is exotic.
    #[must_use]
    pub fn prepare(constant: &Const) -> Option<Self> {
        Some(match constant {
            Const::Null => Self::Null,
            Const::Bool(value) => Self::Bool(*value),
            Const::Int(value) => Self::Number(Number::Int(*value)),
            Const::BigInt(value) => {
                Self::Number(to_i64(value).map_or_else(|| Number::Big(value.clone()), Number::Int))
            }
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
            Const::HostConst(_) => return None,
        })
    }
}

/// Equality of scalars: values of different type are not equal.
#[inline]
#[must_use]
pub fn scalar_equal(view: &View<'_>, operand: &PreparedConst) -> bool {
    match (view, operand) {
        (View::Null, PreparedConst::Null) => true,
        (View::Bool(left), PreparedConst::Bool(right)) => left == right,
        (View::Str(left), PreparedConst::Str(right)) => *left == right.as_ref(),
        (View::Timestamp(left), PreparedConst::Timestamp(right)) => left == right,
        (view, PreparedConst::Number(right)) => compare(view, right) == Some(Ordering::Equal),
        _ => false,
    }
}

/// Deep equality; reads at most as deep as the operand.
///
/// # Errors
/// A value before the first difference cannot be evaluated, or the steps are spent.
pub(crate) fn deep_equal<V: Value>(
    value: &V,
    operand: &PreparedConst,
    steps: &Steps,
) -> Result<bool, Fault> {
    steps.take(1)?;
    let view = sound(value.view())?;
    match operand {
        PreparedConst::List(items) => {
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
        PreparedConst::Map(entries) => {
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
        PreparedConst::Null
        | PreparedConst::Bool(_)
        | PreparedConst::Number(_)
        | PreparedConst::Str(_)
        | PreparedConst::Timestamp(_) => Ok(scalar_equal(&view, operand)),
    }
}
