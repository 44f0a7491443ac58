//! Working memory of decisions.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::collections::binary_heap::PeekMut;

use crate::clause::predicate::Truth;
use crate::index::packed_rules::PackedRule;
use crate::index::{Postings, RuleIndex, exclusion, mask, packed_rules};
use crate::regex::MatchSet;

/// Working memory of decisions, reused from call to call and from program to program. Not shared between threads; a
/// host rule that decides again needs another one.
#[derive(Debug, Default)]
pub struct Scratch {
    /// Per clause: generation and truth.
    memo: Vec<(u32, Truth)>,
    generation: u32,
    queue: BinaryHeap<Reverse<Queued>>,
    /// The places of the next rules of dense rule indexes: of the tool, and of every tool.
    masks: [u64; 2],
    /// Rules without a guard that the exclusion indexes exclude: those of the tool, and of every
    /// tool.
    out: [Vec<u64>; 2],
    pub(crate) found: MatchSet,
}

/// A list of rules that is being evaluated: its next rule, and the rest after that one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
struct Queued {
    next: u32,
    left: Postings,
    scope: ToolScope,
    /// True if the list has the rules without a guard, except the excluded ones.
    filtered: bool,
}

/// A rule that is to be evaluated.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Candidate<'p> {
    pub(crate) rule: u32,
    /// Its row, in a dense rule index.
    pub(crate) row: Option<PackedRule<'p>>,
}

/// The rule index that a list belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum ToolScope {
    /// The rule index of the tool.
    Tool,
    /// The rule index of every tool.
    Any,
}

/// The rule indexes that apply to a request.
#[derive(Clone, Copy)]
pub(crate) struct Applicable<'p> {
    pub(crate) tool: Option<&'p RuleIndex>,
    pub(crate) any: &'p RuleIndex,
}

impl<'p> Applicable<'p> {
    #[inline]
    pub(crate) fn get(self, scope: ToolScope) -> Option<&'p RuleIndex> {
        match scope {
            ToolScope::Tool => self.tool,
            ToolScope::Any => Some(self.any),
        }
    }

    /// The rules of these rule indexes, when all of them are evaluated one after the other, without an index.
    #[inline]
    pub(crate) fn packed_rules(self) -> Option<packed_rules::Iter<'p>> {
        match self.tool {
            Some(tool) if tool.complete => Some(tool.packed_rules.iter()),
            Some(tool) if !tool.rules.is_empty() => None,
            Some(_) | None => self.any.is_plain().then(|| self.any.packed_rules.iter()),
        }
    }

    /// The next rule of a dense rule index, and its place.
    #[inline]
    fn marked(self, scope: ToolScope, mask: u64) -> Option<(u32, ToolScope, u32)> {
        if mask == 0 {
            return None;
        }
        let place = mask.trailing_zeros();
        Some((self.rule(scope, place)?, scope, place))
    }

    #[inline]
    fn rule(self, scope: ToolScope, at: u32) -> Option<u32> {
        self.get(scope)?.rules.get(at as usize).copied()
    }
}

impl Scratch {
    /// New working memory.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Clears every clause, for another request or another program.
    #[inline]
    pub(crate) fn begin(&mut self, clauses: usize) {
        self.queue.clear();
        self.masks = [0; 2];
        if self.memo.len() < clauses {
            self.memo.resize(clauses, (0, Truth::Absent));
        }
        self.forget();
    }

    /// Clears every clause of a request that has changed.
    #[inline]
    pub(crate) fn forget(&mut self) {
        self.generation = self.generation.wrapping_add(1);
        if self.generation == 0 {
            self.memo.fill((0, Truth::Absent));
            self.generation = 1;
        }
    }

    /// Forgets the rules that were found.
    pub(crate) fn clear_queue(&mut self) {
        self.queue.clear();
    }

    /// Queues a list of rules.
    #[inline]
    pub(crate) fn queue(&mut self, applicable: Applicable<'_>, scope: ToolScope, list: Postings) {
        let (from, to) = list;
        if applicable.get(scope).is_some_and(|index| index.dense) {
            *self.mask(scope) |= mask(list);
        } else if from < to
            && let Some(next) = applicable.rule(scope, from)
        {
            let left = (from + 1, to);
            self.queue.push(Reverse(Queued {
                next,
                left,
                scope,
                filtered: false,
            }));
        }
    }

    #[inline]
    fn mask(&mut self, scope: ToolScope) -> &mut u64 {
        let [tool, any] = &mut self.masks;
        match scope {
            ToolScope::Tool => tool,
            ToolScope::Any => any,
        }
    }

    /// The first rule of dense rule indexes.
    #[inline]
    fn marked(&self, applicable: Applicable<'_>) -> Option<(u32, ToolScope, u32)> {
        let [tool, any] = self.masks;
        let tool = applicable.marked(ToolScope::Tool, tool);
        match (tool, applicable.marked(ToolScope::Any, any)) {
            (Some(tool), Some(any)) => Some(if tool.0 <= any.0 { tool } else { any }),
            (tool, any) => tool.or(any),
        }
    }

    /// Returns the working memory for excluded rules.
    #[inline]
    pub(crate) fn out(&mut self, scope: ToolScope) -> &mut Vec<u64> {
        let [tool, any] = &mut self.out;
        match scope {
            ToolScope::Tool => tool,
            ToolScope::Any => any,
        }
    }

    /// Queues the rest of a list of rules without a guard.
    pub(crate) fn queue_filtered(
        &mut self,
        applicable: Applicable<'_>,
        scope: ToolScope,
        list: Postings,
    ) {
        if let Some((next, left)) = filter(&self.out, applicable, scope, list) {
            self.queue.push(Reverse(Queued {
                next,
                left,
                scope,
                filtered: true,
            }));
        }
    }

    /// Removes the rules before `from` from all lists.
    pub(crate) fn skip(&mut self, applicable: Applicable<'_>, from: u32) {
        for scope in [ToolScope::Tool, ToolScope::Any] {
            if let Some(index) = applicable.get(scope).filter(|index| index.dense) {
                let passed = index.rules.partition_point(|rule| *rule < from);
                *self.mask(scope) &= u64::MAX.checked_shl(passed as u32).unwrap_or(0);
            }
        }
        let mut lists = std::mem::take(&mut self.queue).into_vec();
        lists.retain_mut(|Reverse(queued)| {
            if queued.next >= from {
                return true;
            }
            let (start, to) = queued.left;
            let rules = applicable.get(queued.scope).map(|index| &index.rules);
            let left = rules.and_then(|rules| rules.get(start as usize..to as usize));
            let passed = left.map_or(0, |left| left.partition_point(|rule| *rule < from));
            let start = start + passed as u32;
            let after = if queued.filtered {
                filter(&self.out, applicable, queued.scope, (start, to))
            } else {
                applicable
                    .rule(queued.scope, start)
                    .filter(|_| start < to)
                    .map(|rule| (rule, (start + 1, to)))
            };
            if let Some((next, left)) = after {
                (queued.next, queued.left) = (next, left);
            }
            after.is_some()
        });
        self.queue = lists.into();
    }

    /// The next rule, without removing it.
    #[inline]
    pub(crate) fn next(&self, applicable: Applicable<'_>) -> Option<u32> {
        let queued = self.queue.peek().map(|Reverse(queued)| queued.next);
        match (self.marked(applicable), queued) {
            (Some((marked, ..)), Some(queued)) => Some(marked.min(queued)),
            (marked, queued) => marked.map(|(marked, ..)| marked).or(queued),
        }
    }

    /// Removes the next rule from its list. PERF: one in several lists comes again at once, which the caller checks.
    #[inline]
    pub(crate) fn take<'p>(&mut self, applicable: Applicable<'p>) -> Option<Candidate<'p>> {
        if let Some((rule, scope, place)) = self.marked(applicable)
            && self
                .queue
                .peek()
                .is_none_or(|Reverse(queued)| rule <= queued.next)
        {
            let mask = self.mask(scope);
            *mask &= *mask - 1;
            let row = applicable.get(scope)?.packed_rules.get(place);
            return Some(Candidate { rule, row });
        }
        self.take_queued(applicable)
            .map(|rule| Candidate { rule, row: None })
    }

    #[inline]
    fn take_queued(&mut self, applicable: Applicable<'_>) -> Option<u32> {
        let mut top = self.queue.peek_mut()?;
        let Reverse(queued) = *top;
        let (from, to) = queued.left;
        let after = if queued.filtered {
            filter(&self.out, applicable, queued.scope, queued.left)
        } else {
            applicable
                .rule(queued.scope, from)
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
    pub(crate) fn memo_get(&self, clause: u32) -> Option<Truth> {
        let (generation, truth) = *self.memo.get(clause as usize)?;
        (generation == self.generation).then_some(truth)
    }

    #[inline]
    pub(crate) fn memo_set(&mut self, clause: u32, truth: Truth) {
        if let Some(cell) = self.memo.get_mut(clause as usize) {
            *cell = (self.generation, truth);
        }
    }
}

/// The first rule of a list that is not excluded, and the rest after it.
fn filter(
    [tool, any]: &[Vec<u64>; 2],
    applicable: Applicable<'_>,
    scope: ToolScope,
    (from, to): Postings,
) -> Option<(u32, Postings)> {
    let (start, _) = applicable.get(scope)?.always;
    let out = match scope {
        ToolScope::Tool => tool,
        ToolScope::Any => any,
    };
    let at = start + exclusion::left(out, from - start);
    let rule = applicable.rule(scope, at).filter(|_| at < to)?;
    Some((rule, (at + 1, to)))
}
