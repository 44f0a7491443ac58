//! What a test requires of a value that is made from the value: its lower case, or elements of a list.

use std::borrow::Cow;

use super::affix::End;
use super::nesting::{Derived, Each};
use super::{IndexKey, OperatorTest};
use crate::clause::predicate::Test;
use crate::clause::prepared::PreparedConst;
use crate::value::class::{Class, Classes};

/// The value that is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Made {
    /// A text in lower case.
    Lower,
    /// The elements of a list: one that passes or cannot be evaluated is enough.
    Each,
    /// The first element of a list. `empty`: an empty list is enough.
    First { empty: bool },
}

/// What must hold of the made value for a test to be true.
#[derive(Debug)]
pub(crate) struct DerivedKey<'t> {
    pub(crate) made: Made,
    /// The classes of made values that the test may be in error on.
    pub(crate) fails: Classes,
    pub(crate) required: Required<'t>,
}

/// One of these holds.
#[derive(Debug)]
pub(crate) enum Required<'t> {
    /// It equals one of these strings and integers.
    Scalars(Vec<Cow<'t, str>>, &'t [i64]),
    /// It is a text with one of these in it.
    Parts(Vec<Cow<'t, str>>),
    /// It is a text with one of these affixes.
    Affixes(End, &'t [Box<str>]),
    /// It is a text whose lower case has this.
    Lower(Box<Self>),
}

impl Derived {
    /// What the derived value must be like, if an index can list it.
    ///
    /// INVARIANT: of several tests one that is false makes the result false, whatever the others are: so one test that is
    /// indexed is enough.
    pub(super) fn derived_key(&self) -> Option<DerivedKey<'_>> {
        let (made, tests) = match self {
            Self::Lower(tests) => {
                let required = tests.iter().find_map(of_lower_case)?;
                return Some(DerivedKey {
                    made: Made::Lower,
                    fails: Classes::NONE,
                    required,
                });
            }
            Self::Elements(Each::Any, tests, _) => (Made::Each, tests),
            Self::Elements(Each::All, tests, _) => (Made::First { empty: true }, tests),
            Self::Elements(Each::First, tests, _) => (Made::First { empty: false }, tests),
            _ => return None,
        };
        let (required, fails) = tests.iter().find_map(of_element)?;
        Some(DerivedKey {
            made,
            fails: fails.with(Class::Broken),
            required,
        })
    }
}

/// What a list must begin with, each of whose elements is one of these; an empty list is enough.
pub(super) fn of_subset<'t>(texts: &'t [Box<str>], ints: &'t [i64]) -> IndexKey<'t> {
    IndexKey::Derived(DerivedKey {
        made: Made::First { empty: true },
        fails: Classes::SHAPES,
        required: Required::Scalars(borrowed(texts), ints),
    })
}

fn of_element(test: &Test) -> Option<(Required<'_>, Classes)> {
    if let Test::Derived(derived) = test {
        let Derived::Lower(tests) = derived.as_ref() else {
            return None;
        };
        let required = tests.iter().find_map(of_lower_case)?;
        let fails = Classes::ALL.without(Class::String);
        return Some((Required::Lower(Box::new(required)), fails));
    }
    Some((required(test)?, test.facts().fails))
}

/// The same for a test of a text, which must not be in error on any.
fn of_lower_case(test: &Test) -> Option<Required<'_>> {
    let certain = !matches!(test, Test::Derived(_)) && !test.facts().fails.has(Class::String);
    certain.then(|| required(test))?
}

fn required(test: &Test) -> Option<Required<'_>> {
    if let Test::Matches(pattern) = test
        && let IndexKey::Pattern(None) = pattern.key()
    {
        return Some(Required::Parts(vec![Cow::Owned(pattern.needle()?)]));
    }
    match test.key() {
        IndexKey::Scalars(texts, ints) => Some(Required::Scalars(borrowed(texts), ints)),
        IndexKey::Pattern(Some(text)) => Some(Required::Scalars(vec![Cow::Owned(text)], &[])),
        IndexKey::Needles { needles, .. } => {
            let texts = needles.into_iter().map(|needle| match needle {
                PreparedConst::Str(text) => Some(Cow::Borrowed(&**text)),
                _ => None,
            });
            Some(Required::Parts(texts.collect::<Option<_>>()?))
        }
        IndexKey::Affixes(end, texts) => Some(Required::Affixes(end, texts)),
        IndexKey::Scan
        | IndexKey::Missing
        | IndexKey::Pattern(None)
        | IndexKey::Intervals(_)
        | IndexKey::Part(..)
        | IndexKey::Derived(_) => None,
    }
}

fn borrowed(texts: &[Box<str>]) -> Vec<Cow<'_, str>> {
    texts.iter().map(|text| Cow::Borrowed(&**text)).collect()
}
