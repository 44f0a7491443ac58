//! Finding the rules that a request may fire, from the values it brings. See [`crate::index`].

use super::evaluator::Evaluator;
use crate::budget::Pace;
use crate::chars;
use crate::clause::predicate::{self, Truth};
use crate::index::derived::{Derivations, DerivedIndex};
use crate::index::exclusion::Places;
use crate::index::substrings::SubstringIndex;
use crate::index::{Kinds, PathIndex, PatternGroup, Postings, REMEMBERED};
use crate::limits::LONG_TEXT;
use crate::num::number::integral;
use crate::program::scratch::{Applicable, ToolScope};
use crate::program::{Profile, Scratch};
use crate::value::class::Class;
use crate::value::request::Request;
use crate::value::{Step, Value, View};

/// Elements of a list that is looked through for what may raise.
const SHORT_LIST: usize = 256;

/// Receiver of the rules that a value selects.
pub(super) trait Sink: Copy {
    /// True if a clause in error names its rules, as a true clause does.
    const ERRORS: bool;
    /// Takes the rules of one list.
    fn add(self, scratch: &mut Scratch, list: Postings);
}

/// Queues rules by their guards.
#[derive(Clone, Copy)]
pub(super) struct Queue<'p> {
    pub(super) applicable: Applicable<'p>,
    pub(super) scope: ToolScope,
}

impl Sink for Queue<'_> {
    const ERRORS: bool = true;

    #[inline]
    fn add(self, scratch: &mut Scratch, list: Postings) {
        scratch.queue(self.applicable, self.scope, list);
    }
}

/// Excludes rules by their negated clauses.
#[derive(Clone, Copy)]
pub(super) struct RuleOut<'p> {
    pub(super) places: &'p Places,
    pub(super) scope: ToolScope,
}

impl Sink for RuleOut<'_> {
    const ERRORS: bool = false;

    #[inline]
    fn add(self, scratch: &mut Scratch, list: Postings) {
        self.places.rule_out(list, scratch.out(self.scope));
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

/// Returns true if a value is of [`Class::Plain`].
#[inline(never)]
fn is_plain<V: Value>(value: &V, view: &View<'_>) -> bool {
    let listed = match view {
        View::List => true,
        View::Opaque => value.is_plain_tuple(),
        _ => false,
    };
    let scalar = |element: V| {
        matches!(
            element.view(),
            View::Null
                | View::Bool(_)
                | View::Int(_)
                | View::BigInt(_)
                | View::Float(_)
                | View::Str(_)
        )
    };
    listed && value.len() <= SHORT_LIST && value.items().all(scalar)
}

impl<'r, R: Request> Evaluator<'r, R> {
    /// Passes the rules that one path selects to `sink`; returns true if the path is absent.
    pub(super) fn lookup<S: Sink>(&mut self, sink: S, path_index: &'r PathIndex) -> bool {
        // PERF: only the value is cloned, as it is not moved after that, see [`Request::arg`].
        let value = match self.cached(path_index.path) {
            Step::Found(value) => value.clone(),
            Step::Absent => {
                sink.add(self.scratch, path_index.missing);
                return true;
            }
            Step::Unreadable => {
                sink.add(self.scratch, path_index.missing);
                self.fail(sink, path_index, Class::Broken);
                self.eval_clauses(sink, path_index, &Step::Unreadable);
                return false;
            }
        };
        let view = value.text().map_or_else(|| value.view(), View::Str);
        let mut class = class(&view);
        if matches!(class, Class::List | Class::Broken)
            && self.is_lynx()
            && path_index.failing.has(class)
            && is_plain(&value, &view)
        {
            class = Class::Plain;
        }
        self.fail(sink, path_index, class);
        let kinds = path_index.kinds;
        match &view {
            View::Str(text) => {
                if kinds.has(Kinds::LONG) && text.len() > LONG_TEXT {
                    sink.add(self.scratch, path_index.long);
                }
                if kinds.has(Kinds::STRINGS)
                    && let Some(rules) = path_index.strings.get(text)
                {
                    sink.add(self.scratch, *rules);
                }
                if kinds.has(Kinds::PATTERNS)
                    && let Some(group) = &path_index.patterns
                {
                    self.search(sink, group, text);
                }
                if kinds.has(Kinds::PARTS) {
                    self.look_into(sink, path_index, text);
                }
                if kinds.has(Kinds::AFFIXES) {
                    for affixes in &path_index.affixes {
                        affixes.search(text, |rules| sink.add(self.scratch, rules));
                    }
                }
                if kinds.has(Kinds::SUBSTRINGS)
                    && let Some(substrings) = &path_index.substrings
                {
                    self.look_for_parts(sink, substrings, text);
                }
            }
            View::Int(number) if kinds.has(Kinds::INTS) => {
                self.equal_int(sink, &path_index.ints, *number);
            }
            View::Float(number) if kinds.has(Kinds::INTS) => {
                if let Some(number) = integral(*number) {
                    self.equal_int(sink, &path_index.ints, number);
                }
            }
            View::List | View::Opaque if kinds.has(Kinds::SUBSTRINGS) && class != Class::Broken => {
                if let Some(substrings) = &path_index.substrings {
                    self.look_through(sink, substrings, &value);
                }
            }
            View::Map if kinds.has(Kinds::SUBSTRINGS) => {
                if let Some(substrings) = &path_index.substrings {
                    sink.add(self.scratch, substrings.all);
                }
            }
            // To Python a bool is an integer, and null is what a missing value is.
            View::Bool(value) if self.is_lynx() => {
                let number = i64::from(*value);
                self.equal_int(sink, &path_index.ints, number);
                self.within(sink, path_index, &View::Int(number));
            }
            View::Null if self.is_lynx() => sink.add(self.scratch, path_index.missing),
            _ => {}
        }
        if kinds.has(Kinds::DERIVED)
            && let Some(derived) = &path_index.derived
        {
            self.derive(sink, derived, (&value, &view));
        }
        if kinds.has(Kinds::INTERVALS) && class == Class::Number {
            self.within(sink, path_index, &view);
        }
        if kinds.has(Kinds::CLAUSES) {
            self.eval_clauses(sink, path_index, &Step::Found(value.clone()));
        }
        false
    }

    /// Passes the rules that values made from a value select.
    #[inline(never)]
    fn derive<S: Sink>(
        &mut self,
        sink: S,
        derived: &'r Derivations,
        (value, view): (&R::Value, &View<'_>),
    ) {
        match view {
            View::Str(text) => {
                if let Some(lower) = &derived.lower {
                    self.look_in_lower_case(sink, lower, text);
                }
            }
            View::List => {
                if let Some(first) = &derived.first {
                    match value.items().next() {
                        Some(element) => self.look_up_made(sink, first, &element),
                        None => sink.add(self.scratch, derived.empty),
                    }
                }
                let Some(each) = &derived.each else {
                    return;
                };
                for element in value.items() {
                    if self.work.steps.take(1).is_err() {
                        return sink.add(self.scratch, each.all);
                    }
                    self.look_up_made(sink, each, &element);
                }
            }
            _ => {}
        }
    }

    fn look_up_made<S: Sink>(&mut self, sink: S, index: &'r DerivedIndex, made: &R::Value) {
        let view = made.view();
        if let Some(rules) = index.errors_of(class(&view)) {
            sink.add(self.scratch, rules);
        }
        match view {
            View::Str(text) => {
                self.look_up_text(sink, index, text);
                if let Some(lower) = &index.lower {
                    self.look_in_lower_case(sink, lower, text);
                }
            }
            View::Int(number) => self.equal_int(sink, &index.ints, number),
            View::Float(number) if !number.is_nan() => {
                if let Some(number) = integral(number) {
                    self.equal_int(sink, &index.ints, number);
                }
            }
            _ => {}
        }
    }

    fn look_in_lower_case<S: Sink>(&mut self, sink: S, index: &'r DerivedIndex, text: &str) {
        match self.work.steps.text(text.len(), Pace::Make) {
            Ok(()) => self.look_up_text(sink, index, &chars::lower(text)),
            Err(_) => sink.add(self.scratch, index.all),
        }
    }

    fn look_up_text<S: Sink>(&mut self, sink: S, index: &'r DerivedIndex, text: &str) {
        if let Some(rules) = index.strings.get(text) {
            sink.add(self.scratch, *rules);
        }
        for affixes in &index.affixes {
            affixes.search(text, |rules| sink.add(self.scratch, rules));
        }
        if let Some(substrings) = &index.substrings {
            self.look_for_parts(sink, substrings, text);
        }
    }

    /// Passes the rules whose needle is in a text.
    #[inline]
    fn look_for_parts<S: Sink>(&mut self, sink: S, substrings: &SubstringIndex, text: &str) {
        let mut found = std::mem::take(&mut self.scratch.found);
        let steps = &self.work.steps;
        let searched = substrings.search(text, (&mut found, steps), |rules| {
            sink.add(self.scratch, rules);
        });
        self.scratch.found = found;
        if searched.is_err() && S::ERRORS {
            sink.add(self.scratch, substrings.all);
        }
    }

    /// Parses a text, and passes the rules that its parts select. A text that is undecidable names all that ask.
    fn look_into<S: Sink>(&mut self, sink: S, path_index: &PathIndex, text: &str) {
        let charged = self.work.steps.text(text.len(), Pace::Make);
        for part in &path_index.parts {
            let answer = self.work.facets().get(part.facet, text);
            match &*answer {
                Ok(parsed) if charged.is_ok() => {
                    part.search(parsed, |rules| sink.add(self.scratch, rules));
                }
                Ok(_) | Err(_) if S::ERRORS => sink.add(self.scratch, part.all),
                Ok(_) | Err(_) => {}
            }
        }
        for (facet, rules) in &path_index.undecidable {
            if S::ERRORS && (charged.is_err() || self.work.facets().get(*facet, text).is_err()) {
                sink.add(self.scratch, *rules);
            }
        }
    }

    fn eval_clauses<S: Sink>(&mut self, sink: S, path_index: &PathIndex, step: &Step<R::Value>) {
        let program = self.program;
        if self.is_lynx() {
            return self.eval_lynx_clauses(sink, path_index);
        }
        for (index, rules) in &path_index.clauses {
            let truth = predicate::evaluate(program.test(*index), step, self);
            self.scratch.memo_set(*index, truth);
            match truth {
                Truth::True => sink.add(self.scratch, *rules),
                Truth::Error(_) if S::ERRORS => sink.add(self.scratch, *rules),
                Truth::Error(_) | Truth::False | Truth::Absent => {}
            }
        }
    }

    fn eval_lynx_clauses<S: Sink>(&mut self, sink: S, path_index: &PathIndex) {
        for (index, rules) in &path_index.clauses {
            match self.lynx_leaf(*index) {
                Ok(true) => sink.add(self.scratch, *rules),
                Err(_) if S::ERRORS => sink.add(self.scratch, *rules),
                Ok(false) | Err(_) => {}
            }
        }
    }

    fn is_lynx(&self) -> bool {
        self.program.profile == Profile::Lynx
    }

    #[inline]
    fn within<S: Sink>(&mut self, sink: S, path_index: &PathIndex, number: &View<'_>) {
        if let Some(intervals) = &path_index.intervals {
            for rules in intervals.of(number) {
                sink.add(self.scratch, rules);
            }
        }
    }

    #[inline]
    fn fail<S: Sink>(&mut self, sink: S, path_index: &PathIndex, class: Class) {
        if path_index.failing.has(class)
            && let Some(rules) = path_index.errors.get(class as usize)
        {
            sink.add(self.scratch, *rules);
        }
    }

    fn equal_int<S: Sink>(&mut self, sink: S, ints: &[(i64, Postings)], number: i64) {
        if let Ok(at) = ints.binary_search_by_key(&number, |(key, _)| *key)
            && let Some((_, rules)) = ints.get(at)
        {
            sink.add(self.scratch, *rules);
        }
    }

    /// Queues the rules whose needle is an element of a list. An element that cannot be evaluated names all of them.
    fn look_through<S: Sink>(&mut self, sink: S, substrings: &SubstringIndex, list: &R::Value) {
        for item in list.items() {
            if self.work.steps.take(1).is_err() {
                if S::ERRORS {
                    sink.add(self.scratch, substrings.all);
                }
                return;
            }
            match item.view() {
                View::Str(text) => {
                    if let Some(rules) = substrings.strings.get(text) {
                        sink.add(self.scratch, *rules);
                    }
                }
                View::Int(number) => self.equal_int(sink, &substrings.ints, number),
                View::Float(number) if !number.is_nan() => {
                    if let Some(number) = integral(number) {
                        self.equal_int(sink, &substrings.ints, number);
                    }
                }
                View::Bool(value) if self.is_lynx() => {
                    self.equal_int(sink, &substrings.ints, i64::from(value));
                }
                View::Timestamp(_) if self.is_lynx() => {
                    sink.add(self.scratch, substrings.all);
                    return;
                }
                View::Null
                | View::Bool(_)
                | View::BigInt(_)
                | View::Timestamp(_)
                | View::List
                | View::Map => {}
                View::Float(_) | View::BadStr | View::HugeInt | View::Opaque => {
                    sink.add(self.scratch, substrings.all);
                    return;
                }
            }
        }
    }

    fn search<S: Sink>(&mut self, sink: S, group: &PatternGroup, text: &str) {
        let program = self.program;
        if !self.cuts.sets {
            for (clause, rules) in &group.members {
                if program
                    .pattern(*clause)
                    .is_some_and(|pattern| pattern.is_match(text))
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
            // Each of them is evaluated separately, for which there are no steps either.
            for (_, rules) in group.members.iter().filter(|_| S::ERRORS) {
                sink.add(self.scratch, *rules);
            }
            return;
        }
        for index in found.iter() {
            if let Some((clause, rules)) = group.members.get(index) {
                sink.add(self.scratch, *rules);
                self.scratch.memo_set(*clause, Truth::True);
            }
        }
        if group.members.len() <= REMEMBERED {
            for (index, (clause, _)) in group.members.iter().enumerate() {
                if !found.contains(index) {
                    self.scratch.memo_set(*clause, Truth::False);
                }
            }
        }
        self.scratch.found = found;
    }
}
