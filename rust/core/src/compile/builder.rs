//! Path indexes under construction: which value at which path names which rules.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::hash::Hash;

use super::derived_builder::DerivationsBuilder;
use super::guard::Guard;
use crate::bytes::hash::Keyed;
use crate::bytes::strmap::StrMap;
use crate::clause::flat_expr::Part;
use crate::clause::ops::IndexKey;
use crate::clause::ops::affix::End;
use crate::clause::ops::derived_key::Made;
use crate::clause::ops::parts::PartKey;
use crate::clause::prepared::PreparedConst;
use crate::facets::Facet;
use crate::index::affixes::Affixes;
use crate::index::derived::Derivations;
use crate::index::exclusion::{ExclusionIndex, Places};
use crate::index::intervals::Intervals;
use crate::index::parts::PartIndex;
use crate::index::substrings::SubstringIndex;
use crate::index::{Kinds, PathIndex, PatternGroup, Postings, RuleIndex, postings};
use crate::num::number::Number;
use crate::program::{Profile, Program};
use crate::pyfn::trigger::Trigger;
use crate::value::class::{Class, Classes};

/// Fewer patterns than this are searched, and fewer intervals and needles evaluated, one by one.
const FEW: usize = 4;

/// So many needles are searched for together where some of them are of patterns. PERF: a pattern that is searched by itself
/// takes as long as three needles.
const FEW_OF_PATTERNS: usize = 2;

pub(super) type Rules = Vec<u32>;

pub(super) type RulesBy<K> = HashMap<K, Rules, Keyed>;

/// Path indexes under construction, by path.
pub(super) struct Builder<'p> {
    program: &'p Program,
    by_path: BTreeMap<u32, PathBuilder>,
    /// Those that are read once the guard of a permitting rule is absent.
    if_absent: BTreeMap<u32, PathBuilder>,
    /// True if a value names only rules with a true clause, possibly not all of them, as an exclusion index requires.
    exact: bool,
}

#[derive(Default)]
struct PathBuilder {
    permits: bool,
    strings: RulesBy<String>,
    ints: RulesBy<i64>,
    intervals: Vec<(u32, u32)>,
    substrings: Vec<(u32, u32)>,
    affixes: Vec<(u32, u32)>,
    clauses: BTreeMap<u32, Rules>,
    patterns: BTreeMap<u32, Rules>,
    parts: Vec<(u32, u32)>,
    derived: Vec<(u32, u32)>,
    undecidable: Vec<(Facet, Rules)>,
    missing: Rules,
    long: Rules,
    errors: [Rules; Class::ALL.len()],
}

impl<'p> Builder<'p> {
    pub(super) fn new(program: &'p Program) -> Self {
        Self {
            program,
            by_path: BTreeMap::new(),
            if_absent: BTreeMap::new(),
            exact: false,
        }
    }

    /// Those of exclusions.
    pub(super) fn exact(program: &'p Program) -> Self {
        Self {
            exact: true,
            ..Self::new(program)
        }
    }

    /// Adds a rule that is excluded where one of `clauses` is true, by its position among those that are evaluated every
    /// time.
    pub(super) fn add_exclusion(&mut self, place: u32, clauses: impl IntoIterator<Item = u32>) {
        for clause in clauses {
            self.guard(place, clause, false);
        }
    }

    /// Adds a rule with its match and its guard. Rules come in order.
    pub(super) fn add(&mut self, rule: u32, expr: Part<'_>, guard: &Guard) {
        let lynx = self.program.profile == Profile::Lynx;
        let permits = self.program.permits(rule) && !lynx;
        let clauses = &guard.clauses;
        for &clause in clauses {
            self.guard(rule, clause, permits);
        }
        if lynx {
            // A clause that is evaluated before the guard may raise, which leaves a marker.
            for &clause in &guard.exposed {
                if !clauses.contains(&clause) {
                    self.errors(rule, clause, false);
                }
            }
        }
        if permits {
            // With an absent guard another clause may still put the rule in error, which leaves a marker.
            expr.leaves(&mut |clause| {
                if !clauses.contains(&clause) {
                    self.errors(rule, clause, true);
                }
            });
        }
    }

    /// Adds a function with what it is watched by. Rules come in order.
    pub(super) fn trigger(&mut self, rule: u32, triggers: &[Trigger]) {
        for trigger in triggers {
            if let Some(clause) = trigger.clause {
                self.guard(rule, clause, false);
            }
            let path_builder = self.by_path.entry(trigger.path).or_default();
            path_builder.long.push(rule);
            if trigger.missing {
                path_builder.missing.push(rule);
            }
            path_builder.errors(rule, trigger.classes);
        }
    }

    fn guard(&mut self, rule: u32, index: u32, permits: bool) {
        let program = self.program;
        let Some(clause) = program.clauses.get(index as usize) else {
            return;
        };
        let path_builder = self.by_path.entry(clause.path).or_default();
        path_builder.permits |= permits;
        let test = program.indexed_clause(index);
        if test.is_true_of_null() {
            path_builder.missing.push(rule);
        }
        match test.key() {
            IndexKey::Missing => {
                path_builder.missing.push(rule);
                return;
            }
            IndexKey::Scalars(texts, ints) => {
                for text in texts {
                    push(&mut path_builder.strings, text.to_string(), rule);
                }
                for number in ints {
                    push(&mut path_builder.ints, *number, rule);
                }
            }
            IndexKey::Pattern(Some(text)) => push(&mut path_builder.strings, text, rule),
            IndexKey::Pattern(None) => path_builder.patterns.entry(index).or_default().push(rule),
            IndexKey::Intervals(_) => {
                path_builder.intervals.push((index, rule));
                return;
            }
            IndexKey::Needles { exact, .. } if exact || !self.exact => {
                path_builder.substrings.push((index, rule));
                return;
            }
            IndexKey::Affixes(..) => {
                path_builder.affixes.push((index, rule));
                return;
            }
            IndexKey::Part(key, _) if self.exact && !key.exact => {
                path_builder.clauses.entry(index).or_default().push(rule);
                return;
            }
            IndexKey::Part(..) => {
                path_builder.parts.push((index, rule));
                if !self.exact {
                    // The index of parts names the rules that a text leaves in error.
                    path_builder.errors(rule, test.fails().without(Class::String));
                }
                return;
            }
            IndexKey::Derived(_) if !self.exact => {
                path_builder.derived.push((index, rule));
                return;
            }
            IndexKey::Needles { .. } | IndexKey::Scan | IndexKey::Derived(_) => {
                // Evaluated by itself on every value that is there: true and error both name the rule.
                path_builder.clauses.entry(index).or_default().push(rule);
                return;
            }
        }
        self.errors(rule, index, false);
    }

    /// Adds a rule that a clause could leave in error; `if_absent`: as long as its guard is absent.
    fn errors(&mut self, rule: u32, index: u32, if_absent: bool) {
        if self.exact {
            return;
        }
        let Some(clause) = self.program.clauses.get(index as usize) else {
            return;
        };
        let test = self.program.indexed_clause(index);
        let by_path = match if_absent {
            true => &mut self.if_absent,
            false => &mut self.by_path,
        };
        let path_builder = by_path.entry(clause.path).or_default();
        if test.reads_run() {
            // A request has nothing at its path, so that every request finds the rule there.
            if path_builder.missing.last() != Some(&rule) {
                path_builder.missing.push(rule);
            }
            return;
        }
        match test.decided_by() {
            Some(facet) => {
                path_builder.undecidable(rule, facet);
                path_builder.errors(rule, test.fails().without(Class::String));
            }
            None => path_builder.errors(rule, test.fails()),
        }
    }

    /// The rule index of these path indexes and of the rules that are evaluated every time. `dense`: all its rules, if its
    /// lists are masks.
    pub(super) fn finish(self, always: Rules, dense: Option<&[u32]>) -> RuleIndex {
        let mut lists = Lists {
            dense: dense.map(Into::into),
            ..Lists::default()
        };
        let always = lists.keep(always);
        let mut finish = |by_path: BTreeMap<u32, PathBuilder>| -> Vec<PathIndex> {
            let builders = by_path.into_iter();
            builders
                .map(|(path, builder)| builder.finish(self.program, path, &mut lists))
                .collect()
        };
        let (mut path_indexes, error_paths) = (finish(self.by_path), finish(self.if_absent));
        path_indexes.sort_by_key(|path_index| path_index.first);
        let is_dense = lists.dense.is_some();
        RuleIndex {
            rules: lists.dense.unwrap_or(lists.rules),
            dense: is_dense,
            always,
            path_indexes,
            error_paths,
            ..RuleIndex::default()
        }
    }

    /// The exclusion index of these path indexes, over so many rules.
    pub(super) fn finish_exclusion(self, rules: usize) -> ExclusionIndex {
        let mut lists = Lists {
            places: Some(Places::new(rules)),
            ..Lists::default()
        };
        let path_indexes = self.by_path.into_iter();
        let path_indexes = path_indexes
            .map(|(path, path_builder)| path_builder.finish(self.program, path, &mut lists));
        ExclusionIndex {
            path_indexes: path_indexes.collect(),
            lists: lists.places.unwrap_or_default(),
        }
    }
}

impl PathBuilder {
    fn errors(&mut self, rule: u32, fails: Classes) {
        for (class, rules) in Class::ALL.into_iter().zip(&mut self.errors) {
            if fails.has(class) {
                rules.push(rule);
            }
        }
    }

    fn finish(mut self, program: &Program, path: u32, lists: &mut Lists) -> PathIndex {
        lists.first = u32::MAX;
        let intervals = self.finish_intervals(program, lists);
        let needles = match lists.places {
            // A needle in a text does not exclude a rule.
            Some(_) => BTreeMap::new(),
            None => self.needles_of_patterns(program),
        };
        let substrings = self.finish_substrings(program, needles, lists);
        let affixes = self.finish_affixes(program, lists);
        let parts = self.finish_parts(program, lists);
        let derived = self.finish_derived(program, lists);
        let undecidable = std::mem::take(&mut self.undecidable);
        let mut patterns = None;
        if self.patterns.len() < FEW {
            self.clauses.append(&mut self.patterns);
        } else {
            patterns = Some(PatternGroup {
                members: lists.each(self.patterns).collect(),
                set: Default::default(),
            });
        }
        let mut ints: Vec<(i64, Postings)> = lists.each(self.ints).collect();
        ints.sort_unstable_by_key(|(number, _)| *number);
        let mut path_index = PathIndex {
            path,
            first: 0,
            permits: self.permits,
            kinds: Kinds::default(),
            failing: Classes::default(),
            strings: StrMap::new(
                lists
                    .each(self.strings)
                    .map(|(text, rules)| (text.into(), rules))
                    .collect(),
            ),
            ints,
            intervals,
            affixes,
            substrings,
            clauses: lists.each(self.clauses).collect(),
            patterns,
            parts,
            derived: derived.map(Box::new),
            undecidable: undecidable
                .into_iter()
                .map(|(facet, rules)| (facet, lists.keep_loose(rules)))
                .collect(),
            missing: lists.keep(self.missing),
            long: lists.keep_loose(self.long),
            errors: self.errors.map(|rules| lists.keep_loose(rules)),
        };
        path_index.first = lists.first;
        path_index.note(lists.is_dense());
        path_index
    }

    /// The intervals, if they are many; a few become clauses that are evaluated by themselves.
    fn finish_intervals(&mut self, program: &Program, lists: &mut Lists) -> Option<Intervals> {
        if distinct(&self.intervals) < FEW {
            singly(&mut self.clauses, &mut self.intervals);
            return None;
        }
        let mut all = Vec::new();
        for (clause, rule) in std::mem::take(&mut self.intervals) {
            let test = program.indexed_clause(clause);
            if let IndexKey::Intervals(intervals) = test.key() {
                all.extend(intervals.into_iter().map(|interval| (interval, rule)));
            }
            self.errors(rule, test.fails());
        }
        Some(Intervals::new(&all, |rules| lists.keep(rules)))
    }

    fn undecidable(&mut self, rule: u32, facet: Facet) {
        match self
            .undecidable
            .iter_mut()
            .find(|(known, _)| *known == facet)
        {
            Some((_, rules)) => rules.push(rule),
            None => self.undecidable.push((facet, vec![rule])),
        }
    }

    /// The parts that guards test, each with its texts.
    fn finish_parts(&mut self, program: &Program, lists: &mut Lists) -> Vec<PartIndex> {
        let mut found: Vec<(PartKey<'_>, RulesBy<Box<str>>, Rules)> = Vec::new();
        for (clause, rule) in std::mem::take(&mut self.parts) {
            let IndexKey::Part(key, texts) = program.test(clause).key() else {
                continue;
            };
            let known = found.iter().position(|(known, ..)| {
                (known.facet, known.path, known.matching) == (key.facet, key.path, key.matching)
            });
            let at = known.unwrap_or_else(|| {
                found.push((key, RulesBy::default(), Rules::new()));
                found.len() - 1
            });
            if let Some((_, by_text, all)) = found.get_mut(at) {
                for text in texts {
                    push(by_text, text.into(), rule);
                }
                all.push(rule);
            }
        }
        let index = |(key, by_text, all): (PartKey<'_>, RulesBy<Box<str>>, Rules)| PartIndex {
            facet: key.facet,
            path: key.path.into(),
            matching: key.matching,
            texts: StrMap::new(lists.each(by_text).collect()),
            all: lists.keep_loose(all),
        };
        found.into_iter().map(index).collect()
    }

    /// The affixes of both ends, if they are many; a few become clauses that are evaluated by themselves.
    fn finish_affixes(&mut self, program: &Program, lists: &mut Lists) -> Vec<Affixes> {
        let mut found = Vec::new();
        if distinct(&self.affixes) >= FEW {
            for end in [End::Start, End::End] {
                let mut texts = RulesBy::<Box<str>>::default();
                for (clause, rule) in &self.affixes {
                    if let IndexKey::Affixes(at, affixes) = program.test(*clause).key()
                        && at == end
                    {
                        for affix in affixes {
                            push(&mut texts, affix.clone(), *rule);
                        }
                    }
                }
                match Affixes::new(end, lists.each(texts).collect()) {
                    Some(affixes) => found.push(affixes),
                    None => {
                        found.clear();
                        break;
                    }
                }
            }
        }
        if found.is_empty() {
            singly(&mut self.clauses, &mut self.affixes);
        }
        for (clause, rule) in std::mem::take(&mut self.affixes) {
            self.errors(rule, program.indexed_clause(clause).fails());
        }
        found
    }

    /// The requirements on made values, if they are many; a few become clauses that are evaluated by themselves.
    fn finish_derived(&mut self, program: &Program, lists: &mut Lists) -> Option<Derivations> {
        if distinct(&self.derived) < FEW {
            singly(&mut self.clauses, &mut self.derived);
            return None;
        }
        let mut builder = DerivationsBuilder::default();
        for (clause, rule) in std::mem::take(&mut self.derived) {
            let test = program.indexed_clause(clause);
            let IndexKey::Derived(key) = test.key() else {
                self.clauses.entry(clause).or_default().push(rule);
                continue;
            };
            // The index of made values names the rules that one of them leaves in error.
            let made_of = match key.made {
                Made::Lower => Class::String,
                Made::Each | Made::First { .. } => Class::List,
            };
            self.errors(rule, test.fails().without(made_of));
            builder.add(rule, key);
        }
        Some(builder.finish(lists))
    }

    /// A needle of each pattern that has one, by its clause, if the patterns are few and the needles are not.
    fn needles_of_patterns(&mut self, program: &Program) -> BTreeMap<u32, String> {
        if self.patterns.len() >= FEW {
            return BTreeMap::new();
        }
        let needle = |clause: &u32| Some((*clause, program.pattern(*clause)?.needle()?));
        let needles: BTreeMap<u32, String> = self.patterns.keys().filter_map(needle).collect();
        match distinct(&self.substrings) + needles.len() < FEW_OF_PATTERNS {
            true => BTreeMap::new(),
            false => needles,
        }
    }

    /// The needles, if they are many; a few become clauses that are evaluated by themselves. `of_patterns` stand for their
    /// clauses, which the rules evaluate.
    fn finish_substrings(
        &mut self,
        program: &Program,
        of_patterns: BTreeMap<u32, String>,
        lists: &mut Lists,
    ) -> Option<SubstringIndex> {
        if of_patterns.is_empty() && distinct(&self.substrings) < FEW {
            singly(&mut self.clauses, &mut self.substrings);
            return None;
        }
        let (mut texts, mut ints) = (RulesBy::<Box<str>>::default(), RulesBy::<i64>::default());
        let mut all = Vec::new();
        for (clause, needle) in of_patterns {
            for rule in self.patterns.remove(&clause).unwrap_or_default() {
                push(&mut texts, needle.as_str().into(), rule);
                all.push(rule);
            }
        }
        for (clause, rule) in std::mem::take(&mut self.substrings) {
            let test = program.indexed_clause(clause);
            let IndexKey::Needles { needles, .. } = test.key() else {
                continue;
            };
            for needle in needles {
                match needle {
                    PreparedConst::Str(text) => push(&mut texts, text.clone(), rule),
                    PreparedConst::Number(Number::Int(number)) => push(&mut ints, *number, rule),
                    _ => {}
                }
            }
            all.push(rule);
            // Lists and mappings are scanned.
            let others = test.fails().without(Class::List).without(Class::Mapping);
            self.errors(rule, others);
        }
        let mut ints: Vec<(i64, Postings)> = lists.each(ints).collect();
        ints.sort_unstable_by_key(|(number, _)| *number);
        let texts = lists.each(texts).collect();
        Some(SubstringIndex::new(texts, ints, lists.keep_loose(all)))
    }
}

pub(super) fn push<K: Eq + Hash>(by: &mut RulesBy<K>, key: K, rule: u32) {
    by.entry(key).or_default().push(rule);
}

fn distinct(pairs: &[(u32, u32)]) -> usize {
    let clauses: BTreeSet<u32> = pairs.iter().map(|(clause, _)| *clause).collect();
    clauses.len()
}

fn singly(clauses: &mut BTreeMap<u32, Rules>, pairs: &mut Vec<(u32, u32)>) {
    for (clause, rule) in pairs.drain(..) {
        clauses.entry(clause).or_default().push(rule);
    }
}

/// The lists of a rule index, or of its exclusion index.
#[derive(Default)]
pub(super) struct Lists {
    rules: Rules,
    /// Those of an exclusion index.
    places: Option<Places>,
    /// The rules of a dense rule index, ascending: lists are masks of places among them.
    dense: Option<Rules>,
    /// The first rule of the lists of a path.
    first: u32,
}

impl Lists {
    /// Keeps a list; its rules need not ascend, and may be there twice.
    pub(super) fn keep(&mut self, mut rules: Rules) -> Postings {
        rules.sort_unstable();
        rules.dedup();
        if let Some(places) = &mut self.places {
            return places.keep(&rules);
        }
        self.first = rules
            .first()
            .map_or(self.first, |first| self.first.min(*first));
        if let Some(all) = &self.dense {
            let places = rules.iter().filter_map(|rule| all.binary_search(rule).ok());
            return postings(places.fold(0, |mask, place| mask | 1 << place));
        }
        let from = self.rules.len() as u32;
        self.rules.append(&mut rules);
        (from, self.rules.len() as u32)
    }

    /// Returns true if lists are masks.
    pub(super) fn is_dense(&self) -> bool {
        self.dense.is_some()
    }

    /// Keeps a list of rules whose clause need not be true: an exclusion index has none.
    fn keep_loose(&mut self, rules: Rules) -> Postings {
        match self.places {
            Some(_) => (0, 0),
            None => self.keep(rules),
        }
    }

    pub(super) fn each<K>(
        &mut self,
        lists: impl IntoIterator<Item = (K, Rules)>,
    ) -> impl Iterator<Item = (K, Postings)> {
        lists
            .into_iter()
            .map(|(key, rules)| (key, self.keep(rules)))
    }
}
