//! Constants of a function, prepared.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;

use crate::bytes::hash::Keyed;
use crate::num::bigint::BigInt;
use crate::value::Civil;
use crate::value::constant::{Const, HostConst};

/// Sets and mappings of fewer elements are searched one by one.
const FEW: usize = 5;

/// A constant.
#[derive(Debug)]
pub(crate) enum PyConst {
    None,
    Bool(bool),
    Int(i64),
    Big(Arc<BigInt>),
    Float(f64),
    Str(Box<str>),
    List(Box<[PyConst]>),
    Tuple(Box<[PyConst]>),
    /// A set of the module; the function does not change it.
    Set(ConstSet),
    Dict(ConstDict),
    /// Bytes, in base64: they are compared, and nothing else.
    Bytes(Box<str>),
    /// A datetime.
    DateTime(Civil),
}

/// A set: its strings, and all of its elements.
#[derive(Debug)]
pub(crate) struct ConstSet {
    pub(crate) items: Box<[PyConst]>,
    strings: HashSet<Box<str>, Keyed>,
}

impl ConstSet {
    /// Returns true if a string is an element.
    pub(crate) fn has_text(&self, text: &str) -> bool {
        if self.strings.is_empty() {
            return self.items.iter().any(|item| item.text() == Some(text));
        }
        self.strings.contains(text)
    }
}

/// A mapping: its entries, and where a string is among them.
#[derive(Debug)]
pub(crate) struct ConstDict {
    pub(crate) entries: Box<[(PyConst, PyConst)]>,
    index: HashMap<Box<str>, usize, Keyed>,
}

impl ConstDict {
    /// The value of a key that is a string.
    pub(crate) fn get_text(&self, text: &str) -> Option<&PyConst> {
        if self.index.is_empty() {
            return self
                .entries
                .iter()
                .find(|(key, _)| key.text() == Some(text))
                .map(|(_, value)| value);
        }
        let at = self.index.get(text)?;
        self.entries.get(*at).map(|(_, value)| value)
    }
}

impl PyConst {
    pub(crate) fn text(&self) -> Option<&str> {
        match self {
            Self::Str(text) => Some(text),
            _ => None,
        }
    }

    /// Prepares a constant; `None` for one that no function has.
    pub(crate) fn new(constant: Const) -> Option<Self> {
        Some(match constant {
            Const::Null => Self::None,
            Const::Bool(value) => Self::Bool(value),
            Const::Int(value) => Self::Int(value),
            Const::BigInt(value) => Self::Big(Arc::new(value)),
            Const::Float(value) => Self::Float(value),
            Const::Str(text) => Self::Str(text),
            Const::List(items) => Self::List(each(items)?),
            Const::Map(entries) => {
                let entries = entries
                    .into_iter()
                    .map(|(key, value)| Some((Self::Str(key), Self::new(value)?)));
                Self::dict(entries.collect::<Option<_>>()?)
            }
            Const::HostConst(HostConst::Tuple(items)) => Self::Tuple(each(items)?),
            Const::HostConst(HostConst::Set(items)) => return Self::set(each(items)?).ok(),
            Const::HostConst(HostConst::Pairs(pairs)) => {
                let pair = |(key, value)| Some((Self::new(key)?, Self::new(value)?));
                let entries: Box<[(Self, Self)]> =
                    pairs.into_iter().map(pair).collect::<Option<_>>()?;
                if !entries.iter().all(|(key, _)| key.is_hashable()) {
                    return None;
                }
                Self::dict(entries)
            }
            Const::HostConst(HostConst::Bytes(text)) => Self::Bytes(text),
            Const::HostConst(HostConst::DateTime(text)) => Self::DateTime(Civil::parse(&text)?),
            Const::Timestamp(_) | Const::HostConst(HostConst::Date(_)) => return None,
        })
    }

    /// A set of these; they come back when one of them has no hash.
    pub(super) fn set(items: Box<[Self]>) -> Result<Self, Box<[Self]>> {
        if !items.iter().all(Self::is_hashable) {
            return Err(items);
        }
        let texts: Vec<&str> = items.iter().filter_map(Self::text).collect();
        let strings = if texts.len() < FEW {
            HashSet::default()
        } else {
            texts.into_iter().map(Into::into).collect()
        };
        Ok(Self::Set(ConstSet { items, strings }))
    }

    fn dict(entries: Box<[(Self, Self)]>) -> Self {
        let index = if entries.len() < FEW {
            HashMap::default()
        } else {
            let texts = entries.iter().enumerate();
            texts
                .filter_map(|(at, (key, _))| Some((key.text()?.into(), at)))
                .collect()
        };
        Self::Dict(ConstDict { entries, index })
    }

    fn is_hashable(&self) -> bool {
        match self {
            Self::List(_) | Self::Dict(_) | Self::Set(_) => false,
            Self::Tuple(items) => items.iter().all(Self::is_hashable),
            _ => true,
        }
    }
}

fn each(items: Vec<Const>) -> Option<Box<[PyConst]>> {
    items.into_iter().map(PyConst::new).collect()
}
