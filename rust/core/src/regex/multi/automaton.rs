//! One lazily built automaton for some patterns of a set: every match of every pattern in one pass.

use std::sync::atomic::{AtomicU32, Ordering};

use regex_automata::hybrid::dfa::{Cache, DFA};
use regex_automata::{Input, MatchKind, PatternSet as Found};
use regex_syntax::hir::Hir;

use super::MatchSet;
use crate::regex::cache::{CacheBudget, Caches, Grows};
use crate::regex::nfa_compiler::NfaCompiler;

/// Patterns in one automaton, at most.
pub(in crate::regex) const CHUNK_PATTERNS: usize = 1024;

/// Cost of the patterns in one automaton, at most, unless it is one pattern.
pub(in crate::regex) const CHUNK_COST: usize = 40_000;

/// After this many texts in a row for which states were discarded faster than they were reused, an automaton is disabled
/// for a while.
const MAX_GIVE_UPS: u32 = 8;

/// The number of texts that it skips while disabled; the next one is tried again.
const REST: u32 = 64;

/// The working memory of one search.
struct Scratch {
    cache: Cache,
    found: Found,
}

impl Grows for Scratch {
    fn bytes(&self) -> usize {
        self.cache.memory_usage()
    }
}

/// Searches its patterns together, as long as that is faster.
pub(in crate::regex) struct Automaton {
    patterns: Vec<usize>,
    engine: Option<(DFA, Caches<Scratch>)>,
    /// Texts in a row that it gave up, and while it rests those that came since.
    disabled: AtomicU32,
}

impl std::fmt::Debug for Automaton {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Automaton")
            .field("patterns", &self.patterns)
            .finish_non_exhaustive()
    }
}

impl Automaton {
    /// An automaton for `hirs`, which gives up on every text without them; `patterns` are their indexes in the set, in the
    /// same order.
    pub(in crate::regex) fn new(
        hirs: Option<Vec<&Hir>>,
        patterns: Vec<usize>,
        (cache_bytes, budget): (usize, &CacheBudget),
        compiler: &NfaCompiler,
    ) -> Self {
        let dfa = hirs.and_then(|hirs| compiler.lazy_dfa(&hirs, MatchKind::All, cache_bytes));
        let engine = dfa.map(|dfa| (dfa, Caches::new(budget)));
        Self {
            patterns,
            engine,
            disabled: AtomicU32::new(0),
        }
    }

    /// Adds what is found in `text` among the patterns it is `trusted` with. Returns false if it gave up: the caller
    /// searches its patterns one by one.
    pub(in crate::regex) fn search(
        &self,
        text: &str,
        trusted: &dyn Fn(usize) -> bool,
        found: &mut MatchSet,
    ) -> bool {
        let Some((dfa, caches)) = &self.engine else {
            return false;
        };
        let disabled = self.disabled.load(Ordering::Relaxed);
        if disabled >= MAX_GIVE_UPS {
            let rested = disabled >= MAX_GIVE_UPS + REST;
            let next = if rested {
                MAX_GIVE_UPS - 1
            } else {
                disabled + 1
            };
            self.disabled.store(next, Ordering::Relaxed);
            if !rested {
                return false;
            }
        }
        let make = || Scratch {
            cache: dfa.create_cache(),
            found: Found::new(self.patterns.len()),
        };
        let searched = caches.search(make, |Scratch { cache, found: hits }| {
            hits.clear();
            dfa.try_which_overlapping_matches(cache, &Input::new(text), hits)
                .ok()?;
            // PERF: the iterator visits every pattern, one by one: 0.3 to 0.6 ns each, when most texts have none.
            for hit in hits.iter().take(hits.len()) {
                if let Some(index) = self
                    .patterns
                    .get(hit.as_usize())
                    .filter(|index| trusted(**index))
                {
                    found.insert(*index);
                }
            }
            Some(())
        });
        if searched.is_none() {
            self.disabled.fetch_add(1, Ordering::Relaxed);
        } else if disabled > 0 {
            self.disabled.store(0, Ordering::Relaxed);
        }
        searched.is_some()
    }
}

#[cfg(test)]
mod tests {
    use super::{Automaton, CacheBudget, MAX_GIVE_UPS, NfaCompiler, REST};
    use crate::regex::multi::MatchSet;
    use crate::regex::{Dialect, Pattern};

    /// Patterns with more states than the budget holds, and a text that reaches all of them.
    fn crowded() -> (Automaton, String) {
        let patterns: Vec<Pattern> = ["[ab].{14}z", "[bd].{15}z", "[cf].{16}z"]
            .iter()
            .map(|text| Pattern::parse(text, Dialect::Re2).expect("a pattern"))
            .collect();
        let expressions: Vec<_> = patterns
            .iter()
            .map(|pattern| pattern.inner.expression().expect("an expression"))
            .collect();
        let hirs = Some(expressions.iter().map(|one| &one.hir).collect());
        let caches = (32 << 10, &CacheBudget::default());
        let automaton = Automaton::new(hirs, vec![0, 1, 2], caches, &NfaCompiler::default());
        let mut state = 1_u64;
        let letters = (0..20_000).map(|_| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1);
            char::from(b"abcdefgh"[(state >> 60) as usize % 8])
        });
        (automaton, letters.collect())
    }

    fn search(automaton: &Automaton, text: &str) -> Option<Vec<usize>> {
        let mut found = MatchSet::new();
        found.reset(3);
        let searched = automaton.search(text, &|_| true, &mut found);
        searched.then(|| found.iter().collect())
    }

    #[test]
    fn a_text_that_is_given_up_leaves_the_automaton_to_the_next_one() {
        let (automaton, hostile) = crowded();
        for _ in 0..3 * MAX_GIVE_UPS {
            assert_eq!(search(&automaton, &hostile), None);
            assert_eq!(search(&automaton, "a12345678901234z"), Some(vec![0]));
        }
    }

    #[test]
    fn an_automaton_rests_after_many_such_texts_in_a_row_and_is_tried_again() {
        let (automaton, hostile) = crowded();
        for _ in 0..MAX_GIVE_UPS {
            assert_eq!(search(&automaton, &hostile), None);
        }
        let rested = (0..=REST).filter(|_| search(&automaton, "x").is_none());
        assert_eq!(rested.count(), REST as usize);
        assert_eq!(search(&automaton, "x"), Some(Vec::new()));
    }
}
