//! The compiler of expressions to automata: made for one automaton, or for all that are built at once.
//!
//! PERF: its tables for classes of characters take 400 KB. With a compiler for each of them, 4,340 patterns take 255 ms to
//! prepare instead of 200.

use regex_automata::MatchKind;
use regex_automata::hybrid::dfa::{Config, DFA};
use regex_automata::nfa::thompson::{self, WhichCaptures};
use regex_syntax::hir::Hir;

/// Memory of one automaton under construction, in bytes. No pattern within [`crate::regex::MAX_COST`] comes near it; one
/// that did would take the plain path.
pub(super) const NFA_BYTES: usize = 64 << 20;

/// Compiles expressions, one after another.
#[derive(Debug)]
pub(crate) struct NfaCompiler(thompson::Compiler);

impl Default for NfaCompiler {
    fn default() -> Self {
        let config = thompson::Config::new()
            .utf8(false)
            .nfa_size_limit(Some(NFA_BYTES))
            .which_captures(WhichCaptures::None);
        let mut compiler = thompson::Compiler::new();
        compiler.configure(config);
        Self(compiler)
    }
}

fn config(matches: MatchKind, cache_bytes: usize) -> Config {
    DFA::config()
        .match_kind(matches)
        .cache_capacity(cache_bytes)
        .skip_cache_capacity_check(true)
}

impl NfaCompiler {
    /// An automaton for `hirs` whose states are built as they are needed, until they are discarded faster than they are
    /// reused.
    pub(super) fn lazy_dfa(
        &self,
        hirs: &[&Hir],
        matches: MatchKind,
        cache_bytes: usize,
    ) -> Option<DFA> {
        let config = config(matches, cache_bytes)
            .minimum_cache_clear_count(Some(1))
            .minimum_bytes_per_state(Some(10));
        self.dfa(hirs, config)
    }

    /// The same, whose states are built whatever becomes of them: it has a result for every text.
    pub(super) fn steady_dfa(&self, hir: &Hir, cache_bytes: usize) -> Option<DFA> {
        self.dfa(&[hir], config(MatchKind::LeftmostFirst, cache_bytes))
    }

    fn dfa(&self, hirs: &[&Hir], config: Config) -> Option<DFA> {
        let nfa = self.0.build_many_from_hir(hirs).ok()?;
        DFA::builder().configure(config).build_from_nfa(nfa).ok()
    }
}
