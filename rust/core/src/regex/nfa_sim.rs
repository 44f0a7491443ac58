//! The plain path: characters one by one through all states at once.
//!
//! It knows every look of both dialects, needs time in proportion to text times pattern, and is what a pattern falls back
//! to when no automaton can have it. Tests hold the automata against it.

use regex_syntax::hir::{Class, Hir, HirKind, Look};

use super::Dialect;
use super::dialect::python::{DOLLAR, WORD, WORD_NEGATE};
use super::dialect::python_class;
use crate::budget::Steps;
use crate::error::Fault;

/// Steps at places that take a step of the budget.
pub(super) const VISITS_A_STEP: u64 = 8;

#[derive(Debug)]
enum Step {
    /// One character of a class, then the next step.
    Class(Box<[(char, char)]>),
    Char(char),
    /// A condition on the place, then the next step.
    Look(Look),
    /// Go on at both.
    Split(usize, usize),
    Jump(usize),
    Found,
}

/// A pattern as a list of steps.
#[derive(Debug)]
pub(super) struct NfaSim {
    dialect: Dialect,
    steps: Vec<Step>,
}

/// The position at which a look is evaluated.
#[derive(Clone, Copy)]
pub(super) struct Place {
    pub(super) before: Option<char>,
    pub(super) after: Option<char>,
    /// `after` is the last character.
    pub(super) last: bool,
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

impl NfaSim {
    pub(super) fn new(hir: &Hir, dialect: Dialect) -> Self {
        let mut nfa_sim = Self {
            dialect,
            steps: Vec::new(),
        };
        nfa_sim.compile(hir);
        nfa_sim.steps.push(Step::Found);
        nfa_sim
    }

    fn compile(&mut self, hir: &Hir) {
        match hir.kind() {
            HirKind::Empty => {}
            HirKind::Literal(literal) => {
                self.steps
                    .extend(String::from_utf8_lossy(&literal.0).chars().map(Step::Char));
            }
            HirKind::Class(Class::Unicode(class)) => {
                let ranges = class
                    .ranges()
                    .iter()
                    .map(|range| (range.start(), range.end()));
                self.steps.push(Step::Class(ranges.collect()));
            }
            HirKind::Class(Class::Bytes(class)) => {
                let ranges = class.ranges().iter().filter(|range| range.end().is_ascii());
                self.steps.push(Step::Class(
                    ranges
                        .map(|range| (range.start().into(), range.end().into()))
                        .collect(),
                ));
            }
            HirKind::Look(look) => self.steps.push(Step::Look(*look)),
            HirKind::Capture(capture) => self.compile(&capture.sub),
            HirKind::Concat(parts) => parts.iter().for_each(|part| self.compile(part)),
            HirKind::Alternation(parts) => self.alternation(parts),
            HirKind::Repetition(repetition) => {
                (0..repetition.min).for_each(|_| self.compile(&repetition.sub));
                match repetition.max {
                    None => {
                        let split = self.reserve();
                        self.compile(&repetition.sub);
                        self.steps.push(Step::Jump(split));
                        self.set(split, Step::Split(split + 1, self.steps.len()));
                    }
                    Some(max) => {
                        let rest = max.saturating_sub(repetition.min);
                        let splits: Vec<usize> = (0..rest)
                            .map(|_| {
                                let split = self.reserve();
                                self.compile(&repetition.sub);
                                split
                            })
                            .collect();
                        let end = self.steps.len();
                        splits
                            .into_iter()
                            .for_each(|split| self.set(split, Step::Split(split + 1, end)));
                    }
                }
            }
        }
    }

    fn alternation(&mut self, parts: &[Hir]) {
        let mut ends = Vec::new();
        for part in parts {
            let split = self.reserve();
            self.compile(part);
            ends.push(self.reserve());
            self.set(split, Step::Split(split + 1, self.steps.len()));
        }
        // The branch after the last part leads nowhere: an empty class.
        self.steps.push(Step::Class(Box::default()));
        let end = self.steps.len();
        ends.into_iter()
            .for_each(|jump| self.set(jump, Step::Jump(end)));
    }

    fn reserve(&mut self) -> usize {
        self.steps.push(Step::Jump(0));
        self.steps.len() - 1
    }

    fn set(&mut self, at: usize, step: Step) {
        if let Some(place) = self.steps.get_mut(at) {
            *place = step;
        }
    }

    /// Returns true if the pattern is found in `text`. Each step at each position counts.
    pub(super) fn is_match(&self, text: &str, steps: &Steps) -> Result<bool, Fault> {
        let mut visits = 0_u64;
        let mut now = Active::new(self.steps.len());
        let mut next = Active::new(self.steps.len());
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
                return Ok(false);
            };
            visits += 1 + now.order.len() as u64;
            if visits >= VISITS_A_STEP {
                steps.take(visits / VISITS_A_STEP)?;
                visits %= VISITS_A_STEP;
            }
            next.clear();
            for step in &now.order {
                if self.reads(*step, found) {
                    next.order.push(step + 1);
                }
            }
            std::mem::swap(&mut now, &mut next);
            before = after;
            rest = ahead;
        }
    }

    fn reads(&self, step: usize, found: char) -> bool {
        match self.steps.get(step) {
            Some(Step::Char(wanted)) => *wanted == found,
            Some(Step::Class(ranges)) => {
                let after = ranges.partition_point(|(lo, _)| *lo <= found);
                after
                    .checked_sub(1)
                    .and_then(|index| ranges.get(index))
                    .is_some_and(|(_, hi)| found <= *hi)
            }
            Some(Step::Look(_) | Step::Split(..) | Step::Jump(_) | Step::Found) | None => false,
        }
    }

    /// Adds what `step` leads to without reading; whether that is the end of the pattern.
    fn add(&self, step: usize, place: Place, active: &mut Active, stack: &mut Vec<usize>) -> bool {
        stack.clear();
        stack.push(step);
        while let Some(step) = stack.pop() {
            if !active.insert(step) {
                continue;
            }
            match self.steps.get(step) {
                Some(Step::Class(_) | Step::Char(_)) => active.order.push(step),
                Some(Step::Look(look)) if holds(self.dialect, *look, place) => stack.push(step + 1),
                Some(Step::Look(_)) | None => {}
                Some(Step::Split(one, other)) => stack.extend([*one, *other]),
                Some(Step::Jump(to)) => stack.push(*to),
                Some(Step::Found) => return true,
            }
        }
        false
    }
}

/// Returns true if a look holds at a position.
pub(super) fn holds(dialect: Dialect, look: Look, place: Place) -> bool {
    let Place {
        before,
        after,
        last,
    } = place;
    let ascii = |found: Option<char>| {
        found.is_some_and(|found| found == '_' || found.is_ascii_alphanumeric())
    };
    let python = |found: Option<char>| found.is_some_and(python_class::is_word);
    // `re` knows no boundary, and no place without one, in an empty text.
    let exists = dialect == Dialect::Re2 || before.is_some() || after.is_some();
    match look {
        Look::Start => before.is_none(),
        Look::End => after.is_none(),
        Look::StartLF => matches!(before, None | Some('\n')),
        Look::EndLF => matches!(after, None | Some('\n')),
        DOLLAR => after.is_none() || (after == Some('\n') && last),
        Look::WordAscii => ascii(before) != ascii(after),
        Look::WordAsciiNegate => exists && ascii(before) == ascii(after),
        WORD => python(before) != python(after),
        WORD_NEGATE => exists && python(before) == python(after),
        Look::StartCRLF
        | Look::WordStartAscii
        | Look::WordEndAscii
        | Look::WordStartUnicode
        | Look::WordEndUnicode
        | Look::WordStartHalfAscii
        | Look::WordEndHalfAscii
        | Look::WordStartHalfUnicode
        | Look::WordEndHalfUnicode => false,
    }
}
