//! Values that are made from a value: rules by what they require of its lower case, or of the elements of a list.

use super::affixes::Affixes;
use super::substrings::SubstringIndex;
use super::{Postings, failing};
use crate::bytes::strmap::StrMap;
use crate::value::class::{Class, Classes};

/// The indexes of what is made from the value at one path.
#[derive(Debug, Default)]
pub(crate) struct Derivations {
    /// Of a text in lower case.
    pub(crate) lower: Option<Box<DerivedIndex>>,
    /// Of each element of a list.
    pub(crate) each: Option<Box<DerivedIndex>>,
    /// Of the first element of a list.
    pub(crate) first: Option<Box<DerivedIndex>>,
    /// Rules that an empty list satisfies.
    pub(crate) empty: Postings,
}

impl Derivations {
    /// The indexes, those within others last.
    pub(crate) fn each_index(&self) -> impl Iterator<Item = &DerivedIndex> {
        let own = [&self.lower, &self.each, &self.first];
        let own = own.into_iter().filter_map(Option::as_deref);
        let within = own.clone().filter_map(|index| index.lower.as_deref());
        own.chain(within)
    }
}

/// Rules by what they require of a made value.
#[derive(Debug, Default)]
pub(crate) struct DerivedIndex {
    /// Rules by the string that it must equal.
    pub(crate) strings: StrMap<Postings>,
    /// Rules by the integer that it must equal, sorted.
    pub(crate) ints: Vec<(i64, Postings)>,
    /// Rules by an end that it must have.
    pub(crate) affixes: Vec<Affixes>,
    /// Rules by a text that must be in it.
    pub(crate) substrings: Option<SubstringIndex>,
    /// Rules that may be in error on a made value of a class.
    pub(crate) errors: [Postings; Class::ALL.len()],
    pub(crate) failing: Classes,
    /// All rules, for values that cannot be searched.
    pub(crate) all: Postings,
    /// The same for an element that is a text, in lower case.
    pub(crate) lower: Option<Box<DerivedIndex>>,
}

impl DerivedIndex {
    /// Records the classes of values that may be errors.
    pub(crate) fn note(&mut self, dense: bool) {
        self.failing = failing(&self.errors, dense);
    }

    /// The rules that may be in error on a value of a class, if there are any.
    pub(crate) fn errors_of(&self, class: Class) -> Option<Postings> {
        let some = self.failing.has(class);
        self.errors.get(class as usize).copied().filter(|_| some)
    }
}
