//! Expressions over clauses, flat: one word per node, each connective before its items.
//!
//! PERF: the expressions of a policy are one list, made and dropped at once; evaluating one walks a few neighbouring words.

/// One word: its kind in the low bits, in the others the clause, or the length of its items.
pub type Word = u32;

const TAG_BITS: u32 = 2;

const TAG: Word = (1 << TAG_BITS) - 1;

/// The connectives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum Connective {
    /// True when every item is.
    All = 1,
    /// True when one item is.
    Any = 2,
    /// The negation of its one item.
    Not = 3,
}

/// One node of an expression.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part<'c> {
    /// A connective and its items.
    Of(Connective, Parts<'c>),
    /// A clause, by its index.
    Leaf(u32),
}

/// Expressions one after the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parts<'c>(&'c [Word]);

impl<'c> Iterator for Parts<'c> {
    type Item = Part<'c>;

    #[inline]
    fn next(&mut self) -> Option<Part<'c>> {
        let (&word, rest) = self.0.split_first()?;
        let connective = match word & TAG {
            1 => Connective::All,
            2 => Connective::Any,
            3 => Connective::Not,
            _ => {
                self.0 = rest;
                return Some(Part::Leaf(word >> TAG_BITS));
            }
        };
        let (items, after) = rest.split_at_checked((word >> TAG_BITS) as usize)?;
        self.0 = after;
        Some(Part::Of(connective, Parts(items)))
    }
}

impl<'c> Parts<'c> {
    /// The words of these expressions.
    #[must_use]
    pub fn words(self) -> &'c [Word] {
        self.0
    }
}

/// The first expression of `words`; without one, a clause that no program has, which is an error.
#[inline]
#[must_use]
pub fn expression(words: &[Word]) -> Part<'_> {
    Parts(words).next().unwrap_or(Part::Leaf(u32::MAX))
}

impl Part<'_> {
    /// Calls `visit` with every clause.
    pub fn leaves(self, visit: &mut impl FnMut(u32)) {
        match self {
            Part::Leaf(clause) => visit(clause),
            Part::Of(_, items) => {
                for item in items {
                    item.leaves(visit);
                }
            }
        }
    }
}

/// The same words with other clauses.
pub(crate) fn renumbered(
    words: &[Word],
    mut clause: impl FnMut(u32) -> u32,
) -> impl Iterator<Item = Word> {
    words.iter().map(move |&word| match word & TAG {
        0 => clause(word >> TAG_BITS) << TAG_BITS,
        _ => word,
    })
}

/// Appends a clause.
pub fn push_leaf(words: &mut Vec<Word>, clause: u32) {
    words.push(clause << TAG_BITS);
}

/// Appends a connective; its items are the words until [`close`] is called with the result.
#[must_use]
pub fn open(words: &mut Vec<Word>) -> usize {
    words.push(0);
    words.len()
}

/// Closes a connective of [`open`].
pub fn close(words: &mut [Word], opened: usize, connective: Connective) {
    let items = (words.len() - opened) as Word;
    if let Some(word) = opened.checked_sub(1).and_then(|at| words.get_mut(at)) {
        *word = (items << TAG_BITS) | connective as Word;
    }
}
