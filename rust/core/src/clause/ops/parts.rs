//! The part of a parsed value that a clause compares with texts: the key under which an index lists its rules.

use super::facet::Within;
use super::nesting::{Derived, Each};
use super::{IndexKey, OperatorTest as _};
use crate::clause::predicate::Test;
use crate::facets::Facet;
use crate::facets::path::Root;

/// The texts of an index that name rules for the text of a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Match {
    /// The text itself.
    Equal,
    /// The text, and its ends after each dot.
    Domain,
    /// The text of an absolute path, and its beginnings before each slash.
    Directory,
    /// The same of a relative path, and `.`.
    Below,
    /// The text itself, of some element.
    Element,
}

/// The part that some guards test.
#[derive(Clone, Copy, Debug)]
pub(crate) struct PartKey<'t> {
    pub(crate) facet: Facet,
    /// The names that lead to the part; none for the value itself.
    pub(crate) path: &'t [Box<str>],
    pub(crate) matching: Match,
    /// True if the clause is true wherever its texts are found.
    pub(crate) exact: bool,
}

impl Derived {
    /// The key of a clause that compares one part with texts.
    pub(crate) fn key(&self) -> IndexKey<'_> {
        if let Some(key) = self.part_key() {
            return key;
        }
        self.derived_key().map_or(IndexKey::Scan, IndexKey::Derived)
    }

    fn part_key(&self) -> Option<IndexKey<'_>> {
        let Self::Facet(facet, tests) = self else {
            return None;
        };
        let [test] = tests.as_slice() else {
            return None;
        };
        let (path, test): (&[Box<str>], _) = match test {
            Test::Derived(derived) => match derived.as_ref() {
                Self::Part(path, tests, _) => match tests.as_slice() {
                    [test] => (&path.names, test),
                    _ => return None,
                },
                _ => (&[], test),
            },
            test => (&[], test),
        };
        if let Some((path, texts, exact)) = of_elements(test) {
            let key = PartKey {
                facet: *facet,
                path,
                matching: Match::Element,
                exact,
            };
            return Some(IndexKey::Part(key, texts));
        }
        let (matching, texts) = match test {
            Test::Equal(scalar) => (Match::Equal, only_texts(scalar.key())?),
            Test::Membership(membership) => (Match::Equal, only_texts(membership.key())?),
            Test::Within(Within::Host(domains)) => {
                (Match::Domain, domains.iter().map(AsRef::as_ref).collect())
            }
            Test::Within(Within::Path(roots)) => {
                let absolute = roots.iter().all(Root::is_absolute);
                if !absolute && roots.iter().any(Root::is_absolute) {
                    return None;
                }
                let matching = if absolute {
                    Match::Directory
                } else {
                    Match::Below
                };
                (matching, roots.iter().map(|root| root.normal()).collect())
            }
            _ => return None,
        };
        let key = PartKey {
            facet: *facet,
            path,
            matching,
            exact: true,
        };
        Some(IndexKey::Part(key, texts))
    }

    /// The facet, of a clause that is in error on a text only if the facet cannot decide it.
    pub(crate) fn decided_by(&self) -> Option<Facet> {
        match self {
            Self::Facet(facet, tests) if *facet != Facet::Json && tests.iter().all(is_certain) => {
                Some(*facet)
            }
            _ => None,
        }
    }
}

/// A part, its texts, and true if one element with it is enough.
type ElementKey<'t> = (&'t [Box<str>], Vec<&'t str>, bool);

/// The part that some or all elements of a list have to have, its texts, and whether one such element is enough.
fn of_elements(test: &Test) -> Option<ElementKey<'_>> {
    let Test::Derived(derived) = test else {
        return None;
    };
    let Derived::Elements(each @ (Each::Any | Each::All), tests, _) = derived.as_ref() else {
        return None;
    };
    let exact = *each == Each::Any && tests.len() == 1;
    tests.iter().find_map(|test| {
        let Test::Derived(derived) = test else {
            return None;
        };
        let Derived::Part(path, tests, _) = derived.as_ref() else {
            return None;
        };
        let path = path.names.as_slice();
        let is_program = path.first().is_some_and(|name| &**name == "program");
        match tests.as_slice() {
            [Test::Equal(scalar)] if is_program => Some((path, only_texts(scalar.key())?, exact)),
            [Test::Membership(set)] if is_program => Some((path, only_texts(set.key())?, exact)),
            _ => None,
        }
    })
}

fn only_texts(key: IndexKey<'_>) -> Option<Vec<&str>> {
    match key {
        IndexKey::Scalars(texts, []) => Some(texts.iter().map(AsRef::as_ref).collect()),
        _ => None,
    }
}

/// Returns true if a test of a parsed value or of a part of one is never in error: by its type it is compared with such
/// values.
fn is_certain(test: &Test) -> bool {
    match test {
        Test::Derived(derived) => match derived.as_ref() {
            Derived::Part(_, tests, _) => tests.iter().all(is_certain),
            _ => false,
        },
        Test::Equal(_) | Test::Membership(_) | Test::EqualBool(_) | Test::Presence(_) => true,
        Test::Within(within) => !matches!(within, Within::Path(_)),
        _ => false,
    }
}
