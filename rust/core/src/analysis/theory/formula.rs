//! Tests as formulas over automata, one automaton for each distinct simple test.

use std::collections::{BTreeMap, BTreeSet};

use super::automaton::{Automaton, FAR, Facts};
use super::words::Place;
use super::{GaveUp, GaveUpCode, TextTest};
use crate::regex::states::States;
use crate::regex::{Dialect, LiteralKind, Pattern};

/// Visits of steps of a pattern that take as long as one state of a search.
const VISITS: u64 = 256;

/// A simple test: one automaton.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Simple {
    Words(Place, Vec<String>),
    Pattern(String),
    /// From a bound on, by the order of code points.
    From {
        bound: String,
        inclusive: bool,
    },
    Length(Lengths),
    Lower(Box<Simple>),
    Appended(String, Box<Simple>),
}

/// Bounds of a length, both inclusive.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Lengths {
    pub(super) bytes: bool,
    pub(super) min: u64,
    pub(super) max: Option<u64>,
}

/// A formula over the automata of [`Leaves`].
#[derive(Clone, Debug)]
pub(super) enum Formula {
    Leaf(usize),
    Not(Box<Formula>),
    All(Vec<Formula>),
    Any(Vec<Formula>),
}

impl Formula {
    /// A lower bound of the steps to a text for which the formula is `wanted`, from those of its leaves.
    pub(super) fn distance(&self, wanted: bool, leaf: &mut impl FnMut(usize, bool) -> u32) -> u32 {
        match self {
            Self::Leaf(at) => leaf(*at, wanted),
            Self::Not(inner) => inner.distance(!wanted, leaf),
            Self::All(parts) | Self::Any(parts) => {
                let steps = parts.iter().map(|part| part.distance(wanted, leaf));
                match matches!(self, Self::All(_)) == wanted {
                    true => steps.max().unwrap_or(0),
                    false => steps.min().unwrap_or(FAR),
                }
            }
        }
    }

    /// The result, from those of the leaves.
    pub(super) fn holds(&self, leaf: &mut impl FnMut(usize) -> bool) -> bool {
        match self {
            Self::Leaf(at) => leaf(*at),
            Self::Not(inner) => !inner.holds(leaf),
            Self::All(parts) => parts.iter().all(|part| part.holds(leaf)),
            Self::Any(parts) => parts.iter().any(|part| part.holds(leaf)),
        }
    }

    /// Adds the leaves to `found`.
    pub(super) fn leaves(&self, found: &mut BTreeSet<usize>) {
        match self {
            Self::Leaf(at) => {
                found.insert(*at);
            }
            Self::Not(inner) => inner.leaves(found),
            Self::All(parts) | Self::Any(parts) => {
                parts.iter().for_each(|part| part.leaves(found));
            }
        }
    }
}

/// What makes the tested text from the value, the outermost first.
#[derive(Clone, Debug)]
enum Wrap {
    Lower,
    Appended(String),
}

/// The automata of simple tests.
#[derive(Debug, Default)]
pub(super) struct Leaves {
    automata: Vec<Automaton>,
    tests: Vec<Simple>,
    index: BTreeMap<Simple, usize>,
    /// The states that searches built.
    pub(super) searched: u64,
}

impl Leaves {
    pub(super) fn automaton(&self, at: usize) -> Option<&Automaton> {
        self.automata.get(at)
    }

    pub(super) fn automaton_mut(&mut self, at: usize) -> Option<&mut Automaton> {
        self.automata.get_mut(at)
    }

    /// The work so far: states that searches built, and what the automata took in visits of steps.
    pub(super) fn work(&self) -> u64 {
        let visits: u64 = self.automata.iter().map(Automaton::work).sum();
        self.searched + visits / VISITS
    }

    /// The state of an automaton after a character of one of its classes.
    pub(super) fn step(&mut self, at: usize, state: u32, class: u32) -> u32 {
        self.automata
            .get_mut(at)
            .map_or(0, |automaton| automaton.step(state, class))
    }

    /// The facts of a state of an automaton.
    pub(super) fn facts(&mut self, at: usize, state: u32) -> Facts {
        self.automata
            .get_mut(at)
            .map_or(Facts::certain(false), |automaton| automaton.facts(state))
    }

    /// The bounds of a test that is one of lengths.
    pub(super) fn lengths(&self, at: usize) -> Option<Lengths> {
        match self.tests.get(at) {
            Some(Simple::Length(lengths)) => Some(*lengths),
            _ => None,
        }
    }

    /// The formula of a test.
    pub(super) fn formula(&mut self, test: &TextTest) -> Result<Formula, GaveUp> {
        self.wrapped(test, &mut Vec::new())
    }

    fn wrapped(&mut self, test: &TextTest, wraps: &mut Vec<Wrap>) -> Result<Formula, GaveUp> {
        let simple = match test {
            TextTest::OneOf(texts) => Simple::Words(Place::Whole, texts.iter().cloned().collect()),
            TextTest::Matches { pattern } => pattern_test(pattern)?,
            TextTest::StartsWith(texts) => words(Place::Start, texts),
            TextTest::EndsWith(texts) => words(Place::End, texts),
            TextTest::Contains(texts) => words(Place::Anywhere, texts),
            TextTest::Length { min, max } => length(false, *min, *max),
            TextTest::ByteLength { min, max } => length(true, *min, *max),
            TextTest::Ordered { least, most } => {
                let mut parts = Vec::new();
                if let Some((bound, inclusive)) = least {
                    parts.push(self.leaf(from(bound, *inclusive), wraps)?);
                }
                if let Some((bound, inclusive)) = most {
                    let beyond = self.leaf(from(bound, !inclusive), wraps)?;
                    parts.push(Formula::Not(Box::new(beyond)));
                }
                return Ok(Formula::All(parts));
            }
            TextTest::Lower(inner) => return self.within(Wrap::Lower, inner, wraps),
            TextTest::Appended { suffix, test } => {
                return self.within(Wrap::Appended(suffix.clone()), test, wraps);
            }
            TextTest::Not(inner) => {
                return Ok(Formula::Not(Box::new(self.wrapped(inner, wraps)?)));
            }
            TextTest::All(tests) => return Ok(Formula::All(self.each(tests, wraps)?)),
            TextTest::Any(tests) => return Ok(Formula::Any(self.each(tests, wraps)?)),
        };
        self.leaf(simple, wraps)
    }

    fn within(
        &mut self,
        wrap: Wrap,
        inner: &TextTest,
        wraps: &mut Vec<Wrap>,
    ) -> Result<Formula, GaveUp> {
        wraps.push(wrap);
        let formula = self.wrapped(inner, wraps);
        wraps.pop();
        formula
    }

    fn each(&mut self, tests: &[TextTest], wraps: &mut Vec<Wrap>) -> Result<Vec<Formula>, GaveUp> {
        tests.iter().map(|test| self.wrapped(test, wraps)).collect()
    }

    fn leaf(&mut self, simple: Simple, wraps: &[Wrap]) -> Result<Formula, GaveUp> {
        let wrapped = wraps.iter().rev().fold(simple, |simple, wrap| match wrap {
            Wrap::Lower => Simple::Lower(Box::new(simple)),
            Wrap::Appended(suffix) => appended(suffix, simple),
        });
        if let Some(at) = self.index.get(&wrapped) {
            return Ok(Formula::Leaf(*at));
        }
        let automaton = build(&wrapped)?;
        let at = self.automata.len();
        self.automata.push(automaton);
        self.tests.push(wrapped.clone());
        self.index.insert(wrapped, at);
        Ok(Formula::Leaf(at))
    }
}

/// The test of a text with a suffix behind it; of lengths, a test of the text alone.
fn appended(suffix: &str, simple: Simple) -> Simple {
    let Simple::Length(lengths) = simple else {
        return Simple::Appended(suffix.to_owned(), Box::new(simple));
    };
    let more = match lengths.bytes {
        true => suffix.len(),
        false => suffix.chars().count(),
    } as u64;
    match lengths.max {
        Some(max) if max < more => words(Place::Whole, &[]),
        max => Simple::Length(Lengths {
            min: lengths.min.saturating_sub(more),
            max: max.map(|max| max - more),
            ..lengths
        }),
    }
}

fn words(place: Place, texts: &[String]) -> Simple {
    let texts: BTreeSet<&String> = texts.iter().collect();
    Simple::Words(place, texts.into_iter().cloned().collect())
}

fn from(bound: &str, inclusive: bool) -> Simple {
    Simple::From {
        bound: bound.to_owned(),
        inclusive,
    }
}

fn length(bytes: bool, min: Option<u64>, max: Option<u64>) -> Simple {
    let min = min.unwrap_or(0);
    Simple::Length(Lengths { bytes, min, max })
}

fn parse(pattern: &str) -> Result<Pattern, GaveUp> {
    Pattern::parse(pattern, Dialect::Re2).map_err(|error| GaveUp {
        code: GaveUpCode::Pattern,
        message: format!("the pattern `{pattern}` is not accepted: {error}"),
    })
}

/// The test of a pattern; words where it amounts to them.
fn pattern_test(pattern: &str) -> Result<Simple, GaveUp> {
    let (place, word) = match parse(pattern)?.literal_kind() {
        Some(LiteralKind::Exact(word)) => (Place::Whole, word),
        Some(LiteralKind::Prefix(word)) => (Place::Start, word),
        Some(LiteralKind::Suffix(word)) => (Place::End, word),
        Some(LiteralKind::Contains(word)) => (Place::Anywhere, word),
        None => return Ok(Simple::Pattern(pattern.to_owned())),
    };
    Ok(Simple::Words(place, vec![word]))
}

fn build(simple: &Simple) -> Result<Automaton, GaveUp> {
    Ok(match simple {
        Simple::Words(place, words) => Automaton::words(*place, words),
        Simple::Pattern(pattern) => {
            let states = States::new(&parse(pattern)?).ok_or_else(|| GaveUp {
                code: GaveUpCode::Pattern,
                message: format!("the pattern `{pattern}` has no automaton"),
            })?;
            Automaton::pattern(states)
        }
        Simple::From { bound, inclusive } => Automaton::order(bound, *inclusive),
        Simple::Length(Lengths { bytes, min, max }) => Automaton::count(*bytes, *min, *max),
        Simple::Lower(inner) => Automaton::lower(build(inner)?),
        Simple::Appended(suffix, inner) => Automaton::appended(build(inner)?, suffix),
    })
}
