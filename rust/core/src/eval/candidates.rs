//! Finding the rules that a request may fire, from the values it brings. See [`crate::program::segment`].

use super::judge::Judge;
use crate::matcher::number::integral;
use crate::matcher::{self, Test, Truth};
use crate::pattern::PatternSet;
use crate::program::segment::{Class, PatternGroup, Probe, Rules, Segment};
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

impl<R: Request> Judge<'_, R> {
    /// The candidates found so far.
    #[inline]
    pub(super) fn candidates(&self) -> &[u32] {
        &self.scratch.candidates
    }

    /// Puts the candidates in evaluation order, each once.
    #[inline]
    pub(super) fn sort_candidates(&mut self) {
        if self.scratch.candidates.len() > 1 {
            self.scratch.candidates.sort_unstable();
            self.scratch.candidates.dedup();
        }
    }

    /// Adds the candidates of a segment.
    #[inline]
    pub(super) fn collect(&mut self, segment: &Segment) {
        let mut absent = false;
        for probe in &segment.probes {
            if !probe.late {
                absent |= self.probe(probe) && probe.permits;
            }
        }
        if absent {
            for probe in segment.probes.iter().filter(|probe| probe.late) {
                self.probe(probe);
            }
        }
    }

    fn add(&mut self, rules: &Rules) {
        self.scratch.candidates.extend_from_slice(rules);
    }

    /// Adds the candidates of one path; whether the path is absent.
    fn probe(&mut self, probe: &Probe) -> bool {
        let step = self.step(probe.path);
        let value = match &step {
            Step::Absent => {
                self.add(&probe.missing);
                return true;
            }
            Step::Unreadable => {
                self.add(&probe.missing);
                self.fail(probe, Class::Broken);
                self.judge_singly(probe, &step);
                return false;
            }
            Step::Found(value) => value,
        };
        let view = value.view();
        self.fail(probe, class(&view));
        match &view {
            View::Str(text) => {
                if let Some(rules) = probe.strings.get(text) {
                    self.add(rules);
                }
                if let Some(group) = &probe.patterns {
                    self.search(group, text);
                }
            }
            View::Int(number) => self.equal_int(probe, *number),
            View::Float(number) => {
                if let Some(number) = integral(*number) {
                    self.equal_int(probe, number);
                }
            }
            _ => {}
        }
        self.judge_singly(probe, &step);
        false
    }

    fn judge_singly(&mut self, probe: &Probe, step: &Step<R::Value>) {
        let program = self.program;
        for (index, rules) in &probe.clauses {
            let truth = matcher::judge(program.test(*index), step);
            self.scratch.remember(*index, truth);
            match truth {
                Truth::True | Truth::Error(_) => self.add(rules),
                Truth::False | Truth::Absent => {}
            }
        }
    }

    fn fail(&mut self, probe: &Probe, class: Class) {
        if let Some(rules) = probe.errors.get(class as usize)
            && !rules.is_empty()
        {
            self.add(rules);
        }
    }

    fn equal_int(&mut self, probe: &Probe, number: i64) {
        if let Ok(at) = probe.ints.binary_search_by_key(&number, |(key, _)| *key)
            && let Some((_, rules)) = probe.ints.get(at)
        {
            self.add(rules);
        }
    }

    fn search(&mut self, group: &PatternGroup, text: &str) {
        let program = self.program;
        if !self.cuts.sets {
            for (clause, rules) in &group.members {
                if let Test::Matches(search) = program.test(*clause)
                    && search.is_match(text)
                {
                    self.add(rules);
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
                self.add(rules);
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
