//! Probes in the making: which value at which path names which rules.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::hash::Hash;

use super::guard::may_fail;
use super::prepare::exact_text;
use crate::expr::Part;
use crate::hash::Keyed;
use crate::matcher::derived::End;
use crate::matcher::number::Number;
use crate::matcher::operand::Operand;
use crate::matcher::{Needle, Quantity, Relation, Test};
use crate::program::Program;
use crate::program::affixes::Affixes;
use crate::program::bands::{Band, Bands};
use crate::program::needles::Needles;
use crate::program::segment::{Class, Classes, Kinds, List, PatternGroup, Probe, Segment, Watch};
use crate::program::strmap::StrMap;
use crate::program::veto::{Places, Veto};

/// Fewer patterns than this are searched one by one, fewer bands and needles judged so.
const FEW: usize = 4;

type Rules = Vec<u32>;
type By<K> = HashMap<K, Rules, Keyed>;

/// Probes in the making, by path.
pub(super) struct Drafts<'p> {
    program: &'p Program,
    by_path: BTreeMap<u32, Draft>,
    /// Whether a value names no rule but those of a clause that is true, and may leave some of these out: as a veto must.
    exact: bool,
}

#[derive(Default)]
struct Draft {
    guarded: bool,
    permits: bool,
    strings: By<String>,
    ints: By<i64>,
    bands: Vec<(u32, u32)>,
    needles: Vec<(u32, u32)>,
    affixes: Vec<(u32, u32)>,
    clauses: BTreeMap<u32, Rules>,
    patterns: BTreeMap<u32, Rules>,
    missing: Rules,
    long: Rules,
    errors: [Rules; 8],
}

impl<'p> Drafts<'p> {
    pub(super) fn new(program: &'p Program) -> Self {
        Self {
            program,
            by_path: BTreeMap::new(),
            exact: false,
        }
    }

    /// Those of vetoes.
    pub(super) fn exact(program: &'p Program) -> Self {
        Self {
            exact: true,
            ..Self::new(program)
        }
    }

    /// Adds a rule that is ruled out where one of `clauses` is true, by its place among those that are judged every time.
    pub(super) fn add_veto(&mut self, place: u32, clauses: impl IntoIterator<Item = u32>) {
        for clause in clauses {
            self.guard(place, clause, false);
        }
    }

    /// Adds a rule with its match and its guard. Rules come in order.
    pub(super) fn add(&mut self, rule: u32, expr: Part<'_>, guard: &[u32]) {
        let permits = self.program.permits(rule);
        for &clause in guard {
            self.guard(rule, clause, permits);
        }
        if permits {
            // With an absent guard another clause may still put the rule in error, which leaves a marker.
            expr.leaves(&mut |clause| {
                if !guard.contains(&clause) {
                    self.errors(rule, clause);
                }
            });
        }
    }

    /// Adds a function with what it is watched by. Rules come in order.
    pub(super) fn watch(&mut self, rule: u32, watches: &[Watch]) {
        for watch in watches {
            if let Some(clause) = watch.clause {
                self.guard(rule, clause, false);
            }
            let draft = self.by_path.entry(watch.path).or_default();
            draft.guarded = true;
            draft.long.push(rule);
            if watch.missing {
                draft.missing.push(rule);
            }
            for (class, rules) in Class::ALL.into_iter().zip(&mut draft.errors) {
                if watch.classes.has(class) {
                    rules.push(rule);
                }
            }
        }
    }

    fn guard(&mut self, rule: u32, index: u32, permits: bool) {
        let program = self.program;
        let Some(clause) = program.clauses.get(index as usize) else {
            return;
        };
        let draft = self.by_path.entry(clause.path).or_default();
        draft.guarded = true;
        draft.permits |= permits;
        let test = program.test(index);
        match test {
            Test::Exists(false) => {
                draft.missing.push(rule);
                return;
            }
            Test::In(set) if !set.has_others() => {
                for text in set.strings() {
                    push(&mut draft.strings, text.to_string(), rule);
                }
                for number in set.ints() {
                    push(&mut draft.ints, *number, rule);
                }
            }
            Test::Matches(_) => match exact_text(test) {
                Some(text) => push(&mut draft.strings, text, rule),
                None => draft.patterns.entry(index).or_default().push(rule),
            },
            Test::Equal(Operand::Str(text)) => push(&mut draft.strings, text.to_string(), rule),
            Test::Equal(Operand::Number(Number::Int(number))) => {
                push(&mut draft.ints, *number, rule);
            }
            Test::Order(..) | Test::Between { .. } if bands(test).is_some() => {
                draft.bands.push((index, rule));
                return;
            }
            Test::Contains(needles, quantity)
                if wanted(needles, *quantity).is_some()
                    && (*quantity == Quantity::Any || !self.exact) =>
            {
                draft.needles.push((index, rule));
                return;
            }
            Test::Affix(..) => {
                draft.affixes.push((index, rule));
                return;
            }
            Test::Equal(_)
            | Test::EqualBool(_)
            | Test::In(_)
            | Test::EqualDeep(_)
            | Test::Contains(..)
            | Test::Derived(_)
            | Test::Order(..)
            | Test::Between { .. }
            | Test::Exists(true)
            | Test::Broken => {
                // Judged by itself on every value that is there: true and error both name the rule.
                draft.clauses.entry(index).or_default().push(rule);
                return;
            }
        }
        self.errors(rule, index);
    }

    fn errors(&mut self, rule: u32, index: u32) {
        if self.exact {
            return;
        }
        let Some(clause) = self.program.clauses.get(index as usize) else {
            return;
        };
        let test = self.program.test(index);
        let draft = self.by_path.entry(clause.path).or_default();
        draft.errors(rule, test, &Class::ALL);
    }

    /// The segment of these probes and of the rules that are judged every time.
    pub(super) fn finish(self, always: Rules) -> Segment {
        let mut lists = Lists::default();
        let always = lists.keep(always);
        let (mut probes, mut late) = (Vec::new(), Vec::new());
        for (path, draft) in self.by_path {
            let guarded = draft.guarded;
            let probe = draft.finish(self.program, path, &mut lists);
            if guarded {
                probes.push(probe);
            } else {
                late.push(probe);
            }
        }
        probes.sort_by_key(|probe| probe.first);
        Segment {
            rules: lists.rules,
            always,
            probes,
            late,
            ..Segment::default()
        }
    }

    /// The veto of these probes, over so many rules.
    pub(super) fn finish_veto(self, rules: usize) -> Veto {
        let mut lists = Lists {
            places: Some(Places::new(rules)),
            ..Lists::default()
        };
        let probes = self.by_path.into_iter();
        let probes = probes.map(|(path, draft)| draft.finish(self.program, path, &mut lists));
        Veto {
            probes: probes.collect(),
            lists: lists.places.unwrap_or_default(),
        }
    }
}

impl Draft {
    fn errors(&mut self, rule: u32, test: &Test, classes: &[Class]) {
        for &class in classes {
            if may_fail(test, class)
                && let Some(rules) = self.errors.get_mut(class as usize)
            {
                rules.push(rule);
            }
        }
    }

    fn finish(mut self, program: &Program, path: u32, lists: &mut Lists) -> Probe {
        let from = lists.rules.len();
        let bands = self.finish_bands(program, lists);
        let needles = self.finish_needles(program, lists);
        let affixes = self.finish_affixes(program, lists);
        let mut patterns = None;
        if self.patterns.len() < FEW {
            self.clauses.append(&mut self.patterns);
        } else {
            patterns = Some(PatternGroup {
                members: lists.each(self.patterns).collect(),
                set: Default::default(),
            });
        }
        let mut ints: Vec<(i64, List)> = lists.each(self.ints).collect();
        ints.sort_unstable_by_key(|(number, _)| *number);
        let mut probe = Probe {
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
            bands,
            affixes,
            needles,
            clauses: lists.each(self.clauses).collect(),
            patterns,
            missing: lists.keep(self.missing),
            long: lists.keep_loose(self.long),
            errors: self.errors.map(|rules| lists.keep_loose(rules)),
        };
        let found = lists.rules.get(from..).unwrap_or_default();
        probe.first = found.iter().copied().min().unwrap_or(u32::MAX);
        probe.note();
        probe
    }

    /// The bands, if they are many; a few become clauses that are judged by themselves.
    fn finish_bands(&mut self, program: &Program, lists: &mut Lists) -> Option<Bands> {
        if distinct(&self.bands) < FEW {
            singly(&mut self.clauses, &mut self.bands);
            return None;
        }
        let mut all = Vec::new();
        for (clause, rule) in std::mem::take(&mut self.bands) {
            let test = program.test(clause);
            for band in bands(test).into_iter().flatten() {
                all.push((band, rule));
            }
            self.errors(rule, test, &Class::ALL);
        }
        Some(Bands::new(&all, |rules| lists.keep(rules)))
    }

    /// The affixes of both ends, if they are many; a few become clauses that are judged by themselves.
    fn finish_affixes(&mut self, program: &Program, lists: &mut Lists) -> Vec<Affixes> {
        let mut found = Vec::new();
        if distinct(&self.affixes) >= FEW {
            for end in [End::Start, End::End] {
                let mut texts = By::<Box<str>>::default();
                for (clause, rule) in &self.affixes {
                    if let Test::Affix(at, affixes) = program.test(*clause)
                        && *at == end
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
            self.errors(rule, program.test(clause), &Class::ALL);
        }
        found
    }

    /// The needles, if they are many; a few become clauses that are judged by themselves.
    fn finish_needles(&mut self, program: &Program, lists: &mut Lists) -> Option<Needles> {
        if distinct(&self.needles) < FEW {
            singly(&mut self.clauses, &mut self.needles);
            return None;
        }
        let (mut texts, mut ints) = (By::<Box<str>>::default(), By::<i64>::default());
        let mut all = Vec::new();
        for (clause, rule) in std::mem::take(&mut self.needles) {
            let test = program.test(clause);
            let Test::Contains(needles, quantity) = test else {
                continue;
            };
            for needle in wanted(needles, *quantity).into_iter().flatten() {
                match &needle.operand {
                    Operand::Str(text) => push(&mut texts, text.clone(), rule),
                    Operand::Number(Number::Int(number)) => push(&mut ints, *number, rule),
                    _ => {}
                }
            }
            all.push(rule);
            // Lists and mappings are looked through.
            let others = Class::ALL
                .into_iter()
                .filter(|class| !matches!(class, Class::List | Class::Mapping));
            self.errors(rule, test, &others.collect::<Vec<Class>>());
        }
        let mut ints: Vec<(i64, List)> = lists.each(ints).collect();
        ints.sort_unstable_by_key(|(number, _)| *number);
        let texts = lists.each(texts).collect();
        Some(Needles::new(texts, ints, lists.keep_loose(all)))
    }
}

fn push<K: Eq + Hash>(by: &mut By<K>, key: K, rule: u32) {
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

/// The bands of numbers on which a test is true; `None` when it is not about numbers of ordinary size.
fn bands(test: &Test) -> Option<Vec<Band>> {
    let bound = |operand: &Operand| match operand {
        Operand::Number(number @ (Number::Int(_) | Number::Float(_))) => Some(number.clone()),
        _ => None,
    };
    let band = |from, to| Band { from, to };
    Some(match test {
        Test::Order(relation, operand) => {
            let bound = bound(operand)?;
            vec![match relation {
                Relation::Gt => band(Some((bound, false)), None),
                Relation::Ge => band(Some((bound, true)), None),
                Relation::Lt => band(None, Some((bound, false))),
                Relation::Le => band(None, Some((bound, true))),
            }]
        }
        Test::Between { lo, hi, negated } => {
            let (lo, hi) = (bound(lo)?, bound(hi)?);
            if *negated {
                vec![band(None, Some((lo, false))), band(Some((hi, false)), None)]
            } else {
                vec![band(Some((lo, true)), Some((hi, true)))]
            }
        }
        _ => return None,
    })
}

/// The needles of which one must be there for a containment test to be true; `None` when they are of a kind that is not
/// looked up.
fn wanted(needles: &[Needle], quantity: Quantity) -> Option<Vec<&Needle>> {
    let fits = |needle: &&Needle| match &needle.operand {
        Operand::Str(text) => !text.is_empty(),
        Operand::Number(Number::Int(_)) => true,
        _ => false,
    };
    match quantity {
        Quantity::Any => needles
            .iter()
            .all(|needle| fits(&needle))
            .then(|| needles.iter().collect()),
        Quantity::All => needles.iter().find(fits).map(|needle| vec![needle]),
    }
}

/// The lists of a segment, or of its veto.
#[derive(Default)]
struct Lists {
    rules: Rules,
    /// Those of a veto.
    places: Option<Places>,
}

impl Lists {
    /// Keeps a list; its rules need not ascend, and may be there twice.
    fn keep(&mut self, mut rules: Rules) -> List {
        rules.sort_unstable();
        rules.dedup();
        if let Some(places) = &mut self.places {
            return places.keep(&rules);
        }
        let from = self.rules.len() as u32;
        self.rules.append(&mut rules);
        (from, self.rules.len() as u32)
    }

    /// Keeps a list of rules whose clause need not be true: a veto has none.
    fn keep_loose(&mut self, rules: Rules) -> List {
        match self.places {
            Some(_) => (0, 0),
            None => self.keep(rules),
        }
    }

    fn each<K>(
        &mut self,
        lists: impl IntoIterator<Item = (K, Rules)>,
    ) -> impl Iterator<Item = (K, List)> {
        lists
            .into_iter()
            .map(|(key, rules)| (key, self.keep(rules)))
    }
}
