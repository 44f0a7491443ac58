//! A state with layers as one that is in memory as a whole: for what is rare, and for tests.

use std::collections::hash_map::Entry::Vacant;

use super::Layers;
use super::layer::{self, Layer};
use crate::memory::dump::reader::In;
use crate::memory::hash::Hash;
use crate::memory::measures::Tally;
use crate::memory::table::{Entry, Table};
use crate::memory::{Broken, State, Tracked};

impl State {
    /// Returns true if a part of the state is in layers.
    pub(in crate::memory) fn is_layered(&self) -> bool {
        !self.layers.0.is_empty()
    }

    /// Reads all layers. A damaged one breaks all definitions.
    pub(in crate::memory) fn thaw(&mut self) {
        if !self.is_layered() {
            return;
        }
        let layers = std::mem::take(&mut self.layers);
        if self.read_all(&layers).is_none() || layers.is_damaged() {
            self.table = Table::default();
            for tracker in &mut self.trackers {
                tracker.broken = Some(Broken::Bad);
            }
        }
    }

    fn read_all(&mut self, layers: &Layers) -> Option<()> {
        let trackers = self.trackers.len();
        let mut table = Vec::new();
        let mut calls = Vec::new();
        for layer in layers.newest_first() {
            for at in 0..layer.calls.count {
                let (key, blob) = layer::call(In(layer.record(layer.calls, at)?))?;
                if let Vacant(place) = self.calls.entry(key) {
                    place.insert(layer.known(blob, trackers)?);
                }
            }
            table.extend(entries(layer)?);
        }
        table.sort_unstable_by_key(|(_, number, _)| *number);
        for layer in &layers.0 {
            for number in layer.parts.origins.clone() {
                calls.push(layer.origin(number)?);
            }
        }
        self.table.put_below(table, calls);
        for (measure, tracker) in (0..).zip(&mut self.trackers) {
            if let Tracked::Measure(Tally::Window(window)) = &mut tracker.kind {
                window.thaw(|number| layers.counted(measure, number))?;
            }
        }
        Some(())
    }
}

/// All entries of a layer, with the hash of the value of each.
fn entries(layer: &Layer) -> Option<Vec<(Hash, u32, Entry)>> {
    (0..layer.values.count)
        .map(|at| layer::entry(In(layer.record(layer.values, at)?)))
        .collect()
}
