//! A state as layers: one more with what has happened since they were written, and a new head.

use std::ops::Range;
use std::sync::Arc;

use super::layer::{CALL, COUNTED, DATA, ENDED, Layer, ORIGIN, Parts, VALUE, call, check};
use super::read::MAGIC;
use crate::memory::dump::reader::In;
use crate::memory::dump::writer::Out;
use crate::memory::hash::{self, Hash};
use crate::memory::measures::{Counted, Tally};
use crate::memory::{Broken, Known, State, Tracked};

/// A layer takes in those before it that are not this many times as large.
const GROWTH: u64 = 4;

/// A state as bytes that are written where its pages are read.
#[derive(Debug)]
pub struct Layered {
    /// All that is not in pages, and the names of the layers.
    pub head: Vec<u8>,
    /// The number of the new layer, and its pages.
    pub layer: (u64, Vec<u8>),
    /// The numbers of the layers that it takes the place of.
    pub replaced: Vec<u64>,
}

impl State {
    /// The state as layers, after all its values were shown to decisions. `None`: it is damaged. `seed` is a text that no other state of
    /// this place has, so that no page is taken for one of another state.
    #[must_use]
    pub fn layered(&self, seed: &[u8]) -> Option<Layered> {
        let fresh = self.calls.len() + self.table.entries.len();
        let windows = self.trackers.iter().map(|tracker| match &tracker.kind {
            Tracked::Measure(Tally::Window(window)) => window.calls.len() as u64,
            Tracked::Measure(_) | Tracked::Formula(_) | Tracked::Source => 0,
        });
        let mut weight = fresh as u64 + windows.sum::<u64>();
        let mut kept = self.layers.0.len();
        while let Some(last) = kept.checked_sub(1).and_then(|at| self.layers.0.get(at))
            && last.parts.weight() <= weight.saturating_mul(GROWTH)
        {
            weight += last.parts.weight();
            kept -= 1;
        }
        let (kept, merged) = self.layers.0.split_at_checked(kept)?;
        let mut next = Next::default();
        next.calls(self, merged)?;
        next.values(self, merged)?;
        next.windows(self, merged)?;
        let numbers = self.layers.0.iter().map(|layer| layer.parts.number + 1);
        next.parts.number = numbers.max().unwrap_or(0);
        let (parts, pages) = next.paged(&[seed, &self.memory]);
        let mut head = Out(MAGIC.to_vec());
        head.0.extend(self.memory);
        head.front(self, |out, kind| match kind {
            Tracked::Measure(Tally::Window(window)) => {
                out.unsigned(window.below.start);
                out.unsigned(window.end());
                out.option(window.lapse.as_ref(), |out, (at, broken)| {
                    out.flag(*broken != Broken::Bad);
                    out.signed(*at);
                });
            }
            // Set again for each decision.
            Tracked::Measure(Tally::Shared(_)) => out.flag(false),
            kind => out.tracked(kind),
        });
        head.unsigned(self.known as u64);
        head.unsigned(self.table.len().into());
        head.unsigned(self.table.origins().into());
        let number = parts.number;
        let all: Vec<&Parts> = kept
            .iter()
            .map(|layer| &layer.parts)
            .chain([&parts])
            .collect();
        head.list(&all, |out, parts| out.parts(parts));
        let checksum = hash::sha256(&[&head.0]);
        head.0.extend(checksum);
        (!self.layers.is_damaged()).then(|| Layered {
            head: head.0,
            layer: (number, pages),
            replaced: merged.iter().map(|layer| layer.parts.number).collect(),
        })
    }
}

/// The sections of a new layer.
#[derive(Default)]
struct Next {
    parts: Parts,
    calls: Vec<[u8; CALL]>,
    values: Vec<[u8; VALUE]>,
    origins: Vec<u8>,
    windows: Vec<Vec<u8>>,
    heap: Out,
}

impl Next {
    /// Adds a blob to the heap; returns its place and its length.
    fn blob(&mut self, write: impl FnOnce(&mut Out)) -> Option<[u8; 8]> {
        let start = u32::try_from(self.heap.0.len()).ok()?;
        write(&mut self.heap);
        let length = u32::try_from(self.heap.0.len()).ok()? - start;
        concat(&[&start.to_le_bytes(), &length.to_le_bytes()])
    }

    fn calls(&mut self, state: &State, merged: &[Arc<Layer>]) -> Option<()> {
        let ended: [u8; 8] = concat(&[&ENDED.to_le_bytes(), &[0; 4]])?;
        for layer in merged {
            for at in 0..layer.calls.count {
                let (key, blob) = call(In(layer.record(layer.calls, at)?))?;
                let place = match blob {
                    // A newer record says something else.
                    _ if state.calls.contains_key(&key) => continue,
                    None => ended,
                    Some(blob) => {
                        let bytes = layer.blob(blob)?;
                        self.blob(|heap| heap.0.extend(bytes))?
                    }
                };
                self.calls.push(concat(&[&key, &place])?);
            }
        }
        for (key, known) in &state.calls {
            let place = match known {
                Known::Ended => ended,
                Known::Open(open) => self.blob(|heap| heap.open(open))?,
            };
            self.calls.push(concat(&[key, &place])?);
        }
        let key = |record: &[u8; CALL]| record.first_chunk::<16>().copied();
        // Of two records of a call, the last one is the newer one.
        self.calls.reverse();
        self.calls.sort_by_key(key);
        self.calls.dedup_by_key(|record| key(record));
        self.parts.calls = self.calls.len() as u32;
        Some(())
    }

    fn values(&mut self, state: &State, merged: &[Arc<Layer>]) -> Option<()> {
        for layer in merged {
            for at in 0..layer.values.count {
                let record = layer.record(layer.values, at)?;
                self.values.push(record.try_into().ok()?);
            }
        }
        for (value, number, entry) in state.table.fresh() {
            self.values.push(concat(&[
                &value,
                &number.to_le_bytes(),
                &entry.call.to_le_bytes(),
                &entry.source.to_le_bytes(),
                &entry.field.to_le_bytes(),
            ])?);
        }
        let number = |record: &[u8; VALUE]| {
            let mut rest = In(record.get(16..).unwrap_or_default());
            (record.first_chunk::<16>().copied(), rest.word())
        };
        self.values.sort_by_key(number);
        self.parts.values = self.values.len() as u32;
        let table = &state.table;
        let first = merged.first().map(|layer| layer.parts.origins.start);
        let end = table.origins();
        self.parts.origins = first.unwrap_or(end - table.calls.len() as u32)..end;
        for number in self.parts.origins.clone() {
            let origin = table.origin(number)?;
            let place = self.blob(|heap| {
                heap.text(&origin.tool);
                heap.text(&origin.key);
            })?;
            self.origins.extend(place);
        }
        Some(())
    }

    fn windows(&mut self, state: &State, merged: &[Arc<Layer>]) -> Option<()> {
        for (measure, tracker) in (0_u32..).zip(&state.trackers) {
            let Tracked::Measure(Tally::Window(window)) = &tracker.kind else {
                continue;
            };
            let held = |layer: &Arc<Layer>| -> Option<u64> {
                let mut windows = layer.parts.windows.iter();
                let (_, held) = windows.find(|(of, _)| *of == measure)?;
                Some(held.start)
            };
            let first = merged.iter().find_map(held).unwrap_or(window.below.end);
            let first = first.max(window.below.start);
            let mut section = Vec::new();
            for number in first..window.below.end {
                section.extend(counted(&state.layers.counted(measure, number)?));
            }
            window
                .calls
                .iter()
                .for_each(|call| section.extend(counted(call)));
            let numbers: Range<u64> = first..window.end();
            if !numbers.is_empty() {
                self.parts.windows.push((measure, numbers));
                self.windows.push(section);
            }
        }
        Some(())
    }

    /// The layer as its parts and its pages.
    fn paged(mut self, seeds: &[&[u8]]) -> (Parts, Vec<u8>) {
        self.parts.heap = self.heap.0.len() as u32;
        let mut sizes = Out::default();
        sizes.parts(&self.parts);
        let seeds: Vec<&[u8]> = seeds.iter().copied().chain([&*sizes.0]).collect();
        self.parts.salt = hash::half(&seeds);
        let mut pages = Pager {
            salt: self.parts.salt,
            out: Vec::new(),
        };
        pages.section(self.calls.as_flattened(), CALL);
        pages.section(self.values.as_flattened(), VALUE);
        pages.section(&self.origins, ORIGIN);
        self.windows
            .iter()
            .for_each(|window| pages.section(window, COUNTED));
        pages.section(&self.heap.0, 1);
        (self.parts, pages.out)
    }
}

/// Pages being written.
struct Pager {
    salt: Hash,
    out: Vec<u8>,
}

impl Pager {
    fn section(&mut self, records: &[u8], width: usize) {
        for part in records.chunks(DATA / width * width) {
            let start = self.out.len();
            let number = (start / super::PAGE_BYTES) as u32;
            self.out.extend(part);
            self.out.resize(start + DATA, 0);
            let check = check(
                &self.salt,
                number,
                self.out.get(start..).unwrap_or_default(),
            );
            self.out.extend(check);
        }
    }
}

/// Parts as one array, of exactly their length.
fn concat<const N: usize>(parts: &[&[u8]]) -> Option<[u8; N]> {
    parts.concat().try_into().ok()
}

fn counted(call: &Counted) -> Vec<u8> {
    let mut out = Out(Vec::with_capacity(COUNTED));
    out.0.extend(call.at.to_le_bytes());
    out.0.extend(call.call.to_le_bytes());
    for exact in [call.sum, call.amount] {
        out.0.extend(exact.mantissa.to_le_bytes());
        out.0.extend(exact.shift.to_le_bytes());
    }
    out.0
}

impl Out {
    fn parts(&mut self, parts: &Parts) {
        self.unsigned(parts.number);
        self.0.extend(parts.salt);
        self.unsigned(parts.calls.into());
        self.unsigned(parts.values.into());
        self.unsigned(parts.origins.start.into());
        self.unsigned(parts.origins.end.into());
        self.list(&parts.windows, |out, (measure, calls)| {
            out.unsigned((*measure).into());
            out.unsigned(calls.start);
            out.unsigned(calls.end);
        });
        self.unsigned(parts.heap.into());
    }
}
