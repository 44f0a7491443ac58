//! The automaton that counts characters or bytes.

use super::automaton::{FAR, Facts};

/// The count so far, as a state; it stops where nothing changes any more.
#[derive(Debug)]
pub(super) struct Count {
    bytes: bool,
    min: u64,
    max: Option<u64>,
}

impl Count {
    pub(super) fn new(bytes: bool, min: u64, max: Option<u64>) -> Self {
        Self { bytes, min, max }
    }

    pub(super) fn cuts(bytes: bool) -> Vec<u32> {
        if bytes {
            vec![0x80, 0x800, 0x1_0000]
        } else {
            Vec::new()
        }
    }

    /// The count from which on all are alike.
    fn last(&self) -> u32 {
        let last = match self.max {
            Some(max) => max.saturating_add(1).max(self.min),
            None => self.min,
        };
        // A count so high takes more states than any budget has.
        u32::try_from(last).unwrap_or(FAR - 1)
    }

    pub(super) fn next(&self, state: u32, found: char) -> u32 {
        let width = if self.bytes {
            found.len_utf8() as u32
        } else {
            1
        };
        state.saturating_add(width).min(self.last())
    }

    pub(super) fn facts(&self, state: u32) -> Facts {
        let count = u64::from(state);
        let most = if self.bytes { 4 } else { 1 };
        let steps = |bytes: u64| u32::try_from(bytes.div_ceil(most)).unwrap_or(FAR - 1);
        let below = self.max.is_none_or(|max| count <= max);
        let accepts = count >= self.min && below;
        Facts {
            accepts,
            to_accept: match self.max {
                _ if accepts => 0,
                Some(max) if max < self.min || !below => FAR,
                Some(_) | None => steps(self.min - count),
            },
            to_reject: match self.max {
                _ if !accepts => 0,
                Some(max) => steps(max.saturating_add(1) - count),
                None => FAR,
            },
        }
    }
}
