//! Evaluation: from a request to an outcome. This module never sees the IR.
//!
//! `docs/reference/semantics.md` is the contract. [`Program::decide`] uses every index; [`Program::decide_plain`] and
//! [`Program::explain`] walk the rules one by one and are what the tests compare it with.

mod candidates;
pub(crate) mod evaluator;
mod explain;
mod fast_path;
mod function_trace;
mod layers;
pub(crate) mod memory;
mod render;
mod search;
pub(crate) mod work;

use std::collections::HashSet;

use crate::bytes::hash::Keyed;
use crate::clause::flat_expr::Part;
use crate::clause::predicate::Truth;
use crate::error::ErrorCode;
use crate::index::packed_rules::PackedRule;
use crate::lang::path::{Field, Key};
use crate::program::scratch::{Applicable, Candidate};
use crate::program::{
    Body, DecidedBy, Marker, Origin, Outcome, Profile, Program, Rule, Scratch, StaticOutcome,
    TransformStep, Verdict,
};
use crate::pyfn;
use crate::pyfn::ast::Function;
use crate::pyfn::decision::FunctionDecision;
use crate::pyfn::interp::answer::Answer;
use crate::value::request::{HostAnswer, Request, Transform, TransformOp};
use crate::value::{Step, Value, View};
use evaluator::{Evaluator, MatchResult};
use search::Search;
use work::Work;

/// The short cuts that a decision takes; only tests turn any of them off.
#[derive(Clone, Copy, Debug)]
pub struct ShortCuts {
    /// Rules are found through the tool and the index of their guards.
    pub index: bool,
    /// A clause is evaluated at most once.
    pub memo: bool,
    /// The patterns of a path are searched together.
    pub sets: bool,
    /// A function is evaluated without the interpreter as far as it goes.
    pub fast_path: bool,
    /// Rules without a guard are excluded by what they negate.
    pub exclusion: bool,
}

impl ShortCuts {
    /// All of them.
    pub const ALL: Self = Self {
        index: true,
        memo: true,
        sets: true,
        fast_path: true,
        exclusion: true,
    };
    /// None of them.
    pub const NONE: Self = Self {
        index: false,
        memo: false,
        sets: false,
        fast_path: false,
        exclusion: false,
    };
}

/// The result of a scan of the rules.
enum ScanResult<R: Request> {
    Nothing,
    Decided(DecidedBy<R::Decision>),
    Transformed(Box<AppliedTransform<R>>),
}

impl<R: Request> ScanResult<R> {
    fn transformed(rule: u32, origin: Origin<R::Decision>, request: R) -> Self {
        Self::Transformed(Box::new(AppliedTransform {
            rule,
            origin,
            request,
        }))
    }

    /// Returns true if it is what a host rule or a function answered.
    fn is_answer(&self) -> bool {
        match self {
            Self::Nothing => false,
            Self::Decided(decided) => {
                matches!(decided, DecidedBy::Host(..) | DecidedBy::Function(..))
            }
            Self::Transformed(_) => true,
        }
    }

    /// Returns true if a host rule answered, or failed to answer.
    fn is_of_host(&self, program: &Program) -> bool {
        let rule = match self {
            Self::Nothing => None,
            Self::Decided(DecidedBy::Aborted) => return true,
            Self::Decided(decided) => decided.rule(),
            Self::Transformed(made) => Some(made.rule),
        };
        rule.is_some_and(|rule| program.is_host(rule))
    }
}

/// A transform: by which rule, what that decided by, and the request with the new arguments.
struct AppliedTransform<R: Request> {
    rule: u32,
    origin: Origin<R::Decision>,
    request: R,
}

impl Program {
    /// The decision on `request`.
    pub fn decide<R: Request>(&self, request: &R, scratch: &mut Scratch) -> Outcome<R> {
        match self.decide_known(request, scratch) {
            Ok(known) => known.into(),
            Err(outcome) => *outcome,
        }
    }

    /// The decision on `request`; the error is the outcome, where it is not a static one. PERF: an [`Outcome`] takes 150
    /// instructions to move and to drop.
    ///
    /// # Errors
    /// Rules in error, transforms, and what the host or a function made for this request.
    #[inline]
    pub fn decide_known<R: Request>(
        &self,
        request: &R,
        scratch: &mut Scratch,
    ) -> Result<StaticOutcome, Box<Outcome<R>>> {
        let (mut markers, work) = (Vec::new(), Work::default());
        let first = self.scan(
            (request, None),
            &mut markers,
            scratch,
            (ShortCuts::ALL, &work),
        );
        if markers.is_empty() {
            match &first {
                ScanResult::Decided(DecidedBy::Rule(rule)) => {
                    return Ok(StaticOutcome::Rule(*rule));
                }
                ScanResult::Decided(DecidedBy::Function(
                    rule,
                    FunctionDecision::Always(number),
                )) => {
                    return Ok(StaticOutcome::Function(*rule, *number));
                }
                ScanResult::Nothing => return Ok(self.default(request)),
                ScanResult::Decided(_) | ScanResult::Transformed(_) => {}
            }
        }
        Err(self.made(request, first, markers, (scratch, &work)))
    }

    /// The outcome that is made for a request.
    #[cold]
    fn made<R: Request>(
        &self,
        request: &R,
        first: ScanResult<R>,
        markers: Vec<Marker>,
        (scratch, work): (&mut Scratch, &Work<R::Value>),
    ) -> Box<Outcome<R>> {
        Box::new(
            self.conclude(request, (first, markers), work, |next, markers| {
                self.scan(next, markers, scratch, (ShortCuts::ALL, work))
            }),
        )
    }

    /// The decision on `request` without index, memory or automata: the oracle of the tests.
    pub fn decide_plain<R: Request>(&self, request: &R) -> Outcome<R> {
        self.decide_with(request, &mut Scratch::new(), ShortCuts::NONE)
    }

    /// The decision on `request`, by the given short cuts.
    pub fn decide_with<R: Request>(
        &self,
        request: &R,
        scratch: &mut Scratch,
        cuts: ShortCuts,
    ) -> Outcome<R> {
        self.decide_counted(request, scratch, cuts).0
    }

    /// The same, and how many steps it took of [`crate::limits::MAX_DECISION_STEPS`].
    pub fn decide_counted<R: Request>(
        &self,
        request: &R,
        scratch: &mut Scratch,
        cuts: ShortCuts,
    ) -> (Outcome<R>, u64) {
        let (mut markers, work) = (Vec::new(), Work::default());
        let first = self.scan((request, None), &mut markers, scratch, (cuts, &work));
        let outcome = self.conclude(request, (first, markers), &work, |next, markers| {
            self.scan(next, markers, scratch, (cuts, &work))
        });
        (outcome, work.steps.taken())
    }

    /// The outcome of a first walk, its transforms followed.
    #[inline]
    fn conclude<R: Request>(
        &self,
        request: &R,
        (first, markers): (ScanResult<R>, Vec<Marker>),
        work: &Work<R::Value>,
        scan: impl FnMut((&R, Option<u32>), &mut Vec<Marker>) -> ScanResult<R>,
    ) -> Outcome<R> {
        let decided = match first {
            ScanResult::Nothing => {
                return Outcome {
                    markers,
                    ..self.default(request).into()
                };
            }
            ScanResult::Decided(decided) => decided,
            ScanResult::Transformed(made) => return self.follow(*made, markers, work, scan),
        };
        Outcome {
            decided,
            markers,
            transforms: Vec::new(),
            transformed: None,
        }
    }

    /// Follows transforms to the end: the result of each is evaluated by the rules that outrank it.
    #[cold]
    fn follow<R: Request>(
        &self,
        made: AppliedTransform<R>,
        mut markers: Vec<Marker>,
        work: &Work<R::Value>,
        mut scan: impl FnMut((&R, Option<u32>), &mut Vec<Marker>) -> ScanResult<R>,
    ) -> Outcome<R> {
        let AppliedTransform {
            mut rule,
            mut origin,
            request: mut current,
        } = made;
        let mut transforms = Vec::new();
        let decided = loop {
            work.forget_referred();
            let next = match self.profile {
                // A chain of transforms walks the rules again and again.
                Profile::Strict => match work.steps.take(u64::from(rule) / RULES_A_STEP) {
                    Ok(()) => scan((&current, Some(rule)), &mut markers),
                    Err(fault) => ScanResult::Decided(DecidedBy::ErrorDeny(rule, fault.into())),
                },
                Profile::Lynx => ScanResult::Nothing,
            };
            each_once(&mut markers);
            match next {
                ScanResult::Nothing => {
                    break match origin {
                        Origin::Match => DecidedBy::Rule(rule),
                        Origin::Host(decision) => DecidedBy::Host(rule, decision),
                        Origin::Function(decision) => DecidedBy::Function(rule, decision),
                    };
                }
                ScanResult::Decided(decided) => {
                    transforms.push(TransformStep { rule, origin });
                    break decided;
                }
                ScanResult::Transformed(next) => {
                    transforms.push(TransformStep { rule, origin });
                    AppliedTransform {
                        rule,
                        origin,
                        request: current,
                    } = *next;
                }
            }
        };
        Outcome {
            decided,
            markers,
            transforms,
            transformed: Some(Box::new(current)),
        }
    }

    /// The decision when no rule fires.
    fn default<R: Request>(&self, request: &R) -> StaticOutcome {
        let flag = |field| {
            let flag = request.flag(field);
            flag.or_else(|| self.taken_as_flag(request, field))
        };
        match (
            flag(Field::Reversible),
            flag(Field::HasShadow),
            self.profile,
        ) {
            (Some(false), Some(false), _)
            | (None, _, Profile::Strict)
            | (_, None, Profile::Strict) => StaticOutcome::MissingShadow,
            (Some(false), None, Profile::Lynx) | (None, Some(false) | None, Profile::Lynx) => {
                StaticOutcome::MissingShadow
            }
            _ => StaticOutcome::NoMatch,
        }
    }

    /// Returns the truth value of a field that is not a boolean flag: its Python truth value in the `lynx` profile.
    #[cold]
    fn taken_as_flag<R: Request>(&self, request: &R, field: Field) -> Option<bool> {
        match (request.field(field), self.profile) {
            (Step::Found(value), Profile::Lynx) => Some(is_truthy(&value, &value.view())),
            _ => None,
        }
    }

    /// Walks the rules that outrank `below`, in order, until one decides.
    fn scan<R: Request>(
        &self,
        (request, below): (&R, Option<u32>),
        markers: &mut Vec<Marker>,
        scratch: &mut Scratch,
        (cuts, work): (ShortCuts, &Work<R::Value>),
    ) -> ScanResult<R> {
        let below = below.unwrap_or(u32::MAX);
        scratch.begin(self.clauses.len());
        let mut evaluator = Evaluator::new(self, request, scratch, (cuts, work));
        let tool = if cuts.index { request.tool() } else { None };
        let Some(tool) = tool else {
            return self.scan_all((0, below), markers, &mut evaluator);
        };
        let applicable = Applicable {
            tool: self.tool_index(tool),
            any: self.generic(),
        };
        // PERF: where all rules are evaluated every time, they need no queue.
        if let Some(packed_rules) = applicable.packed_rules() {
            for row in packed_rules {
                if row.rule >= below {
                    break;
                }
                if let Some(result) = self.eval_row(&row, markers, &mut evaluator) {
                    return result;
                }
            }
            return ScanResult::Nothing;
        }
        let may_change = self.profile == Profile::Lynx && self.host_count > 0;
        let mut search = Search::new(applicable, evaluator.scratch, cuts);
        while let Some(candidate) = search.next(&mut evaluator) {
            let rule = candidate.rule;
            if rule >= below {
                break;
            }
            if let Some(result) = self.eval_candidate(candidate, markers, &mut evaluator) {
                return result;
            }
            if may_change && self.is_host(rule) {
                search = Search::after(applicable, evaluator.scratch, (cuts, rule));
            }
        }
        ScanResult::Nothing
    }

    /// Evaluates a candidate; `None`: it does not decide.
    #[inline]
    fn eval_candidate<'r, R: Request>(
        &self,
        candidate: Candidate<'r>,
        markers: &mut Vec<Marker>,
        evaluator: &mut Evaluator<'r, R>,
    ) -> Option<ScanResult<R>> {
        match &candidate.row {
            Some(row) => self.eval_row(row, markers, evaluator),
            None => self.eval_rule(candidate.rule, evaluator.request, markers, evaluator),
        }
    }

    /// Evaluates the rule of a row; `None`: it does not decide.
    #[inline]
    fn eval_row<'r, R: Request>(
        &self,
        row: &PackedRule<'r>,
        markers: &mut Vec<Marker>,
        evaluator: &mut Evaluator<'r, R>,
    ) -> Option<ScanResult<R>> {
        if !row.words.is_empty() {
            if self.profile == Profile::Lynx {
                return self.eval_lynx_row(row, markers, evaluator);
            }
            match evaluator.row(row) {
                Truth::True if !row.transforms => {
                    return Some(ScanResult::Decided(DecidedBy::Rule(row.rule)));
                }
                Truth::False | Truth::Absent => return None,
                Truth::True | Truth::Error(_) => {}
            }
        }
        self.eval_rule(row.rule, evaluator.request, markers, evaluator)
    }

    /// The same with a match of the `lynx` profile. PERF: apart, so that rows of the strict profile take no more registers.
    #[inline(never)]
    fn eval_lynx_row<'r, R: Request>(
        &self,
        row: &PackedRule<'r>,
        markers: &mut Vec<Marker>,
        evaluator: &mut Evaluator<'r, R>,
    ) -> Option<ScanResult<R>> {
        match evaluator.lynx_row(row) {
            Ok(true) if !row.transforms => Some(ScanResult::Decided(DecidedBy::Rule(row.rule))),
            Ok(true) => self.eval_rule(row.rule, evaluator.request, markers, evaluator),
            Ok(false) => None,
            Err(code) => self.fail(row.rule, code, row.permits, markers),
        }
    }

    /// Evaluates the next rule; `None`: it does not decide.
    #[inline]
    fn eval_rule<R: Request>(
        &self,
        index: u32,
        request: &R,
        markers: &mut Vec<Marker>,
        evaluator: &mut Evaluator<'_, R>,
    ) -> Option<ScanResult<R>> {
        let rule = self.rules.get(index as usize)?;
        match &rule.body {
            Body::Match(body) => {
                let exprs = (self.written(body), self.reordered(body));
                self.eval_match((index, rule), exprs, markers, evaluator)
            }
            Body::Host(host) => {
                let result = self.call_host((index, *host), request, evaluator.work, markers);
                if self.profile == Profile::Lynx {
                    evaluator.forget();
                }
                result
            }
            Body::Function(function) => {
                let start = function.pinned.unwrap_or(function.start);
                self.call_function(index, (function, start), evaluator, markers)
            }
        }
    }

    /// The same without a readable tool, where the index does not apply: every rule is evaluated.
    #[cold]
    fn scan_all<R: Request>(
        &self,
        (from, below): (u32, u32),
        markers: &mut Vec<Marker>,
        evaluator: &mut Evaluator<'_, R>,
    ) -> ScanResult<R> {
        for (index, rule) in (0..below).zip(&self.rules).skip(from as usize) {
            let result = match &rule.body {
                Body::Host(host) => {
                    let result =
                        self.call_host((index, *host), evaluator.request, evaluator.work, markers);
                    if self.profile == Profile::Lynx {
                        evaluator.forget();
                    }
                    result
                }
                Body::Match(body) => {
                    let written = self.written(body);
                    self.eval_match((index, rule), (written, written), markers, evaluator)
                }
                Body::Function(function) => {
                    self.call_function(index, (function, function.start), evaluator, markers)
                }
            };
            if let Some(result) = result {
                return result;
            }
        }
        ScanResult::Nothing
    }

    /// Evaluates one rule; `None`: the next one is evaluated.
    #[inline]
    fn eval_match<R: Request>(
        &self,
        (index, rule): (u32, &Rule),
        (written, reordered): (Part<'_>, Part<'_>),
        markers: &mut Vec<Marker>,
        evaluator: &mut Evaluator<'_, R>,
    ) -> Option<ScanResult<R>> {
        let matched = match self.profile {
            Profile::Strict => evaluator.strict(written, reordered, rule.verdict.permits()),
            Profile::Lynx => evaluator.lynx(reordered),
        };
        self.on_match(
            (index, rule),
            matched,
            (evaluator.request, evaluator.work),
            markers,
        )
    }

    /// Applies the result of a match.
    #[inline]
    fn on_match<R: Request>(
        &self,
        (index, rule): (u32, &Rule),
        matched: MatchResult,
        (request, work): (&R, &Work<R::Value>),
        markers: &mut Vec<Marker>,
    ) -> Option<ScanResult<R>> {
        match matched {
            MatchResult::Passes => None,
            MatchResult::Fires if rule.verdict != Verdict::Transform => {
                Some(ScanResult::Decided(DecidedBy::Rule(index)))
            }
            MatchResult::Fires => self.transform(index, (request, work), markers),
            MatchResult::Error(code) => self.fail(index, code, rule.verdict.permits(), markers),
        }
    }

    fn is_host(&self, rule: u32) -> bool {
        let rule = self.rules.get(rule as usize);
        rule.is_some_and(|rule| matches!(rule.body, Body::Host(_)))
    }

    /// Asks a host rule.
    fn call_host<R: Request>(
        &self,
        (rule, host): (u32, u32),
        request: &R,
        work: &Work<R::Value>,
        markers: &mut Vec<Marker>,
    ) -> Option<ScanResult<R>> {
        if let Some(asked) = work.asked(rule) {
            markers.extend(asked.cloned());
            return None;
        }
        // A host rule may change the request.
        work.forget_referred();
        match request.host(host, rule) {
            HostAnswer::Abstain => None,
            HostAnswer::Decided(decision) => {
                Some(ScanResult::Decided(DecidedBy::Host(rule, decision)))
            }
            HostAnswer::Transformed(decision, next) => {
                Some(ScanResult::transformed(rule, Origin::Host(decision), next))
            }
            HostAnswer::Failed(code) => self.fail(rule, code, false, markers),
            HostAnswer::Abort => Some(ScanResult::Decided(DecidedBy::Aborted)),
        }
    }

    /// Asks a function.
    #[inline]
    fn call_function<R: Request>(
        &self,
        rule: u32,
        (function, start): (&Function, u32),
        evaluator: &mut Evaluator<'_, R>,
        markers: &mut Vec<Marker>,
    ) -> Option<ScanResult<R>> {
        let mut start = start;
        if evaluator.cuts.fast_path {
            match evaluator.try_fast_path(function, start) {
                Ok(None) => return None,
                Ok(Some(number)) => {
                    return Some(ScanResult::Decided(DecidedBy::Function(
                        rule,
                        FunctionDecision::Always(number),
                    )));
                }
                Err(left) => start = left,
            }
        }
        self.run(rule, (function, start), evaluator, markers)
    }

    /// Runs what is left of a function. PERF: kept apart from the fast path, which needs little of the stack.
    #[inline(never)]
    fn run<R: Request>(
        &self,
        rule: u32,
        (function, start): (&Function, u32),
        evaluator: &mut Evaluator<'_, R>,
        markers: &mut Vec<Marker>,
    ) -> Option<ScanResult<R>> {
        let answer = pyfn::interp::call(function, start, evaluator);
        self.answered(rule, answer, evaluator, markers)
    }

    /// Applies the answer of a function.
    fn answered<R: Request>(
        &self,
        rule: u32,
        answer: Answer<R::Value>,
        evaluator: &mut Evaluator<'_, R>,
        markers: &mut Vec<Marker>,
    ) -> Option<ScanResult<R>> {
        match answer {
            Answer::Pass => None,
            Answer::Decided(decision) => {
                Some(ScanResult::Decided(DecidedBy::Function(rule, decision)))
            }
            Answer::Transformed(decision, args) => match evaluator.request.with_made(args) {
                Ok(request) => Some(ScanResult::transformed(
                    rule,
                    Origin::Function(decision),
                    request,
                )),
                Err(code) => self.fail(rule, code, false, markers),
            },
            Answer::Failed(code) => self.fail(rule, code, false, markers),
        }
    }

    /// Rewrites the arguments by a rule that fires.
    #[cold]
    fn transform<R: Request>(
        &self,
        rule: u32,
        (request, work): (&R, &Work<R::Value>),
        markers: &mut Vec<Marker>,
    ) -> Option<ScanResult<R>> {
        let made = match self.rule(rule).and_then(|info| info.transform.as_ref()) {
            Some(transform) => match work.steps.take(touched(request, transform)) {
                Ok(()) => request.with_transform(rule, transform),
                Err(fault) => Err(fault.into()),
            },
            None => Err(ErrorCode::CannotTransform),
        };
        match made {
            Ok(request) => Some(ScanResult::transformed(rule, Origin::Match, request)),
            Err(code) => self.fail(rule, code, true, markers),
        }
    }

    /// A rule in error is skipped with a marker, or denies.
    #[cold]
    fn fail<R: Request>(
        &self,
        rule: u32,
        code: ErrorCode,
        permits: bool,
        markers: &mut Vec<Marker>,
    ) -> Option<ScanResult<R>> {
        let denies = match self.profile {
            Profile::Strict => !self.continues_on_error(rule),
            // It skips every error that it shares with Python, and this is not one of them.
            Profile::Lynx => code == ErrorCode::BudgetExceeded,
        };
        if !permits && denies {
            return Some(ScanResult::Decided(DecidedBy::ErrorDeny(rule, code)));
        }
        // A second walk may meet the same error: [`each_once`].
        markers.push(Marker { rule, code });
        None
    }
}

/// Rules that a walk after a transform passes in one step.
const RULES_A_STEP: u64 = 16;

/// Leaves out markers that are there already.
fn each_once(markers: &mut Vec<Marker>) {
    if markers.len() < 2 {
        return;
    }
    let mut seen = HashSet::with_capacity_and_hasher(markers.len(), Keyed::default());
    markers.retain(|marker| seen.insert(marker.clone()));
}

/// Returns the number of entries that a transform copies.
fn touched<R: Request>(request: &R, transform: &Transform) -> u64 {
    let mut entries = 0;
    let mut step = request.field(Field::Args);
    let read = match transform.op {
        TransformOp::Append => transform.path.len(),
        // What is replaced is not copied.
        TransformOp::Set | TransformOp::Delete => transform.path.len().saturating_sub(1),
    };
    for key in transform.path.iter().take(read) {
        let Step::Found(value) = &step else {
            break;
        };
        entries += value.len() as u64;
        step = value.get(Key::unprepared(key));
    }
    if let Step::Found(value) = &step {
        entries += value.len() as u64;
    }
    entries
}

/// Python's `bool(value)`.
fn is_truthy<V: Value>(value: &V, view: &View<'_>) -> bool {
    match view {
        View::Null => false,
        View::Bool(value) => *value,
        View::Int(value) => *value != 0,
        View::Float(value) => *value != 0.0,
        View::Str(text) => !text.is_empty(),
        View::List | View::Map => !value.is_empty(),
        View::BigInt(_) | View::HugeInt | View::BadStr | View::Timestamp(_) | View::Opaque => true,
    }
}
