//! Finding the rules that a request may fire, from the values it brings. See [`crate::program::segment`].

use super::judge::Judge;
use crate::limits::LONG_TEXT;
use crate::matcher::number::integral;
use crate::matcher::{self, Test, Truth};
use crate::program::Scratch;
use crate::program::needles::Needles;
use crate::program::scratch::{Met, Whose};
use crate::program::segment::{Class, Kinds, List, PatternGroup, Probe};
use crate::program::veto::Places;
use crate::value::request::Request;
use crate::value::{Step, Value, View};
use crate::work::Pace;

/// Truths of unmatched patterns are kept for groups up to this size. PERF: a write per pattern, against a search each
/// for the few that a candidate asks again.
const REMEMBER_ALL: usize = 256;

/// Where the rules go that a value names.
pub(super) trait Sink: Copy {
    /// Whether a clause in error names its rules, as a true one does.
    const ERRORS: bool;
    /// Takes the rules of one list.
    fn add(self, scratch: &mut Scratch, list: List);
}

/// Queues rules by their guards.
#[derive(Clone, Copy)]
pub(super) struct Queue<'p> {
    pub(super) met: Met<'p>,
    pub(super) whose: Whose,
}

impl Sink for Queue<'_> {
    const ERRORS: bool = true;

    #[inline]
    fn add(self, scratch: &mut Scratch, list: List) {
        scratch.queue(self.met, self.whose, list);
    }
}

/// Rules out rules by what they negate.
#[derive(Clone, Copy)]
pub(super) struct RuleOut<'p> {
    pub(super) places: &'p Places,
    pub(super) whose: Whose,
}

impl Sink for RuleOut<'_> {
    const ERRORS: bool = false;

    #[inline]
    fn add(self, scratch: &mut Scratch, list: List) {
        self.places.rule_out(list, scratch.out(self.whose));
    }
}

/// The class of a value.
fn class(view: &View<'_>) -> Class {
    match view {
        View::Null => Class::Null,
        View::Bool(_) => Class::Bool,
        View::Int(_) | View::BigInt(_) => Class::Number,
        View::Float(value) => {
            if value.is_nan() {
                Class::Broken
            } else {
                Class::Number
            }
        }
        View::Str(_) => Class::String,
        View::List => Class::List,
        View::Map => Class::Mapping,
        View::Timestamp(_) => Class::Timestamp,
        View::HugeInt | View::BadStr | View::Opaque => Class::Broken,
    }
}

impl<'r, R: Request> Judge<'r, R> {
    /// Gives `sink` the rules that one path names; whether the path is absent.
    pub(super) fn probe<S: Sink>(&mut self, sink: S, probe: &'r Probe) -> bool {
        // PERF: the value alone is cloned, as it is not moved after that, see [`Request::arg`].
        let value = match self.held(probe.path) {
            Step::Found(value) => value.clone(),
            Step::Absent => {
                sink.add(self.scratch, probe.missing);
                return true;
            }
            Step::Unreadable => {
                sink.add(self.scratch, probe.missing);
                self.fail(sink, probe, Class::Broken);
                self.judge_singly(sink, probe, &Step::Unreadable);
                return false;
            }
        };
        let view = value.text().map_or_else(|| value.view(), View::Str);
        self.fail(sink, probe, class(&view));
        let kinds = probe.kinds;
        match &view {
            View::Str(text) => {
                if kinds.has(Kinds::LONG) && text.len() > LONG_TEXT {
                    sink.add(self.scratch, probe.long);
                }
                if kinds.has(Kinds::STRINGS)
                    && let Some(rules) = probe.strings.get(text)
                {
                    sink.add(self.scratch, *rules);
                }
                if kinds.has(Kinds::PATTERNS)
                    && let Some(group) = &probe.patterns
                {
                    self.search(sink, group, text);
                }
                if kinds.has(Kinds::AFFIXES) {
                    for affixes in &probe.affixes {
                        affixes.search(text, |rules| sink.add(self.scratch, rules));
                    }
                }
                if kinds.has(Kinds::NEEDLES)
                    && let Some(needles) = &probe.needles
                {
                    let mut found = std::mem::take(&mut self.scratch.found);
                    let steps = &self.work.steps;
                    let searched = needles.search(text, (&mut found, steps), |rules| {
                        sink.add(self.scratch, rules);
                    });
                    self.scratch.found = found;
                    if searched.is_err() && S::ERRORS {
                        sink.add(self.scratch, needles.all);
                    }
                }
            }
            View::Int(number) if kinds.has(Kinds::INTS) => {
                self.equal_int(sink, &probe.ints, *number);
            }
            View::Float(number) if kinds.has(Kinds::INTS) => {
                if let Some(number) = integral(*number) {
                    self.equal_int(sink, &probe.ints, number);
                }
            }
            View::List if kinds.has(Kinds::NEEDLES) => {
                if let Some(needles) = &probe.needles {
                    self.look_through(sink, needles, &value);
                }
            }
            View::Map if kinds.has(Kinds::NEEDLES) => {
                if let Some(needles) = &probe.needles {
                    sink.add(self.scratch, needles.all);
                }
            }
            _ => {}
        }
        if kinds.has(Kinds::BANDS)
            && let Some(bands) = &probe.bands
            && class(&view) == Class::Number
        {
            for rules in bands.of(&view) {
                sink.add(self.scratch, rules);
            }
        }
        if kinds.has(Kinds::CLAUSES) {
            self.judge_singly(sink, probe, &Step::Found(value.clone()));
        }
        false
    }

    fn judge_singly<S: Sink>(&mut self, sink: S, probe: &Probe, step: &Step<R::Value>) {
        let program = self.program;
        for (index, rules) in &probe.clauses {
            let truth = matcher::judge(program.test(*index), step, &self.reader());
            self.scratch.remember(*index, truth);
            match truth {
                Truth::True => sink.add(self.scratch, *rules),
                Truth::Error(_) if S::ERRORS => sink.add(self.scratch, *rules),
                Truth::Error(_) | Truth::False | Truth::Absent => {}
            }
        }
    }

    #[inline]
    fn fail<S: Sink>(&mut self, sink: S, probe: &Probe, class: Class) {
        if probe.failing.has(class)
            && let Some(rules) = probe.errors.get(class as usize)
        {
            sink.add(self.scratch, *rules);
        }
    }

    fn equal_int<S: Sink>(&mut self, sink: S, ints: &[(i64, List)], number: i64) {
        if let Ok(at) = ints.binary_search_by_key(&number, |(key, _)| *key)
            && let Some((_, rules)) = ints.get(at)
        {
            sink.add(self.scratch, *rules);
        }
    }

    /// Queues the rules whose needle is an element of a list. An element that cannot be judged concerns them all.
    fn look_through<S: Sink>(&mut self, sink: S, needles: &Needles, list: &R::Value) {
        let mut index = 0;
        while let Some(item) = list.item(index) {
            if self.work.steps.take(1).is_err() {
                if S::ERRORS {
                    sink.add(self.scratch, needles.all);
                }
                return;
            }
            match item.view() {
                View::Str(text) => {
                    if let Some(rules) = needles.strings.get(text) {
                        sink.add(self.scratch, *rules);
                    }
                }
                View::Int(number) => self.equal_int(sink, &needles.ints, number),
                View::Float(number) if !number.is_nan() => {
                    if let Some(number) = integral(number) {
                        self.equal_int(sink, &needles.ints, number);
                    }
                }
                View::Null
                | View::Bool(_)
                | View::BigInt(_)
                | View::Timestamp(_)
                | View::List
                | View::Map => {}
                View::Float(_) | View::BadStr | View::HugeInt | View::Opaque => {
                    sink.add(self.scratch, needles.all);
                    return;
                }
            }
            index += 1;
        }
    }

    fn search<S: Sink>(&mut self, sink: S, group: &PatternGroup, text: &str) {
        let program = self.program;
        if !self.cuts.sets {
            for (clause, rules) in &group.members {
                if let Test::Matches(search) = program.test(*clause)
                    && search.is_match(text)
                {
                    sink.add(self.scratch, *rules);
                }
            }
            return;
        }
        let set = program.patterns_of(group);
        let mut found = std::mem::take(&mut self.scratch.found);
        let steps = &self.work.steps;
        let searched = steps
            .text(text.len(), Pace::Search)
            .and_then(|()| set.matches_within(text, &mut found, steps));
        if searched.is_err() {
            self.scratch.found = found;
            // Each of them is judged by itself, for which there are no steps either.
            for (_, rules) in group.members.iter().filter(|_| S::ERRORS) {
                sink.add(self.scratch, *rules);
            }
            return;
        }
        for index in found.iter() {
            if let Some((clause, rules)) = group.members.get(index) {
                sink.add(self.scratch, *rules);
                self.scratch.remember(*clause, Truth::True);
            }
        }
        if group.members.len() <= REMEMBER_ALL {
            for (index, (clause, _)) in group.members.iter().enumerate() {
                if !found.contains(index) {
                    self.scratch.remember(*clause, Truth::False);
                }
            }
        }
        self.scratch.found = found;
    }
}
