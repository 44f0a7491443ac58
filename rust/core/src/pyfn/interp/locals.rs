//! The locals of a running function.

use super::value::Val;

/// Up to this many need no heap memory.
const FEW: usize = 4;

/// Locals, by their numbers; a local without a value is `None`.
pub(in crate::pyfn) struct Locals<'p, V> {
    count: usize,
    /// Allocated for the first value. PERF: most functions return before they bind one; 200 instructions.
    few: Option<[Option<Val<'p, V>>; FEW]>,
    many: Vec<Option<Val<'p, V>>>,
}

impl<'p, V> Locals<'p, V> {
    /// The locals of a function, without values.
    #[inline]
    pub(in crate::pyfn) fn new(count: usize) -> Self {
        Self {
            count,
            few: None,
            many: Vec::new(),
        }
    }

    #[inline]
    pub(in crate::pyfn) fn get(&self, slot: u32) -> Option<&Val<'p, V>> {
        let slot = slot as usize;
        match self.few.as_ref()?.get(slot) {
            Some(held) => held.as_ref(),
            None => self.many.get(slot - FEW)?.as_ref(),
        }
    }

    #[inline]
    pub(in crate::pyfn) fn get_mut(&mut self, slot: u32) -> Option<&mut Val<'p, V>> {
        self.held(slot)?.as_mut()
    }

    #[inline]
    pub(in crate::pyfn) fn set(&mut self, slot: u32, value: Option<Val<'p, V>>) {
        if self.few.is_none() {
            self.few = Some([const { None }; FEW]);
            self.many
                .resize_with(self.count.saturating_sub(FEW), || None);
        }
        if let Some(held) = self.held(slot) {
            *held = value;
        }
    }

    #[inline]
    fn held(&mut self, slot: u32) -> Option<&mut Option<Val<'p, V>>> {
        let slot = slot as usize;
        match self.few.as_mut()?.get_mut(slot) {
            Some(held) => Some(held),
            None => self.many.get_mut(slot - FEW),
        }
    }
}
