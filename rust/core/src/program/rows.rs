//! Rows: rules that are judged one after the other and what judges them, side by side.
//!
//! PERF: a row is what a rule, its match and the form of it that is judged take four lines of memory to say.

use crate::expr::Word;

/// The rows of a segment whose rules no index finds.
#[derive(Debug, Default)]
pub(crate) struct Rows(Box<[Word]>);

/// One rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Row<'r> {
    pub(crate) rule: u32,
    /// Whether the rule lets a call run.
    pub(crate) permits: bool,
    /// The match of the strict profile, where its truth decides; empty for any other rule.
    pub(crate) words: &'r [Word],
}

impl Rows {
    /// These rows.
    pub(crate) fn new<'r>(rows: impl IntoIterator<Item = Row<'r>>) -> Self {
        let mut words = Vec::new();
        for row in rows {
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
#[derive(Debug, Default)]
pub(crate) struct Iter<'r>(&'r [Word]);

impl<'r> Iterator for Iter<'r> {
    type Item = Row<'r>;

    #[inline]
    fn next(&mut self) -> Option<Row<'r>> {
        let (&[rule, head], rest) = self.0.split_first_chunk()?;
        let (words, rest) = rest.split_at_checked((head >> 1) as usize)?;
        self.0 = rest;
        Some(Row {
            rule,
            permits: head & 1 != 0,
            words,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{Row, Rows};

    #[test]
    fn rows_are_read_as_they_were_made() {
        let row = |rule, permits, words| Row {
            rule,
            permits,
            words,
        };
        let rows = [
            row(3, true, &[8, 12][..]),
            row(7, false, &[]),
            row(u32::MAX, false, &[u32::MAX]),
        ];
        assert_eq!(Rows::new(rows).iter().collect::<Vec<_>>(), rows);
        assert_eq!(Rows::default().iter().next(), None);
    }
}
