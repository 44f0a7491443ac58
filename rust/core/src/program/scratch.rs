//! Working memory of decisions.

use crate::matcher::{Fault, Truth};
use crate::pattern::MatchSet;

/// Working memory of decisions, reused from call to call and from program to program. Not shared between threads; a
/// host rule that decides again needs another one.
#[derive(Debug, Default)]
pub struct Scratch {
    /// Per clause: generation and truth.
    memo: Vec<u32>,
    generation: u32,
    pub(crate) candidates: Vec<u32>,
    pub(crate) found: MatchSet,
}

const CODE_BITS: u32 = 3;

impl Scratch {
    /// New working memory.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Forgets every clause, for another request or another program.
    #[inline]
    pub(crate) fn begin(&mut self, clauses: usize) {
        self.candidates.clear();
        if self.memo.len() < clauses {
            self.memo.resize(clauses, 0);
        }
        self.generation += 1;
        if self.generation >= 1 << (32 - CODE_BITS) {
            self.memo.fill(0);
            self.generation = 1;
        }
    }

    #[inline]
    pub(crate) fn recall(&self, clause: u32) -> Option<Truth> {
        let cell = *self.memo.get(clause as usize)?;
        if cell >> CODE_BITS != self.generation {
            return None;
        }
        Some(match cell & ((1 << CODE_BITS) - 1) {
            0 => Truth::False,
            1 => Truth::True,
            2 => Truth::Absent,
            3 => Truth::Error(Fault::WrongType),
            4 => Truth::Error(Fault::Nan),
            5 => Truth::Error(Fault::BadUnicode),
            _ => Truth::Error(Fault::OutOfRange),
        })
    }

    #[inline]
    pub(crate) fn remember(&mut self, clause: u32, truth: Truth) {
        let code = match truth {
            Truth::False => 0,
            Truth::True => 1,
            Truth::Absent => 2,
            Truth::Error(Fault::WrongType) => 3,
            Truth::Error(Fault::Nan) => 4,
            Truth::Error(Fault::BadUnicode) => 5,
            Truth::Error(Fault::OutOfRange) => 6,
        };
        if let Some(cell) = self.memo.get_mut(clause as usize) {
            *cell = (self.generation << CODE_BITS) | code;
        }
    }
}
