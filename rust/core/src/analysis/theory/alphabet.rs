//! Characters in classes that automata treat alike.

use std::collections::BTreeMap;

use crate::chars;

/// The first code point behind all characters.
const END: u32 = 0x11_0000;

/// The classes of characters of one automaton.
#[derive(Clone, Debug)]
pub(super) struct Alphabet {
    /// First code points of ranges, ascending from zero, and their classes.
    ranges: Vec<(u32, u32)>,
    ascii: Vec<u32>,
    /// A character of each class.
    samples: Vec<char>,
}

/// Ranges from their first code points: the first character of each, ascending.
fn samples(cuts: impl IntoIterator<Item = u32>) -> Vec<char> {
    // A range that begins among the surrogates begins behind them.
    let behind = |cut: u32| match cut {
        0xD800..0xE000 => '\u{E000}',
        cut => char::from_u32(cut).unwrap_or('\0'),
    };
    let mut samples: Vec<char> = cuts.into_iter().map(behind).chain(['\0']).collect();
    samples.sort_unstable();
    samples.dedup();
    samples
}

impl Alphabet {
    /// The classes of characters with equal labels. All characters between two of `cuts` have one label; `label` gives the
    /// labels of one character of each, ascending.
    pub(super) fn new<L: Ord>(
        cuts: impl IntoIterator<Item = u32>,
        label: impl FnOnce(&[char]) -> Vec<L>,
    ) -> Self {
        let firsts = samples(cuts);
        let labels = label(&firsts);
        let mut classes: BTreeMap<L, u32> = BTreeMap::new();
        let mut samples = Vec::new();
        let mut ranges: Vec<(u32, u32)> = Vec::new();
        for (first, label) in firsts.into_iter().zip(labels) {
            let next = samples.len() as u32;
            let class = *classes.entry(label).or_insert(next);
            if class == next {
                samples.push(first);
            }
            if ranges.last().is_none_or(|(_, last)| *last != class) {
                ranges.push((u32::from(first), class));
            }
        }
        let mut alphabet = Self {
            ranges,
            ascii: Vec::new(),
            samples,
        };
        alphabet.ascii = ('\0'..='\x7f').map(|found| alphabet.find(found)).collect();
        alphabet
    }

    /// The number of classes.
    pub(super) fn len(&self) -> usize {
        self.samples.len()
    }

    /// A character of a class.
    pub(super) fn sample(&self, class: u32) -> char {
        self.samples.get(class as usize).copied().unwrap_or('\0')
    }

    /// First code points of ranges of one class, ascending.
    pub(super) fn cuts(&self) -> impl Iterator<Item = u32> {
        self.ranges.iter().map(|(first, _)| *first)
    }

    /// The class of a character.
    pub(super) fn class(&self, found: char) -> u32 {
        match self.ascii.get(found as usize) {
            Some(class) => *class,
            None => self.find(found),
        }
    }

    fn find(&self, found: char) -> u32 {
        let after = self
            .ranges
            .partition_point(|(first, _)| *first <= u32::from(found));
        let range = after.checked_sub(1).and_then(|at| self.ranges.get(at));
        range.map_or(0, |(_, class)| *class)
    }
}

/// The classes that several alphabets have together, in the order in which a reader would rather see their characters.
#[derive(Debug)]
pub(super) struct Joint {
    /// The character of each class, and the classes that the alphabets have for it.
    pub(super) classes: Vec<(char, Box<[u32]>)>,
}

impl Joint {
    /// The common refinement of `alphabets`; `widths`: with one length in UTF-8 a class.
    pub(super) fn new(alphabets: &[&Alphabet], widths: bool) -> Self {
        let widths: &[u32] = if widths {
            &[0x80, 0x800, 0x1_0000]
        } else {
            &[]
        };
        let cuts = alphabets.iter().flat_map(|alphabet| alphabet.cuts());
        let firsts = samples(cuts.chain(widths.iter().copied()));
        let mut classes: BTreeMap<Box<[u32]>, (u32, char)> = BTreeMap::new();
        let mut at = vec![0_usize; alphabets.len()];
        let ends = firsts
            .iter()
            .skip(1)
            .map(|next| u32::from(*next))
            .chain([END]);
        for (first, end) in firsts.iter().zip(ends) {
            let mut key: Vec<u32> = Vec::with_capacity(alphabets.len() + 1);
            for (alphabet, at) in alphabets.iter().zip(&mut at) {
                while let Some((next, _)) = alphabet.ranges.get(*at + 1)
                    && *next <= u32::from(*first)
                {
                    *at += 1;
                }
                key.push(alphabet.ranges.get(*at).map_or(0, |(_, class)| *class));
            }
            if !widths.is_empty() {
                key.push(first.len_utf8() as u32);
            }
            let best = best(*first, end);
            classes
                .entry(key.into())
                .and_modify(|known| *known = best.min(*known))
                .or_insert(best);
        }
        let mut classes: Vec<_> = classes.into_iter().map(|(key, best)| (best, key)).collect();
        classes.sort_unstable_by_key(|(best, _)| *best);
        let classes = classes.into_iter().map(|((_, sample), key)| (sample, key));
        Self {
            classes: classes.collect(),
        }
    }
}

/// The character that a reader would rather see than the others from `first` up to `end`, with its rank.
fn best(first: char, end: u32) -> (u32, char) {
    let rank = |found: char| (rank(found), found);
    if first.is_ascii() {
        let last = end.min(0x80) - 1;
        let range = u32::from(first)..=last;
        let ranks = range.filter_map(|at| char::from_u32(at).map(rank));
        return ranks.min().unwrap_or_else(|| rank(first));
    }
    let range = u32::from(first)..end.min(u32::from(first) + 8);
    let ranks = range.filter_map(|at| char::from_u32(at).map(rank));
    ranks.min().unwrap_or_else(|| rank(first))
}

/// The place of a character in the order in which a reader would rather see it.
fn rank(found: char) -> u32 {
    match found {
        'a'..='z' => 0,
        '0'..='9' => 1,
        'A'..='Z' => 2,
        '-' | '_' => 3,
        '.' | '/' => 4,
        '!'..='~' => 5,
        ' ' => 6,
        found if found.is_ascii() => 9,
        found if chars::is_printable(found) => 7,
        _ => 10,
    }
}

/// The number of plain characters that a reader would rather see than a character.
pub(super) fn weight(found: char) -> u64 {
    match rank(found) {
        0..=6 => 1,
        7 => 2,
        _ => 4,
    }
}
