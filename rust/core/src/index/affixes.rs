//! Affixes: rules by how their guards want a string to begin or end, found by one look-up for each length there is.

use std::collections::BTreeSet;

use super::Postings;
use crate::bytes::strmap::StrMap;
use crate::clause::ops::affix::End;

/// Most different lengths of the affixes of one end.
const MAX_LENGTHS: usize = 64;

/// The affixes of one end, of one path and rule index.
#[derive(Debug)]
pub(crate) struct Affixes {
    end: End,
    /// Their lengths in bytes, ascending.
    lengths: Box<[usize]>,
    rules: StrMap<Postings>,
}

impl Affixes {
    /// `None`: they have too many lengths to be looked up.
    pub(crate) fn new(end: End, texts: Vec<(Box<str>, Postings)>) -> Option<Self> {
        let lengths: BTreeSet<usize> = texts.iter().map(|(text, _)| text.len()).collect();
        (lengths.len() <= MAX_LENGTHS).then(|| Self {
            end,
            lengths: lengths.into_iter().collect(),
            rules: StrMap::new(texts),
        })
    }

    /// Calls `add` with the rules of every affix that `text` has.
    pub(crate) fn search(&self, text: &str, mut add: impl FnMut(Postings)) {
        for &length in &self.lengths {
            let part = match self.end {
                End::Start => text.get(..length),
                End::End => text
                    .len()
                    .checked_sub(length)
                    .and_then(|from| text.get(from..)),
            };
            if let Some(part) = part
                && let Some(rules) = self.rules.get(part)
            {
                add(*rules);
            }
        }
    }
}
