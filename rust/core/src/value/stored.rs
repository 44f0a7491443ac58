//! Values that a state keeps: owned copies of parts of a request.

use super::{Key, Step, Value, View};
use crate::num::bigint::BigInt;

/// A copy of a value.
#[derive(Clone, Debug, PartialEq)]
pub enum Stored {
    /// `null`
    Null,
    /// A boolean.
    Bool(bool),
    /// An integer.
    Int(i64),
    /// A larger integer.
    BigInt(BigInt),
    /// An integer above the cap.
    HugeInt,
    /// A float.
    Float(f64),
    /// A string.
    Str(Box<str>),
    /// A string with a lone surrogate.
    BadStr,
    /// A list.
    List(Vec<Stored>),
    /// A mapping; its keys that are no strings are left out.
    Map(Vec<(Box<str>, Stored)>),
    /// An instant.
    Timestamp(i64),
    /// Anything else.
    Opaque,
}

impl Stored {
    /// Copies a value; `None` if it takes more than the bytes that are left, or is nested too deeply.
    pub(crate) fn copy<V: Value>(value: &V, left: &mut usize, depth: usize) -> Option<Self> {
        let view = value.view();
        let size = match &view {
            View::Str(text) => text.len() + 16,
            View::BigInt(value) => value.bits() as usize / 8 + 16,
            _ => 16,
        };
        *left = left.checked_sub(size)?;
        Some(match view {
            View::Null => Self::Null,
            View::Bool(value) => Self::Bool(value),
            View::Int(value) => Self::Int(value),
            View::BigInt(value) => Self::BigInt(value),
            View::HugeInt => Self::HugeInt,
            View::Float(value) => Self::Float(value),
            View::Str(text) => Self::Str(text.into()),
            View::BadStr => Self::BadStr,
            View::Timestamp(micros) => Self::Timestamp(micros),
            View::Opaque => Self::Opaque,
            View::List => {
                let inner = depth.checked_sub(1)?;
                let items = value.items().map(|item| Self::copy(&item, left, inner));
                Self::List(items.collect::<Option<_>>()?)
            }
            View::Map => {
                let inner = depth.checked_sub(1)?;
                let mut entries = Some(Vec::new());
                value.each_entry(&mut |key, item| {
                    let View::Str(key) = key else {
                        return true;
                    };
                    let copied = left
                        .checked_sub(key.len())
                        .map(|rest| *left = rest)
                        .and_then(|()| Self::copy(item, left, inner));
                    match (&mut entries, copied) {
                        (Some(entries), Some(item)) => entries.push((key.into(), item)),
                        _ => entries = None,
                    }
                    entries.is_some()
                });
                Self::Map(entries?)
            }
        })
    }
}

impl Value for &Stored {
    fn view(&self) -> View<'_> {
        match self {
            Stored::Null => View::Null,
            Stored::Bool(value) => View::Bool(*value),
            Stored::Int(value) => View::Int(*value),
            Stored::BigInt(value) => View::BigInt(value.clone()),
            Stored::HugeInt => View::HugeInt,
            Stored::Float(value) => View::Float(*value),
            Stored::Str(text) => View::Str(text),
            Stored::BadStr => View::BadStr,
            Stored::List(_) => View::List,
            Stored::Map(_) => View::Map,
            Stored::Timestamp(micros) => View::Timestamp(*micros),
            Stored::Opaque => View::Opaque,
        }
    }

    fn get(&self, key: Key<'_>) -> Step<Self> {
        match self {
            Stored::Map(entries) => entries
                .iter()
                .find(|(name, _)| **name == *key.text)
                .map_or(Step::Absent, |(_, value)| Step::Found(value)),
            Stored::Null => Step::Absent,
            _ => Step::Unreadable,
        }
    }

    fn len(&self) -> usize {
        match self {
            Stored::List(items) => items.len(),
            Stored::Map(entries) => entries.len(),
            _ => 0,
        }
    }

    fn item(&self, index: usize) -> Option<Self> {
        match self {
            Stored::List(items) => items.get(index),
            _ => None,
        }
    }

    fn each_entry(&self, visit: &mut dyn FnMut(View<'_>, &Self) -> bool) {
        if let Stored::Map(entries) = self {
            entries
                .iter()
                .all(|(key, value)| visit(View::Str(key), &value));
        }
    }
}
