//! Explanations: every rule evaluated clause by clause along the plain path.

use super::evaluator::{Evaluator, MatchResult};
use super::function_trace::Tracer;
use super::work::Work;
use super::{ScanResult, ShortCuts, render};
use crate::clause::context::Around as _;
use crate::clause::flat_expr::{Connective, Part, Parts};
use crate::clause::operand::Operand;
use crate::clause::predicate::Truth;
use crate::error::ErrorCode;
use crate::limits::MAX_DECISION_STEPS;
use crate::program::{
    Body, ClauseTrace, DecidedBy, Marker, Outcome, Profile, Program, RuleTrace, Scratch, TraceNode,
    TraceOutcome,
};
use crate::pyfn;
use crate::pyfn::interp::answer::Answer;
use crate::value::memory::{LeafValue, Reading};
use crate::value::request::Request;
use crate::value::{Step, Value as _, View};

/// Elements of a list whose origins are shown.
const SHOWN_ORIGINS: usize = 8;

/// A walk that takes no more steps than this decides as the optimised path does.
pub(super) const SURE: u64 = MAX_DECISION_STEPS / 16;

/// A rule whose parts were not evaluated one by one.
pub(super) fn untraced(rule: u32, outcome: TraceOutcome, error: Option<ErrorCode>) -> RuleTrace {
    RuleTrace {
        rule,
        outcome,
        error,
        tree: None,
        function: None,
    }
}

/// The result of a part of a match, with the code of an error.
type Seen = (TraceOutcome, Option<ErrorCode>);

fn seen(truth: Truth) -> Seen {
    match truth {
        Truth::True => (TraceOutcome::True, None),
        Truth::False => (TraceOutcome::False, None),
        Truth::Absent => (TraceOutcome::Absent, None),
        Truth::Error(fault) => (TraceOutcome::Error, Some(fault.into())),
    }
}

/// Returns the outcome of a rule that is not a match.
fn fired(decided: bool) -> TraceOutcome {
    seen(decided.into()).0
}

impl Program {
    /// The decision on `request`, and the result of every rule. Host rules are called once; after a transform the rules are
    /// evaluated again for the decision, and the traces are those of the first evaluation.
    ///
    /// Evaluating clause by clause takes more steps than a decision. Where they matter, the decision is also made by the
    /// optimised path, and that one counts; parts without steps have no trace.
    pub fn explain<R: Request>(&self, request: &R) -> (Outcome<R>, Vec<RuleTrace>) {
        let mut scratch = Scratch::new();
        let (mut markers, mut traces) = (Vec::new(), Vec::with_capacity(self.rules.len()));
        let work = Work::default();
        let all = (0, u32::MAX);
        let first = self.scan_traced(
            (request, all),
            &mut markers,
            (&mut scratch, &work),
            &mut traces,
        );
        let (mut work, mut cuts) = (work, ShortCuts::NONE);
        let first = match first {
            Some(first) if work.steps.taken() <= SURE => first,
            first => {
                let matched = traces.len() as u32;
                let own = first.as_ref().is_some_and(|first| first.is_of_host(self));
                // All host rules so far were called; the one that decided need not be called.
                let hosts = markers.iter().filter(|marker| {
                    let rule = self.rules.get(marker.rule as usize);
                    rule.is_some_and(|rule| matches!(rule.body, Body::Host(_)))
                });
                work = Work::again(matched, hosts.cloned().collect());
                cuts = ShortCuts::ALL;
                let below = own.then(|| matched.saturating_sub(1));
                let mut again = Vec::new();
                let result = self.scan((request, below), &mut again, &mut scratch, (cuts, &work));
                work.forget_asked();
                markers = again;
                match (result, first) {
                    (ScanResult::Nothing, Some(first)) if own => first,
                    (result, _) => {
                        self.retrace(&result, &markers, &mut traces);
                        result
                    }
                }
            }
        };
        for rule in (0..).take(self.rules.len()).skip(traces.len()) {
            traces.push(untraced(rule, TraceOutcome::NotReached, None));
        }
        let outcome = self.conclude(request, (first, markers), &work, |next, markers| {
            self.scan(next, markers, &mut scratch, (cuts, &work))
        });
        (outcome, traces)
    }

    /// Makes traces agree with a decision that was made by the optimised path.
    fn retrace<R: Request>(
        &self,
        result: &ScanResult<R>,
        markers: &[Marker],
        traces: &mut Vec<RuleTrace>,
    ) {
        let (rule, outcome, error) = match result {
            ScanResult::Nothing => (None, TraceOutcome::True, None),
            ScanResult::Decided(DecidedBy::ErrorDeny(rule, code)) => {
                (Some(*rule), TraceOutcome::Error, Some(code.clone()))
            }
            ScanResult::Decided(decided) => (decided.rule(), TraceOutcome::True, None),
            ScanResult::Transformed(made) => (Some(made.rule), TraceOutcome::True, None),
        };
        let end = rule.map_or(self.rules.len(), |rule| rule as usize + 1);
        traces.truncate(end);
        for trace in &mut *traces {
            // The fast path takes fewer steps than an evaluation clause by clause.
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

    /// Evaluates every rule from `from` to `to` until one decides; `None`: there are no steps left.
    pub(super) fn scan_traced<R: Request>(
        &self,
        (request, (from, to)): (&R, (u32, u32)),
        markers: &mut Vec<Marker>,
        (scratch, work): (&mut Scratch, &Work<R::Value>),
        traces: &mut Vec<RuleTrace>,
    ) -> Option<ScanResult<R>> {
        scratch.begin(self.clauses.len());
        let mut evaluator = Evaluator::new(self, request, scratch, (ShortCuts::NONE, work));
        for (rule, stored) in (0..to).zip(&self.rules).skip(from as usize) {
            if work.steps.left() == 0 {
                return None;
            }
            let known = markers.len();
            let mut traced = None;
            let (result, outcome, tree) = match &stored.body {
                Body::Host(host) => {
                    let result = self.call_host((rule, *host), request, evaluator.work, markers);
                    let outcome = fired(result.as_ref().is_some_and(ScanResult::is_answer));
                    (result, outcome, None)
                }
                Body::Function(function) => {
                    let body = self.written_body(rule, function);
                    let mut tracer = Tracer::new(self, body, &mut evaluator);
                    let answer = pyfn::interp::walk(function.locals, body, &mut tracer);
                    traced = Some(tracer.finish(matches!(answer, Answer::Failed(_))));
                    let result = self.answered(rule, answer, &mut evaluator, markers);
                    let outcome = fired(result.as_ref().is_some_and(ScanResult::is_answer));
                    (result, outcome, None)
                }
                Body::Match(body) => {
                    let mut tracer = Clauses {
                        evaluator: &mut evaluator,
                        permits: stored.verdict.permits(),
                        leaves: 0,
                    };
                    let (seen, tree) = tracer.trace(self.written(body));
                    let matched = match &seen {
                        (TraceOutcome::True, _) => MatchResult::Fires,
                        (_, Some(code)) => MatchResult::Error(code.clone()),
                        _ => MatchResult::Passes,
                    };
                    let result =
                        self.on_match((rule, stored), matched, (request, evaluator.work), markers);
                    (result, seen.0, Some(tree))
                }
            };
            // A rule that could not be applied is reported in a marker or in the decision, whatever its match.
            let failed = match &result {
                Some(ScanResult::Decided(DecidedBy::ErrorDeny(_, code))) => Some(code.clone()),
                _ => markers.get(known).map(|marker| marker.code.clone()),
            };
            let outcome = match failed {
                Some(_) => TraceOutcome::Error,
                None => outcome,
            };
            traces.push(RuleTrace {
                rule,
                outcome,
                error: failed,
                tree,
                function: traced,
            });
            if let Some(result) = result {
                return Some(result);
            }
        }
        Some(ScanResult::Nothing)
    }
}

/// Evaluates a match and keeps the result of each part.
struct Clauses<'t, 'r, R: Request> {
    evaluator: &'t mut Evaluator<'r, R>,
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
                let ((outcome, error), child) = self.trace(item);
                let outcome = match outcome {
                    TraceOutcome::True => TraceOutcome::False,
                    TraceOutcome::False => TraceOutcome::True,
                    other => other,
                };
                ((outcome, error), TraceNode::Not(outcome, Box::new(child)))
            }
            Part::Of(Connective::All, items) => {
                let (seen, children) = self.items(items, TraceOutcome::False);
                (seen.clone(), TraceNode::All(seen.0, children))
            }
            Part::Of(Connective::Any, items) => {
                let (seen, children) = self.items(items, TraceOutcome::True);
                (seen.clone(), TraceNode::Any(seen.0, children))
            }
        }
    }

    /// `decisive`: the outcome of one item that decides the connective.
    fn items(&mut self, items: Parts<'_>, decisive: TraceOutcome) -> (Seen, Vec<TraceNode>) {
        let (seen, children): (Vec<Seen>, Vec<_>) = items.map(|item| self.trace(item)).unzip();
        let first = |wanted: &[TraceOutcome]| {
            let found = seen.iter().find(|(outcome, _)| wanted.contains(outcome));
            found.cloned()
        };
        let result = match self.evaluator.program.profile {
            Profile::Strict => first(&[decisive])
                .or_else(|| first(&[TraceOutcome::Error]))
                .or_else(|| first(&[TraceOutcome::Absent])),
            Profile::Lynx => first(&[decisive, TraceOutcome::Error]),
        };
        let none = fired(decisive == TraceOutcome::False);
        (result.unwrap_or((none, None)), children)
    }

    /// The value of the definition that a clause reads, if it reads one and it has a value.
    fn reading(&self, clause: u32) -> Option<Reading> {
        let program = self.evaluator.program;
        let definition = program.definition(program.clauses.get(clause as usize)?.path)?;
        self.evaluator.reading(definition).ok()
    }

    /// The places that a value, or the elements of a list, came from.
    fn origins(&self, value: &R::Value) -> Option<String> {
        let memory = self.evaluator.request.memory()?;
        let known = self.evaluator.program.memory();
        let names = known.map_or(&[][..], |known| &known.names);
        let name = |number: u32| names.get(number as usize).map_or("", AsRef::as_ref);
        let items: Vec<R::Value> = match value.view() {
            View::List => value.items().take(SHOWN_ORIGINS).collect(),
            _ => vec![value.clone()],
        };
        let origins = items.iter().filter_map(|item| {
            let view = item.view();
            let found = memory.origins(&LeafValue::of(&view)?);
            let found: Vec<String> = found
                .iter()
                .map(|origin| match origin.source {
                    None => "the task".to_owned(),
                    Some(number) => {
                        let (tool, field) = (&origin.tool, &origin.field);
                        format!("{}: `{field}` of {tool} {}", name(number), origin.key)
                    }
                })
                .collect();
            Some(if found.is_empty() {
                "from no source".to_owned()
            } else {
                format!("from {}", found.join(", "))
            })
        });
        let origins: Vec<String> = origins.collect();
        (!origins.is_empty()).then(|| render::cut(&origins.join("; ")))
    }

    fn leaf(&mut self, clause: u32) -> (Seen, ClauseTrace) {
        let index = self.leaves;
        self.leaves += 1;
        let program = self.evaluator.program;
        let mut parsed = None;
        let (seen, value) = match program.profile {
            Profile::Strict => {
                let step = match program.clauses.get(clause as usize) {
                    Some(prepared) => self.evaluator.step(prepared.path),
                    None => Step::Absent,
                };
                let seen = seen(match self.evaluator.leaf(clause) {
                    Truth::Absent if !self.permits => Truth::False,
                    truth => truth,
                });
                let value = match (&step, self.reading(clause)) {
                    (_, Some(reading)) => Some(render::value(&reading)),
                    (Step::Found(value), None) => {
                        if let Some(info) = program.clause(clause) {
                            let clause_of = (info.op, &info.operand);
                            parsed = render::parsed(clause_of, value).or_else(|| {
                                let refs: Vec<_> = program
                                    .references(clause, &info.operand)
                                    .map(|path| self.evaluator.at(path))
                                    .collect();
                                render::places(clause_of, value, &mut refs.iter(), false)
                            });
                            if parsed.is_none() && info.operand.reads_sources() {
                                parsed = self.origins(value);
                            }
                        }
                        Some(render::value(value))
                    }
                    (Step::Absent | Step::Unreadable, None) => None,
                };
                (seen, value)
            }
            Profile::Lynx => match self.evaluator.lynx_clause(clause) {
                Ok((value, answer)) => {
                    let failed = |code| (TraceOutcome::Error, Some(code));
                    let seen = answer.map_or_else(failed, |answer| seen(answer.into()));
                    (seen, value.as_ref().map(render::value))
                }
                Err(code) => ((TraceOutcome::Error, Some(code)), None),
            },
        };
        let trace = ClauseTrace {
            outcome: seen.0,
            clause,
            operand: program.clause(clause).map_or_else(String::new, |info| {
                match (&info.operand, program.reference(clause)) {
                    (Operand::Ref(head, keys), Some(path)) => {
                        render::reference(*head, keys, &self.evaluator.at(path))
                    }
                    (operand, _) => render::operand(operand),
                }
            }),
            value,
            parsed,
            error: seen.1.clone(),
            index,
        };
        (seen, trace)
    }
}
