//! Rules by a part of the value that a facet parses: the host of a URL, the directory of a path.

use crate::bytes::strmap::StrMap;
use crate::clause::ops::parts::Match;
use crate::facets::{Facet, Parsed, Part};
use crate::index::Postings;
use crate::lang::path::Key;
use crate::value::{Step, Value as _, View};

/// The rules whose guard tests one part.
#[derive(Debug)]
pub(crate) struct PartIndex {
    pub(crate) facet: Facet,
    pub(crate) path: Box<[Box<str>]>,
    pub(crate) matching: Match,
    /// Rules by text.
    pub(crate) texts: StrMap<Postings>,
    /// All of these rules, which a part that is missing or of another type may leave in error or absent.
    pub(crate) all: Postings,
}

impl PartIndex {
    /// Calls `found` with the rules that a parsed value names.
    pub(crate) fn search(&self, parsed: &Parsed, mut found: impl FnMut(Postings)) {
        if self.matching == Match::Element {
            return self.search_elements(&Part::Whole(parsed), found);
        }
        let mut step = Step::Found(Part::Whole(parsed));
        for name in &self.path {
            match step {
                Step::Found(part) => step = part.get(Key::unprepared(name)),
                Step::Absent | Step::Unreadable => break,
            }
        }
        let Step::Found(part) = step else {
            return found(self.all);
        };
        let View::Str(text) = part.view() else {
            return found(self.all);
        };
        let mut one = |text: &str| {
            if let Some(rules) = self.texts.get(text) {
                found(*rules);
            }
        };
        one(text);
        match self.matching {
            Match::Equal | Match::Element => {}
            Match::Domain => {
                for (at, _) in text.match_indices('.') {
                    one(text.get(at + 1..).unwrap_or_default());
                }
            }
            Match::Directory if text.starts_with('/') => {
                for (at, _) in text.match_indices('/') {
                    // The root is `/` itself.
                    one(text.get(..at.max(1)).unwrap_or_default());
                }
            }
            Match::Below if !text.starts_with('/') => {
                one(".");
                for (at, _) in text.match_indices('/') {
                    one(text.get(..at).unwrap_or_default());
                }
            }
            Match::Directory | Match::Below => found(self.all),
        }
    }

    fn search_elements(&self, list: &Part<'_>, mut found: impl FnMut(Postings)) {
        let mut some = false;
        for element in list.items() {
            some = true;
            let part = self
                .path
                .first()
                .map(|name| element.get(Key::unprepared(name)));
            let Some(Step::Found(part)) = part else {
                return found(self.all);
            };
            match part.view() {
                View::Str(text) => {
                    if let Some(rules) = self.texts.get(text) {
                        found(*rules);
                    }
                }
                _ => return found(self.all),
            }
        }
        if !some {
            // `all` is true of no elements.
            found(self.all);
        }
    }
}
