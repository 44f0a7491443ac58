//! The values that came from sources: hashes of texts and numbers, with the calls that brought them.

use std::collections::HashMap;

use super::hash::{self, Hash};
use crate::bytes::hash::Keyed;
use crate::chars;
use crate::limits::MAX_RUN_VALUES;
use crate::value::memory::LeafValue;

/// No entry.
pub(super) const END: u32 = u32::MAX;

/// Values and where they came from.
#[derive(Clone, Debug, Default)]
pub(super) struct Table {
    /// The last entry of each value.
    pub(super) heads: HashMap<Hash, u32, Keyed>,
    pub(super) entries: Vec<Entry>,
    pub(super) calls: Vec<Call>,
    /// The number of entries that decisions see: those of earlier replies.
    pub(super) visible: u32,
}

/// One value of one source.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Entry {
    /// The entry of the same value before it.
    pub(super) next: u32,
    /// The call that brought it.
    pub(super) call: u32,
    /// The bit of its source.
    pub(super) source: u16,
    /// The field of the source.
    pub(super) field: u16,
}

/// A call that brought values.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Call {
    pub(super) tool: Box<str>,
    pub(super) key: Box<str>,
}

impl Table {
    /// Adds a value, unless the source has it already. `None`: the table is full.
    pub(super) fn add(
        &mut self,
        value: &LeafValue<'_>,
        (source, field): (u16, u16),
        call: u32,
    ) -> Option<()> {
        self.insert(hash::of_value(value), (source, field), call)?;
        if let LeafValue::Text(text) = value {
            let lower = chars::lower(text);
            if *lower != **text {
                self.insert(hash::of_lower(&lower), (source, field), call)?;
            }
        }
        Some(())
    }

    fn insert(&mut self, hash: Hash, (source, field): (u16, u16), call: u32) -> Option<()> {
        let next = self.heads.get(&hash).copied().unwrap_or(END);
        if self.chain(next).any(|(_, entry)| entry.source == source) {
            return Some(());
        }
        if self.entries.len() == MAX_RUN_VALUES {
            return None;
        }
        self.heads.insert(hash, self.entries.len() as u32);
        self.entries.push(Entry {
            next,
            call,
            source,
            field,
        });
        Some(())
    }

    /// The entries of a value that decisions see; with `lower`, those of texts of which it is the lower case, too.
    pub(super) fn find(&self, value: &LeafValue<'_>, lower: bool) -> impl Iterator<Item = &Entry> {
        let head = |hash: Hash| self.heads.get(&hash).copied();
        let (mut heads, some) = ([None, None], !self.entries.is_empty());
        if some {
            heads = match value {
                LeafValue::Text(text) if lower => {
                    [head(hash::of_value(value)), head(hash::of_lower(text))]
                }
                value => [head(hash::of_value(value)), None],
            };
        }
        let heads = heads.into_iter().flatten();
        heads
            .flat_map(|head| self.chain(head))
            .filter(|(at, _)| *at < self.visible)
            .map(|(_, entry)| entry)
    }

    fn chain(&self, head: u32) -> impl Iterator<Item = (u32, &Entry)> {
        let entry = |at: u32| self.entries.get(at as usize).map(|entry| (at, entry));
        std::iter::successors(entry(head), move |(_, last)| entry(last.next))
    }

    /// Makes all entries visible.
    pub(super) fn show(&mut self) {
        self.visible = self.entries.len() as u32;
    }
}
