//! Reading the mappings, lists and words of the IR, with the errors that describe invalid ones.

use super::constant::string;
use crate::error::DecodeError;
use crate::json::tape::{Entries, Item, Items, Node};
use crate::json::{Caps, JsonError, JsonErrorKind};
use crate::lang::Verdict;
use crate::limits::{MAX_IR_DEPTH, MAX_NODES};

pub(super) type Decode<T> = Result<T, DecodeError>;

/// The caps on the JSON of the IR.
pub(super) const CAPS: Caps = Caps {
    depth: MAX_IR_DEPTH,
    nodes: MAX_NODES,
};

/// The bytes are JSON, but no IR.
#[cold]
pub(super) fn bad(message: impl Into<String>) -> DecodeError {
    DecodeError::new("bad_ir", message)
}

/// A cap of [`crate::limits`] is passed.
#[cold]
pub(super) fn limit(message: impl Into<String>) -> DecodeError {
    DecodeError::new("ir_limit", message)
}

/// The bytes are no JSON, or pass a cap of it.
#[cold]
pub(super) fn syntax(error: &JsonError) -> DecodeError {
    let code = match error.kind {
        JsonErrorKind::Syntax => "ir_syntax",
        JsonErrorKind::Limit => "ir_limit",
    };
    DecodeError::new(code, format!("{} (at byte {})", error.message, error.at))
}

/// A mapping.
#[derive(Clone, Copy)]
pub(super) struct Map<'t, 'a>(pub(super) Entries<'t, 'a>);

impl<'t, 'a> Map<'t, 'a> {
    pub(super) fn of(item: Item<'t, 'a>, what: &str) -> Decode<Self> {
        match item.entries() {
            Some(entries) => Ok(Self(entries)),
            None => Err(bad(format!("{what} is not a mapping"))),
        }
    }

    /// The value of `key`.
    #[inline]
    pub(super) fn get(mut self, key: &str) -> Option<Item<'t, 'a>> {
        self.0
            .find(|(name, _)| name.bytes() == Some(key.as_bytes()))
            .map(|(_, value)| value)
    }

    pub(super) fn field(self, key: &str) -> Decode<Item<'t, 'a>> {
        self.get(key).ok_or_else(|| missing(key))
    }

    /// The string at `key`.
    pub(super) fn text(self, key: &str) -> Decode<&'t str> {
        string(self.field(key)?, key)
    }

    /// The values of all `known` keys, in that order. PERF: one walk when they are in that order, as they are.
    pub(super) fn fields<const N: usize>(
        self,
        what: &str,
        known: &'static [&'static str; N],
    ) -> Decode<Fields<'t, 'a, N>> {
        let mut values = [None; N];
        let mut next = 0;
        for (name, value) in self.0 {
            let bytes = name.bytes().unwrap_or_default();
            let is = |at: usize| known.get(at).is_some_and(|key| key.as_bytes() == bytes);
            let Some(at) = (next..N).chain(0..next).find(|&at| is(at)) else {
                return Err(unknown(name.text(), what));
            };
            if let Some(slot) = values.get_mut(at) {
                *slot = Some(value);
            }
            next = at + 1;
        }
        Ok(Fields { known, values })
    }
}

/// The values of known keys.
pub(super) struct Fields<'t, 'a, const N: usize> {
    known: &'static [&'static str; N],
    values: [Option<Item<'t, 'a>>; N],
}

impl<'t, 'a, const N: usize> Fields<'t, 'a, N> {
    /// The value of the key with this index, if it is there.
    #[inline]
    pub(super) fn get(&self, at: usize) -> Option<Item<'t, 'a>> {
        self.values.get(at).copied().flatten()
    }

    /// The value of the key with this index.
    #[inline]
    pub(super) fn need(&self, at: usize) -> Decode<Item<'t, 'a>> {
        self.get(at).ok_or_else(|| missing(self.key(at)))
    }

    /// The string at the key with this index.
    #[inline]
    pub(super) fn text(&self, at: usize) -> Decode<&'t str> {
        string(self.need(at)?, self.key(at))
    }

    /// Checks that the key with this index has an integer of any size; its value has no effect here.
    pub(super) fn integer(&self, at: usize) -> Decode<()> {
        match self.need(at)?.node() {
            Node::Int(_) | Node::BigInt(..) => Ok(()),
            _ => Err(bad(format!("`{}` is not an integer", self.key(at)))),
        }
    }

    pub(super) fn verdict(&self, at: usize) -> Decode<Verdict> {
        let name = self.text(at)?;
        Verdict::from_name(name).ok_or_else(|| bad(format!("`{name}` is not a verdict")))
    }

    fn key(&self, at: usize) -> &'static str {
        self.known.get(at).copied().unwrap_or_default()
    }
}

#[cold]
fn unknown(key: Option<&str>, what: &str) -> DecodeError {
    match key {
        Some(key) => bad(format!("{what} has the unknown key `{key}`")),
        None => bad(format!("{what} has a key with a lone surrogate")),
    }
}

#[cold]
fn missing(key: &str) -> DecodeError {
    bad(format!("`{key}` is missing"))
}

/// The elements of a list.
pub(super) fn list<'t, 'a>(item: Item<'t, 'a>, what: &str) -> Decode<Items<'t, 'a>> {
    item.items()
        .ok_or_else(|| bad(format!("{what} is not a list")))
}

/// The two elements of a list.
pub(super) fn pair<'t, 'a>(item: Item<'t, 'a>, what: &str) -> Decode<(Item<'t, 'a>, Item<'t, 'a>)> {
    let mut parts = list(item, what)?;
    match (parts.next(), parts.next(), parts.next()) {
        (Some(first), Some(second), None) => Ok((first, second)),
        _ => Err(bad(format!("{what} does not have two parts"))),
    }
}
