//! A pattern as a list of steps, for the walks that go through a text character by character.

use regex_syntax::hir::{Class, Hir, HirKind, Look, Repetition};

use super::Dialect;
use super::dialect::python::{DOLLAR, WORD, WORD_NEGATE};
use super::dialect::python_class;

#[derive(Debug)]
pub(super) enum Step {
    /// One character of a class, then the next step.
    Class(Box<[(char, char)]>),
    /// This character, then the next step.
    Char(char),
    /// A condition on the place, then the next step.
    Look(Look),
    /// Goes on at both, at the first one rather.
    Split(usize, usize),
    Jump(usize),
    /// Keeps the place, then goes to the next step.
    Save(usize),
    Found,
}

impl Step {
    /// Returns true if this step reads `found`.
    pub(super) fn reads(&self, found: char) -> bool {
        match self {
            Self::Char(wanted) => *wanted == found,
            Self::Class(ranges) => {
                let after = ranges.partition_point(|(low, _)| *low <= found);
                after
                    .checked_sub(1)
                    .and_then(|at| ranges.get(at))
                    .is_some_and(|(_, high)| found <= *high)
            }
            Self::Look(_) | Self::Split(..) | Self::Jump(_) | Self::Save(_) | Self::Found => false,
        }
    }
}

/// The steps of a pattern, from the start of a match to its end.
#[derive(Debug)]
pub(super) struct Nfa {
    pub(super) steps: Vec<Step>,
    /// True if a round of a repetition may be empty.
    pub(super) empty_rounds: bool,
}

impl Nfa {
    /// The steps of `hir`, which keep the place where a match starts and where it ends.
    pub(super) fn new(hir: &Hir) -> Self {
        let mut nfa = Self {
            steps: vec![Step::Save(0)],
            empty_rounds: false,
        };
        nfa.add(hir);
        nfa.steps.extend([Step::Save(1), Step::Found]);
        nfa
    }

    fn add(&mut self, hir: &Hir) {
        match hir.kind() {
            HirKind::Empty => {}
            HirKind::Literal(literal) => {
                let text = String::from_utf8_lossy(&literal.0);
                self.steps.extend(text.chars().map(Step::Char));
            }
            HirKind::Class(Class::Unicode(class)) => {
                let ranges = class.ranges().iter();
                let ranges = ranges.map(|range| (range.start(), range.end()));
                self.steps.push(Step::Class(ranges.collect()));
            }
            // The class of no character: no other one is made of bytes.
            HirKind::Class(Class::Bytes(_)) => self.steps.push(Step::Class(Box::default())),
            HirKind::Look(look) => self.steps.push(Step::Look(*look)),
            HirKind::Capture(capture) => {
                let slot = 2 * capture.index as usize;
                self.steps.push(Step::Save(slot));
                self.add(&capture.sub);
                self.steps.push(Step::Save(slot + 1));
            }
            HirKind::Concat(parts) => parts.iter().for_each(|part| self.add(part)),
            HirKind::Alternation(parts) => self.alternation(parts),
            HirKind::Repetition(repetition) => self.repetition(repetition),
        }
    }

    fn alternation(&mut self, parts: &[Hir]) {
        let Some((last, others)) = parts.split_last() else {
            return;
        };
        let mut ends = Vec::new();
        for part in others {
            let split = self.reserve();
            self.add(part);
            ends.push(self.reserve());
            self.set(split, Step::Split(split + 1, self.steps.len()));
        }
        self.add(last);
        for end in ends {
            self.set(end, Step::Jump(self.steps.len()));
        }
    }

    fn repetition(&mut self, repetition: &Repetition) {
        let sub = &repetition.sub;
        let again = repetition.max.is_none_or(|max| max > 1);
        self.empty_rounds |= again && matches!(sub.properties().minimum_len(), None | Some(0));
        for _ in 0..repetition.min {
            self.add(sub);
        }
        let mut splits = Vec::new();
        for _ in repetition.min..repetition.max.unwrap_or(repetition.min + 1) {
            splits.push(self.reserve());
            self.add(sub);
        }
        if let (None, Some(split)) = (repetition.max, splits.first()) {
            self.steps.push(Step::Jump(*split));
        }
        let end = self.steps.len();
        for split in splits {
            let (first, second) = match repetition.greedy {
                true => (split + 1, end),
                false => (end, split + 1),
            };
            self.set(split, Step::Split(first, second));
        }
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
}

/// The position at which a look is evaluated.
#[derive(Clone, Copy)]
pub(super) struct Place {
    pub(super) before: Option<char>,
    pub(super) after: Option<char>,
    /// `after` is the last character.
    pub(super) last: bool,
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
