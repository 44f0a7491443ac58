//! Exclusion index: finds the rules that a value excludes from those that are evaluated every time.
//!
//! A rule of negated clauses only has no guard. But each clause that it negates excludes it where the clause is true, and
//! true clauses are found as guards are. INVARIANT: the match of an excluded rule is false, whatever else the request
//! holds, so it leaves no trace. The remaining rules are evaluated in full.

use super::{PathIndex, Postings};

/// The number of rules evaluated before the exclusion index is used. PERF: where one of them decides, the values that only
/// the others need are not read.
pub(crate) const AT_ONCE: usize = 4;

/// Replaces the end of a list: the other number is that of a row of bits.
const ROW: u32 = u32::MAX;

/// Index that excludes rules of one rule index from those that are evaluated every time.
#[derive(Debug)]
pub(crate) struct ExclusionIndex {
    /// The paths to read; their lists are of positions among those rules.
    pub(crate) path_indexes: Vec<PathIndex>,
    pub(crate) lists: Places,
}

/// Lists of positions: short ones one after the other, long ones as bits.
#[derive(Debug, Default)]
pub(crate) struct Places {
    /// The number of words of a row.
    words: usize,
    short: Vec<u32>,
    rows: Vec<u64>,
}

impl Places {
    /// Lists of positions below `end`.
    pub(crate) fn new(end: usize) -> Self {
        Self {
            words: end.div_ceil(64),
            ..Self::default()
        }
    }

    /// Keeps a list of positions.
    pub(crate) fn keep(&mut self, places: &[u32]) -> Postings {
        if places.len() <= self.words {
            let from = self.short.len() as u32;
            self.short.extend(places);
            return (from, self.short.len() as u32);
        }
        let number = (self.rows.len() / self.words.max(1)) as u32;
        let mut row = vec![0; self.words];
        mark(&mut row, places);
        self.rows.append(&mut row);
        (number, ROW)
    }

    /// Clears the exclusions.
    #[inline]
    pub(crate) fn clear(&self, out: &mut Vec<u64>) {
        out.clear();
        out.resize(self.words, 0);
    }

    /// Excludes the positions of a list.
    #[inline]
    pub(crate) fn rule_out(&self, (from, to): Postings, out: &mut [u64]) {
        let from = from as usize;
        if to == ROW {
            let row = self.rows.get(from * self.words..).unwrap_or_default();
            for (word, more) in out.iter_mut().zip(row) {
                *word |= more;
            }
        } else {
            mark(out, self.short.get(from..to as usize).unwrap_or_default());
        }
    }
}

fn mark(bits: &mut [u64], places: &[u32]) {
    for place in places {
        if let Some(word) = bits.get_mut((place / 64) as usize) {
            *word |= 1 << (place % 64);
        }
    }
}

/// The first position from `from` on that is not excluded.
#[inline]
pub(crate) fn left(out: &[u64], from: u32) -> u32 {
    let mut at = (from / 64) as usize;
    let mut before = (1 << (from % 64)) - 1;
    while let Some(word) = out.get(at) {
        let free = !(word | before);
        if free != 0 {
            return at as u32 * 64 + free.trailing_zeros();
        }
        before = 0;
        at += 1;
    }
    at as u32 * 64
}

#[cfg(test)]
mod tests {
    use super::{Places, left};

    #[test]
    fn what_is_in_no_list_is_left() {
        let all: Vec<u32> = (0..200).collect();
        let mut places = Places::new(200);
        let lists = [
            places.keep(&all[..70]),
            places.keep(&[]),
            places.keep(&[71, 130]),
            places.keep(&all[75..]),
        ];
        let mut out = vec![u64::MAX; 9];
        places.clear(&mut out);
        assert_eq!(left(&out, 199), 199);
        for list in lists {
            places.rule_out(list, &mut out);
        }
        let mut found = vec![left(&out, 0)];
        while let Some(last) = found.last().copied()
            && last < 200
        {
            found.push(left(&out, last + 1));
        }
        assert_eq!(found, [70, 72, 73, 74, 200]);
    }
}
