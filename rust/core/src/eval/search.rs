//! The rules a request may fire, in order, found no earlier than they are needed.
//!
//! PERF: a probe is read when the next rule comes after the first one it could name: when an early rule decides, the
//! patterns and lists that only later rules ask for are never looked at.

use super::ShortCuts;
use super::candidates::{Queue, RuleOut};
use super::judge::Judge;
use crate::program::Scratch;
use crate::program::scratch::{Met, Whose};
use crate::program::segment::Probe;
use crate::program::veto::AT_ONCE;
use crate::value::request::Request;

/// How far the search has come.
pub(super) struct Search<'p> {
    met: Met<'p>,
    /// The probes not yet read, of the tool and of every tool.
    probes: [(Whose, &'p [Probe]); 2],
    /// Of the rules that are judged every time: where those begin that vetoes sift, before they are queued.
    /// PERF: mostly there are none.
    tails: Option<[Option<u32>; 2]>,
    /// Whether a permitting rule had an absent guard, so that what could be in error was queued.
    late: bool,
    last: Option<u32>,
}

impl<'p> Search<'p> {
    #[inline]
    pub(super) fn new(met: Met<'p>, scratch: &mut Scratch, cuts: ShortCuts) -> Self {
        let probes = met.tool.map_or(&[][..], |tool| &tool.probes);
        let tool = met.tool.filter(|tool| !tool.rules.is_empty());
        let mut tails = None;
        if cuts.veto && (met.any.veto.is_some() || tool.is_some_and(|tool| tool.veto.is_some())) {
            tails = Some([Whose::Tool, Whose::Any].map(|whose| at_once(met, whose, scratch)));
        } else {
            if let Some(tool) = tool {
                scratch.queue(met, Whose::Tool, tool.always);
            }
            scratch.queue(met, Whose::Any, met.any.always);
        }
        Self {
            met,
            tails,
            probes: [(Whose::Tool, probes), (Whose::Any, &met.any.probes)],
            late: false,
            last: None,
        }
    }

    /// The next rule.
    #[inline]
    pub(super) fn next<R: Request>(&mut self, judge: &mut Judge<'p, R>) -> Option<u32> {
        loop {
            self.read(judge);
            if let Some(tails) = &mut self.tails {
                sift(self.met, tails, judge);
            }
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
                let whose = *whose;
                absent |= judge.probe(Queue { met, whose }, probe) && probe.permits;
            }
        }
        // INVARIANT: a rule in error by another clause than its absent guard comes after the first rule of the probe that
        // found the guard absent, so no rule is queued here that should have been judged already.
        if absent && !self.late {
            self.late = true;
            for whose in [Whose::Tool, Whose::Any] {
                for probe in met.get(whose).map_or(&[][..], |segment| &segment.late) {
                    judge.probe(Queue { met, whose }, probe);
                }
            }
        }
    }
}

/// Queues the rules of a segment that are judged every time, or the first of them; where those begin that vetoes sift.
#[cold]
fn at_once(met: Met<'_>, whose: Whose, scratch: &mut Scratch) -> Option<u32> {
    let segment = met.get(whose)?;
    let (from, to) = segment.always;
    let tail = segment.veto.is_some().then_some(from + AT_ONCE as u32);
    scratch.queue(met, whose, (from, tail.unwrap_or(to)));
    tail
}

/// Queues what vetoes leave of the rules judged every time, when the first of them could be the next one.
#[cold]
fn sift<'p, R: Request>(met: Met<'p>, tails: &mut [Option<u32>; 2], judge: &mut Judge<'p, R>) {
    for (whose, tail) in [Whose::Tool, Whose::Any].into_iter().zip(tails) {
        let (Some(from), Some(segment)) = (*tail, met.get(whose)) else {
            continue;
        };
        let first = segment.rules.get(from as usize);
        if first.is_some_and(|first| judge.scratch.next().is_some_and(|next| next < *first)) {
            continue;
        }
        *tail = None;
        let Some(veto) = &segment.veto else {
            continue;
        };
        let places = &veto.lists;
        places.clear(judge.scratch.out(whose));
        for probe in &veto.probes {
            judge.probe(RuleOut { places, whose }, probe);
        }
        let (_, to) = segment.always;
        judge.scratch.queue_sifted(met, whose, (from, to));
    }
}
