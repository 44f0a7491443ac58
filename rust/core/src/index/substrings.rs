//! Needles: rules by the substring or element that their guards require, found in one pass over the value.

use std::sync::OnceLock;

use memchr::memmem::Finder;

use super::Postings;
use crate::budget::{Pace, Steps};
use crate::bytes::strmap::StrMap;
use crate::bytes::substrings::Substrings;
use crate::error::Fault;
use crate::regex::MatchSet;

/// The needles of one path and rule index.
#[derive(Debug)]
pub(crate) struct SubstringIndex {
    /// The needles searched for in strings, and the rules that need each.
    texts: Vec<(Box<Finder<'static>>, Postings)>,
    /// Built by the first search; `None` if that failed.
    automaton: OnceLock<Option<Box<Substrings>>>,
    /// Rules by a string that an element of a list must equal.
    pub(crate) strings: StrMap<Postings>,
    /// Rules by an integer that an element of a list must equal, sorted.
    pub(crate) ints: Vec<(i64, Postings)>,
    /// All rules, for values that cannot be scanned.
    pub(crate) all: Postings,
}

impl SubstringIndex {
    pub(crate) fn new(
        texts: Vec<(Box<str>, Postings)>,
        ints: Vec<(i64, Postings)>,
        all: Postings,
    ) -> Self {
        Self {
            texts: texts
                .iter()
                .map(|(text, rules)| {
                    let finder = Finder::new(text.as_bytes()).into_owned();
                    (Box::new(finder), *rules)
                })
                .collect(),
            strings: StrMap::new(texts),
            automaton: OnceLock::new(),
            ints,
            all,
        }
    }

    /// The lists of the rules whose needle is in `text`, each once; `found` is working memory.
    ///
    /// # Errors
    /// [`Fault::BudgetExceeded`]: not all of them were found.
    pub(crate) fn search(
        &self,
        text: &str,
        (found, steps): (&mut MatchSet, &Steps),
        mut add: impl FnMut(Postings),
    ) -> Result<(), Fault> {
        steps.text(text.len(), Pace::Search)?;
        // PERF: one needle takes 20 ns and 0.04 a byte, the automaton 2 ns a byte for all of them.
        let one_by_one = self.texts.len() * (20 + text.len() / 25) < 2 * text.len();
        let automaton = match one_by_one {
            true => None,
            false => self.automaton.get_or_init(|| self.build()).as_ref(),
        };
        let Some(automaton) = automaton else {
            for (needle, rules) in &self.texts {
                if needle.find(text.as_bytes()).is_some() {
                    add(*rules);
                }
            }
            return Ok(());
        };
        found.reset(self.texts.len());
        let needle = |at: usize| {
            let found = self.texts.get(at);
            found.map_or(&[][..], |(needle, _)| needle.needle())
        };
        automaton.each_hit(text, needle, steps, |index| {
            if !found.contains(index) {
                found.insert(index);
                if let Some((_, rules)) = self.texts.get(index) {
                    add(*rules);
                }
            }
            true
        })
    }

    /// Builds the searcher ahead of the first search.
    pub(crate) fn prepare(&self) {
        self.automaton.get_or_init(|| self.build());
    }

    #[cold]
    fn build(&self) -> Option<Box<Substrings>> {
        let texts = self.texts.iter().map(|(needle, _)| needle.needle());
        Substrings::new(&texts.collect::<Vec<_>>()).map(Box::new)
    }
}
