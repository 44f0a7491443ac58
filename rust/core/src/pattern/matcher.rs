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

/// Searches one pattern in a text, anywhere. Safe to use from many threads.
#[derive(Debug)]
pub struct Matcher {
    pattern: Arc<Inner>,
    literal: Option<LiteralKind>,
    /// Boxed for its alignment: vectors inside ask for 32 bytes, more than an allocator of Python objects gives.
    finder: Option<Box<Finder<'static>>>,
    regex: OnceLock<Option<Regex>>,
    plain: OnceLock<Plain>,
}

impl Matcher {
    pub(super) fn new(pattern: &Pattern) -> Self {
        let literal = pattern.literal_kind();
        let finder = match &literal {
            Some(LiteralKind::Contains(literal)) => {
                Some(Box::new(Finder::new(literal.as_bytes()).into_owned()))
            }
            Some(LiteralKind::Exact(_) | LiteralKind::Prefix(_) | LiteralKind::Suffix(_))
            | None => None,
        };
        Self {
            pattern: Arc::clone(&pattern.inner),
            literal,
            finder,
            regex: OnceLock::new(),
            plain: OnceLock::new(),
        }
    }

    /// The literal test this matcher makes, if that is all it does.
    #[must_use]
    pub fn literal(&self) -> Option<&LiteralKind> {
        self.literal.as_ref()
    }

    /// Whether the pattern is found in `text`.
    #[must_use]
    pub fn is_match(&self, text: &str) -> bool {
        if let Some(finder) = &self.finder {
            return finder.find(text.as_bytes()).is_some();
        }
        if let Some(literal) = &self.literal {
            return literal.is_match(text);
        }
        if self.pattern.lane.judges(text)
            && let Some(regex) = self.regex.get_or_init(|| self.build())
        {
            return regex.is_match(text);
        }
        self.is_match_plain(text)
    }

    /// The same answer along the plain path: slow, and the oracle of the tests.
    #[must_use]
    pub fn is_match_plain(&self, text: &str) -> bool {
        self.plain
            .get_or_init(|| Plain::new(&self.pattern.hir, self.pattern.dialect))
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
            .build_from_hir(self.pattern.lane.hir.as_ref()?)
            .ok()
    }
}
