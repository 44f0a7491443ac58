//! The values that came from sources: hashes of texts and numbers, with the calls that brought them.

use std::collections::HashMap;

use super::hash::{self, Hash};
use super::layers::Layers;
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
    /// The entries and calls before these.
    below: (Layers, u32, u32),
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
        let (layers, below, _) = &self.below;
        if *below > 0 {
            let mut held = layers.entries(&hash).into_iter();
            if held.any(|(_, entry)| entry.source == source) {
                return Some(());
            }
        }
        if self.len() as usize == MAX_RUN_VALUES {
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
    pub(super) fn find(&self, value: &LeafValue<'_>, lower: bool) -> impl Iterator<Item = Entry> {
        let mut hashes = [None, None];
        if self.len() > 0 {
            hashes = match value {
                LeafValue::Text(text) if lower => {
                    [Some(hash::of_value(value)), Some(hash::of_lower(text))]
                }
                value => [Some(hash::of_value(value)), None],
            };
        }
        let (layers, below, _) = &self.below;
        let fresh = move |hash: Hash| {
            let head = self.heads.get(&hash).copied();
            head.into_iter()
                .flat_map(|head| self.chain(head))
                .map(move |(at, entry)| (below + at, *entry))
        };
        let held = move |hash: Hash| {
            let layers = (*below > 0).then_some(layers);
            layers
                .into_iter()
                .flat_map(move |layers| layers.entries(&hash))
        };
        hashes
            .into_iter()
            .flatten()
            .flat_map(move |hash| fresh(hash).chain(held(hash)))
            .filter(|(at, _)| *at < self.visible)
            .map(|(_, entry)| entry)
    }

    fn chain(&self, head: u32) -> impl Iterator<Item = (u32, &Entry)> {
        let entry = |at: u32| self.entries.get(at as usize).map(|entry| (at, entry));
        std::iter::successors(entry(head), move |(_, last)| entry(last.next))
    }

    /// The number of entries.
    pub(super) fn len(&self) -> u32 {
        self.below.1 + self.entries.len() as u32
    }

    /// The number of calls that brought values.
    pub(super) fn origins(&self) -> u32 {
        self.below.2 + self.calls.len() as u32
    }

    /// The call of a number that brought values.
    pub(super) fn origin(&self, number: u32) -> Option<Call> {
        let (layers, _, below) = &self.below;
        match number.checked_sub(*below) {
            Some(at) => self.calls.get(at as usize).cloned(),
            None => layers.origin(number),
        }
    }

    /// Makes all entries visible.
    pub(super) fn show(&mut self) {
        self.visible = self.len();
    }

    /// Puts an empty table above layers with these numbers of entries and calls, all of them visible.
    pub(super) fn put_above(&mut self, layers: Layers, (entries, calls): (u32, u32)) {
        self.below = (layers, entries, calls);
        self.show();
    }

    /// The entries that are not in layers, each with the hash of its value and its number.
    pub(super) fn fresh(&self) -> impl Iterator<Item = (Hash, u32, Entry)> {
        self.heads.iter().flat_map(|(hash, head)| {
            self.chain(*head)
                .map(|(at, entry)| (*hash, self.below.1 + at, *entry))
        })
    }

    /// Takes the entries and calls in layers, in their order, to those in memory.
    pub(super) fn put_below(&mut self, mut entries: Vec<(Hash, u32, Entry)>, calls: Vec<Call>) {
        let mut fresh: Vec<_> = self.fresh().collect();
        fresh.sort_unstable_by_key(|(_, number, _)| *number);
        entries.extend(fresh);
        let mut table = Self {
            visible: self.visible,
            ..Self::default()
        };
        for (hash, number, entry) in entries {
            let next = table.heads.insert(hash, number).unwrap_or(END);
            table.entries.push(Entry { next, ..entry });
        }
        table.calls = calls;
        table.calls.append(&mut self.calls);
        *self = table;
    }
}
