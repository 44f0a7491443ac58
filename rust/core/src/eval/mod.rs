//! Evaluation: from a request to an outcome. This module never sees the IR.
//!
//! `docs/reference/semantics.md` is the contract. [`Program::decide`] uses every index; [`Program::decide_plain`] and
//! [`Program::explain`] walk the rules one by one and are what the tests compare it with.

mod candidates;
mod explain;
mod function_trace;
mod judge;
mod render;
mod search;

use std::collections::HashSet;

use crate::error::ErrorCode;
use crate::expr::{Part, expression};
use crate::hash::Keyed;
use crate::matcher::Truth;
use crate::path::Field;
use crate::program::scratch::Met;
use crate::program::{
    Body, By, Decided, Known, Marker, Outcome, Profile, Program, Rule, Scratch, Verdict, Via,
};
use crate::script::course::Start;
use crate::script::node::Function;
use crate::script::{self, Answer, Said};
use crate::value::request::{HostAnswer, Request, Transform};
use crate::value::{Key, Step, Value, View};
use crate::work::Work;
use judge::{Judge, Judged};
use search::Search;

/// Which short cuts a decision takes; all but tests take all of them.
#[derive(Clone, Copy, Debug)]
pub struct ShortCuts {
    /// Rules are found through the tool and the index of their guards.
    pub index: bool,
    /// A clause is judged at most once.
    pub memo: bool,
    /// The patterns of a path are searched together.
    pub sets: bool,
    /// A function looks at values where they are.
    pub looks: bool,
    /// Rules without a guard are ruled out by what they negate.
    pub veto: bool,
}

impl ShortCuts {
    /// All of them.
    pub const ALL: Self = Self {
        index: true,
        memo: true,
        sets: true,
        looks: true,
        veto: true,
    };
    /// None of them.
    pub const NONE: Self = Self {
        index: false,
        memo: false,
        sets: false,
        looks: false,
        veto: false,
    };
}

/// What a walk over the rules came to.
enum Look<R: Request> {
    Nothing,
    Decided(Decided<R::Decision>),
    Transformed(Box<Made<R>>),
}

impl<R: Request> Look<R> {
    /// Whether a host rule answered, or failed to.
    fn is_of_host(&self, program: &Program) -> bool {
        let rule = match self {
            Self::Nothing => None,
            Self::Decided(Decided::Aborted) => return true,
            Self::Decided(decided) => decided.rule(),
            Self::Transformed(made) => Some(made.rule),
        };
        let rule = rule.and_then(|rule| program.rules.get(rule as usize));
        rule.is_some_and(|rule| matches!(rule.body, Body::Host(_)))
    }
}

/// A transform: by which rule, what that decided by, and the request with the new arguments.
struct Made<R: Request> {
    rule: u32,
    by: By<R::Decision>,
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

    /// The decision on `request`; the error is the outcome, where it is none that was known before.
    /// PERF: an [`Outcome`] takes 150 instructions to move and to drop.
    ///
    /// # Errors
    /// Rules in error, transforms, and what the host or a function made for this request.
    #[inline]
    pub fn decide_known<R: Request>(
        &self,
        request: &R,
        scratch: &mut Scratch,
    ) -> Result<Known, Box<Outcome<R>>> {
        let (mut markers, work) = (Vec::new(), Work::default());
        let first = self.look(
            (request, None),
            &mut markers,
            scratch,
            (ShortCuts::ALL, &work),
        );
        if markers.is_empty() {
            match &first {
                Look::Decided(Decided::Rule(rule)) => return Ok(Known::Rule(*rule)),
                Look::Decided(Decided::Function(rule, Said::Always(number))) => {
                    return Ok(Known::Function(*rule, *number));
                }
                Look::Nothing => return Ok(self.default(request)),
                Look::Decided(_) | Look::Transformed(_) => {}
            }
        }
        Err(self.made(request, first, markers, (scratch, &work)))
    }

    /// The outcome that is made for a request.
    #[cold]
    fn made<R: Request>(
        &self,
        request: &R,
        first: Look<R>,
        markers: Vec<Marker>,
        (scratch, work): (&mut Scratch, &Work<R::Value>),
    ) -> Box<Outcome<R>> {
        Box::new(
            self.conclude(request, (first, markers), work, |next, markers| {
                self.look(next, markers, scratch, (ShortCuts::ALL, work))
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
        let first = self.look((request, None), &mut markers, scratch, (cuts, &work));
        let outcome = self.conclude(request, (first, markers), &work, |next, markers| {
            self.look(next, markers, scratch, (cuts, &work))
        });
        (outcome, work.steps.taken())
    }

    /// The outcome of a first walk, its transforms followed.
    #[inline]
    fn conclude<R: Request>(
        &self,
        request: &R,
        (first, markers): (Look<R>, Vec<Marker>),
        work: &Work<R::Value>,
        look: impl FnMut((&R, Option<u32>), &mut Vec<Marker>) -> Look<R>,
    ) -> Outcome<R> {
        let decided = match first {
            Look::Nothing => {
                return Outcome {
                    markers,
                    ..self.default(request).into()
                };
            }
            Look::Decided(decided) => decided,
            Look::Transformed(made) => return self.follow(*made, markers, work, look),
        };
        Outcome {
            decided,
            markers,
            via: Vec::new(),
            transformed: None,
        }
    }

    /// Follows transforms to the end: what each made is judged by the rules that outrank it.
    #[cold]
    fn follow<R: Request>(
        &self,
        made: Made<R>,
        mut markers: Vec<Marker>,
        work: &Work<R::Value>,
        mut look: impl FnMut((&R, Option<u32>), &mut Vec<Marker>) -> Look<R>,
    ) -> Outcome<R> {
        let Made {
            mut rule,
            mut by,
            request: mut current,
        } = made;
        let mut via = Vec::new();
        let decided = loop {
            let next = match self.profile {
                // A chain of transforms walks the rules again and again.
                Profile::Strict => match work.steps.take(u64::from(rule) / RULES_A_STEP) {
                    Ok(()) => look((&current, Some(rule)), &mut markers),
                    Err(fault) => Look::Decided(Decided::ErrorDeny(rule, fault.into())),
                },
                Profile::Lynx => Look::Nothing,
            };
            each_once(&mut markers);
            match next {
                Look::Nothing => {
                    break match by {
                        By::Match => Decided::Rule(rule),
                        By::Host(decision) => Decided::Host(rule, decision),
                        By::Function(said) => Decided::Function(rule, said),
                    };
                }
                Look::Decided(decided) => {
                    via.push(Via { rule, by });
                    break decided;
                }
                Look::Transformed(next) => {
                    via.push(Via { rule, by });
                    Made {
                        rule,
                        by,
                        request: current,
                    } = *next;
                }
            }
        };
        Outcome {
            decided,
            markers,
            via,
            transformed: Some(Box::new(current)),
        }
    }

    /// The decision when no rule fires.
    fn default<R: Request>(&self, request: &R) -> Known {
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
            | (_, None, Profile::Strict) => Known::MissingShadow,
            (Some(false), None, Profile::Lynx) | (None, Some(false) | None, Profile::Lynx) => {
                Known::MissingShadow
            }
            _ => Known::NoMatch,
        }
    }

    /// What stands for a flag that is none: in the `lynx` profile, whether Python takes it for true.
    #[cold]
    fn taken_as_flag<R: Request>(&self, request: &R, field: Field) -> Option<bool> {
        match (request.field(field), self.profile) {
            (Step::Found(value), Profile::Lynx) => Some(is_truthy(&value, &value.view())),
            _ => None,
        }
    }

    /// Walks the rules that outrank `below`, in order, until one decides.
    fn look<R: Request>(
        &self,
        (request, below): (&R, Option<u32>),
        markers: &mut Vec<Marker>,
        scratch: &mut Scratch,
        (cuts, work): (ShortCuts, &Work<R::Value>),
    ) -> Look<R> {
        let below = below.unwrap_or(u32::MAX);
        scratch.begin(self.clauses.len());
        work.forget_referred();
        let mut judge = Judge::new(self, request, scratch, (cuts, work));
        let tool = if cuts.index { request.tool() } else { None };
        let Some(tool) = tool else {
            return self.look_at_all(below, markers, &mut judge);
        };
        let met = Met {
            tool: self.segment(tool),
            any: self.generic(),
        };
        // PERF: where the rules judged every time are all there is, they need no queue.
        if let Some(rows) = met.rows() {
            for row in rows {
                if row.rule >= below {
                    break;
                }
                if !row.words.is_empty() {
                    match judge.truth(expression(row.words), row.permits) {
                        Truth::True => return Look::Decided(Decided::Rule(row.rule)),
                        Truth::False | Truth::Absent => continue,
                        Truth::Error(_) => {}
                    }
                }
                if let Some(look) = self.turn(row.rule, request, markers, &mut judge) {
                    return look;
                }
            }
            return Look::Nothing;
        }
        let mut search = Search::new(met, judge.scratch, cuts);
        while let Some(rule) = search.next(&mut judge) {
            if rule >= below {
                break;
            }
            if let Some(look) = self.turn(rule, request, markers, &mut judge) {
                return look;
            }
        }
        Look::Nothing
    }

    /// Asks the rule that comes next; `None`: it has nothing to say.
    #[inline]
    fn turn<R: Request>(
        &self,
        index: u32,
        request: &R,
        markers: &mut Vec<Marker>,
        judge: &mut Judge<'_, R>,
    ) -> Option<Look<R>> {
        let rule = self.rules.get(index as usize)?;
        match &rule.body {
            Body::Match(body) => {
                let exprs = (self.written(body), self.cheap(body));
                self.meet((index, rule), exprs, markers, judge)
            }
            Body::Host(host) => self.ask((index, *host), request, judge.work, markers),
            Body::Function(function) => {
                let start = function.pinned.unwrap_or(function.start);
                self.call(index, (function, start), judge, markers)
            }
        }
    }

    /// The same without a readable tool, where the index says nothing: every rule is judged.
    #[cold]
    fn look_at_all<R: Request>(
        &self,
        below: u32,
        markers: &mut Vec<Marker>,
        judge: &mut Judge<'_, R>,
    ) -> Look<R> {
        for (index, rule) in (0..below).zip(&self.rules) {
            let look = match &rule.body {
                Body::Host(host) => self.ask((index, *host), judge.request, judge.work, markers),
                Body::Match(body) => {
                    let written = self.written(body);
                    self.meet((index, rule), (written, written), markers, judge)
                }
                Body::Function(function) => {
                    self.call(index, (function, function.start), judge, markers)
                }
            };
            if let Some(look) = look {
                return look;
            }
        }
        Look::Nothing
    }

    /// Judges one rule; `None`: the next one is asked.
    #[inline]
    fn meet<R: Request>(
        &self,
        (index, rule): (u32, &Rule),
        (written, cheap): (Part<'_>, Part<'_>),
        markers: &mut Vec<Marker>,
        judge: &mut Judge<'_, R>,
    ) -> Option<Look<R>> {
        let judged = match self.profile {
            Profile::Strict => judge.strict(written, cheap, rule.verdict.permits()),
            Profile::Lynx => judge.lynx(written),
        };
        self.apply((index, rule), judged, (judge.request, judge.work), markers)
    }

    /// What follows from how a match came out.
    #[inline]
    fn apply<R: Request>(
        &self,
        (index, rule): (u32, &Rule),
        judged: Judged,
        (request, work): (&R, &Work<R::Value>),
        markers: &mut Vec<Marker>,
    ) -> Option<Look<R>> {
        match judged {
            Judged::Passes => None,
            Judged::Fires if rule.verdict != Verdict::Transform => {
                Some(Look::Decided(Decided::Rule(index)))
            }
            Judged::Fires => self.transform(index, (request, work), markers),
            Judged::Error(code) => self.fail(index, code, rule.verdict.permits(), markers),
        }
    }

    /// Asks a host rule.
    fn ask<R: Request>(
        &self,
        (rule, host): (u32, u32),
        request: &R,
        work: &Work<R::Value>,
        markers: &mut Vec<Marker>,
    ) -> Option<Look<R>> {
        if let Some(asked) = work.asked(rule) {
            markers.extend(asked.cloned());
            return None;
        }
        // Whoever is asked may change what the request holds.
        work.forget_referred();
        match request.host(host, rule) {
            HostAnswer::Abstain => None,
            HostAnswer::Decided(decision) => Some(Look::Decided(Decided::Host(rule, decision))),
            HostAnswer::Transformed(decision, next) => Some(Look::Transformed(Box::new(Made {
                rule,
                by: By::Host(decision),
                request: next,
            }))),
            HostAnswer::Failed(code) => self.fail(rule, code, false, markers),
            HostAnswer::Abort => Some(Look::Decided(Decided::Aborted)),
        }
    }

    /// Asks a function.
    #[inline]
    fn call<R: Request>(
        &self,
        rule: u32,
        (function, start): (&Function, Start),
        judge: &mut Judge<'_, R>,
        markers: &mut Vec<Marker>,
    ) -> Option<Look<R>> {
        let mut start = start;
        if judge.cuts.looks {
            match script::glanced(function, judge, start) {
                Ok(None) => return None,
                Ok(Some(number)) => {
                    return Some(Look::Decided(Decided::Function(rule, Said::Always(number))));
                }
                Err(left) => start = left,
            }
        }
        self.run(rule, (function, start), judge, markers)
    }

    /// Runs what is left of a function. PERF: apart from what glances tell, which needs little of the stack.
    #[inline(never)]
    fn run<R: Request>(
        &self,
        rule: u32,
        (function, start): (&Function, Start),
        judge: &mut Judge<'_, R>,
        markers: &mut Vec<Marker>,
    ) -> Option<Look<R>> {
        let looks = judge.cuts.looks;
        let answer = script::call(function, (&mut *judge, start), looks);
        self.answered(rule, answer, judge, markers)
    }

    /// What follows from what a function answers.
    fn answered<R: Request>(
        &self,
        rule: u32,
        answer: Answer<R::Value>,
        judge: &mut Judge<'_, R>,
        markers: &mut Vec<Marker>,
    ) -> Option<Look<R>> {
        match answer {
            Answer::Pass => None,
            Answer::Decided(said) => Some(Look::Decided(Decided::Function(rule, said))),
            Answer::Transformed(said, args) => match judge.request.with_made(args) {
                Ok(request) => Some(Look::Transformed(Box::new(Made {
                    rule,
                    by: By::Function(said),
                    request,
                }))),
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
    ) -> Option<Look<R>> {
        let made = match self.rule(rule).and_then(|info| info.transform.as_ref()) {
            Some(transform) => match work.steps.take(touched(request, transform)) {
                Ok(()) => request.with_transform(rule, transform),
                Err(fault) => Err(fault.into()),
            },
            None => Err(ErrorCode::CannotTransform),
        };
        match made {
            Ok(request) => Some(Look::Transformed(Box::new(Made {
                rule,
                by: By::Match,
                request,
            }))),
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
    ) -> Option<Look<R>> {
        let denies = match self.profile {
            Profile::Strict => !self.defaults.continue_on_error,
            // It skips every error that it has in common with Python, and this is none of them.
            Profile::Lynx => code == ErrorCode::BudgetExceeded,
        };
        if !permits && denies {
            return Some(Look::Decided(Decided::ErrorDeny(rule, code)));
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
    let mut seen = HashSet::with_capacity_and_hasher(markers.len(), Keyed::default());
    markers.retain(|marker| seen.insert(marker.clone()));
}

/// How many entries a transform copies.
fn touched<R: Request>(request: &R, transform: &Transform) -> u64 {
    let mut entries = 0;
    let mut step = request.field(Field::Args);
    for key in &transform.path {
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
