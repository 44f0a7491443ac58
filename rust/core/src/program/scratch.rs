//! Working memory of decisions.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

use super::segment::{List, Segment};
use super::{rows, veto};
use crate::matcher::{Fault, Truth};
use crate::pattern::MatchSet;

/// Working memory of decisions, reused from call to call and from program to program. Not shared between threads; a
/// host rule that decides again needs another one.
#[derive(Debug, Default)]
pub struct Scratch {
    /// Per clause: generation and truth.
    memo: Vec<u32>,
    generation: u32,
    queue: BinaryHeap<Reverse<Queued>>,
    /// What vetoes rule out of the rules that are judged every time: those of the tool, and of every tool.
    out: [Vec<u64>; 2],
    pub(crate) found: MatchSet,
}

/// A list of rules that is being judged: its next rule, and what is left after that one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Queued {
    next: u32,
    left: List,
    whose: Whose,
    /// Whether it is of the rules that are judged every time, less those that are ruled out.
    sifted: bool,
}

/// Which segment a list is of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Whose {
    /// That of the tool.
    Tool,
    /// That of every tool.
    Any,
}

/// The segments a request meets.
#[derive(Clone, Copy)]
pub(crate) struct Met<'p> {
    pub(crate) tool: Option<&'p Segment>,
    pub(crate) any: &'p Segment,
}

impl<'p> Met<'p> {
    #[inline]
    pub(crate) fn get(self, whose: Whose) -> Option<&'p Segment> {
        match whose {
            Whose::Tool => self.tool,
            Whose::Any => Some(self.any),
        }
    }

    /// The rules of these segments, where they are judged one after the other and that is all there is to it.
    #[inline]
    pub(crate) fn rows(self) -> Option<rows::Iter<'p>> {
        match self.tool {
            Some(tool) if tool.complete => Some(tool.rows.iter()),
            Some(tool) if !tool.rules.is_empty() => None,
            Some(_) | None => self.any.is_plain().then(|| self.any.rows.iter()),
        }
    }

    #[inline]
    fn rule(self, whose: Whose, at: u32) -> Option<u32> {
        self.get(whose)?.rules.get(at as usize).copied()
    }
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
        self.queue.clear();
        if self.memo.len() < clauses {
            self.memo.resize(clauses, 0);
        }
        self.generation += 1;
        if self.generation >= 1 << (32 - CODE_BITS) {
            self.memo.fill(0);
            self.generation = 1;
        }
    }

    /// Queues a list of rules.
    #[inline]
    pub(crate) fn queue(&mut self, met: Met<'_>, whose: Whose, (from, to): List) {
        if from < to
            && let Some(next) = met.rule(whose, from)
        {
            let left = (from + 1, to);
            self.queue.push(Reverse(Queued {
                next,
                left,
                whose,
                sifted: false,
            }));
        }
    }

    /// Where what vetoes rule out is noted.
    #[inline]
    pub(crate) fn out(&mut self, whose: Whose) -> &mut Vec<u64> {
        let [tool, any] = &mut self.out;
        match whose {
            Whose::Tool => tool,
            Whose::Any => any,
        }
    }

    /// Queues what is left of a list of rules that are judged every time.
    pub(crate) fn queue_sifted(&mut self, met: Met<'_>, whose: Whose, list: List) {
        if let Some((next, left)) = sift(&self.out, met, whose, list) {
            self.queue.push(Reverse(Queued {
                next,
                left,
                whose,
                sifted: true,
            }));
        }
    }

    /// The next rule; it stays.
    #[inline]
    pub(crate) fn next(&self) -> Option<u32> {
        self.queue.peek().map(|Reverse(queued)| queued.next)
    }

    /// Takes the next rule off its list. PERF: that it is in other lists too is for the caller to see: it comes again at once.
    #[inline]
    pub(crate) fn take(&mut self, met: Met<'_>) -> Option<u32> {
        let mut top = self.queue.peek_mut()?;
        let Reverse(queued) = *top;
        let (from, to) = queued.left;
        let after = if queued.sifted {
            sift(&self.out, met, queued.whose, queued.left)
        } else {
            met.rule(queued.whose, from)
                .filter(|_| from < to)
                .map(|rule| (rule, (from + 1, to)))
        };
        match after {
            Some((next, left)) => {
                *top = Reverse(Queued {
                    next,
                    left,
                    ..queued
                });
            }
            None => {
                PeekMut::pop(top);
            }
        }
        Some(queued.next)
    }

    #[inline]
    pub(crate) fn recall(&self, clause: u32) -> Option<Truth> {
        let cell = *self.memo.get(clause as usize)?;
        if cell >> CODE_BITS != self.generation {
            return None;
        }
        Some(match cell & ((1 << CODE_BITS) - 1) {
            0 => Truth::Error(Fault::WrongType),
            1 => Truth::Error(Fault::Nan),
            2 => Truth::Error(Fault::BadUnicode),
            3 => Truth::Error(Fault::OutOfRange),
            4 => Truth::True,
            5 => Truth::False,
            6 => Truth::Absent,
            _ => Truth::Error(Fault::BudgetExceeded),
        })
    }

    #[inline]
    pub(crate) fn remember(&mut self, clause: u32, truth: Truth) {
        // PERF: the numbers that the compiler has for these, so nothing is done.
        let code = match truth {
            Truth::Error(Fault::WrongType) => 0,
            Truth::Error(Fault::Nan) => 1,
            Truth::Error(Fault::BadUnicode) => 2,
            Truth::Error(Fault::OutOfRange) => 3,
            Truth::True => 4,
            Truth::False => 5,
            Truth::Absent => 6,
            Truth::Error(Fault::BudgetExceeded) => 7,
        };
        if let Some(cell) = self.memo.get_mut(clause as usize) {
            *cell = (self.generation << CODE_BITS) | code;
        }
    }
}

/// The first rule of a list that is not ruled out, and what is left after it.
fn sift(
    [tool, any]: &[Vec<u64>; 2],
    met: Met<'_>,
    whose: Whose,
    (from, to): List,
) -> Option<(u32, List)> {
    let (start, _) = met.get(whose)?.always;
    let out = match whose {
        Whose::Tool => tool,
        Whose::Any => any,
    };
    let at = start + veto::left(out, from - start);
    let rule = met.rule(whose, at).filter(|_| at < to)?;
    Some((rule, (at + 1, to)))
}
