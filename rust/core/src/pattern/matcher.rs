//! One pattern, searched alone.

use std::sync::{Arc, OnceLock};

use memchr::memmem::Finder;
use regex_automata::meta::{Config, Regex};
use regex_automata::nfa::thompson::WhichCaptures;

use super::plain::Plain;
use super::{Inner, LiteralKind, Pattern};

/// Memory of one automaton under construction, in bytes. No pattern within [`super::MAX_COST`] comes near it; one that did
/// would take the plain path.
const NFA_BYTES: usize = 64 << 20;
/// Memory of the lazily built states of one pattern, in bytes and per thread searching at the same time.
const CACHE_BYTES: usize = 1 << 20;

/// What searches have built for one pattern.
#[derive(Debug, Default)]
pub(super) struct Built {
    /// Boxed for its alignment: vectors inside ask for 32 bytes, more than an allocator of Python objects gives.
    finder: OnceLock<Box<Finder<'static>>>,
    regex: OnceLock<Option<Regex>>,
    plain: OnceLock<Plain>,
}

impl Built {
    #[inline]
    fn finder(&self, literal: &str) -> &Finder<'static> {
        self.finder
            .get_or_init(|| Box::new(Finder::new(literal.as_bytes()).into_owned()))
    }
}

/// Searches one pattern in a text, anywhere. Safe to use from many threads; cloning is cheap.
#[derive(Clone, Debug)]
pub struct Matcher {
    pattern: Arc<Inner>,
}

impl Matcher {
    pub(super) fn new(pattern: &Pattern) -> Self {
        Self {
            pattern: Arc::clone(&pattern.inner),
        }
    }

    /// Whether the pattern is found in `text`.
    #[must_use]
    pub fn is_match(&self, text: &str) -> bool {
        let Inner {
            literal,
            lane,
            built,
            ..
        } = &*self.pattern;
        match literal {
            Some(LiteralKind::Exact(literal)) => text == literal,
            Some(LiteralKind::Prefix(literal)) => text.starts_with(literal.as_str()),
            Some(LiteralKind::Suffix(literal)) => text.ends_with(literal.as_str()),
            Some(LiteralKind::Contains(literal)) => {
                built.finder(literal).find(text.as_bytes()).is_some()
            }
            None => match built.regex.get_or_init(|| self.build()) {
                Some(regex) if lane.judges(text) => regex.is_match(text),
                Some(_) | None => self.is_match_plain(text),
            },
        }
    }

    /// Makes what the first search of a text would make.
    pub(crate) fn prepare(&self) {
        let built = &self.pattern.built;
        match &self.pattern.literal {
            Some(LiteralKind::Exact(_) | LiteralKind::Prefix(_) | LiteralKind::Suffix(_)) => {}
            Some(LiteralKind::Contains(literal)) => {
                built.finder(literal);
            }
            None => {
                built.regex.get_or_init(|| self.build());
            }
        }
    }

    /// The same answer along the plain path: slow, and the oracle of the tests.
    #[must_use]
    pub fn is_match_plain(&self, text: &str) -> bool {
        let Inner {
            hir,
            dialect,
            built,
            ..
        } = &*self.pattern;
        built
            .plain
            .get_or_init(|| Plain::new(hir, *dialect))
            .is_match(text)
    }

    pub(super) fn inner(&self) -> &Inner {
        &self.pattern
    }

    fn build(&self) -> Option<Regex> {
        let config = Config::new()
            .utf8_empty(false)
            .which_captures(WhichCaptures::Implicit)
            .nfa_size_limit(Some(NFA_BYTES))
            .hybrid_cache_capacity(CACHE_BYTES);
        Regex::builder()
            .configure(config)
            .build_from_hir(self.pattern.target()?)
            .ok()
    }
}
