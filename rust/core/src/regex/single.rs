//! Searching one pattern alone, anywhere in a text.

use std::sync::OnceLock;

use memchr::memmem::Finder;
use regex_automata::hybrid::dfa::{Cache, DFA};
use regex_automata::meta::{Config, Regex};
use regex_automata::nfa::thompson::WhichCaptures;
use regex_automata::{Input, MatchKind};

use super::cache::{Caches, Grows};
use super::multi::automaton::{NFA_BYTES, lazy_dfa};
use super::nfa_sim::NfaSim;
use super::{Inner, LiteralKind, Pattern};
use crate::budget::Steps;
use crate::error::Fault;

/// Bytes of a text times places in a pattern that are searched whichever way is taken: at the slowest 10 ns each.
const CALM: usize = 128 << 10;

/// The steps of building states in vain.
const GIVEN_UP: u64 = 50_000;

/// Memory of the lazily built states of one pattern, in bytes and per thread searching at the same time.
const CACHE_BYTES: usize = 256 << 10;

/// The engines that searches have built for one pattern.
#[derive(Debug, Default)]
pub(super) struct Built {
    /// Boxed for its alignment: its vectors require 32 bytes, more than an allocator of Python objects provides.
    finder: OnceLock<Box<Finder<'static>>>,
    regex: OnceLock<Option<Regex>>,
    nfa_sim: OnceLock<NfaSim>,
    long: OnceLock<Option<Box<Long>>>,
}

/// The engine for long texts: states are built as they are needed, until they are no longer useful.
#[derive(Debug)]
struct Long {
    dfa: DFA,
    caches: Caches<Cache>,
}

impl Grows for Cache {
    fn bytes(&self) -> usize {
        self.memory_usage()
    }
}

impl Long {
    /// Returns true if the pattern is found; `None`: states were discarded faster than they were reused.
    fn search(&self, text: &str) -> Option<bool> {
        let input = Input::new(text).earliest(true);
        self.caches.search(
            || self.dfa.create_cache(),
            |cache| {
                let found = self.dfa.try_search_fwd(cache, &input).ok()?;
                Some(found.is_some())
            },
        )
    }
}

impl Built {
    #[inline]
    fn finder(&self, literal: &str) -> &Finder<'static> {
        self.finder
            .get_or_init(|| Box::new(Finder::new(literal.as_bytes()).into_owned()))
    }
}

impl Pattern {
    /// Returns true if the pattern is found in `text`.
    #[must_use]
    pub fn is_match(&self, text: &str) -> bool {
        // No pattern takes so many steps in any text there is room for.
        self.is_match_within(text, &Steps::endless())
            .unwrap_or(false)
    }

    /// Returns true if the pattern is found in `text`. The caller has taken the steps of scanning the text once; additional
    /// work takes steps here.
    ///
    /// # Errors
    /// [`Fault::BudgetExceeded`].
    #[inline]
    pub(crate) fn is_match_within(&self, text: &str, steps: &Steps) -> Result<bool, Fault> {
        let Inner {
            literal,
            rewrite,
            built,
            weight,
            ..
        } = &*self.inner;
        Ok(match literal {
            Some(LiteralKind::Exact(literal)) => text == literal,
            Some(LiteralKind::Prefix(literal)) => text.starts_with(literal.as_str()),
            Some(LiteralKind::Suffix(literal)) => text.ends_with(literal.as_str()),
            Some(LiteralKind::Contains(literal)) => {
                built.finder(literal).find(text.as_bytes()).is_some()
            }
            None if !rewrite.is_exact_on(text) => return self.search_nfa_sim(text, steps),
            None if text.len().saturating_mul(*weight) > CALM => {
                return self.search_long(text, steps);
            }
            None => match built.regex.get_or_init(|| self.build()) {
                Some(regex) => regex.is_match(text),
                None => return self.search_nfa_sim(text, steps),
            },
        })
    }

    /// Searches a text so long that its automaton must not be left to go the slow way in silence.
    #[cold]
    fn search_long(&self, text: &str, steps: &Steps) -> Result<bool, Fault> {
        let long = self.inner.built.long.get_or_init(|| self.build_long());
        if let Some(long) = long {
            if let Some(found) = long.search(text) {
                return Ok(found);
            }
            steps.take(GIVEN_UP)?;
        }
        self.search_nfa_sim(text, steps)
    }

    /// Builds the automaton ahead of the first search.
    pub(crate) fn prepare(&self) {
        let built = &self.inner.built;
        match &self.inner.literal {
            Some(LiteralKind::Exact(_) | LiteralKind::Prefix(_) | LiteralKind::Suffix(_)) => {}
            Some(LiteralKind::Contains(literal)) => {
                built.finder(literal);
            }
            None => {
                built.regex.get_or_init(|| self.build());
            }
        }
    }

    /// The same result along the plain path: slow, and the oracle of the tests.
    #[must_use]
    pub fn is_match_plain(&self, text: &str) -> bool {
        self.search_nfa_sim(text, &Steps::endless())
            .unwrap_or(false)
    }

    fn search_nfa_sim(&self, text: &str, steps: &Steps) -> Result<bool, Fault> {
        let Inner {
            hir,
            dialect,
            built,
            ..
        } = &*self.inner;
        built
            .nfa_sim
            .get_or_init(|| NfaSim::new(hir, *dialect))
            .is_match(text, steps)
    }

    fn build_long(&self) -> Option<Box<Long>> {
        let target = self.inner.target()?;
        let dfa = lazy_dfa(&[target], MatchKind::LeftmostFirst, CACHE_BYTES)?;
        let caches = Caches::new(&self.inner.budget);
        Some(Box::new(Long { dfa, caches }))
    }

    fn build(&self) -> Option<Regex> {
        let config = Config::new()
            .utf8_empty(false)
            .which_captures(WhichCaptures::Implicit)
            .nfa_size_limit(Some(NFA_BYTES))
            .hybrid_cache_capacity(CACHE_BYTES);
        Regex::builder()
            .configure(config)
            .build_from_hir(self.inner.target()?)
            .ok()
    }
}
