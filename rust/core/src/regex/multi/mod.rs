//! Many patterns, searched in one pass over the text.

pub(crate) mod automaton;

use std::sync::{Arc, OnceLock};

use super::cache::CacheBudget;
use super::expression::Expression;
use super::nfa_compiler::NfaCompiler;
use super::prefilter::{Prefilter, first_literal};
use super::rewrite::Target;
use super::{LiteralKind, Pattern};
use crate::budget::{Pace, Steps};
use crate::bytes::literals::FirstLiteral;
use crate::error::Fault;
use automaton::{Automaton, CHUNK_COST, CHUNK_PATTERNS};

/// Below this an automaton gains nothing over searching one by one.
const FEWEST: usize = 3;

/// With fewer patterns than this the automaton runs on every text that has a literal of one of them: to find out of which
/// would be another pass over the text.
const FEWEST_PREFILTERED: usize = 24;

/// Up to this many patterns with a literal in the text are searched one by one.
const FEW_CANDIDATES: usize = 4;

/// Fewer patterns are searched together even so, in a text of at most so many bytes. PERF: their automaton is soon built, and
/// is at hand whichever of them it is about; one of each pattern's own takes memory and a first search for every pattern.
const TOGETHER: (usize, usize) = (64, 256);

/// The steps of an automaton that gave up on a text.
const GIVEN_UP: u64 = 20_000;

/// Memory of the lazily built states of all automata of a set, in bytes and per thread searching at the same time.
const CACHE_BYTES: usize = 32 << 20;

/// Memory of the lazily built states of one automaton, in bytes: at most, and at least.
const CHUNK_CACHE_BYTES: (usize, usize) = (256 << 10, 4 << 20);

/// The patterns of a set that were found: a bit per pattern. Reuse one per thread; nothing is allocated once it has grown.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MatchSet {
    words: Vec<u64>,
}

impl MatchSet {
    /// An empty set of any length.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns true if pattern `index` was found.
    #[must_use]
    pub fn contains(&self, index: usize) -> bool {
        self.words
            .get(index / 64)
            .is_some_and(|word| word & (1 << (index % 64)) != 0)
    }

    /// The indexes of the patterns found, ascending.
    pub fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        self.words.iter().enumerate().flat_map(|(index, word)| {
            let mut rest = *word;
            std::iter::from_fn(move || {
                let bit = (rest != 0).then(|| rest.trailing_zeros() as usize)?;
                rest &= rest - 1;
                Some(index * 64 + bit)
            })
        })
    }

    pub(crate) fn reset(&mut self, patterns: usize) {
        self.words.clear();
        self.words.resize(patterns.div_ceil(64), 0);
    }

    pub(crate) fn insert(&mut self, index: usize) {
        if let Some(word) = self.words.get_mut(index / 64) {
            *word |= 1 << (index % 64);
        }
    }
}

/// Searches all its patterns at once. Safe to use from many threads.
#[derive(Debug)]
pub struct PatternSet {
    patterns: Vec<Pattern>,
    /// Patterns that an automaton searches, some of them on ASCII only.
    together: Vec<usize>,
    /// Patterns that are searched one by one on every text, on ASCII too.
    alone: Vec<usize>,
    /// Patterns of `together` that are searched one by one where the automaton is not exact.
    ascii_only: Vec<usize>,
    plan: OnceLock<Plan>,
    budget: CacheBudget,
}

/// The plan for searching the patterns of an automaton together.
#[derive(Debug, Default)]
struct Plan {
    /// Of few patterns: a text without any of their literals is not searched.
    first_literal: Option<FirstLiteral>,
    prefilter: Option<Prefilter>,
    /// The first of them, up to `unfiltered`, search every text, the others only a text that has one of their literals.
    chunks: Vec<Chunk>,
    unfiltered: usize,
    /// By pattern: its chunk.
    chunk_of: Vec<u32>,
}

/// Patterns of one automaton, which is built by the first search for them.
#[derive(Debug)]
struct Chunk {
    patterns: Vec<usize>,
    cache_bytes: usize,
    automaton: OnceLock<Automaton>,
}

impl PatternSet {
    /// A set of `patterns`, known by their index in the slice. Cheap: automata are built by the first search.
    #[must_use]
    pub fn build(patterns: &[&Pattern]) -> Self {
        Self::build_within(patterns, &CacheBudget::default())
    }

    /// The same, whose automata keep their states within `budget`.
    #[must_use]
    pub fn build_within(patterns: &[&Pattern], budget: &CacheBudget) -> Self {
        let patterns: Vec<Pattern> = patterns.iter().copied().cloned().collect();
        let (mut together, mut alone): (Vec<usize>, Vec<usize>) =
            (0..patterns.len()).partition(|index| {
                patterns
                    .get(*index)
                    .is_some_and(|pattern| match &pattern.inner.literal {
                        Some(
                            LiteralKind::Exact(_) | LiteralKind::Prefix(_) | LiteralKind::Suffix(_),
                        ) => false,
                        Some(LiteralKind::Contains(_)) | None => {
                            pattern.inner.rewrite.target != Target::Nothing
                        }
                    })
            });
        if together.len() < FEWEST {
            alone.append(&mut together);
        }
        let ascii_only = |index: &usize| {
            patterns
                .get(*index)
                .is_some_and(|pattern| pattern.inner.rewrite.ascii_only)
        };
        let ascii_only = together.iter().copied().filter(ascii_only).collect();
        Self {
            patterns,
            together,
            alone,
            ascii_only,
            plan: OnceLock::new(),
            budget: budget.clone(),
        }
    }

    /// The number of patterns.
    #[must_use]
    pub fn len(&self) -> usize {
        self.patterns.len()
    }

    /// Returns true if there is no pattern.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.patterns.is_empty()
    }

    /// Puts into `found` exactly the patterns found in `text`.
    pub fn matches(&self, text: &str, found: &mut MatchSet) {
        // The budget is unlimited.
        let _ = self.matches_within(text, found, &Steps::endless());
    }

    /// The same. The caller has taken the steps of one pass over the text; further work takes steps here.
    ///
    /// # Errors
    /// [`Fault::BudgetExceeded`]: not all of them were found.
    pub(crate) fn matches_within(
        &self,
        text: &str,
        found: &mut MatchSet,
        steps: &Steps,
    ) -> Result<(), Fault> {
        if self.together.is_empty() {
            found.reset(self.patterns.len());
            return self.one_by_one(&self.alone, text, found, steps);
        }
        let plan = self.plan.get_or_init(|| self.plan());
        // Candidates are few, or only their chunks count.
        let (mut few, mut count) = ([0_usize; FEW_CANDIDATES], 0);
        let mut wanted = 0_u64;
        if let Some(prefilter) = &plan.prefilter {
            prefilter.search(text, (found, steps), |pattern| {
                if let Some(slot) = few.get_mut(count) {
                    *slot = pattern;
                }
                count += 1;
                let chunk = plan.chunk_of.get(pattern).copied().unwrap_or_default();
                // Chunks past the last bit share it.
                wanted |= 1 << chunk.min(63);
            })?;
        }
        found.reset(self.patterns.len());
        self.one_by_one(&self.alone, text, found, steps)?;
        let (patterns, bytes) = TOGETHER;
        let alone = self.together.len() >= patterns || text.len() > bytes;
        if alone && let Some(few) = few.get(..count) {
            self.one_by_one(few, text, found, steps)?;
            wanted = 0;
        }
        let ascii = !text.is_empty() && text.is_ascii();
        let first = plan.first_literal.as_ref();
        let chunks = match first.is_some_and(|first| first.start(text.as_bytes()).is_none()) {
            true => &[][..],
            false => &plan.chunks,
        };
        for (number, chunk) in chunks.iter().enumerate() {
            if number < plan.unfiltered || wanted & (1 << number.min(63)) != 0 {
                self.search(chunk, (text, ascii), found, steps)?;
            }
        }
        match ascii {
            true => Ok(()),
            false => self.one_by_one(&self.ascii_only, text, found, steps),
        }
    }

    fn search(
        &self,
        chunk: &Chunk,
        (text, ascii): (&str, bool),
        found: &mut MatchSet,
        steps: &Steps,
    ) -> Result<(), Fault> {
        let trusted = |index: usize| {
            ascii
                || self
                    .patterns
                    .get(index)
                    .is_some_and(|pattern| !pattern.inner.rewrite.ascii_only)
        };
        match self.automaton(chunk).search(text, &trusted, found) {
            true => Ok(()),
            false => {
                steps.take(GIVEN_UP)?;
                self.one_by_one(&chunk.patterns, text, found, steps)
            }
        }
    }

    #[inline]
    fn automaton<'c>(&self, chunk: &'c Chunk) -> &'c Automaton {
        chunk
            .automaton
            .get_or_init(|| self.build_automaton(chunk, &NfaCompiler::default()))
    }

    fn build_automaton(&self, chunk: &Chunk, compiler: &NfaCompiler) -> Automaton {
        let expressions = self.expressions(&chunk.patterns);
        let hirs = expressions
            .as_ref()
            .map(|all| all.iter().map(|one| one.target()).collect());
        let caches = (chunk.cache_bytes, &self.budget);
        Automaton::new(hirs, chunk.patterns.clone(), caches, compiler)
    }

    /// The expressions of patterns. INVARIANT: each has one. Without them, patterns are searched one by one.
    fn expressions(&self, patterns: &[usize]) -> Option<Vec<Arc<Expression>>> {
        let expression = |index: &usize| self.patterns.get(*index)?.inner.searched();
        patterns.iter().map(expression).collect()
    }

    /// Builds the automata ahead of the first searches.
    pub(crate) fn prepare(&self, compiler: &NfaCompiler) {
        if !self.together.is_empty() {
            for chunk in &self.plan.get_or_init(|| self.plan()).chunks {
                let build = || self.build_automaton(chunk, compiler);
                chunk.automaton.get_or_init(build);
            }
        }
        for (index, pattern) in self.patterns.iter().enumerate() {
            if !self.answers(index) {
                pattern.prepare(compiler);
            }
        }
    }

    /// Returns true if the automaton of the set decides on a pattern, whose own automaton is needed only for a text that the
    /// set gives up.
    pub(crate) fn answers(&self, index: usize) -> bool {
        if self.together.binary_search(&index).is_err()
            || self.ascii_only.binary_search(&index).is_ok()
        {
            return false;
        }
        let plan = self.plan.get_or_init(|| self.plan());
        let chunk = plan.chunk_of.get(index);
        chunk.is_some_and(|chunk| (*chunk as usize) < plan.unfiltered)
    }

    fn one_by_one(
        &self,
        indexes: &[usize],
        text: &str,
        found: &mut MatchSet,
        steps: &Steps,
    ) -> Result<(), Fault> {
        for index in indexes {
            if let Some(pattern) = self.patterns.get(*index) {
                steps.text(text.len(), Pace::Search)?;
                if pattern.is_match_within(text, steps)? {
                    found.insert(*index);
                }
            }
        }
        Ok(())
    }

    #[cold]
    fn plan(&self) -> Plan {
        let expressions = self.expressions(&self.together);
        let hirs = expressions.iter().flatten().map(|one| &one.hir);
        let (first_literal, (prefilter, unfiltered)) = match expressions.is_some() {
            true if self.together.len() >= FEWEST_PREFILTERED => {
                let hirs = self.together.iter().copied().zip(hirs);
                (None, Prefilter::new(hirs))
            }
            true => (first_literal(hirs), (None, self.together.clone())),
            false => (None, (None, self.together.clone())),
        };
        let mut chunks = self.chunks(unfiltered.iter().copied());
        let asked_always = chunks.len();
        let rest = self.together.iter().copied();
        chunks.extend(self.chunks(rest.filter(|index| unfiltered.binary_search(index).is_err())));
        let (least, most) = CHUNK_CACHE_BYTES;
        let cache_bytes = (CACHE_BYTES / chunks.len().max(1)).clamp(least, most);
        let mut chunk_of = vec![0; self.patterns.len()];
        for (number, patterns) in chunks.iter().enumerate() {
            for pattern in patterns {
                if let Some(chunk) = chunk_of.get_mut(*pattern) {
                    *chunk = number as u32;
                }
            }
        }
        Plan {
            first_literal,
            prefilter,
            chunks: chunks
                .into_iter()
                .map(|patterns| Chunk {
                    patterns,
                    cache_bytes,
                    automaton: OnceLock::new(),
                })
                .collect(),
            unfiltered: asked_always,
            chunk_of,
        }
    }

    /// The patterns, as many together as one automaton takes.
    fn chunks(&self, patterns: impl Iterator<Item = usize>) -> Vec<Vec<usize>> {
        let mut chunks: Vec<Vec<usize>> = Vec::new();
        let (mut chunk, mut cost) = (Vec::new(), 0);
        for index in patterns {
            let more = self
                .patterns
                .get(index)
                .map_or(0, |pattern| pattern.inner.cost);
            if !chunk.is_empty() && (chunk.len() >= CHUNK_PATTERNS || cost + more > CHUNK_COST) {
                chunks.push(std::mem::take(&mut chunk));
                cost = 0;
            }
            chunk.push(index);
            cost += more;
        }
        if !chunk.is_empty() {
            chunks.push(chunk);
        }
        chunks
    }
}
