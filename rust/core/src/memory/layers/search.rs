//! The place of a hash in a sorted section. Hashes are spread evenly, so that their values say about where they are.

use super::layer::{Layer, Section};
use crate::memory::hash::Hash;

/// Guesses by value, before the pages between are halved.
const GUESSES: u32 = 4;

/// The place of the first record whose hash is not below `hash`, if it is `hash` itself; `None`: it is not there, or a page is damaged.
pub(super) fn first(layer: &Layer, section: Section, hash: &Hash) -> Option<u32> {
    let (mut low, mut high) = (0, section.count);
    let (mut below, mut above) = (0, u64::MAX);
    let mut guesses = 0;
    while low < high {
        let middle = if guesses < GUESSES {
            between((low, high), (below, above), prefix(hash))
        } else {
            low + (high - low) / 2
        };
        guesses += 1;
        // All records of one page are compared at the cost of reading one.
        let start = middle - middle % section.per_page();
        let end = (start + section.per_page()).min(section.count);
        let last = key(layer, section, end - 1)?;
        if last < *hash {
            (low, below) = (end, prefix(&last));
            continue;
        }
        let head = key(layer, section, start)?;
        if head < *hash {
            (low, high) = (low.max(start), high.min(end));
            while low < high {
                let middle = low + (high - low) / 2;
                if key(layer, section, middle)? < *hash {
                    low = middle + 1;
                } else {
                    high = middle;
                }
            }
        } else {
            (high, above) = (start, prefix(&head));
        }
    }
    (low < section.count && key(layer, section, low)? == *hash).then_some(low)
}

fn key(layer: &Layer, section: Section, at: u32) -> Option<Hash> {
    layer.record(section, at)?.first_chunk().copied()
}

fn prefix(hash: &Hash) -> u64 {
    hash.first_chunk()
        .map_or(0, |bytes| u64::from_be_bytes(*bytes))
}

/// The place that is as far between two others as a value is between theirs.
fn between((low, high): (u32, u32), (below, above): (u64, u64), value: u64) -> u32 {
    let (wide, far) = (above.saturating_sub(below), value.saturating_sub(below));
    let places = u128::from(high - low);
    let at = places * u128::from(far) / (u128::from(wide) + 1);
    low + (at as u32).min(high - low - 1)
}
