//! Segments: the rules that one tool can meet, with an index from values to the rules they may fire.
//!
//! A rule of the strict profile has a *guard*: a set of clauses of which one must be true for its match to be true.
//! INVARIANT: a rule that the index does not name comes out false or absent, and so leaves no trace: its guard is not
//! true, and either no clause of it can be in error on the values at hand or its guard is false.

use std::sync::OnceLock;

use super::strmap::StrMap;
use crate::pattern::PatternSet;

/// Rules, ascending.
pub type Rules = Vec<u32>;

/// The rules of a policy that one tool can meet (or that any tool can).
#[derive(Debug, Default)]
pub struct Segment {
    /// The rules that are judged every time, in evaluation order.
    pub always: Rules,
    /// What is read to find the others.
    pub probes: Vec<Probe>,
}

/// The classes of values: the type, as far as it tells which operators cannot judge it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are the types of the operator table")]
pub enum Class {
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
    pub const ALL: [Self; 8] = [
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

/// One path, read to find rules.
#[derive(Debug, Default)]
pub struct Probe {
    /// The path.
    pub path: u32,
    /// Whether the path is only read for rules that could be in error, when the guard of a permitting rule is absent.
    pub late: bool,
    /// Whether a permitting rule has a guard here.
    pub permits: bool,
    /// Rules by the string their guard equals.
    pub strings: StrMap<Rules>,
    /// Rules by the integer their guard equals, sorted.
    pub ints: Vec<(i64, Rules)>,
    /// Rules by a guard that is judged by itself: clause, rules.
    pub clauses: Vec<(u32, Rules)>,
    /// Rules by a pattern their guard searches.
    pub patterns: Option<PatternGroup>,
    /// Rules that fire when the path is not there.
    pub missing: Rules,
    /// Rules that may be in error on a value of a class.
    pub errors: [Rules; 8],
}

/// The patterns of one path and segment, searched in one pass.
#[derive(Debug)]
pub struct PatternGroup {
    /// Per pattern: clause, rules.
    pub members: Vec<(u32, Rules)>,
    /// Their automaton, built by the first search.
    pub set: OnceLock<PatternSet>,
}
