//! The solver for texts.

use std::collections::{BTreeMap, BTreeSet};

use super::formula::{Formula, Leaves};
use super::product::{Goal, leads};
use super::search::search;
use super::{GaveUp, GaveUpCode, Solved, TextTest, TheoryBudget};

/// Results that a search fails to have are added to it, so many at a time.
const ADDED: usize = 3;

/// A search for more than two results that comes to so many states is left for those of two first.
const EASY: usize = 2_000;

/// Contradicting results of which each two are searched for.
const PAIRED: usize = 16;

/// Results of searches that are kept, and the bytes of their texts.
const KEPT: (usize, usize) = (100_000, 64 << 20);

/// A test that was added to [`Texts`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct TextId(u32);

/// A wanted result.
type Wanted = (TextId, bool);

/// Wanted results, in order, and the list of excluded texts.
type Question = (Vec<Wanted>, Option<usize>);

/// A text, or results that contradict each other.
type Answer = Result<String, Vec<Wanted>>;

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
    /// The last list as it was given, and its number.
    last: Option<(Vec<String>, usize)>,
    found: BTreeMap<Question, Option<String>>,
    /// The bytes of the texts in it.
    bytes: usize,
    /// Searches that came to so many states without an answer.
    failed: BTreeMap<Question, usize>,
    /// By the first of the results.
    refuted: BTreeMap<Wanted, Vec<Refuted>>,
    /// By the number of the test: of it, and of its negation.
    leads: Vec<(bool, bool)>,
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
            last: None,
            found: BTreeMap::new(),
            bytes: 0,
            failed: BTreeMap::new(),
            refuted: BTreeMap::new(),
            leads: Vec::new(),
        }
    }

    /// Sets the budget of the next calls; what was found stays.
    pub fn set_budget(&mut self, budget: TheoryBudget) {
        self.budget = budget;
    }

    /// The work of all calls so far, in states of searches.
    #[must_use]
    pub fn work(&self) -> u64 {
        self.leaves.work()
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
        let both = [true, false].map(|result| leads(&self.leaves, (&formula, result)));
        self.leads.push(both.into());
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
        let mut places: Vec<(Wanted, usize)> = (0..)
            .zip(wanted)
            .map(|(at, result)| (*result, at))
            .collect();
        places.sort_unstable();
        places.dedup_by_key(|(result, _)| *result);
        let results: Vec<Wanted> = places.iter().map(|(result, _)| *result).collect();
        match self.answer(results, excluded) {
            Ok(Ok(text)) => Solved::Value(text),
            Ok(Err(conflict)) => {
                let place = |result: &Wanted| {
                    let at = places.binary_search_by_key(result, |(known, _)| *known);
                    at.ok()
                        .and_then(|at| places.get(at))
                        .map(|(_, place)| *place)
                };
                let mut places: Vec<usize> = conflict.iter().filter_map(place).collect();
                places.sort_unstable();
                Solved::Conflict(places)
            }
            Err(failure) => Solved::GaveUp(failure),
        }
    }

    /// A text with wanted results, which are in order, or those of them that contradict.
    fn answer(&mut self, wanted: Vec<Wanted>, excluded: &[&str]) -> Result<Answer, GaveUp> {
        let list = self.list(excluded)?;
        let opposed = wanted
            .windows(2)
            .find(|pair| matches!(pair, [(one, _), (other, _)] if one == other));
        if let Some(pair) = opposed {
            return Ok(Err(self.shrink(pair.to_vec(), list)?));
        }
        if let Some(known) = self.known_conflict(&wanted, list) {
            return Ok(Err(known));
        }
        self.refine(wanted, list)
    }

    /// The number of a list of excluded texts.
    fn list(&mut self, excluded: &[&str]) -> Result<Option<usize>, GaveUp> {
        if excluded.is_empty() {
            return Ok(None);
        }
        if let Some((last, at)) = &self.last
            && last == excluded
        {
            return Ok(Some(*at));
        }
        let texts: BTreeSet<String> = excluded.iter().map(|text| (*text).to_owned()).collect();
        let known = self.excluded.iter().position(|(known, _)| *known == texts);
        let at = match known {
            Some(at) => at,
            None => {
                let formula = self.leaves.formula(&TextTest::OneOf(texts.clone()))?;
                self.excluded.push((texts, formula));
                self.excluded.len() - 1
            }
        };
        let list = excluded.iter().map(|text| (*text).to_owned()).collect();
        self.last = Some((list, at));
        Ok(Some(at))
    }

    fn known_conflict(&self, wanted: &[Wanted], list: Option<usize>) -> Option<Vec<Wanted>> {
        let has = |result: &Wanted| wanted.binary_search(result).is_ok();
        let applies = |(results, needed): &&Refuted| {
            (needed.is_none() || *needed == list) && results.iter().all(has)
        };
        let firsts = wanted.iter().filter_map(|first| self.refuted.get(first));
        let known = firsts.flatten().find(applies);
        known.map(|(results, _)| results.clone())
    }

    /// Finds a text with few of the results, and adds those that it does not have, until it has all.
    fn refine(&mut self, wanted: Vec<Wanted>, list: Option<usize>) -> Result<Answer, GaveUp> {
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
            let Some(text) = self.find_or_pair(&mut active, excluding)? else {
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

    /// A shortest text with these results; where that is much work, they are first reduced to two that contradict.
    fn find_or_pair(
        &mut self,
        wanted: &mut Vec<Wanted>,
        excluding: Option<usize>,
    ) -> Result<Option<String>, GaveUp> {
        if wanted.len() > 2 && self.budget.states > EASY {
            let states = std::mem::replace(&mut self.budget.states, EASY);
            let found = self.find(wanted, excluding);
            self.budget.states = states;
            match found {
                Err(GaveUp {
                    code: GaveUpCode::States,
                    ..
                }) => {}
                found => return found,
            }
            if let Some(pair) = self.pair(wanted) {
                *wanted = pair;
                return Ok(None);
            }
        }
        self.find(wanted, excluding)
    }

    /// One or two of the results that contradict, whatever is excluded.
    fn pair(&mut self, wanted: &[Wanted]) -> Option<Vec<Wanted>> {
        let wanted = wanted.get(..PAIRED).unwrap_or(wanted);
        let mut fewer: Vec<Vec<Wanted>> = wanted.iter().map(|one| vec![*one]).collect();
        for (at, one) in wanted.iter().enumerate() {
            let others = wanted.iter().skip(at + 1);
            fewer.extend(others.map(|other| vec![*one, *other]));
        }
        fewer
            .into_iter()
            .find(|results| matches!(self.find(results, None), Ok(None)))
    }

    /// Returns true if a result asks for more than that a text lacks something.
    fn leads(&self, (id, result): Wanted) -> bool {
        let known = self.leads.get(id.0 as usize);
        known.is_none_or(|(passes, fails)| if result { *passes } else { *fails })
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
        if let Some(states) = self.failed.get(&question)
            && self.budget.states <= *states
        {
            return Err(GaveUp::states(self.budget.states));
        }
        let formulas = wanted.iter().filter_map(|(id, result)| {
            let formula = self.formulas.get(id.0 as usize);
            formula.map(|formula| (formula, *result))
        });
        let list = excluding.and_then(|list| self.excluded.get(list));
        let mut goals: Vec<Goal<'_>> = formulas.collect();
        goals.extend(list.map(|(_, formula)| (formula, false)));
        let found = search(&mut self.leaves, &goals, &self.budget);
        if let Err(failure) = &found
            && failure.code == GaveUpCode::States
        {
            self.failed.insert(question, self.budget.states);
            return found;
        }
        let found = found?;
        self.bytes += found.as_ref().map_or(0, String::len);
        if self.found.len() >= KEPT.0 || self.bytes > KEPT.1 {
            self.found.clear();
            self.bytes = 0;
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
        let pair = match conflict.len() {
            0..=2 => None,
            _ => self.pair(&conflict),
        };
        let mut needed = match (&pair, list) {
            (Some(_), _) | (None, None) => false,
            // Not decided: the conflict is one with this list.
            (None, Some(_)) => self
                .find(&conflict, None)
                .map_or(true, |found| found.is_some()),
        };
        conflict = pair.unwrap_or(conflict);
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
