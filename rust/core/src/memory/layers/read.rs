//! The head of layers: all of a state that is not in their pages.

use std::ops::Range;
use std::sync::Arc;

use super::layer::{Layer, Parts};
use super::{Layers, Pages};
use crate::limits::{MAX_RUN_CALLS, MAX_RUN_VALUES, MAX_STATE_BYTES, MAX_WINDOW_CALLS};
use crate::memory::dump::reader::In;
use crate::memory::dump::{CHECKSUM, StateError};
use crate::memory::measures::Tally;
use crate::memory::{Broken, Extent, State, Tracked, hash};
use crate::program::Program;

/// The beginning of a head, with the version of its format.
pub(super) const MAGIC: &[u8; 8] = b"BCLAYER\x01";
/// Layers of one state: each is several times as large as the one after it.
const MAX_LAYERS: usize = 64;

impl State {
    /// The state that [`State::layered`] wrote, with the pages of its layers by their numbers.
    ///
    /// # Errors
    /// The bytes are no head of a state of the definitions of `program`, or a layer is missing.
    pub fn load_layers(
        (program, extent): (&Program, Extent),
        head: &[u8],
        mut open: impl FnMut(u64) -> Option<Arc<dyn Pages>>,
    ) -> Result<Self, StateError> {
        if head.len() > MAX_STATE_BYTES {
            return Err(StateError::TooLarge);
        }
        let (body, checksum) = head
            .len()
            .checked_sub(CHECKSUM)
            .and_then(|at| head.split_at_checked(at))
            .ok_or(StateError::Damaged)?;
        if !body.starts_with(MAGIC) || hash::sha256(&[body]) != checksum {
            return Err(StateError::Damaged);
        }
        let mut state = Self::of(extent, program, None);
        let mut bytes = In(body.get(MAGIC.len()..).unwrap_or_default());
        if bytes.array() != Some(state.memory) {
            return Err(StateError::OtherPolicy);
        }
        let mut read = || {
            bytes.front(&mut state, |read, kind| match kind {
                Tracked::Measure(Tally::Window(window)) => {
                    window.below = read.unsigned()?..read.unsigned()?;
                    let Range { start, end } = window.below;
                    window.lapse = read.option(|read| {
                        let broken = if read.flag()? {
                            Broken::Limit
                        } else {
                            Broken::Bad
                        };
                        Some((read.signed()?, broken))
                    })?;
                    (start <= end && end - start <= MAX_WINDOW_CALLS as u64).then_some(())
                }
                kind => read.tracked(kind),
            })?;
            state.known = bytes.unsigned()?;
            let (values, origins): (u32, u32) = (bytes.unsigned()?, bytes.unsigned()?);
            let parts = bytes.list(MAX_LAYERS, In::parts)?;
            let sound = state.known <= MAX_RUN_CALLS
                && values as usize <= MAX_RUN_VALUES
                && origins as usize <= MAX_RUN_CALLS
                && bytes.0.is_empty()
                && parts.iter().all(Parts::are_sound);
            let layers = parts
                .into_iter()
                .map(|parts| open(parts.number).map(|pages| Arc::new(Layer::new(parts, pages))));
            let layers = Layers(layers.collect::<Option<_>>()?);
            state.table.put_above(layers.clone(), (values, origins));
            state.layers = layers;
            sound.then_some(())
        };
        read().ok_or(StateError::Damaged)?;
        Ok(state)
    }
}

impl In<'_> {
    fn parts(&mut self) -> Option<Parts> {
        Some(Parts {
            number: self.unsigned()?,
            salt: self.array()?,
            calls: self.unsigned()?,
            values: self.unsigned()?,
            origins: self.unsigned()?..self.unsigned()?,
            windows: self.list(usize::MAX, |read| {
                let measure = read.unsigned()?;
                Some((measure, read.unsigned()?..read.unsigned()?))
            })?,
            heap: self.unsigned()?,
        })
    }
}
