//! Explanations: every rule judged clause by clause along the plain path.

use super::function_trace::Tracer;
use super::judge::{Judge, Judged};
use super::{Look, ShortCuts, render};
use crate::comparand::Comparand;
use crate::error::ErrorCode;
use crate::expr::{Connective, Part, Parts};
use crate::limits::MAX_DECISION_STEPS;
use crate::matcher::Truth;
use crate::program::Scratch;
use crate::program::{
    Body, ClauseTrace, Decided, Marker, Outcome, Profile, Program, RuleTrace, TraceNode,
    TraceOutcome,
};
use crate::script::{self, Answer};
use crate::value::Step;
use crate::value::request::Request;
use crate::work::{Around as _, Work};

/// A walk that takes no more steps than this decides as the short way does.
const SURE: u64 = MAX_DECISION_STEPS / 16;

/// A rule whose parts were not judged one by one.
fn untraced(rule: u32, outcome: TraceOutcome, error: Option<ErrorCode>) -> RuleTrace {
    RuleTrace {
        rule,
        outcome,
        error,
        tree: None,
        function: None,
    }
}

/// How a part of a match came out, with the code of an error.
#[derive(Clone)]
enum Seen {
    True,
    False,
    Absent,
    Error(ErrorCode),
}

impl Seen {
    fn outcome(&self) -> TraceOutcome {
        match self {
            Self::True => TraceOutcome::True,
            Self::False => TraceOutcome::False,
            Self::Absent => TraceOutcome::Absent,
            Self::Error(_) => TraceOutcome::Error,
        }
    }

    fn error(&self) -> Option<ErrorCode> {
        match self {
            Self::Error(code) => Some(code.clone()),
            Self::True | Self::False | Self::Absent => None,
        }
    }

    fn is_decisive(&self, decisive: bool) -> bool {
        matches!((self, decisive), (Self::True, true) | (Self::False, false))
    }
}

impl From<bool> for Seen {
    fn from(value: bool) -> Self {
        if value { Self::True } else { Self::False }
    }
}

impl From<Truth> for Seen {
    fn from(truth: Truth) -> Self {
        match truth {
            Truth::True => Self::True,
            Truth::False => Self::False,
            Truth::Absent => Self::Absent,
            Truth::Error(fault) => Self::Error(fault.into()),
        }
    }
}

impl Program {
    /// The decision on `request`, and how every rule came out. Host rules are asked once; after a transform the rules
    /// are judged again for the decision, and the traces are those of the first look.
    ///
    /// Judging clause by clause takes more steps than a decision does. Where they matter, the decision is made the short way,
    /// too, and is the one that counts; no trace is made of what there are no steps for.
    pub fn explain<R: Request>(&self, request: &R) -> (Outcome<R>, Vec<RuleTrace>) {
        let mut scratch = Scratch::new();
        let (mut markers, mut traces) = (Vec::new(), Vec::with_capacity(self.rules.len()));
        let work = Work::default();
        let first = self.look_traced(request, &mut markers, (&mut scratch, &work), &mut traces);
        let (mut work, mut cuts) = (work, ShortCuts::NONE);
        let first = match first {
            Some(first) if work.steps.taken() <= SURE => first,
            first => {
                let judged = traces.len() as u32;
                let own = first.as_ref().is_some_and(|first| first.is_of_host(self));
                // All host rules so far were asked; the one that decided need not be.
                let hosts = markers.iter().filter(|marker| {
                    let rule = self.rules.get(marker.rule as usize);
                    rule.is_some_and(|rule| matches!(rule.body, Body::Host(_)))
                });
                work = Work::again(judged, hosts.cloned().collect());
                cuts = ShortCuts::ALL;
                let below = own.then(|| judged.saturating_sub(1));
                let mut again = Vec::new();
                let look = self.look((request, below), &mut again, &mut scratch, (cuts, &work));
                work.forget_asked();
                markers = again;
                match (look, first) {
                    (Look::Nothing, Some(first)) if own => first,
                    (look, _) => {
                        self.retrace(&look, &markers, &mut traces);
                        look
                    }
                }
            }
        };
        for rule in (0..).take(self.rules.len()).skip(traces.len()) {
            traces.push(untraced(rule, TraceOutcome::NotReached, None));
        }
        let outcome = self.conclude(request, (first, markers), &work, |next, markers| {
            self.look(next, markers, &mut scratch, (cuts, &work))
        });
        (outcome, traces)
    }

    /// Makes traces agree with a decision that was made the short way.
    fn retrace<R: Request>(&self, look: &Look<R>, markers: &[Marker], traces: &mut Vec<RuleTrace>) {
        let (rule, outcome, error) = match look {
            Look::Nothing => (None, TraceOutcome::True, None),
            Look::Decided(Decided::ErrorDeny(rule, code)) => {
                (Some(*rule), TraceOutcome::Error, Some(code.clone()))
            }
            Look::Decided(decided) => (decided.rule(), TraceOutcome::True, None),
            Look::Transformed(made) => (Some(made.rule), TraceOutcome::True, None),
        };
        let end = rule.map_or(self.rules.len(), |rule| rule as usize + 1);
        traces.truncate(end);
        for trace in &mut *traces {
            // Not every step that judging it clause by clause takes is taken the short way.
            if trace.error == Some(ErrorCode::BudgetExceeded) {
                *trace = untraced(trace.rule, TraceOutcome::NotReached, None);
            }
        }
        for rule in traces.len()..end {
            traces.push(untraced(rule as u32, TraceOutcome::NotReached, None));
        }
        let failed = markers.iter().map(|marker| {
            let code = Some(marker.code.clone());
            (Some(marker.rule), TraceOutcome::Error, code)
        });
        for (rule, outcome, error) in failed.chain([(rule, outcome, error)]) {
            if let Some(rule) = rule
                && let Some(trace) = traces.get_mut(rule as usize)
                && (trace.outcome != outcome || trace.error != error)
            {
                *trace = untraced(rule, outcome, error);
            }
        }
    }

    /// Judges every rule until one decides; `None`: there are no steps left.
    fn look_traced<R: Request>(
        &self,
        request: &R,
        markers: &mut Vec<Marker>,
        (scratch, work): (&mut Scratch, &Work<R::Value>),
        traces: &mut Vec<RuleTrace>,
    ) -> Option<Look<R>> {
        scratch.begin(self.clauses.len());
        let mut judge = Judge::new(self, request, scratch, (ShortCuts::NONE, work));
        for (rule, stored) in (0..).zip(&self.rules) {
            if work.steps.left() == 0 {
                return None;
            }
            let known = markers.len();
            let mut traced = None;
            let (look, seen, tree) = match &stored.body {
                Body::Host(host) => {
                    let look = self.ask((rule, *host), request, judge.work, markers);
                    let decided = matches!(
                        &look,
                        Some(Look::Decided(Decided::Host(..)) | Look::Transformed(..))
                    );
                    (look, decided.into(), None)
                }
                Body::Function(function) => {
                    let body = self.written_body(rule, function);
                    let mut tracer = Tracer::new(self, body, &mut judge);
                    let answer = script::walk(function.slots, body, &mut tracer);
                    traced = Some(tracer.finish(matches!(answer, Answer::Failed(_))));
                    let look = self.answered(rule, answer, &mut judge, markers);
                    let decided = matches!(
                        &look,
                        Some(Look::Decided(Decided::Function(..)) | Look::Transformed(..))
                    );
                    (look, decided.into(), None)
                }
                Body::Match(body) => {
                    let mut tracer = Clauses {
                        judge: &mut judge,
                        permits: stored.verdict.permits(),
                        leaves: 0,
                    };
                    let (seen, tree) = tracer.trace(self.written(body));
                    let judged = match &seen {
                        Seen::True => Judged::Fires,
                        Seen::False | Seen::Absent => Judged::Passes,
                        Seen::Error(code) => Judged::Error(code.clone()),
                    };
                    let look = self.apply((rule, stored), judged, (request, judge.work), markers);
                    (look, seen, Some(tree))
                }
            };
            // A rule that could not be applied says so in a marker or in the decision, whatever its match.
            let failed = match &look {
                Some(Look::Decided(Decided::ErrorDeny(_, code))) => Some(code.clone()),
                _ => markers.get(known).map(|marker| marker.code.clone()),
            };
            let outcome = if failed.is_some() {
                TraceOutcome::Error
            } else {
                seen.outcome()
            };
            traces.push(RuleTrace {
                rule,
                outcome,
                error: failed,
                tree,
                function: traced,
            });
            if let Some(look) = look {
                return Some(look);
            }
        }
        Some(Look::Nothing)
    }
}

/// Judges a match and keeps how each part came out.
struct Clauses<'t, 'r, R: Request> {
    judge: &'t mut Judge<'r, R>,
    permits: bool,
    leaves: u32,
}

impl<R: Request> Clauses<'_, '_, R> {
    fn trace(&mut self, expr: Part<'_>) -> (Seen, TraceNode) {
        match expr {
            Part::Leaf(clause) => {
                let (seen, trace) = self.leaf(clause);
                (seen, TraceNode::Leaf(trace))
            }
            Part::Of(Connective::Not, items) => {
                let item = items.last().unwrap_or(Part::Leaf(u32::MAX));
                let (seen, child) = self.trace(item);
                let seen = match seen {
                    Seen::True => Seen::False,
                    Seen::False => Seen::True,
                    other @ (Seen::Absent | Seen::Error(_)) => other,
                };
                (
                    seen.clone(),
                    TraceNode::Not(seen.outcome(), Box::new(child)),
                )
            }
            Part::Of(Connective::All, items) => {
                let (seen, children) = self.items(items, false);
                (seen.clone(), TraceNode::All(seen.outcome(), children))
            }
            Part::Of(Connective::Any, items) => {
                let (seen, children) = self.items(items, true);
                (seen.clone(), TraceNode::Any(seen.outcome(), children))
            }
        }
    }

    /// `decisive`: the truth of one item that decides the connective.
    fn items(&mut self, items: Parts<'_>, decisive: bool) -> (Seen, Vec<TraceNode>) {
        let (seen, children): (Vec<_>, Vec<_>) = items.map(|item| self.trace(item)).unzip();
        let first = |wanted: fn(&Seen) -> bool| seen.iter().find(|item| wanted(item)).cloned();
        let result = match self.judge.program.profile {
            Profile::Strict => seen
                .iter()
                .find(|item| item.is_decisive(decisive))
                .cloned()
                .or_else(|| first(|item| matches!(item, Seen::Error(_))))
                .or_else(|| first(|item| matches!(item, Seen::Absent))),
            Profile::Lynx => seen
                .iter()
                .find(|item| item.is_decisive(decisive) || matches!(item, Seen::Error(_)))
                .cloned(),
        };
        (result.unwrap_or_else(|| (!decisive).into()), children)
    }

    fn leaf(&mut self, clause: u32) -> (Seen, ClauseTrace) {
        let index = self.leaves;
        self.leaves += 1;
        let program = self.judge.program;
        let (seen, value) = match program.profile {
            Profile::Strict => {
                let step = match program.clauses.get(clause as usize) {
                    Some(prepared) => self.judge.step(prepared.path),
                    None => Step::Absent,
                };
                let seen = match self.judge.leaf(clause) {
                    Truth::Absent if !self.permits => Seen::False,
                    truth => truth.into(),
                };
                let value = match &step {
                    Step::Found(value) => Some(render::value(value)),
                    Step::Absent | Step::Unreadable => None,
                };
                (seen, value)
            }
            Profile::Lynx => match self.judge.lynx_clause(clause) {
                Ok((value, answer)) => {
                    let seen = answer.map_or_else(Seen::Error, Seen::from);
                    (seen, value.as_ref().map(render::value))
                }
                Err(code) => (Seen::Error(code), None),
            },
        };
        let trace = ClauseTrace {
            outcome: seen.outcome(),
            clause,
            operand: program.clause(clause).map_or_else(String::new, |info| {
                match (&info.operand, program.reference(clause)) {
                    (Comparand::Ref(head, keys), Some(path)) => {
                        render::reference(*head, keys, &self.judge.reader().at(path))
                    }
                    (operand, _) => render::comparand(operand),
                }
            }),
            value,
            error: seen.error(),
            index,
        };
        (seen, trace)
    }
}
