//! Searching one pattern alone, anywhere in a text.

use std::sync::OnceLock;

use memchr::memmem::Finder;
use regex_automata::hybrid::dfa::{Cache, DFA};
use regex_automata::meta::{Config, Regex};
use regex_automata::nfa::thompson::WhichCaptures;
use regex_automata::{Input, MatchKind};

use super::cache::{Caches, Grows};
use super::nfa_compiler::{NFA_BYTES, NfaCompiler};
use super::nfa_sim::NfaSim;
use super::prefilter::{first_literal, needle};
use super::rewrite::without_words;
use super::{Inner, LiteralKind, Pattern};
use crate::budget::Steps;
use crate::bytes::literals::FirstLiteral;
use crate::error::Fault;

/// Bytes of a text times places in a pattern that are searched whichever way is taken: at the slowest 10 ns each. INVARIANT:
/// such a search takes no step of the budget, whatever the automaton has room for.
const CALM: usize = 128 << 10;

/// The bytes of a text beyond which literals are worth an engine that looks for them first. PERF: to build it takes 60 µs and
/// 18 KiB more than the automaton, for each pattern.
const PREFILTERED: usize = 256;

/// Bytes of a text times places in a pattern beyond which states may be so many that other ways to search are worth the same
/// engine. PERF: `[ab].{120}z$` in a text of 255 bytes takes 1 µs instead of 155, as it searches backwards.
const LIGHT: usize = 4 << 10;

/// Bytes of a text times places in a pattern up to which a wider pattern is searched for first.
const WIDE: usize = 32 << 10;

/// Bytes of a text times states of the wider pattern up to which it is: at the slowest 50 ps each, so that no such search takes
/// much longer than the one that it may save. A class such as `\w` is one place, and hundreds of states.
const WIDE_STATES: usize = 1 << 20;

/// The steps of building states in vain.
const GIVEN_UP: u64 = 50_000;

/// Memory of the lazily built states of one pattern, in bytes and per thread searching at the same time.
const CACHE_BYTES: usize = 256 << 10;

/// The engines that searches have built for one pattern.
#[derive(Debug, Default)]
pub(super) struct Built {
    /// Boxed for its alignment: its vectors require 32 bytes, more than an allocator of Python objects provides.
    finder: OnceLock<Box<Finder<'static>>>,
    lazy_dfa: OnceLock<Option<Box<Automaton>>>,
    /// Of a pattern whose automaton is exact on ASCII only: that of the pattern without boundaries of words, which rules
    /// most other texts out.
    wider: OnceLock<Option<Box<Superset>>>,
    prefiltered: OnceLock<Option<Regex>>,
    nfa_sim: OnceLock<Option<NfaSim>>,
}

/// The automaton of the pattern: states are built as they are needed, until they are no longer useful.
#[derive(Debug)]
struct Automaton {
    dfa: DFA,
    /// A literal that is in every text in which the pattern is found. PERF: looking for it takes a fifth of a search, which
    /// most texts do not need.
    needle: Option<Box<Finder<'static>>>,
    /// Without such a literal, the search for several of which one is there, or for one in either case.
    first: Option<Box<FirstLiteral>>,
    short: Caches<Cache>,
    /// Those of texts that take steps when states are built in vain, which short texts have no part in.
    long: OnceLock<Caches<Cache>>,
}

impl Grows for Cache {
    fn bytes(&self) -> usize {
        self.memory_usage()
    }
}

impl Automaton {
    /// Returns true if the pattern is found; `None`: states were discarded faster than they were reused.
    fn search(&self, caches: &Caches<Cache>, text: &str) -> Option<bool> {
        let input = Input::new(text).earliest(true);
        caches.search(
            || self.dfa.create_cache(),
            |cache| {
                let found = self.dfa.try_search_fwd(cache, &input).ok()?;
                Some(found.is_some())
            },
        )
    }

    /// The same of a short text: the literal that the pattern needs is looked for first.
    #[inline]
    fn search_short(&self, text: &str) -> Option<bool> {
        match self.lacks_literal(text) {
            true => Some(false),
            false => self.search(&self.short, text),
        }
    }

    /// Returns true if a text lacks a literal that is in every text in which the pattern is found.
    #[inline]
    fn lacks_literal(&self, text: &str) -> bool {
        match (&self.needle, &self.first) {
            (Some(needle), _) => needle.find(text.as_bytes()).is_none(),
            (None, Some(first)) => first.start(text.as_bytes()).is_none(),
            (None, None) => false,
        }
    }
}

/// An automaton that matches every text that its pattern matches, and perhaps others.
#[derive(Debug)]
struct Superset {
    dfa: DFA,
    /// The states that its own are made of.
    states: usize,
    caches: Caches<Cache>,
}

impl Superset {
    /// Returns false if the pattern is not found in `text`. INVARIANT: the same whatever was searched before, as a search of
    /// the pattern itself takes steps.
    fn holds(&self, text: &str) -> bool {
        if text.len().saturating_mul(self.states) > WIDE_STATES {
            return true;
        }
        let input = Input::new(text).earliest(true);
        let found = self.caches.search(
            || self.dfa.create_cache(),
            |cache| self.dfa.try_search_fwd(cache, &input).ok(),
        );
        found.is_none_or(|found| found.is_some())
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
            None if !rewrite.is_exact_on(text) => {
                // The automaton has other assertions than the pattern, and the same literals.
                if self.automaton().is_some_and(|all| all.lacks_literal(text)) {
                    return Ok(false);
                }
                // PERF: it takes 1 ns a byte where its states are few, the plain path 20.
                if text.len().saturating_mul(*weight) <= WIDE
                    && self.superset().is_some_and(|all| !all.holds(text))
                {
                    return Ok(false);
                }
                return self.search_nfa_sim(text, steps);
            }
            None if text.len().saturating_mul(*weight) > CALM => {
                return self.search_long(text, steps);
            }
            None if text.len() > PREFILTERED || text.len() * weight > LIGHT => {
                match built.prefiltered.get_or_init(|| self.build_prefiltered()) {
                    Some(regex) => regex.is_match(text),
                    None => return self.search_nfa_sim(text, steps),
                }
            }
            None => match self.automaton() {
                Some(automaton) => match automaton.search_short(text) {
                    Some(found) => found,
                    None => return self.search_nfa_sim(text, &Steps::endless()),
                },
                None => return self.search_nfa_sim(text, steps),
            },
        })
    }

    /// Searches a text so long that its automaton must not be left to go the slow way in silence.
    #[cold]
    fn search_long(&self, text: &str, steps: &Steps) -> Result<bool, Fault> {
        if let Some(automaton) = self.automaton() {
            let new = || Caches::new(&self.inner.budget);
            let caches = automaton.long.get_or_init(new);
            if let Some(found) = automaton.search(caches, text) {
                return Ok(found);
            }
            steps.take(GIVEN_UP)?;
        }
        self.search_nfa_sim(text, steps)
    }

    /// Builds the automaton ahead of the first search.
    pub(crate) fn prepare(&self, compiler: &NfaCompiler) {
        let built = &self.inner.built;
        match &self.inner.literal {
            Some(LiteralKind::Exact(_) | LiteralKind::Prefix(_) | LiteralKind::Suffix(_)) => {}
            Some(LiteralKind::Contains(literal)) => {
                built.finder(literal);
            }
            None => {
                built.lazy_dfa.get_or_init(|| self.build(compiler));
            }
        }
    }

    /// Returns true if the automaton of the pattern alone is there.
    #[cfg(test)]
    pub(crate) fn has_automaton(&self) -> bool {
        self.inner.built.lazy_dfa.get().is_some()
    }

    /// The same result along the plain path: slow, and the oracle of the tests.
    #[must_use]
    pub fn is_match_plain(&self, text: &str) -> bool {
        self.search_nfa_sim(text, &Steps::endless())
            .unwrap_or(false)
    }

    fn search_nfa_sim(&self, text: &str, steps: &Steps) -> Result<bool, Fault> {
        let build = || {
            let expression = self.inner.expression()?;
            Some(NfaSim::new(&expression.hir, self.inner.dialect))
        };
        match self.inner.built.nfa_sim.get_or_init(build) {
            Some(nfa_sim) => nfa_sim.is_match(text, steps),
            // INVARIANT: the pattern has an expression.
            None => Err(Fault::BudgetExceeded),
        }
    }

    #[inline]
    fn automaton(&self) -> Option<&Automaton> {
        let built = &self.inner.built;
        let automaton = built
            .lazy_dfa
            .get_or_init(|| self.build(&NfaCompiler::default()));
        automaton.as_deref()
    }

    #[inline]
    fn superset(&self) -> Option<&Superset> {
        let superset = self.inner.built.wider.get_or_init(|| {
            let wider = without_words(&self.inner.expression()?.hir)?;
            let dfa = NfaCompiler::default().steady_dfa(&wider, CACHE_BYTES)?;
            Some(Box::new(Superset {
                states: dfa.get_nfa().states().len(),
                dfa,
                caches: Caches::new(&self.inner.budget),
            }))
        });
        superset.as_deref()
    }

    fn build(&self, compiler: &NfaCompiler) -> Option<Box<Automaton>> {
        let expression = self.inner.searched()?;
        let target = expression.target();
        let dfa = compiler.lazy_dfa(&[target], MatchKind::LeftmostFirst, CACHE_BYTES)?;
        let finder = |literal: &[u8]| Box::new(Finder::new(literal).into_owned());
        let needle = needle(target).map(finder);
        let first = match needle {
            Some(_) => None,
            None => first_literal(std::iter::once(target)).map(Box::new),
        };
        Some(Box::new(Automaton {
            dfa,
            needle,
            first,
            short: Caches::new(&self.inner.budget),
            long: OnceLock::new(),
        }))
    }

    fn build_prefiltered(&self) -> Option<Regex> {
        let config = Config::new()
            .utf8_empty(false)
            .which_captures(WhichCaptures::Implicit)
            .nfa_size_limit(Some(NFA_BYTES))
            .hybrid_cache_capacity(CACHE_BYTES);
        Regex::builder()
            .configure(config)
            .build_from_hir(self.inner.searched()?.target())
            .ok()
    }
}

#[cfg(test)]
mod tests {
    use super::{CALM, LIGHT, Pattern, Steps, without_words};
    use crate::regex::Dialect;

    /// Texts of `length` bytes that reach as many states as they can.
    fn hostile(length: usize) -> impl Iterator<Item = String> {
        let mut state = 1_u64;
        std::iter::repeat_with(move || {
            let letters = (0..length).map(|_| {
                state = state
                    .wrapping_mul(6_364_136_223_846_793_005)
                    .wrapping_add(1);
                char::from(b"abcz"[(state >> 60) as usize % 4])
            });
            letters.collect()
        })
    }

    #[test]
    fn a_pattern_without_boundaries_of_words_is_found_wherever_it_is_found_with_them() {
        let patterns = [
            r"\b\d{2}\b",
            r"\ba\B",
            r"(?i)\b(k|ss?)\s+\w",
            r"\B1|\bä\b",
            r"^\b\w+\b$",
            r"(\b|x)a*\Z",
            r"\b",
            r"(?:\b\w){2}\b",
        ];
        let signs = [
            "a", "1", " ", "ä", "\u{663}", "_", "\n", "k", "\u{212a}", "s", "\u{17f}",
        ];
        let (mut some, mut ruled_out, mut state) = (0, 0, 7_u64);
        for text in patterns {
            let pattern = Pattern::parse(text, Dialect::Python).expect("a pattern");
            let expression = pattern.inner.expression().expect("an expression");
            assert!(without_words(&expression.hir).is_some(), "{text}");
            for length in (0..9).cycle().take(4_000) {
                let signs = std::iter::repeat_with(|| {
                    state = state
                        .wrapping_mul(6_364_136_223_846_793_005)
                        .wrapping_add(1);
                    signs[(state >> 40) as usize % signs.len()]
                });
                let subject: String = signs.take(length).collect();
                let found = pattern.is_match_plain(&subject);
                assert_eq!(pattern.is_match(&subject), found, "{text} in {subject:?}");
                some += usize::from(found);
                let superset = pattern.superset().expect("an automaton");
                let wider = superset.holds(&subject);
                assert!(!found || wider, "{text} in {subject:?}");
                ruled_out += usize::from(!wider);
            }
        }
        assert!(some > 5_000 && ruled_out > 2_000, "{some}, {ruled_out}");
    }

    /// The length of the longest texts that the automaton searches.
    fn light(pattern: &Pattern) -> usize {
        LIGHT / pattern.inner.weight
    }

    #[test]
    fn a_short_text_takes_no_step_though_the_automaton_gives_it_up() {
        let parsed = || Pattern::parse("[ab].{14}zz[bc].{9}z$", Dialect::Re2).expect("a pattern");
        let (pattern, same) = (parsed(), parsed());
        let automaton = same.automaton().expect("an automaton");
        let mut given_up = 0;
        for text in hostile(light(&pattern)).take(1_000) {
            given_up += usize::from(automaton.search(&automaton.short, &text).is_none());
            let found = pattern.is_match_within(&text, &Steps::of(0));
            assert_eq!(found, Ok(pattern.is_match_plain(&text)), "{text}");
        }
        assert!(given_up > 0);
    }

    #[test]
    fn a_long_text_takes_the_same_steps_whatever_short_texts_came_before() {
        let parsed = || Pattern::parse("[ab].{14}zz[bc].{9}z$", Dialect::Re2).expect("a pattern");
        let (pattern, fresh) = (parsed(), parsed());
        let mut shorts = hostile(light(&pattern));
        for tail in hostile(900).take(12) {
            for text in shorts.by_ref().take(5) {
                let _ = pattern.is_match(&text);
            }
            let text = format!("{}{tail}", "c".repeat(6_000));
            assert!(text.len() * pattern.inner.weight > CALM);
            let taken = [&pattern, &fresh].map(|pattern| {
                let steps = Steps::default();
                let found = pattern.is_match_within(&text, &steps);
                assert_eq!(found, Ok(pattern.is_match_plain(&text)));
                steps.taken()
            });
            assert_eq!(taken.first(), taken.last());
        }
    }
}
