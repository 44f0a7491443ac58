//! Sets and mappings made here: in the order of insertion, keys by Python's equality.

use std::collections::HashMap;

use super::compare::equal_held;
use super::value::{Budget, Run, Val, depth_over};
use crate::bytes::hash::hash as hash_bytes;
use crate::num::bigint::to_i64;
use crate::num::number::integral;
use crate::pyfn::consts::PyConst;
use crate::pyfn::exception::{Exception, Failure};
use crate::value::Value;

/// Tables of fewer entries are searched one by one.
const FEW: usize = 9;

/// A set, or a mapping.
#[derive(Clone)]
pub(in crate::pyfn) struct Table<'p, V> {
    entries: Vec<(u64, Val<'p, V>, Val<'p, V>)>,
    index: HashMap<u64, Vec<u32>>,
    pub(in crate::pyfn) depth: u16,
    /// True for a `frozenset`.
    pub(in crate::pyfn) frozen: bool,
}

impl<'p, V: Value> Table<'p, V> {
    pub(in crate::pyfn) fn new() -> Self {
        Self {
            entries: Vec::new(),
            index: HashMap::new(),
            depth: 1,
            frozen: false,
        }
    }

    /// The set of these.
    pub(in crate::pyfn) fn set(
        items: impl IntoIterator<Item = Val<'p, V>>,
        budget: &mut Budget,
    ) -> Run<Self> {
        let mut table = Self::new();
        for item in items {
            table.insert(item, Val::None, budget)?;
        }
        Ok(table)
    }

    pub(in crate::pyfn) fn len(&self) -> usize {
        self.entries.len()
    }

    pub(in crate::pyfn) fn keys(&self) -> impl Iterator<Item = &Val<'p, V>> {
        self.entries.iter().map(|(_, key, _)| key)
    }

    pub(in crate::pyfn) fn pairs(&self) -> impl Iterator<Item = (&Val<'p, V>, &Val<'p, V>)> {
        self.entries.iter().map(|(_, key, value)| (key, value))
    }

    /// Puts a value; an equal key that is there stays.
    pub(in crate::pyfn) fn insert(
        &mut self,
        key: Val<'p, V>,
        value: Val<'p, V>,
        budget: &mut Budget,
    ) -> Run<()> {
        let hash = hash(&key)?;
        self.depth = self.depth.max(depth_over([&key, &value].into_iter())?);
        if let Some(at) = self.find(hash, &key, budget)? {
            if let Some((_, _, held)) = self.entries.get_mut(at) {
                *held = value;
            }
            return Ok(());
        }
        budget.elements(2)?;
        let at = self.entries.len() as u32;
        self.entries.push((hash, key, value));
        if self.entries.len() == FEW {
            for (at, (hash, ..)) in (0..).zip(&self.entries) {
                self.index.entry(*hash).or_default().push(at);
            }
        } else if self.entries.len() > FEW {
            self.index.entry(hash).or_default().push(at);
        }
        Ok(())
    }

    /// The value of a key.
    pub(in crate::pyfn) fn get(
        &self,
        key: &Val<'p, V>,
        budget: &mut Budget,
    ) -> Run<Option<&Val<'p, V>>> {
        let at = self.find(hash(key)?, key, budget)?;
        Ok(at
            .and_then(|at| self.entries.get(at))
            .map(|(_, _, value)| value))
    }

    fn find(&self, hash: u64, key: &Val<'p, V>, budget: &mut Budget) -> Run<Option<usize>> {
        if self.entries.len() < FEW {
            for (at, (known, held, _)) in self.entries.iter().enumerate() {
                if *known == hash && equal_held(held, key, budget)? {
                    return Ok(Some(at));
                }
            }
            return Ok(None);
        }
        for &at in self.index.get(&hash).map_or(&[][..], Vec::as_slice) {
            budget.fuel(1)?;
            if let Some((_, held, _)) = self.entries.get(at as usize)
                && equal_held(held, key, budget)?
            {
                return Ok(Some(at as usize));
            }
        }
        Ok(None)
    }
}

/// A hash that is the same for equal values; `TypeError` for an unhashable one.
pub(in crate::pyfn) fn hash<V: Value>(value: &Val<'_, V>) -> Run<u64> {
    Ok(match value {
        Val::None => 1,
        Val::Bool(flag) => number(i64::from(*flag)),
        Val::Int(value) => number(*value),
        // Those beyond 64 bits are few: they may share a hash with the floats they equal.
        Val::Big(value) => to_i64(value).map_or(2, number),
        Val::Float(value) => integral(*value).map_or(2, number),
        Val::Str(_) | Val::Text(_) | Val::Made(_) => value
            .text()
            .map_or(3, |text| hash_bytes(text.as_bytes(), 3)),
        Val::Tuple(items) => {
            let mut state = 4;
            for item in &items.items {
                state = hash_bytes(&hash(item)?.to_le_bytes(), state);
            }
            state
        }
        Val::Const(PyConst::Tuple(items)) => {
            let mut state = 4;
            for item in items {
                state = hash_bytes(&hash(&Val::<V>::constant(item))?.to_le_bytes(), state);
            }
            state
        }
        Val::Tup(value) => {
            let mut state = 4;
            let mut index = 0;
            while let Some(item) = value.item(index) {
                // A tuple of the request may hold containers without end.
                if item.len() > 0 {
                    return match Val::import(item) {
                        Val::Seq(_) | Val::Map(_) => Err(Exception::TYPE.into()),
                        _ => Err(Failure::UNSUPPORTED),
                    };
                }
                state = hash_bytes(&hash(&Val::import(item))?.to_le_bytes(), state);
                index += 1;
            }
            state
        }
        Val::Set(table) if table.frozen => {
            let mut state = 5_u64;
            for key in table.keys() {
                state = state.wrapping_add(hash(key)?);
            }
            state
        }
        Val::Const(_) | Val::Seq(_) | Val::Map(_) | Val::List(_) | Val::Set(_) | Val::Dict(_) => {
            return Err(Exception::TYPE.into());
        }
        Val::Opaque(broken) => return Err((*broken).into()),
        Val::View(..)
        | Val::Range(_)
        | Val::Each(_)
        | Val::Object(_)
        | Val::DateTime(_)
        | Val::Match(_)
        | Val::Static(_)
        | Val::Decision(_) => return Err(Failure::UNSUPPORTED),
    })
}

fn number(value: i64) -> u64 {
    hash_bytes(&value.to_le_bytes(), 6)
}
