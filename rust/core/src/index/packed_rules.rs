//! Packed rules: the matches of the rules of one rule index and their clauses, contiguous in memory.
//!
//! PERF: a row replaces a rule, its match and the reordered match, which take four lines of memory; a clause of a row
//! replaces a clause of the program, its test and its operand, which take three.

use crate::clause::flat_expr::{Word, renumbered};
use crate::clause::inline::InlineTest;

/// Words before the match of a row: the number of the rule, and its flags with the length of the match.
const FLAG_BITS: u32 = 2;
const PERMITS: Word = 1;
const TRANSFORMS: Word = 2;

/// The rows of a rule index.
#[derive(Debug, Default)]
pub(crate) struct PackedRules {
    words: Box<[Word]>,
    /// The start of each row.
    starts: Box<[u32]>,
    clauses: Box<[RowClause]>,
}

/// A clause of a row.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct RowClause {
    /// The clause of the program.
    pub(crate) clause: u32,
    /// Its path.
    pub(crate) path: u32,
    /// Its test, if it is one that stands here.
    pub(crate) test: InlineTest,
}

/// One rule.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct PackedRule<'r> {
    pub(crate) rule: u32,
    /// True if the rule permits a call.
    pub(crate) permits: bool,
    /// True if the rule rewrites the arguments when it fires.
    pub(crate) transforms: bool,
    /// The match, of which the clauses are those of `clauses`; empty for a rule without one.
    pub(crate) words: &'r [Word],
    /// The clauses of all rows.
    pub(crate) clauses: &'r [RowClause],
}

/// A row to make.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RowSpec<'r> {
    pub(crate) rule: u32,
    pub(crate) permits: bool,
    pub(crate) transforms: bool,
    /// The match, of which the clauses are those of the program.
    pub(crate) words: &'r [Word],
}

impl PackedRules {
    /// These rows; `clause` makes a clause of a row from one of the program.
    pub(crate) fn new<'r>(
        rows: impl IntoIterator<Item = RowSpec<'r>>,
        clause: impl Fn(u32) -> RowClause,
    ) -> Self {
        let (mut words, mut starts, mut clauses) = (Vec::new(), Vec::new(), Vec::new());
        for row in rows {
            starts.push(words.len() as u32);
            words.push(row.rule);
            let flags =
                (Word::from(row.permits) * PERMITS) | (Word::from(row.transforms) * TRANSFORMS);
            words.push((row.words.len() as Word) << FLAG_BITS | flags);
            words.extend(renumbered(row.words, |index| {
                clauses.push(clause(index));
                clauses.len() as u32 - 1
            }));
        }
        Self {
            words: words.into(),
            starts: starts.into(),
            clauses: clauses.into(),
        }
    }

    /// The rows, in order.
    #[inline]
    pub(crate) fn iter(&self) -> Iter<'_> {
        Iter(&self.words, &self.clauses)
    }

    /// The row at one place.
    #[inline]
    pub(crate) fn get(&self, place: u32) -> Option<PackedRule<'_>> {
        let start = *self.starts.get(place as usize)?;
        Iter(self.words.get(start as usize..)?, &self.clauses).next()
    }
}

/// Rows that are left.
#[derive(Clone, Debug, Default)]
pub(crate) struct Iter<'r>(&'r [Word], &'r [RowClause]);

impl<'r> Iterator for Iter<'r> {
    type Item = PackedRule<'r>;

    #[inline]
    fn next(&mut self) -> Option<PackedRule<'r>> {
        let (&[rule, head], rest) = self.0.split_first_chunk()?;
        let (words, rest) = rest.split_at_checked((head >> FLAG_BITS) as usize)?;
        self.0 = rest;
        Some(PackedRule {
            rule,
            permits: head & PERMITS != 0,
            transforms: head & TRANSFORMS != 0,
            words,
            clauses: self.1,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::{InlineTest, PackedRules, RowClause, RowSpec};
    use crate::clause::flat_expr::{Connective, Part, close, expression, open, push_leaf};

    #[test]
    fn rows_are_read_as_they_were_made() {
        let mut words = Vec::new();
        let opened = open(&mut words);
        push_leaf(&mut words, 7);
        push_leaf(&mut words, 9);
        close(&mut words, opened, Connective::Any);
        let mut one = Vec::new();
        push_leaf(&mut one, 4);
        let row = |rule, permits, words| RowSpec {
            rule,
            permits,
            transforms: !permits,
            words,
        };
        let rows = [
            row(3, true, &words[..]),
            row(7, false, &[]),
            row(u32::MAX, false, &one[..]),
        ];
        let packed = PackedRules::new(rows, |clause| RowClause {
            clause,
            path: clause + 1,
            test: InlineTest::Flag(true),
        });
        let read: Vec<_> = packed.iter().collect();
        assert_eq!(read.len(), 3);
        for (place, (row, made)) in read.iter().zip(rows).enumerate() {
            assert_eq!(packed.get(place as u32).as_ref(), Some(row));
            let flags = (row.rule, row.permits, row.transforms);
            assert_eq!(flags, (made.rule, made.permits, made.transforms));
            assert_eq!(row.words.len(), made.words.len());
            let mut found = Vec::new();
            if !row.words.is_empty() {
                expression(row.words)
                    .leaves(&mut |clause| found.push(row.clauses[clause as usize].clause));
                assert!(matches!(expression(row.words), Part::Of(..)) == (row.rule == 3));
            }
            assert_eq!(found, [&[7, 9][..], &[], &[4]][place]);
        }
        assert_eq!(packed.get(3), None);
        assert_eq!(PackedRules::default().iter().next(), None);
    }
}
