//! Lists, tuples and mappings: elements by index, entries by key, slices, and the items of a `for`.

use std::rc::Rc;

use super::compare::{equal, failure_on, set_of};
use super::number::Number;
use super::table::{Table, hash};
use super::value::{Budget, Items, Range, Run, Val};
use crate::error::ErrorCode;
use crate::lang::path::Key;
use crate::num::bigint::Signed;
use crate::pyfn::consts::{ConstDict, PyConst};
use crate::pyfn::exception::{Exception, Failure};
use crate::value::{Step, Value, View};

/// The type of a sequence.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::pyfn) enum Kind {
    List,
    Tuple,
}

/// The elements of a list or a tuple.
pub(in crate::pyfn) enum Elements<'v, 'p, V> {
    Made(&'v Items<'p, V>),
    Const(&'p [PyConst]),
    Read(&'v V),
}

/// A value as a list or tuple, if it is one.
#[inline]
pub(in crate::pyfn) fn items_of<'v, 'p, V: Value>(
    value: &'v Val<'p, V>,
) -> Option<(Kind, Elements<'v, 'p, V>)> {
    Some(match value {
        Val::List(items) => (Kind::List, Elements::Made(items)),
        Val::Tuple(items) => (Kind::Tuple, Elements::Made(items)),
        Val::Const(PyConst::List(items)) => (Kind::List, Elements::Const(items)),
        Val::Const(PyConst::Tuple(items)) => (Kind::Tuple, Elements::Const(items)),
        Val::Seq(value) => (Kind::List, Elements::Read(value)),
        Val::Tup(value) => (Kind::Tuple, Elements::Read(value)),
        _ => return None,
    })
}

impl<'p, V: Value> Elements<'_, 'p, V> {
    pub(in crate::pyfn) fn len(&self) -> Run<usize> {
        match self {
            Self::Made(items) => Ok(items.items.len()),
            Self::Const(items) => Ok(items.len()),
            Self::Read(value) => value
                .checked_len()
                .ok_or(Failure::Fault(ErrorCode::WrongType)),
        }
    }

    pub(in crate::pyfn) fn get(&self, index: usize) -> Option<Val<'p, V>> {
        match self {
            Self::Made(items) => items.items.get(index).cloned(),
            Self::Const(items) => items.get(index).map(Val::constant),
            Self::Read(value) => value.item(index).map(Val::import),
        }
    }

    pub(in crate::pyfn) fn collect(&self, budget: &mut Budget) -> Run<Vec<Val<'p, V>>> {
        let length = self.len()?;
        budget.elements(length)?;
        Ok((0..length).filter_map(|index| self.get(index)).collect())
    }
}

/// The entries of a mapping.
pub(in crate::pyfn) enum Entries<'v, 'p, V> {
    Made(&'v Table<'p, V>),
    Const(&'p ConstDict),
    Read(&'v V),
}

impl<'v, 'p, V: Value> Entries<'v, 'p, V> {
    /// A value as a mapping, if it is one.
    pub(in crate::pyfn) fn of(value: &'v Val<'p, V>) -> Option<Self> {
        Some(match value {
            Val::Dict(table) => Self::Made(table),
            Val::Const(PyConst::Dict(dict)) => Self::Const(dict),
            Val::Map(value) => Self::Read(value),
            _ => return None,
        })
    }

    pub(in crate::pyfn) fn len(&self) -> Run<usize> {
        match self {
            Self::Made(table) => Ok(table.len()),
            Self::Const(dict) => Ok(dict.entries.len()),
            Self::Read(value) => value
                .checked_len()
                .ok_or(Failure::Fault(ErrorCode::WrongType)),
        }
    }

    /// The value of a key; `TypeError` for one without a hash.
    pub(in crate::pyfn) fn get(
        &self,
        key: &Val<'p, V>,
        budget: &mut Budget,
    ) -> Run<Option<Val<'p, V>>> {
        match self {
            Self::Made(table) => Ok(table.get(key, budget)?.cloned()),
            Self::Const(dict) => {
                if let Some(text) = key.text() {
                    return Ok(dict.get_text(text).map(Val::constant));
                }
                hash(key)?;
                for (held, value) in &dict.entries {
                    if equal(&Val::constant(held), key, budget)? {
                        return Ok(Some(Val::constant(value)));
                    }
                }
                Ok(None)
            }
            Self::Read(value) => {
                let step = match key {
                    Val::None => value.get_scalar(&View::Null),
                    Val::Bool(flag) => value.get_scalar(&View::Bool(*flag)),
                    Val::Int(number) => value.get_scalar(&View::Int(*number)),
                    Val::Float(number) => value.get_scalar(&View::Float(*number)),
                    Val::Big(number) => value.get_scalar(&View::BigInt(number.as_ref().clone())),
                    key => match key.text() {
                        Some(text) => value.get(Key::unprepared(text)),
                        None => {
                            hash(key)?;
                            return Err(Failure::UNSUPPORTED);
                        }
                    },
                };
                match step {
                    Step::Found(value) => Ok(Some(Val::import(value))),
                    Step::Absent => Ok(None),
                    Step::Unreadable => Err(Failure::Fault(ErrorCode::WrongType)),
                }
            }
        }
    }

    /// All keys and values, in order.
    pub(in crate::pyfn) fn pairs(&self, budget: &mut Budget) -> Run<Vec<(Val<'p, V>, Val<'p, V>)>> {
        budget.elements(self.len()?.saturating_mul(2))?;
        Ok(match self {
            Self::Made(table) => table
                .pairs()
                .map(|(key, value)| (key.clone(), value.clone()))
                .collect(),
            Self::Const(dict) => dict
                .entries
                .iter()
                .map(|(key, value)| (Val::constant(key), Val::constant(value)))
                .collect(),
            Self::Read(value) => {
                let mut pairs = Vec::new();
                value.each_pair(&mut |key, value| {
                    pairs.push((Val::import(key), Val::import(value)));
                    true
                });
                pairs
            }
        })
    }
}

/// `owner[key]`.
pub(in crate::pyfn) fn item<'p, V: Value>(
    owner: &Val<'p, V>,
    key: &Val<'p, V>,
    budget: &mut Budget,
) -> Run<Val<'p, V>> {
    if let Some(entries) = Entries::of(owner) {
        return entries
            .get(key, budget)?
            .ok_or_else(|| Exception::KEY.into());
    }
    if let Some(text) = owner.text() {
        let index = index(key, crate::pyfn::builtins::text::length(text))?;
        let found = crate::pyfn::builtins::text::slice(text, index, index + 1);
        return Val::made(found, budget);
    }
    if let Some((_, items)) = items_of(owner) {
        let index = index(key, items.len()?)?;
        return items.get(index).ok_or_else(|| Exception::INDEX.into());
    }
    match owner {
        Val::Range(range) => {
            let index = index(key, usize::try_from(range.len).unwrap_or(usize::MAX))?;
            let found = range.get(index as u64);
            found.map(Val::Int).ok_or_else(|| Exception::INDEX.into())
        }
        Val::Match(found) => found.group(key, budget),
        Val::Opaque(_) => Err(failure_on(owner, Failure::UNSUPPORTED)),
        _ => Err(Exception::TYPE.into()),
    }
}

/// The place of an element in a sequence of this length.
pub(in crate::pyfn) fn index<V: Value>(key: &Val<'_, V>, length: usize) -> Run<usize> {
    let index = match key {
        Val::Bool(flag) => i64::from(*flag),
        Val::Int(index) => *index,
        Val::Big(_) => return Err(Exception::INDEX.into()),
        other => return Err(failure_on(other, Exception::TYPE.into())),
    };
    let length = length as i64;
    let index = if index < 0 {
        index.saturating_add(length)
    } else {
        index
    };
    if (0..length).contains(&index) {
        Ok(index as usize)
    } else {
        Err(Exception::INDEX.into())
    }
}

/// `owner[start:stop:step]`.
pub(in crate::pyfn) fn slice<'p, V: Value>(
    owner: &Val<'p, V>,
    bounds: [Val<'p, V>; 3],
    budget: &mut Budget,
) -> Run<Val<'p, V>> {
    if let Some(text) = owner.text() {
        let length = crate::pyfn::builtins::text::length(text);
        let range = range_of(&bounds, length)?;
        if range.step == 1 {
            let (start, stop) = (
                range.start as usize,
                range.start as usize + range.len as usize,
            );
            return Val::made(
                crate::pyfn::builtins::text::slice(text, start, stop),
                budget,
            );
        }
        let chars: Vec<char> = text.chars().collect();
        budget.elements(chars.len())?;
        let picked: String = (0..range.len)
            .filter_map(|at| chars.get(range.get(at)? as usize))
            .collect();
        return Val::made(&picked, budget);
    }
    if let Some((kind, items)) = items_of(owner) {
        let range = range_of(&bounds, items.len()?)?;
        budget.elements(range.len as usize)?;
        let picked = (0..range.len)
            .filter_map(|at| items.get(range.get(at)? as usize))
            .collect();
        return match kind {
            Kind::List => Val::list(picked),
            Kind::Tuple => Val::tuple(picked),
        };
    }
    match owner {
        Val::Range(_) => Err(Failure::UNSUPPORTED),
        // A slice has no hash before Python 3.12, and is no key.
        Val::Map(_) | Val::Dict(_) | Val::Const(PyConst::Dict(_)) => Err(Failure::UNSUPPORTED),
        Val::Opaque(_) => Err(failure_on(owner, Failure::UNSUPPORTED)),
        _ => Err(Exception::TYPE.into()),
    }
}

/// The indexes a slice picks from a sequence of this length.
fn range_of<V: Value>(bounds: &[Val<'_, V>; 3], length: usize) -> Run<Range> {
    let number = |bound: &Val<'_, V>| match bound {
        Val::None => Ok(None),
        Val::Bool(flag) => Ok(Some(i64::from(*flag))),
        Val::Int(value) => Ok(Some(*value)),
        Val::Big(value) => Ok(Some(if value.is_negative() {
            i64::MIN + 1
        } else {
            i64::MAX
        })),
        other => Err(failure_on(other, Exception::TYPE.into())),
    };
    let [start, stop, step] = bounds;
    let step = number(step)?.unwrap_or(1).max(-i64::MAX);
    if step == 0 {
        return Err(Exception::VALUE.into());
    }
    let (start, stop) = (number(start)?, number(stop)?);
    let length = length as i64;
    let (lowest, highest) = if step < 0 {
        (-1, length - 1)
    } else {
        (0, length)
    };
    let clip = |bound: Option<i64>, otherwise| match bound {
        None => otherwise,
        Some(bound) if bound < 0 => bound.saturating_add(length).max(lowest),
        Some(bound) => bound.min(highest),
    };
    let (start, stop) = if step < 0 {
        (clip(start, highest), clip(stop, lowest))
    } else {
        (clip(start, lowest), clip(stop, highest))
    };
    Ok(range(start, stop, step))
}

/// `range(start, stop, step)` of a step that is not 0.
pub(in crate::pyfn) fn range(start: i64, stop: i64, step: i64) -> Range {
    let distance = if step > 0 {
        i128::from(stop) - i128::from(start)
    } else {
        i128::from(start) - i128::from(stop)
    };
    let step_size = i128::from(step.unsigned_abs());
    let len = if distance <= 0 {
        0
    } else {
        (distance + step_size - 1) / step_size
    };
    Range {
        start,
        step,
        len: len as u64,
    }
}

/// The iteration state of a `for`.
pub(in crate::pyfn) enum Cursor<'p, V> {
    Items(Rc<Items<'p, V>>, usize),
    Const(&'p [PyConst]),
    Read(V, usize),
    Listed(std::vec::IntoIter<Val<'p, V>>),
    Range(Range, u64),
    /// A string, and the byte its next character begins at.
    Chars(Val<'p, V>, usize),
}

impl<'p, V: Value> Cursor<'p, V> {
    /// `iter(value)`.
    pub(in crate::pyfn) fn new(value: Val<'p, V>, budget: &mut Budget) -> Run<Self> {
        Ok(match value {
            Val::List(items) | Val::Tuple(items) | Val::View(_, items) | Val::Each(items) => {
                Self::Items(items, 0)
            }
            Val::Const(PyConst::List(items) | PyConst::Tuple(items)) => Self::Const(items),
            Val::Seq(value) | Val::Tup(value) => Self::Read(value, 0),
            Val::Range(range) => Self::Range(*range, 0),
            text @ (Val::Str(_) | Val::Text(_) | Val::Made(_)) => Self::Chars(text, 0),
            other => {
                if let Some(set) = set_of(&other) {
                    budget.elements(set.len())?;
                    return Ok(Self::Listed(set.items().into_iter()));
                }
                if let Some(entries) = Entries::of(&other) {
                    let keys: Vec<_> = entries
                        .pairs(budget)?
                        .into_iter()
                        .map(|(key, _)| key)
                        .collect();
                    return Ok(Self::Listed(keys.into_iter()));
                }
                return Err(failure_on(&other, Exception::TYPE.into()));
            }
        })
    }

    pub(in crate::pyfn) fn next(&mut self, budget: &mut Budget) -> Run<Option<Val<'p, V>>> {
        budget.fuel(1)?;
        Ok(match self {
            Self::Items(items, at) => {
                let item = items.items.get(*at).cloned();
                *at += 1;
                item
            }
            Self::Const(items) => match items.split_first() {
                Some((first, rest)) => {
                    *items = rest;
                    Some(Val::constant(first))
                }
                None => None,
            },
            Self::Read(value, at) => {
                let item = value.item(*at);
                *at += 1;
                item.map(Val::import)
            }
            Self::Listed(items) => items.next(),
            Self::Range(range, at) => {
                let item = range.get(*at);
                *at += 1;
                item.map(Val::Int)
            }
            Self::Chars(text, at) => {
                let Some(next) = text
                    .text()
                    .and_then(|text| text.get(*at..))
                    .and_then(|rest| rest.chars().next())
                else {
                    return Ok(None);
                };
                *at += next.len_utf8();
                Some(Val::made(next.encode_utf8(&mut [0; 4]), budget)?)
            }
        })
    }
}

/// All that a `for` over a value would see.
pub(in crate::pyfn) fn collect<'p, V: Value>(
    value: Val<'p, V>,
    budget: &mut Budget,
) -> Run<Vec<Val<'p, V>>> {
    let mut cursor = Cursor::new(value, budget)?;
    let mut items = Vec::new();
    while let Some(item) = cursor.next(budget)? {
        budget.elements(1)?;
        items.push(item);
    }
    Ok(items)
}

/// The integer that an index or a count is.
pub(in crate::pyfn) fn integer<V: Value>(value: &Val<'_, V>) -> Run<i64> {
    match value {
        Val::Bool(flag) => Ok(i64::from(*flag)),
        Val::Int(number) => Ok(*number),
        Val::Big(_) => Err(Exception::OVERFLOW.into()),
        other => Err(failure_on(other, Exception::TYPE.into())),
    }
}

/// A number, or the error of a value that is not a number.
pub(in crate::pyfn) fn number<V: Value>(value: &Val<'_, V>) -> Run<Number> {
    Number::of(value).ok_or_else(|| failure_on(value, Exception::TYPE.into()))
}
