//! The search for a request: a path of a diagram, values with it, and the decision of the real evaluator.

use std::collections::HashMap;

use super::budget::{GUESSES, Reason, Stop};
use super::connect::Connect;
use super::dd::{Dd, FALSE, Literal, TRUE};
use super::model::Modelled;
use super::slot::RUN;
use super::space::{Atom, Space};
use super::text_value::fresh;
use super::witness;

/// The answer to a search.
#[derive(Debug)]
pub(super) enum Found<T> {
    /// A request, confirmed.
    Witness(T),
    /// Proved: no request has it.
    Nothing,
    /// Neither, for these reasons.
    Unknown(Vec<Reason>),
}

/// The terminals that a search wants.
pub(super) trait Goal {
    /// Returns true for a terminal that may be what is wanted.
    fn wants(&self, terminal: u32) -> bool;
    /// The reason for which a terminal does not say what the evaluator decides.
    fn caveat(&self, terminal: u32) -> Option<Reason>;
}

impl Space<'_> {
    /// Searches a request whose terminal is wanted. `confirm` asks the evaluator about one.
    pub(super) fn search<T>(
        &mut self,
        function: Dd,
        goal: &impl Goal,
        confirm: &mut impl FnMut(&str) -> Result<Option<T>, Stop>,
    ) -> Result<Found<T>, Stop> {
        let mut narrowed: Option<Dd> = None;
        let mut reasons: Vec<Reason> = Vec::new();
        let mut guesses = 0;
        let other = fresh(true, self.tools);
        for _ in 0..self.budget.assignments {
            self.budget.check()?;
            let path = match narrowed {
                Some(rest) => self.dd.path(rest, &mut |value| Dd::terminal(value) == TRUE),
                None => self.dd.path(function, &mut |value| goal.wants(value)),
            };
            let Some(path) = path else {
                return Ok(match guesses {
                    0 => Found::Nothing,
                    _ => Found::Unknown(reasons),
                });
            };
            let lemma = self.lemmas.of(&path).cloned();
            let block = match lemma {
                Some(lemma) => lemma,
                None => match self.model(&path)? {
                    Modelled::Conflict(literals) => {
                        if literals.is_empty() {
                            return Err(Stop::Internal("a conflict of nothing".to_owned()));
                        }
                        self.lemmas.add(literals.clone());
                        literals
                    }
                    Modelled::Values(model) => {
                        let request = witness::request(&model, self.tool.as_deref(), &other);
                        if let Some(found) = confirm(&request)? {
                            return Ok(Found::Witness(found));
                        }
                        for request in witness::others(&model, self.tool.as_deref(), &other) {
                            if let Some(found) = confirm(&request)? {
                                return Ok(Found::Witness(found));
                            }
                        }
                        let mut caveats = model.inexact;
                        let ends = self.dd.terminals_at(function, &path);
                        caveats.extend(ends.into_iter().filter_map(|end| goal.caveat(end)));
                        if caveats.is_empty() {
                            caveats.extend(self.state_read());
                        }
                        if caveats.is_empty() {
                            return Err(Stop::Internal(format!(
                                "the evaluator decides otherwise on {request}"
                            )));
                        }
                        for caveat in caveats {
                            if !reasons.contains(&caveat) {
                                reasons.push(caveat);
                            }
                        }
                        guesses += 1;
                        if guesses >= GUESSES {
                            return Ok(Found::Unknown(reasons));
                        }
                        path
                    }
                },
            };
            let rest = match narrowed {
                Some(rest) => rest,
                None => {
                    let id = self.dd.operation();
                    self.dd.map(id, function, &mut |value| {
                        if goal.wants(value) { TRUE } else { FALSE }
                    })?
                }
            };
            let cube = self.dd.cube(&block)?;
            let outside = self.dd.not(cube)?;
            narrowed = Some(self.dd.connect(Connect::All, rest, outside)?);
        }
        Err(Stop::Assignments(self.budget.assignments))
    }

    /// The reason why the evaluator may decide otherwise on any call: without the state of a run, a clause that reads it is
    /// an error.
    fn state_read(&self) -> Option<Reason> {
        let slots = self.slots.iter().map(|slot| &slot.place);
        let numbers = slots.filter(|place| place.field == Some(RUN));
        let free = self
            .free
            .values()
            .filter_map(|var| match self.meaning(*var) {
                Some(Atom::Free(reason)) if reason.code == "memory" => Some(reason.clone()),
                _ => None,
            });
        let all = numbers
            .map(|place| Reason::memory(place.text()))
            .chain(free);
        all.min_by(|one, other| one.path.cmp(&other.path))
    }
}

/// Literals that no request has together, by the first one.
#[derive(Debug, Default)]
pub(super) struct Lemmas(HashMap<Literal, Vec<Vec<Literal>>>);

impl Lemmas {
    fn add(&mut self, mut literals: Vec<Literal>) {
        literals.sort_unstable();
        if let Some(first) = literals.first() {
            self.0.entry(*first).or_default().push(literals);
        }
    }

    /// One of which a path, which is in order, has all literals.
    fn of(&self, path: &[Literal]) -> Option<&Vec<Literal>> {
        let has = |literal: &Literal| path.binary_search(literal).is_ok();
        let mut all = path.iter().filter_map(|first| self.0.get(first)).flatten();
        all.find(|lemma| lemma.iter().all(has))
    }
}
