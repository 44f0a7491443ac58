//! The solver for texts.

use std::collections::{BTreeMap, BTreeSet};

use super::formula::{Formula, Leaves};
use super::product::{Goal, leads};
use super::search::search;
use super::{GaveUp, Solved, TextTest, TheoryBudget};

/// Results that a search fails to have are added to it, so many at a time.
const ADDED: usize = 3;

/// Results of searches that are kept.
const KEPT: usize = 100_000;

/// A test that was added to [`Texts`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TextId(u32);

/// A wanted result.
type Wanted = (TextId, bool);

/// Wanted results, in order, and the list of excluded texts.
type Question = (Vec<Wanted>, Option<usize>);

/// Results that contradict each other, in order; with a list of excluded texts, if it is needed.
type Refuted = (Vec<Wanted>, Option<usize>);

/// Tests of texts, with one automaton for each distinct one, and what was found about them so far.
#[derive(Debug)]
pub struct Texts {
    budget: TheoryBudget,
    leaves: Leaves,
    formulas: Vec<Formula>,
    ids: BTreeMap<TextTest, TextId>,
    /// Lists of excluded texts, and for each the formula of being one of them.
    excluded: Vec<(BTreeSet<String>, Formula)>,
    found: BTreeMap<Question, Option<String>>,
    /// By the first of the results.
    refuted: BTreeMap<Wanted, Vec<Refuted>>,
    leads: BTreeMap<Wanted, bool>,
}

impl Texts {
    /// No tests.
    #[must_use]
    pub fn new(budget: TheoryBudget) -> Self {
        Self {
            budget,
            leaves: Leaves::default(),
            formulas: Vec::new(),
            ids: BTreeMap::new(),
            excluded: Vec::new(),
            found: BTreeMap::new(),
            refuted: BTreeMap::new(),
            leads: BTreeMap::new(),
        }
    }

    /// Sets the budget of the next calls; what was found stays.
    pub fn set_budget(&mut self, budget: TheoryBudget) {
        self.budget = budget;
    }

    /// Adds a test. An equal one has the same id.
    ///
    /// # Errors
    /// [`GaveUp`] with a pattern that the dialect rejects.
    pub fn add(&mut self, test: TextTest) -> Result<TextId, GaveUp> {
        if let Some(id) = self.ids.get(&test) {
            return Ok(*id);
        }
        let formula = self.leaves.formula(&test)?;
        let id = TextId(self.formulas.len() as u32);
        self.formulas.push(formula);
        self.ids.insert(test, id);
        Ok(id)
    }

    /// Returns true if `text` passes a test.
    ///
    /// # Errors
    /// [`GaveUp`] at a budget.
    pub fn accepts(&mut self, id: TextId, text: &str) -> Result<bool, GaveUp> {
        Ok(self.passes(id, text))
    }

    fn passes(&mut self, id: TextId, text: &str) -> bool {
        let leaves = &mut self.leaves;
        let mut leaf = |at: usize| {
            leaves
                .automaton_mut(at)
                .is_some_and(|automaton| automaton.accepts(text))
        };
        let formula = self.formulas.get(id.0 as usize);
        formula.is_some_and(|formula| formula.holds(&mut leaf))
    }

    /// A shortest readable text with exactly these results that is not one of `excluded`, or as few of the wanted results
    /// as were found that contradict, by their indexes. The excluded texts count with every conflict.
    pub fn solve(&mut self, wanted: &[(TextId, bool)], excluded: &[&str]) -> Solved<String, usize> {
        let mut places: BTreeMap<Wanted, usize> = BTreeMap::new();
        for (at, result) in wanted.iter().enumerate() {
            places.entry(*result).or_insert(at);
        }
        let list = match self.list(excluded) {
            Ok(list) => list,
            Err(failure) => return Solved::GaveUp(failure),
        };
        let at = |results: Vec<Wanted>| {
            let places = results
                .iter()
                .filter_map(|result| places.get(result).copied());
            let mut places: Vec<usize> = places.collect();
            places.sort_unstable();
            Solved::Conflict(places)
        };
        if let Some(known) = self.known_conflict(&places, list) {
            return at(known);
        }
        let mut opposed = places
            .keys()
            .filter(|(id, _)| places.contains_key(&(*id, false)));
        if let Some((id, _)) = opposed.find(|(_, result)| *result) {
            let both = vec![(*id, false), (*id, true)];
            return match self.shrink(both, list) {
                Ok(conflict) => at(conflict),
                Err(failure) => Solved::GaveUp(failure),
            };
        }
        match self.refine(places.keys().copied().collect(), list) {
            Ok(Ok(text)) => Solved::Value(text),
            Ok(Err(conflict)) => at(conflict),
            Err(failure) => Solved::GaveUp(failure),
        }
    }

    /// The number of a list of excluded texts.
    fn list(&mut self, excluded: &[&str]) -> Result<Option<usize>, GaveUp> {
        if excluded.is_empty() {
            return Ok(None);
        }
        let texts: BTreeSet<String> = excluded.iter().map(|text| (*text).to_owned()).collect();
        if let Some(at) = self.excluded.iter().rposition(|(known, _)| *known == texts) {
            return Ok(Some(at));
        }
        let formula = self.leaves.formula(&TextTest::OneOf(texts.clone()))?;
        self.excluded.push((texts, formula));
        Ok(Some(self.excluded.len() - 1))
    }

    fn known_conflict(
        &self,
        wanted: &BTreeMap<Wanted, usize>,
        list: Option<usize>,
    ) -> Option<Vec<Wanted>> {
        let conflicts = wanted
            .keys()
            .filter_map(|first| self.refuted.get(first))
            .flatten();
        let mut conflicts = conflicts.filter(|(_, needed)| needed.is_none() || *needed == list);
        let known =
            conflicts.find(|(results, _)| results.iter().all(|result| wanted.contains_key(result)));
        known.map(|(results, _)| results.clone())
    }

    /// Finds a text with few of the results, and adds those that it does not have, until it has all.
    fn refine(
        &mut self,
        wanted: Vec<Wanted>,
        list: Option<usize>,
    ) -> Result<Result<String, Vec<Wanted>>, GaveUp> {
        let (mut active, mut idle): (Vec<Wanted>, Vec<Wanted>) = (Vec::new(), Vec::new());
        for result in wanted {
            if self.leads(result) {
                active.push(result)
            } else {
                idle.push(result)
            }
        }
        let mut excluding = None;
        loop {
            let Some(text) = self.find(&active, excluding)? else {
                return Ok(Err(self.shrink(active, list)?));
            };
            if excluding != list && self.is_excluded(list, &text) {
                excluding = list;
                continue;
            }
            let mut missing = Vec::new();
            for (id, result) in &idle {
                if self.passes(*id, &text) != *result {
                    missing.push((*id, *result));
                    if missing.len() == ADDED {
                        break;
                    }
                }
            }
            if missing.is_empty() {
                return Ok(Ok(text));
            }
            idle.retain(|result| !missing.contains(result));
            active.extend(missing);
        }
    }

    fn leads(&mut self, (id, result): Wanted) -> bool {
        if let Some(known) = self.leads.get(&(id, result)) {
            return *known;
        }
        let formula = self.formulas.get(id.0 as usize);
        let leads = formula.is_some_and(|formula| leads(&self.leaves, (formula, result)));
        self.leads.insert((id, result), leads);
        leads
    }

    fn is_excluded(&self, list: Option<usize>, text: &str) -> bool {
        let list = list.and_then(|list| self.excluded.get(list));
        list.is_some_and(|(texts, _)| texts.contains(text))
    }

    /// A shortest text with these results.
    fn find(
        &mut self,
        wanted: &[Wanted],
        excluding: Option<usize>,
    ) -> Result<Option<String>, GaveUp> {
        let mut question = (wanted.to_vec(), excluding);
        question.0.sort_unstable();
        if let Some(known) = self.found.get(&question) {
            return Ok(known.clone());
        }
        let formulas = wanted.iter().filter_map(|(id, result)| {
            let formula = self.formulas.get(id.0 as usize);
            formula.map(|formula| (formula, *result))
        });
        let list = excluding.and_then(|list| self.excluded.get(list));
        let mut goals: Vec<Goal<'_>> = formulas.collect();
        goals.extend(list.map(|(_, formula)| (formula, false)));
        let found = search(&mut self.leaves, &goals, &self.budget)?;
        if self.found.len() >= KEPT {
            self.found.clear();
        }
        self.found.insert(question, found.clone());
        Ok(found)
    }

    /// Leaves out of contradicting results what is not needed.
    fn shrink(
        &mut self,
        mut conflict: Vec<Wanted>,
        list: Option<usize>,
    ) -> Result<Vec<Wanted>, GaveUp> {
        let mut needed = match list {
            // Not decided: the conflict is one with this list.
            Some(_) => self
                .find(&conflict, None)
                .map_or(true, |found| found.is_some()),
            None => false,
        };
        for at in (0..conflict.len()).rev() {
            let mut fewer = conflict.clone();
            fewer.remove(at);
            // What is not decided within the budget stays.
            let excluding = match self.find(&fewer, None) {
                Ok(None) => needed,
                Ok(Some(text)) if self.is_excluded(list, &text) => {
                    let Ok(None) = self.find(&fewer, list) else {
                        continue;
                    };
                    true
                }
                Ok(Some(_)) | Err(_) => continue,
            };
            (conflict, needed) = (fewer, excluding);
        }
        conflict.sort_unstable();
        if let Some(first) = conflict.first() {
            let known = self.refuted.entry(*first).or_default();
            known.push((conflict.clone(), list.filter(|_| needed)));
        }
        Ok(conflict)
    }
}
