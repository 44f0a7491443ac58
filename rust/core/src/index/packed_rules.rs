//! Packed rules: rules that are evaluated one after the other and their matches, contiguous in memory.
//!
//! PERF: a row replaces a rule, its match and the reordered match, which take four lines of memory.

use crate::clause::flat_expr::Word;

/// The rows of a rule index whose rules no index finds.
#[derive(Debug, Default)]
pub(crate) struct PackedRules(Box<[Word]>);

/// One rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PackedRule<'r> {
    pub(crate) rule: u32,
    /// True if the rule permits a call.
    pub(crate) permits: bool,
    /// The match of the strict profile, where its truth decides; empty for any other rule.
    pub(crate) words: &'r [Word],
}

impl PackedRules {
    /// These rows.
    pub(crate) fn new<'r>(packed_rules: impl IntoIterator<Item = PackedRule<'r>>) -> Self {
        let mut words = Vec::new();
        for row in packed_rules {
            words.push(row.rule);
            words.push((row.words.len() as Word) << 1 | Word::from(row.permits));
            words.extend(row.words);
        }
        Self(words.into())
    }

    /// The rows, in order.
    #[inline]
    pub(crate) fn iter(&self) -> Iter<'_> {
        Iter(&self.0)
    }
}

/// Rows that are left.
#[derive(Clone, Debug, Default)]
pub(crate) struct Iter<'r>(&'r [Word]);

impl<'r> Iterator for Iter<'r> {
    type Item = PackedRule<'r>;

    #[inline]
    fn next(&mut self) -> Option<PackedRule<'r>> {
        let (&[rule, head], rest) = self.0.split_first_chunk()?;
        let (words, rest) = rest.split_at_checked((head >> 1) as usize)?;
        self.0 = rest;
        Some(PackedRule {
            rule,
            permits: head & 1 != 0,
            words,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{PackedRule, PackedRules};

    #[test]
    fn rows_are_read_as_they_were_made() {
        let row = |rule, permits, words| PackedRule {
            rule,
            permits,
            words,
        };
        let packed_rules = [
            row(3, true, &[8, 12][..]),
            row(7, false, &[]),
            row(u32::MAX, false, &[u32::MAX]),
        ];
        assert_eq!(
            PackedRules::new(packed_rules).iter().collect::<Vec<_>>(),
            packed_rules
        );
        assert_eq!(PackedRules::default().iter().next(), None);
    }
}
