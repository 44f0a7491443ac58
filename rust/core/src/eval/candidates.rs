//! Finding the rules that a request may fire, from the values it brings. See [`crate::program::segment`].

use super::judge::Judge;
use crate::matcher::number::integral;
use crate::matcher::{self, Test, Truth};
use crate::pattern::PatternSet;
use crate::program::needles::Needles;
use crate::program::scratch::{Met, Whose};
use crate::program::segment::{Class, List, PatternGroup, Probe};
use crate::value::request::Request;
use crate::value::{Step, Value, View};

/// Truths of unmatched patterns are kept for groups up to this size. PERF: a write per pattern, against a search each
/// for the few that a candidate asks again.
const REMEMBER_ALL: usize = 256;

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
    /// Queues the rules of one list.
    #[inline]
    fn add(&mut self, met: Met<'r>, whose: Whose, list: List) {
        self.scratch.queue(met, whose, list);
    }

    /// Queues the rules that one path names; whether the path is absent.
    pub(super) fn probe(&mut self, met: Met<'r>, whose: Whose, probe: &'r Probe) -> bool {
        let step = self.step(probe.path);
        let value = match &step {
            Step::Absent => {
                self.add(met, whose, probe.missing);
                return true;
            }
            Step::Unreadable => {
                self.add(met, whose, probe.missing);
                self.fail(met, whose, probe, Class::Broken);
                self.judge_singly(met, whose, probe, &step);
                return false;
            }
            Step::Found(value) => value,
        };
        let view = value.view();
        self.fail(met, whose, probe, class(&view));
        match &view {
            View::Str(text) => {
                if let Some(rules) = probe.strings.get(text) {
                    self.add(met, whose, *rules);
                }
                if let Some(group) = &probe.patterns {
                    self.search(met, whose, group, text);
                }
                for affixes in &probe.affixes {
                    affixes.search(text, |rules| self.add(met, whose, rules));
                }
                if let Some(needles) = &probe.needles {
                    let mut found = std::mem::take(&mut self.scratch.found);
                    needles.search(text, &mut found, |rules| self.add(met, whose, rules));
                    self.scratch.found = found;
                }
            }
            View::Int(number) => self.equal_int(met, whose, &probe.ints, *number),
            View::Float(number) => {
                if let Some(number) = integral(*number) {
                    self.equal_int(met, whose, &probe.ints, number);
                }
            }
            View::List => {
                if let Some(needles) = &probe.needles {
                    self.look_through(met, whose, needles, value);
                }
            }
            View::Map => {
                if let Some(needles) = &probe.needles {
                    self.add(met, whose, needles.all);
                }
            }
            _ => {}
        }
        if let Some(bands) = &probe.bands
            && class(&view) == Class::Number
        {
            for rules in bands.of(&view) {
                self.add(met, whose, rules);
            }
        }
        self.judge_singly(met, whose, probe, &step);
        false
    }

    fn judge_singly(&mut self, met: Met<'r>, whose: Whose, probe: &Probe, step: &Step<R::Value>) {
        let program = self.program;
        for (index, rules) in &probe.clauses {
            let truth = matcher::judge(program.test(*index), step, &self.reader());
            self.scratch.remember(*index, truth);
            match truth {
                Truth::True | Truth::Error(_) => self.add(met, whose, *rules),
                Truth::False | Truth::Absent => {}
            }
        }
    }

    #[inline]
    fn fail(&mut self, met: Met<'r>, whose: Whose, probe: &Probe, class: Class) {
        if let Some(rules) = probe.errors.get(class as usize) {
            self.add(met, whose, *rules);
        }
    }

    fn equal_int(&mut self, met: Met<'r>, whose: Whose, ints: &[(i64, List)], number: i64) {
        if let Ok(at) = ints.binary_search_by_key(&number, |(key, _)| *key)
            && let Some((_, rules)) = ints.get(at)
        {
            self.add(met, whose, *rules);
        }
    }

    /// Queues the rules whose needle is an element of a list. An element that cannot be judged concerns them all.
    fn look_through(&mut self, met: Met<'r>, whose: Whose, needles: &Needles, list: &R::Value) {
        let mut index = 0;
        while let Some(item) = list.item(index) {
            match item.view() {
                View::Str(text) => {
                    if let Some(rules) = needles.strings.get(text) {
                        self.add(met, whose, *rules);
                    }
                }
                View::Int(number) => self.equal_int(met, whose, &needles.ints, number),
                View::Float(number) if !number.is_nan() => {
                    if let Some(number) = integral(number) {
                        self.equal_int(met, whose, &needles.ints, number);
                    }
                }
                View::Null
                | View::Bool(_)
                | View::BigInt(_)
                | View::Timestamp(_)
                | View::List
                | View::Map => {}
                View::Float(_) | View::BadStr | View::HugeInt | View::Opaque => {
                    self.add(met, whose, needles.all);
                    return;
                }
            }
            index += 1;
        }
    }

    fn search(&mut self, met: Met<'r>, whose: Whose, group: &PatternGroup, text: &str) {
        let program = self.program;
        if !self.cuts.sets {
            for (clause, rules) in &group.members {
                if let Test::Matches(search) = program.test(*clause)
                    && search.is_match(text)
                {
                    self.add(met, whose, *rules);
                }
            }
            return;
        }
        let set = group.set.get_or_init(|| {
            let patterns: Vec<_> = group
                .members
                .iter()
                .filter_map(|(clause, _)| match program.test(*clause) {
                    Test::Matches(search) => Some(&search.pattern),
                    _ => None,
                })
                .collect();
            PatternSet::build(&patterns)
        });
        let mut found = std::mem::take(&mut self.scratch.found);
        set.matches(text, &mut found);
        for index in found.iter() {
            if let Some((clause, rules)) = group.members.get(index) {
                self.add(met, whose, *rules);
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
