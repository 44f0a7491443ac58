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
    /// The rules of dense rule indexes: of the tool, and of every tool.
    marked: [Marked; 2],
    /// Rules without a guard that the exclusion indexes exclude: those of the tool, and of every
    /// tool.
    out: [Vec<u64>; 2],
    pub(crate) found: MatchSet,
}

/// The rules of a dense rule index that are to be evaluated.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Marked {
    /// The places of its rules.
    mask: u64,
    /// The first of them. PERF: it is compared with other rules more often than it changes.
    first: u32,
}

/// A number that no rule has.
const NO_RULE: u32 = u32::MAX;

impl Marked {
    /// The rules at these places.
    #[inline]
    fn new(index: &RuleIndex, mask: u64) -> Self {
        // Without a rule the place is beyond all rules.
        let place = mask.trailing_zeros() as usize;
        let first = index.rules.get(place);
        Self {
            mask,
            first: first.copied().unwrap_or(NO_RULE),
        }
    }
}

impl Default for Marked {
    fn default() -> Self {
        Self {
            mask: 0,
            first: NO_RULE,
        }
    }
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
        self.marked = [Marked::default(); 2];
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
        if let Some(index) = applicable.get(scope).filter(|index| index.dense) {
            let marked = self.marked(scope);
            *marked = Marked::new(index, marked.mask | mask(list));
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
    fn marked(&mut self, scope: ToolScope) -> &mut Marked {
        let [tool, any] = &mut self.marked;
        match scope {
            ToolScope::Tool => tool,
            ToolScope::Any => any,
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
                let left = u64::MAX.checked_shl(passed as u32).unwrap_or(0);
                let marked = self.marked(scope);
                *marked = Marked::new(index, marked.mask & left);
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
    pub(crate) fn next(&self) -> Option<u32> {
        let next = self.next_marked().min(self.next_queued());
        (next != NO_RULE).then_some(next)
    }

    #[inline]
    fn next_marked(&self) -> u32 {
        let [tool, any] = &self.marked;
        tool.first.min(any.first)
    }

    #[inline]
    fn next_queued(&self) -> u32 {
        let first = self.queue.peek();
        first.map_or(NO_RULE, |Reverse(queued)| queued.next)
    }

    /// Removes the next rule from its list. PERF: one in several lists comes again at once, which the caller checks.
    #[inline]
    pub(crate) fn take<'p>(&mut self, applicable: Applicable<'p>) -> Option<Candidate<'p>> {
        let rule = self.next_marked();
        if rule == NO_RULE || self.next_queued() < rule {
            let rule = self.take_queued(applicable)?;
            return Some(Candidate { rule, row: None });
        }
        let [tool, any] = &mut self.marked;
        let (marked, index) = match tool.first <= any.first {
            true => (tool, applicable.tool?),
            false => (any, applicable.any),
        };
        let place = marked.mask.trailing_zeros();
        *marked = Marked::new(index, marked.mask & (marked.mask - 1));
        let row = index.packed_rules.get(place);
        Some(Candidate { rule, row })
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
