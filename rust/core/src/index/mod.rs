//! Rule indexes: the rules that one tool can meet, with an index from values to the rules they may fire.
//!
//! A rule has a *guard*: a set of clauses of which one must be true for its match to be true.
//! INVARIANT: the match of a rule that the index does not name is false or absent, and so leaves no trace: its guard is not
//! true, and either no clause of it can be in error on the values at hand or its guard is false. In the `lynx` profile its
//! match is false and raises nothing: no clause that is evaluated before its guard can raise on the values at hand.

pub(crate) mod affixes;
pub(crate) mod derived;
pub(crate) mod exclusion;
pub(crate) mod intervals;
pub(crate) mod packed_rules;
pub(crate) mod parts;
pub(crate) mod substrings;

use std::sync::OnceLock;

use crate::bytes::strmap::StrMap;
use crate::facets::Facet;
use crate::regex::PatternSet;
use crate::value::class::{Class, Classes};
use affixes::Affixes;
use derived::Derivations;
use exclusion::ExclusionIndex;
use intervals::Intervals;
use packed_rules::PackedRules;
use parts::PartIndex;
use substrings::SubstringIndex;

/// Rules, ascending: where they begin and end in the rules of their rule index; of a dense one, the two halves of a mask
/// of places among its rules.
pub(crate) type Postings = (u32, u32);

/// Most rules of a dense rule index.
pub(crate) const DENSE: usize = 64;

/// The postings of a mask.
pub(crate) fn postings(mask: u64) -> Postings {
    (mask as u32, (mask >> 32) as u32)
}

/// The mask of postings of a dense rule index.
#[inline]
pub(crate) fn mask((low, high): Postings) -> u64 {
    u64::from(high) << 32 | u64::from(low)
}

/// The rules of a policy that one tool can meet (or that any tool can).
#[derive(Debug, Default)]
pub(crate) struct RuleIndex {
    /// The rules of all lists; of a dense rule index, its rules.
    pub(crate) rules: Vec<u32>,
    /// True if lists are masks. PERF: rules are found and put into order by an operation on a word.
    pub(crate) dense: bool,
    /// All rules, of a dense rule index or of one without guards.
    pub(crate) packed_rules: PackedRules,
    /// True if the rules of any tool are among the rows of this tool.
    pub(crate) complete: bool,
    /// The rules that are evaluated every time.
    pub(crate) always: Postings,
    /// The index that excludes some of these rules, when they are many.
    pub(crate) exclusion: Option<Box<ExclusionIndex>>,
    /// The paths to read to find the other rules, in the order of the first rule that each can find.
    pub(crate) path_indexes: Vec<PathIndex>,
    /// The paths to read once the guard of a permitting rule is absent: they find the rules that could be in error by
    /// another clause.
    pub(crate) error_paths: Vec<PathIndex>,
}

impl RuleIndex {
    /// Returns true if all rules are evaluated one after the other, without an index.
    #[inline]
    pub(crate) fn is_plain(&self) -> bool {
        self.path_indexes.is_empty() && self.exclusion.is_none()
    }
}

/// The kinds of values that find rules at one path.
///
/// PERF: an entry is eight lines of memory, and most paths have guards of one kind: the others are not read.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Kinds(u16);

impl Kinds {
    pub(crate) const STRINGS: Self = Self(1);
    pub(crate) const INTS: Self = Self(1 << 1);
    pub(crate) const INTERVALS: Self = Self(1 << 2);
    pub(crate) const AFFIXES: Self = Self(1 << 3);
    pub(crate) const SUBSTRINGS: Self = Self(1 << 4);
    pub(crate) const CLAUSES: Self = Self(1 << 5);
    pub(crate) const PATTERNS: Self = Self(1 << 6);
    pub(crate) const LONG: Self = Self(1 << 7);
    pub(crate) const PARTS: Self = Self(1 << 8);
    pub(crate) const DERIVED: Self = Self(1 << 9);

    pub(crate) const fn has(self, kind: Self) -> bool {
        self.0 & kind.0 != 0
    }
}

/// One path, read to find rules.
#[derive(Debug, Default)]
pub(crate) struct PathIndex {
    /// The path.
    pub(crate) path: u32,
    /// The first rule that can be found here.
    pub(crate) first: u32,
    /// True if a permitting rule has a guard here.
    pub(crate) permits: bool,
    /// The kinds of indexes that exist at this path.
    pub(crate) kinds: Kinds,
    /// The classes of values that some rule may be in error on.
    pub(crate) failing: Classes,
    /// Rules by the string their guard equals.
    pub(crate) strings: StrMap<Postings>,
    /// Rules by the integer their guard equals, sorted.
    pub(crate) ints: Vec<(i64, Postings)>,
    /// Rules by the numeric interval of their guard.
    pub(crate) intervals: Option<Intervals>,
    /// Rules by the prefix and the suffix of their guard.
    pub(crate) affixes: Vec<Affixes>,
    /// Rules by the substring or element of their guard.
    pub(crate) substrings: Option<SubstringIndex>,
    /// Rules by a guard that is evaluated separately: clause, rules.
    pub(crate) clauses: Vec<(u32, Postings)>,
    /// Rules by the pattern of their guard.
    pub(crate) patterns: Option<PatternGroup>,
    /// Rules by a part of the value that a facet parses.
    pub(crate) parts: Vec<PartIndex>,
    /// Rules that may be in error on a text that a facet cannot decide.
    pub(crate) undecidable: Vec<(Facet, Postings)>,
    /// Rules by what they require of a value made from the value.
    pub(crate) derived: Option<Box<Derivations>>,
    /// Rules that fire when the path is absent.
    pub(crate) missing: Postings,
    /// Functions, whose steps count in full on a text of more than [`crate::limits::LONG_TEXT`] bytes.
    pub(crate) long: Postings,
    /// Rules that may be in error on a value of a class.
    pub(crate) errors: [Postings; Class::ALL.len()],
}

impl PathIndex {
    /// Records the kinds of guards, and the classes of values that may be errors.
    pub(crate) fn note(&mut self, dense: bool) {
        let kinds = [
            (Kinds::STRINGS, !self.strings.is_empty()),
            (Kinds::INTS, !self.ints.is_empty()),
            (Kinds::INTERVALS, self.intervals.is_some()),
            (Kinds::AFFIXES, !self.affixes.is_empty()),
            (Kinds::SUBSTRINGS, self.substrings.is_some()),
            (Kinds::CLAUSES, !self.clauses.is_empty()),
            (Kinds::PATTERNS, self.patterns.is_some()),
            (Kinds::LONG, some(self.long, dense)),
            (
                Kinds::PARTS,
                !self.parts.is_empty() || !self.undecidable.is_empty(),
            ),
            (Kinds::DERIVED, self.derived.is_some()),
        ];
        let there = kinds.into_iter().filter(|(_, there)| *there);
        self.kinds = Kinds(there.fold(0, |all, (kind, _)| all | kind.0));
        self.failing = failing(&self.errors, dense);
    }
}

/// Returns true if a list has rules.
fn some(list: Postings, dense: bool) -> bool {
    match dense {
        true => mask(list) != 0,
        false => list.0 < list.1,
    }
}

/// The classes of values that have rules.
fn failing(errors: &[Postings; Class::ALL.len()], dense: bool) -> Classes {
    let classes = Class::ALL.into_iter().zip(errors);
    classes
        .filter(|(_, rules)| some(**rules, dense))
        .fold(Classes::default(), |all, (class, _)| all.with(class))
}

/// Truths of unmatched patterns are kept for groups up to this size. PERF: a write per pattern, against a search each
/// for the few that a candidate asks again.
pub(crate) const REMEMBERED: usize = 256;

/// The patterns of one path and rule index, searched in one pass.
#[derive(Debug)]
pub(crate) struct PatternGroup {
    /// Per pattern: clause, rules.
    pub(crate) members: Vec<(u32, Postings)>,
    /// Their automaton, built by the first search.
    pub(crate) set: OnceLock<PatternSet>,
}
