//! The rules a request may fire, in order, found no earlier than they are needed.
//!
//! PERF: a probe is read when the next rule comes after the first one it could name: when an early rule decides, the
//! patterns and lists that only later rules ask for are never looked at.

use super::judge::Judge;
use crate::program::Scratch;
use crate::program::scratch::{Met, Whose};
use crate::program::segment::Probe;
use crate::value::request::Request;

/// How far the search has come.
pub(super) struct Search<'p> {
    met: Met<'p>,
    /// The probes not yet read, of the tool and of every tool.
    probes: [(Whose, &'p [Probe]); 2],
    /// Whether a permitting rule had an absent guard, so that what could be in error was queued.
    late: bool,
    last: Option<u32>,
    /// PERF: where the rules judged every time are all there is, they need no queue.
    only: Option<std::slice::Iter<'p, u32>>,
}

impl<'p> Search<'p> {
    #[inline]
    pub(super) fn new(met: Met<'p>, scratch: &mut Scratch) -> Self {
        let probes = met.tool.map_or(&[][..], |tool| &tool.probes);
        let tool = met.tool.filter(|tool| !tool.rules.is_empty());
        let only = match (tool, met.any.rules.is_empty()) {
            (Some(tool), true) if tool.probes.is_empty() => Some(tool.rules.iter()),
            (None, _) if met.any.probes.is_empty() => Some(met.any.rules.iter()),
            _ => None,
        };
        if only.is_none() {
            if let Some(tool) = tool {
                scratch.queue(met, Whose::Tool, tool.always);
            }
            scratch.queue(met, Whose::Any, met.any.always);
        }
        Self {
            only,
            met,
            probes: [(Whose::Tool, probes), (Whose::Any, &met.any.probes)],
            late: false,
            last: None,
        }
    }

    /// The next rule.
    #[inline]
    pub(super) fn next<R: Request>(&mut self, judge: &mut Judge<'p, R>) -> Option<u32> {
        if let Some(only) = &mut self.only {
            return only.next().copied();
        }
        loop {
            self.read(judge);
            let rule = judge.scratch.take(self.met)?;
            // A rule may stand in several lists, and in those read late although it had its turn.
            if self.last.is_none_or(|last| last < rule) {
                self.last = Some(rule);
                return Some(rule);
            }
        }
    }

    /// Reads the probes that could name a rule before the next one.
    #[inline]
    fn read<R: Request>(&mut self, judge: &mut Judge<'p, R>) {
        let met = self.met;
        let mut absent = false;
        for (whose, probes) in &mut self.probes {
            while let Some((probe, rest)) = probes.split_first() {
                if judge.scratch.next().is_some_and(|next| next < probe.first) {
                    break;
                }
                *probes = rest;
                absent |= judge.probe(met, *whose, probe) && probe.permits;
            }
        }
        // INVARIANT: a rule in error by another clause than its absent guard comes after the first rule of the probe that
        // found the guard absent, so no rule is queued here that should have been judged already.
        if absent && !self.late {
            self.late = true;
            for whose in [Whose::Tool, Whose::Any] {
                for probe in met.get(whose).map_or(&[][..], |segment| &segment.late) {
                    judge.probe(met, whose, probe);
                }
            }
        }
    }
}
