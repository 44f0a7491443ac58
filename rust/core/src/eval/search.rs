//! The candidates of a request in evaluation order, found lazily.
//!
//! PERF: a path index is read when the next rule comes after the first one it could name: when an early rule decides, the
//! patterns and lists that only later rules need are never evaluated.

use super::ShortCuts;
use super::candidates::{Queue, RuleOut};
use super::evaluator::Evaluator;
use crate::index::PathIndex;
use crate::index::exclusion::AT_ONCE;
use crate::program::Scratch;
use crate::program::scratch::{Applicable, Candidate, ToolScope};
use crate::value::request::Request;

/// The state of the search.
pub(super) struct Search<'p> {
    applicable: Applicable<'p>,
    /// The path indexes not yet read, of the tool and of every tool.
    path_indexes: [(ToolScope, &'p [PathIndex]); 2],
    /// Of the rules without a guard: the start of those that exclusions filter, before they are queued. PERF:
    /// mostly empty.
    tails: Option<[Option<u32>; 2]>,
    /// True if a permitting rule had an absent guard, so that the rules that could be in error were queued.
    error_paths: bool,
    last: Option<u32>,
}

impl<'p> Search<'p> {
    #[inline]
    pub(super) fn new(applicable: Applicable<'p>, scratch: &mut Scratch, cuts: ShortCuts) -> Self {
        let path_indexes = applicable.tool.map_or(&[][..], |tool| &tool.path_indexes);
        let tool = applicable.tool.filter(|tool| !tool.rules.is_empty());
        let mut tails = None;
        if cuts.exclusion
            && (applicable.any.exclusion.is_some()
                || tool.is_some_and(|tool| tool.exclusion.is_some()))
        {
            tails = Some(
                [ToolScope::Tool, ToolScope::Any].map(|scope| at_once(applicable, scope, scratch)),
            );
        } else {
            if let Some(tool) = tool {
                scratch.queue(applicable, ToolScope::Tool, tool.always);
            }
            scratch.queue(applicable, ToolScope::Any, applicable.any.always);
        }
        Self {
            applicable,
            tails,
            path_indexes: [
                (ToolScope::Tool, path_indexes),
                (ToolScope::Any, &applicable.any.path_indexes),
            ],
            error_paths: false,
            last: None,
        }
    }

    /// The search of the rules after `last`, in a request that may have changed.
    #[cold]
    pub(super) fn after(
        applicable: Applicable<'p>,
        scratch: &mut Scratch,
        (cuts, last): (ShortCuts, u32),
    ) -> Self {
        scratch.clear_queue();
        Self {
            last: Some(last),
            ..Self::new(applicable, scratch, cuts)
        }
    }

    /// The next rule.
    #[inline]
    pub(super) fn next<R: Request>(
        &mut self,
        evaluator: &mut Evaluator<'p, R>,
    ) -> Option<Candidate<'p>> {
        loop {
            self.read(evaluator);
            if let Some(tails) = &mut self.tails {
                filter(self.applicable, tails, evaluator);
            }
            let candidate = evaluator.scratch.take(self.applicable)?;
            // A rule may be in several lists, and in lists read late although it has been evaluated.
            if self.last.is_none_or(|last| last < candidate.rule) {
                self.last = Some(candidate.rule);
                return Some(candidate);
            }
        }
    }

    /// Reads the path indexes that could name a rule before the next one.
    #[inline]
    fn read<R: Request>(&mut self, evaluator: &mut Evaluator<'p, R>) {
        let applicable = self.applicable;
        let mut absent = false;
        for (scope, path_indexes) in &mut self.path_indexes {
            while let Some((path_index, rest)) = path_indexes.split_first() {
                if evaluator
                    .scratch
                    .next()
                    .is_some_and(|next| next < path_index.first)
                {
                    break;
                }
                *path_indexes = rest;
                let scope = *scope;
                absent |=
                    evaluator.lookup(Queue { applicable, scope }, path_index) && path_index.permits;
            }
        }
        // INVARIANT: a rule in error by another clause than its absent guard comes after the first rule of the path index
        // that found the guard absent, so no rule is queued here that should have been evaluated already.
        if absent && !self.error_paths {
            self.error_paths = true;
            for scope in [ToolScope::Tool, ToolScope::Any] {
                for path_index in applicable
                    .get(scope)
                    .map_or(&[][..], |rule_index| &rule_index.error_paths)
                {
                    evaluator.lookup(Queue { applicable, scope }, path_index);
                }
            }
        }
    }
}

/// Queues the rules of a rule index without a guard, or the first of them; returns the start of those that exclusions
/// sift.
#[cold]
fn at_once(applicable: Applicable<'_>, scope: ToolScope, scratch: &mut Scratch) -> Option<u32> {
    let rule_index = applicable.get(scope)?;
    let (from, to) = rule_index.always;
    let tail = rule_index
        .exclusion
        .is_some()
        .then_some(from + AT_ONCE as u32);
    scratch.queue(applicable, scope, (from, tail.unwrap_or(to)));
    tail
}

/// Queues the rules without a guard that exclusions leave, when the first of them could be the next one.
#[cold]
fn filter<'p, R: Request>(
    applicable: Applicable<'p>,
    tails: &mut [Option<u32>; 2],
    evaluator: &mut Evaluator<'p, R>,
) {
    for (scope, tail) in [ToolScope::Tool, ToolScope::Any].into_iter().zip(tails) {
        let (Some(from), Some(rule_index)) = (*tail, applicable.get(scope)) else {
            continue;
        };
        let first = rule_index.rules.get(from as usize);
        if first.is_some_and(|first| evaluator.scratch.next().is_some_and(|next| next < *first)) {
            continue;
        }
        *tail = None;
        let Some(exclusion) = &rule_index.exclusion else {
            continue;
        };
        let places = &exclusion.lists;
        places.clear(evaluator.scratch.out(scope));
        for path_index in &exclusion.path_indexes {
            evaluator.lookup(RuleOut { places, scope }, path_index);
        }
        let (_, to) = rule_index.always;
        evaluator
            .scratch
            .queue_filtered(applicable, scope, (from, to));
    }
}
