//! Layers: the part of a state that is not in memory, in pages that are read and checked when something asks for them.
//!
//! A state of many calls is loaded in the time of its definitions, not of its calls. A layer never changes: [`write`] adds one
//! with what has happened since, together with the smaller ones before it, so that there are few.
//! INVARIANT: what a damaged page would have said is never guessed. The state is damaged from then on, and cannot answer.

mod layer;
mod read;
mod search;
mod thaw;
mod write;

use std::fmt;
use std::sync::Arc;

use super::hash::Hash;
use super::measures::Counted;
use super::table::{Call, Entry};
use super::{Known, dump};
use layer::Layer;

pub use write::Layered;

/// Bytes of a page, with its checksum.
pub const PAGE_BYTES: usize = 4096;

/// The pages of a layer, wherever they are.
pub trait Pages: fmt::Debug + Send + Sync {
    /// Reads the page of this number, from 0; false: it cannot be read.
    fn read(&self, number: u32, page: &mut [u8; PAGE_BYTES]) -> bool;
}

/// The layers of a state, the oldest one first.
#[derive(Clone, Debug, Default)]
pub(super) struct Layers(Vec<Arc<Layer>>);

impl Layers {
    /// Returns true if a page was asked for that cannot be read or is damaged.
    pub(super) fn is_damaged(&self) -> bool {
        self.0.iter().any(|layer| layer.is_damaged())
    }

    /// Returns true for a call without an end, false for one that has ended; `None`: no layer has it.
    pub(super) fn is_open(&self, key: &Hash) -> Option<bool> {
        self.newest_first()
            .find_map(|layer| layer.find_call(key))
            .map(|found| found.is_some())
    }

    /// A call, by the hash of its key.
    pub(super) fn call(&self, key: &Hash, trackers: usize) -> Option<Known> {
        let mut layers = self.newest_first();
        let (layer, blob) = layers.find_map(|layer| Some((layer, layer.find_call(key)?)))?;
        layer.known(blob, trackers)
    }

    /// The entries of a value, the last one first.
    pub(super) fn entries(&self, value: &Hash) -> Vec<(u32, Entry)> {
        let mut found = Vec::new();
        for layer in self.newest_first() {
            layer.find_entries(value, &mut found);
        }
        found
    }

    /// The call of this number that brought values.
    pub(super) fn origin(&self, number: u32) -> Option<Call> {
        self.0.iter().find_map(|layer| layer.origin(number))
    }

    /// The call of this number in the window of a measure.
    pub(super) fn counted(&self, measure: u32, number: u64) -> Option<Counted> {
        self.newest_first()
            .find_map(|layer| layer.counted(measure, number))
    }

    fn newest_first(&self) -> impl Iterator<Item = &Arc<Layer>> {
        self.0.iter().rev()
    }
}
