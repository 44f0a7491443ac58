//! The text of a path with an assignment: one of its cell, with the results of the tests.

use std::sync::Arc;

use crate::lang::path::Field;

use super::budget::Stop;
use super::cells::Cell;
use super::dd::Literal;
use super::model::{Assignment, Failed, Valued};
use super::sample;
use super::shape::codes;
use super::space::{Atom, Space};
use super::theory::{Solved, TextId, TextTest};

impl Space<'_> {
    pub(super) fn text_value(&mut self, slot: usize, assignment: &Assignment<'_>) -> Valued {
        let Some(here) = self.slots.get(slot) else {
            return Ok(None);
        };
        let is_tool = here.place.field() == Some(Field::Tool) && here.place.keys.is_empty();
        if is_tool && let Some(tool) = &self.tool {
            return Ok(Some(sample::text(tool)));
        }
        let cells = Arc::clone(&here.cells);
        if let Some(constant) = here.text_at(assignment.code(here.text, cells.len())) {
            return Ok(Some(sample::text(constant)));
        }
        let left = match assignment.is_set(here.text) {
            true => codes(here.text, cells.len(), assignment),
            false => (0..cells.len()).collect(),
        };
        let mut excluded: Vec<String> = here.texts.clone();
        if is_tool {
            excluded.extend(self.tools.iter().cloned());
        }
        let mut wanted = Vec::new();
        let mut literals = Vec::new();
        for &(var, value) in assignment.literals {
            if let Some(Atom::Text(of, id)) = self.meaning(var)
                && *of == slot
            {
                wanted.push((*id, value));
                literals.push((var, value));
            }
        }
        let text = Wanted {
            slot,
            literals,
            wanted,
            excluded,
        };
        // Any cell first: the texts of a path are seldom bound to one.
        if left.len() > 1 {
            match self.text_of(&text, assignment)? {
                Ok(found) if left.contains(&cells.code_of(&found)) => {
                    return Ok(Some(sample::text(&found)));
                }
                Ok(_) => {}
                Err(Refuted::Always(conflict)) => return Err(Failed::Conflict(conflict)),
                Err(Refuted::Here(conflict)) => {
                    return Err(self.conflict(slot, assignment, conflict));
                }
            }
        }
        let mut conflicts = Vec::new();
        for &code in &left {
            let Some((prefix, inner)) = cells.bounds(code) else {
                if let Some(constant) = cells.get(code).and_then(Cell::constant) {
                    return Ok(Some(sample::text(constant)));
                }
                continue;
            };
            let mut bounded = text.clone();
            if !prefix.is_empty() {
                let own = TextTest::StartsWith(vec![prefix.to_owned()]);
                bounded.wanted.push((self.theory.add(own)?, true));
            }
            if !inner.is_empty() {
                let inner = TextTest::StartsWith(inner);
                bounded.wanted.push((self.theory.add(inner)?, false));
            }
            match self.text_of(&bounded, assignment)? {
                Ok(found) => return Ok(Some(sample::text(&found))),
                Err(Refuted::Always(conflict)) => return Err(Failed::Conflict(conflict)),
                Err(Refuted::Here(conflict)) => conflicts.extend(conflict),
            }
        }
        Err(self.conflict(slot, assignment, conflicts))
    }

    /// A text of a slot, or the literals that no such text has together.
    fn text_of(
        &mut self,
        text: &Wanted,
        assignment: &Assignment<'_>,
    ) -> Result<Result<String, Refuted>, Failed> {
        let mut wanted = text.wanted.clone();
        let found = self.composed(text.slot, assignment, (&wanted, &text.excluded))?;
        if let Some(found) = found {
            return Ok(Ok(found));
        }
        let [usual, only] = self.shapes(text.slot)?;
        wanted.extend(only.map(|only| (only, true)));
        if let Some(usual) = usual {
            let preferred = [wanted.as_slice(), &[(usual, true)]].concat();
            if let Ok(Ok(found)) = self.text_with(&preferred, &text.excluded) {
                return Ok(Ok(found));
            }
        }
        if wanted.is_empty() {
            let place = self.slots.get(text.slot).map(|slot| &slot.place);
            let is_tool = place
                .is_some_and(|place| place.field() == Some(Field::Tool) && place.keys.is_empty());
            return Ok(Ok(fresh(is_tool, &text.excluded)));
        }
        Ok(match self.text_with(&wanted, &text.excluded)? {
            Ok(found) => Ok(found),
            Err(conflict) => {
                let mut literals: Vec<Literal> = conflict
                    .iter()
                    .filter_map(|at| text.literals.get(*at).copied())
                    .collect();
                literals.sort_unstable();
                // What a slot of few texts lacks, another one may have.
                let always = only.is_none() && literals.len() == conflict.len();
                Err(match always && !literals.is_empty() {
                    true => Refuted::Always(literals),
                    false => Refuted::Here(literals),
                })
            }
        })
    }

    /// A text with these results, or those of them that contradict. PERF: most results are those of a shortest text for
    /// the few others; only what such a text misses is added to the search.
    fn text_with(
        &mut self,
        wanted: &[(TextId, bool)],
        excluded: &[String],
    ) -> Result<Result<String, Vec<usize>>, Stop> {
        let excluded: Vec<&str> = excluded.iter().map(String::as_str).collect();
        let mut chosen: Vec<usize> = (0..wanted.len())
            .filter(|at| wanted.get(*at).is_some_and(|(_, value)| *value))
            .collect();
        loop {
            self.budget.check()?;
            let subset: Vec<(TextId, bool)> = chosen
                .iter()
                .filter_map(|at| wanted.get(*at).copied())
                .collect();
            let text = match self.theory.solve(&subset, &excluded)? {
                Solved::Value(text) => text,
                Solved::Conflict(conflict) => {
                    let places = conflict
                        .into_iter()
                        .filter_map(|at| chosen.get(at).copied());
                    return Ok(Err(places.collect()));
                }
                Solved::GaveUp(reason) => return Err(reason.into()),
            };
            let mut missed = None;
            for (at, (id, value)) in wanted.iter().enumerate() {
                if !chosen.contains(&at) && self.theory.accepts(*id, &text)? != *value {
                    missed = Some(at);
                    break;
                }
            }
            match missed {
                Some(at) => chosen.push(at),
                None => return Ok(Ok(text)),
            }
        }
    }
}

/// What a text of a slot shall have.
#[derive(Clone)]
struct Wanted {
    slot: usize,
    /// Those of the first results.
    literals: Vec<Literal>,
    wanted: Vec<(TextId, bool)>,
    excluded: Vec<String>,
}

/// Literals that no text has together.
enum Refuted {
    /// Whatever an assignment says beside: no text but a constant can have these results.
    Always(Vec<Literal>),
    /// With the literals of the type and of the cell.
    Here(Vec<Literal>),
}

/// A readable text that is not among some others.
pub(super) fn fresh(is_tool: bool, excluded: &[String]) -> String {
    let name = if is_tool { "other_tool" } else { "x" };
    let mut made = name.to_owned();
    let mut next = 1;
    while excluded.contains(&made) {
        next += 1;
        made = format!("{name}{next}");
    }
    made
}
