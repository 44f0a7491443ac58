//! Segments: the rules that one tool can meet, with an index from values to the rules they may fire.
//!
//! A rule of the strict profile has a *guard*: a set of clauses of which one must be true for its match to be true.
//! INVARIANT: a rule that the index does not name comes out false or absent, and so leaves no trace: its guard is not
//! true, and either no clause of it can be in error on the values at hand or its guard is false.

use std::sync::OnceLock;

use super::affixes::Affixes;
use super::bands::Bands;
use super::needles::Needles;
use super::rows::Rows;
use super::strmap::StrMap;
use super::veto::Veto;
use crate::pattern::PatternSet;

/// Rules, ascending: where they begin and end in the rules of their segment.
pub(crate) type List = (u32, u32);

/// The rules of a policy that one tool can meet (or that any tool can).
#[derive(Debug, Default)]
pub(crate) struct Segment {
    /// The rules of all lists.
    pub(crate) rules: Vec<u32>,
    /// Of a plain segment: all its rules.
    pub(crate) rows: Rows,
    /// Whether the rules that any tool can meet are among the rows of this tool.
    pub(crate) complete: bool,
    /// The rules that are judged every time.
    pub(crate) always: List,
    /// What rules out some of these, when they are many.
    pub(crate) veto: Option<Box<Veto>>,
    /// What is read to find the others, by the first rule there is to be found.
    pub(crate) probes: Vec<Probe>,
    /// What is read once the guard of a permitting rule is absent: the rules that could be in error by another clause.
    pub(crate) late: Vec<Probe>,
}

impl Segment {
    /// Whether the rules are judged one after the other, and that is all there is to it.
    #[inline]
    pub(crate) fn is_plain(&self) -> bool {
        self.probes.is_empty() && self.veto.is_none()
    }
}

/// The classes of values: the type, as far as it tells which operators cannot judge it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Class {
    Null,
    Bool,
    Number,
    String,
    List,
    Mapping,
    Timestamp,
    /// What no operator can judge.
    Broken,
}

impl Class {
    /// Every class, in the order of its discriminant.
    pub(crate) const ALL: [Self; 8] = [
        Self::Null,
        Self::Bool,
        Self::Number,
        Self::String,
        Self::List,
        Self::Mapping,
        Self::Timestamp,
        Self::Broken,
    ];
}

/// Classes of values.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Classes(u8);

impl Classes {
    pub(crate) const ALL: Self = Self(u8::MAX);

    pub(crate) const fn with(self, class: Class) -> Self {
        Self(self.0 | 1 << class as u8)
    }

    pub(crate) const fn without(self, class: Class) -> Self {
        Self(self.0 & !(1 << class as u8))
    }

    pub(crate) const fn has(self, class: Class) -> bool {
        self.0 & 1 << class as u8 != 0
    }
}

/// What values find rules by, at one path.
///
/// PERF: an entry is eight lines of memory, and most paths have guards of one kind: the others are not looked at.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Kinds(u8);

impl Kinds {
    pub(crate) const STRINGS: Self = Self(1);
    pub(crate) const INTS: Self = Self(1 << 1);
    pub(crate) const BANDS: Self = Self(1 << 2);
    pub(crate) const AFFIXES: Self = Self(1 << 3);
    pub(crate) const NEEDLES: Self = Self(1 << 4);
    pub(crate) const CLAUSES: Self = Self(1 << 5);
    pub(crate) const PATTERNS: Self = Self(1 << 6);
    pub(crate) const LONG: Self = Self(1 << 7);

    pub(crate) const fn has(self, kind: Self) -> bool {
        self.0 & kind.0 != 0
    }
}

/// What a function is watched by at one path: if a request has none of it, the function returns None.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Watch {
    pub(crate) path: u32,
    /// A clause: a value that it is true of, or cannot judge.
    pub(crate) clause: Option<u32>,
    /// Whether no value at all is seen, too.
    pub(crate) missing: bool,
    /// Values of these classes.
    pub(crate) classes: Classes,
}

/// One path, read to find rules.
#[derive(Debug, Default)]
pub(crate) struct Probe {
    /// The path.
    pub(crate) path: u32,
    /// The first rule there is to be found.
    pub(crate) first: u32,
    /// Whether a permitting rule has a guard here.
    pub(crate) permits: bool,
    /// Which of the following there are.
    pub(crate) kinds: Kinds,
    /// The classes of values that some rule may be in error on.
    pub(crate) failing: Classes,
    /// Rules by the string their guard equals.
    pub(crate) strings: StrMap<List>,
    /// Rules by the integer their guard equals, sorted.
    pub(crate) ints: Vec<(i64, List)>,
    /// Rules by the numbers their guard takes.
    pub(crate) bands: Option<Bands>,
    /// Rules by how their guard wants a string to begin, and to end.
    pub(crate) affixes: Vec<Affixes>,
    /// Rules by what their guard wants contained.
    pub(crate) needles: Option<Needles>,
    /// Rules by a guard that is judged by itself: clause, rules.
    pub(crate) clauses: Vec<(u32, List)>,
    /// Rules by a pattern their guard searches.
    pub(crate) patterns: Option<PatternGroup>,
    /// Rules that fire when the path is not there.
    pub(crate) missing: List,
    /// Functions, which are spared no steps on a text of more than [`crate::limits::LONG_TEXT`] bytes.
    pub(crate) long: List,
    /// Rules that may be in error on a value of a class.
    pub(crate) errors: [List; 8],
}

impl Probe {
    /// Notes which kinds of guards there are, and which classes of values may be errors.
    pub(crate) fn note(&mut self) {
        let some = |list: List| list.0 < list.1;
        let kinds = [
            (Kinds::STRINGS, !self.strings.is_empty()),
            (Kinds::INTS, !self.ints.is_empty()),
            (Kinds::BANDS, self.bands.is_some()),
            (Kinds::AFFIXES, !self.affixes.is_empty()),
            (Kinds::NEEDLES, self.needles.is_some()),
            (Kinds::CLAUSES, !self.clauses.is_empty()),
            (Kinds::PATTERNS, self.patterns.is_some()),
            (Kinds::LONG, some(self.long)),
        ];
        let there = kinds.into_iter().filter(|(_, there)| *there);
        self.kinds = Kinds(there.fold(0, |all, (kind, _)| all | kind.0));
        let classes = Class::ALL.into_iter().zip(self.errors);
        self.failing = classes
            .filter(|(_, rules)| some(*rules))
            .fold(Classes::default(), |all, (class, _)| all.with(class));
    }
}

/// The patterns of one path and segment, searched in one pass.
#[derive(Debug)]
pub(crate) struct PatternGroup {
    /// Per pattern: clause, rules.
    pub(crate) members: Vec<(u32, List)>,
    /// Their automaton, built by the first search.
    pub(crate) set: OnceLock<PatternSet>,
}
