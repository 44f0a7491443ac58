//! The plain path: characters one by one through all states at once.
//!
//! It knows every look of both dialects, needs time in proportion to text times pattern, and is what a pattern falls back
//! to when no automaton can have it. Tests hold the automata against it.

use regex_syntax::hir::Hir;

use super::Dialect;
use super::nfa::{Nfa, Place, Step, holds};
use crate::budget::Steps;
use crate::error::Fault;

/// Steps at places that take a step of the budget.
pub(super) const VISITS_A_STEP: u64 = 8;

/// A pattern whose states are all followed at once.
#[derive(Debug)]
pub(super) struct NfaSim {
    dialect: Dialect,
    nfa: Nfa,
    /// The ASCII characters that a match may begin with; `None`: one may be empty.
    begins: Option<[bool; 128]>,
}

/// A set of steps that is emptied at no cost.
struct Active {
    order: Vec<usize>,
    seen: Vec<u32>,
    round: u32,
}

impl Active {
    fn new(steps: usize) -> Self {
        Self {
            order: Vec::new(),
            seen: vec![0; steps],
            round: 1,
        }
    }

    fn clear(&mut self) {
        self.order.clear();
        self.round = self.round.wrapping_add(1);
        if self.round == 0 {
            self.seen.fill(0);
            self.round = 1;
        }
    }

    fn insert(&mut self, step: usize) -> bool {
        match self.seen.get_mut(step) {
            Some(seen) if *seen != self.round => {
                *seen = self.round;
                true
            }
            Some(_) | None => false,
        }
    }
}

/// The ASCII characters that a match may begin with, wherever looks hold; `None`: one may be empty.
fn begins(nfa: &Nfa) -> Option<[bool; 128]> {
    let mut begins = [false; 128];
    let mut seen = vec![false; nfa.steps.len()];
    let mut stack = vec![0];
    while let Some(step) = stack.pop() {
        match seen.get_mut(step) {
            Some(seen) if !*seen => *seen = true,
            Some(_) | None => continue,
        }
        match nfa.steps.get(step) {
            Some(step @ (Step::Class(_) | Step::Char(_))) => {
                for (char, begins) in ('\0'..).zip(&mut begins) {
                    *begins |= step.reads(char);
                }
            }
            Some(Step::Look(_) | Step::Save(_)) => stack.push(step + 1),
            Some(Step::Split(one, other)) => stack.extend([*one, *other]),
            Some(Step::Jump(to)) => stack.push(*to),
            Some(Step::Found) => return None,
            None => {}
        }
    }
    Some(begins)
}

impl NfaSim {
    pub(super) fn new(hir: &Hir, dialect: Dialect) -> Self {
        let nfa = Nfa::new(hir);
        let begins = begins(&nfa);
        Self {
            dialect,
            nfa,
            begins,
        }
    }

    /// Returns true if a match cannot begin with a character.
    #[inline]
    fn never_begins(&self, found: char) -> bool {
        self.begins.as_ref().is_some_and(|begins| {
            let begins = begins.get(found as usize);
            begins.is_some_and(|begins| !begins)
        })
    }

    /// Returns true if the pattern is found in `text`. Each step at each position counts.
    pub(super) fn is_match(&self, text: &str, steps: &Steps) -> Result<bool, Fault> {
        let mut visits = 0_u64;
        let mut now = Active::new(self.nfa.steps.len());
        let mut next = Active::new(self.nfa.steps.len());
        let mut stack = Vec::new();
        if self.dialect == Dialect::Re2 && !text.is_ascii() {
            // RE2 searches bytes: between those of one character nothing but looks can hold.
            let inside = Place {
                before: Some('\u{80}'),
                after: Some('\u{80}'),
                last: false,
            };
            if self.add(0, inside, &mut now, &mut stack) {
                return Ok(true);
            }
            now.clear();
        }
        let mut before = None;
        let mut rest = text.chars();
        loop {
            let mut ahead = rest.clone();
            let after = ahead.next();
            if now.order.is_empty()
                && let Some(found) = after
                && self.never_begins(found)
            {
                visits += 1;
                before = after;
                rest = ahead;
                continue;
            }
            let place = Place {
                before,
                after,
                last: after.is_some() && ahead.as_str().is_empty(),
            };
            // The states after the last character continue from here, where the looks can be evaluated.
            let waiting = std::mem::take(&mut now.order);
            now.clear();
            for step in waiting.into_iter().chain([0]) {
                if self.add(step, place, &mut now, &mut stack) {
                    return Ok(true);
                }
            }
            let Some(found) = after else {
                steps.take(visits / VISITS_A_STEP)?;
                return Ok(false);
            };
            visits += 1 + now.order.len() as u64;
            if visits >= VISITS_A_STEP {
                steps.take(visits / VISITS_A_STEP)?;
                visits %= VISITS_A_STEP;
            }
            next.clear();
            for step in &now.order {
                let step_reads = self
                    .nfa
                    .steps
                    .get(*step)
                    .is_some_and(|step| step.reads(found));
                if step_reads {
                    next.order.push(step + 1);
                }
            }
            std::mem::swap(&mut now, &mut next);
            before = after;
            rest = ahead;
        }
    }

    /// Adds the steps reachable from `step` without reading; returns true at the end of the pattern.
    fn add(&self, step: usize, place: Place, active: &mut Active, stack: &mut Vec<usize>) -> bool {
        stack.clear();
        stack.push(step);
        while let Some(step) = stack.pop() {
            if !active.insert(step) {
                continue;
            }
            match self.nfa.steps.get(step) {
                Some(Step::Class(_) | Step::Char(_)) => active.order.push(step),
                Some(Step::Look(look)) if holds(self.dialect, *look, place) => stack.push(step + 1),
                Some(Step::Look(_)) | None => {}
                Some(Step::Split(one, other)) => stack.extend([*one, *other]),
                Some(Step::Jump(to)) => stack.push(*to),
                Some(Step::Save(_)) => stack.push(step + 1),
                Some(Step::Found) => return true,
            }
        }
        false
    }
}
