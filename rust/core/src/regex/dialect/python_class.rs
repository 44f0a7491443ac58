//! Sets of characters as `CPython`'s `re` has them: its own word, digit and space classes, its own idea of case.
//!
//! Case works on lower case there: a character is in a set if its lower case is in the set of the lower cases. The tables
//! are generated from `CPython` itself: see `crate::chars`.

use std::sync::LazyLock;

use regex_syntax::hir::{ClassUnicode, ClassUnicodeRange};

use super::class::{from_points, from_ranges, from_table, negated};
use super::re2_names;
use crate::chars::{
    ALPHA, DECIMAL, LOWER, NUMERIC, SAME_IN_PATTERNS, is_alpha, is_numeric, is_space,
};

static WORD: LazyLock<ClassUnicode> = LazyLock::new(|| {
    let mut class = from_ranges(re2_names::WORD);
    class.union(&ALPHA);
    class.union(&from_table(&NUMERIC));
    class
});

static DIGIT: LazyLock<ClassUnicode> = LazyLock::new(|| {
    let mut class = from_ranges(re2_names::DIGIT);
    class.union(&DECIMAL);
    class
});

static SPACE: LazyLock<ClassUnicode> = LazyLock::new(|| {
    let spaces = ('\0'..='\u{3000}').filter(|found| is_space(*found));
    ClassUnicode::new(spaces.map(|found| ClassUnicodeRange::new(found, found)))
});

/// Lower case and the characters that have it, by lower case.
static UPPER: LazyLock<Vec<(u32, u32)>> = LazyLock::new(|| {
    let mut pairs: Vec<(u32, u32)> = LOWER
        .iter()
        .map(|(upper, lower)| (*lower, *upper))
        .collect();
    pairs.sort_unstable();
    pairs
});

/// The characters that are equal when case is ignored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::regex) enum Case {
    Exact,
    Ascii,
    Unicode,
}

/// `\d`, `\S` and the like, by their letter.
pub(in crate::regex) fn category(letter: char, ascii: bool) -> Option<ClassUnicode> {
    let class = match (letter.to_ascii_lowercase(), ascii) {
        ('d', false) => DIGIT.clone(),
        ('s', false) => SPACE.clone(),
        ('w', false) => WORD.clone(),
        ('d', true) => from_ranges(re2_names::DIGIT),
        ('s', true) => from_ranges(&[('\t', '\r'), (' ', ' ')]),
        ('w', true) => from_ranges(re2_names::WORD),
        _ => return None,
    };
    Some(if letter.is_ascii_uppercase() {
        negated(class)
    } else {
        class
    })
}

/// Returns true if a character is a word character for `\b` without `(?a)`.
pub(in crate::regex) fn is_word(found: char) -> bool {
    found == '_' || is_alpha(found) || is_numeric(found)
}

/// The characters `lo..=hi` match; `None` where `re` ignores case beyond U+FFFF in a way of its own.
pub(in crate::regex) fn span(lo: u32, hi: u32, case: Case) -> Option<ClassUnicode> {
    let plain: Vec<ClassUnicodeRange> = from_points(lo, hi).collect();
    match case {
        Case::Exact => Some(ClassUnicode::new(plain)),
        Case::Ascii if lo <= 0xFFFF && hi > 0xFFFF => None,
        Case::Unicode | Case::Ascii if hi > 0xFFFF => {
            let cased = between(&LOWER, lo, hi)
                .next()
                .or_else(|| between(&UPPER, lo, hi).next());
            (lo > 0xFFFF && cased.is_none()).then(|| ClassUnicode::new(plain))
        }
        Case::Ascii => {
            let mut class = ClassUnicode::new(plain);
            let mut letters = class.clone();
            letters.intersect(&from_ranges(&[('A', 'Z'), ('a', 'z')]));
            for range in letters.ranges() {
                let flip = |found: char| {
                    if found.is_ascii_lowercase() {
                        found.to_ascii_uppercase()
                    } else {
                        found.to_ascii_lowercase()
                    }
                };
                class.push(ClassUnicodeRange::new(
                    flip(range.start()),
                    flip(range.end()),
                ));
            }
            Some(class)
        }
        Case::Unicode => Some(unicode_case(lo, hi)),
    }
}

/// Every character whose lower case is the lower case, or an extra partner of it, of one in `lo..=hi`.
fn unicode_case(lo: u32, hi: u32) -> ClassUnicode {
    let mut lowered: Vec<(u32, u32)> = Vec::new();
    let mut next = lo;
    for (upper, lower) in between(&LOWER, lo, hi) {
        if next < upper {
            lowered.push((next, upper - 1));
        }
        lowered.push((lower, lower));
        next = upper + 1;
    }
    if next <= hi {
        lowered.push((next, hi));
    }
    let extra: Vec<(u32, u32)> = lowered
        .iter()
        .flat_map(|(lo, hi)| between(SAME_IN_PATTERNS, *lo, *hi))
        .map(|(_, partner)| (partner, partner))
        .collect();
    lowered.extend(extra);
    let mut found: Vec<ClassUnicodeRange> = Vec::new();
    for (lo, hi) in lowered {
        // A character that has another lower case is never in a set of lower cases.
        let mut next = lo;
        for (upper, _) in between(&LOWER, lo, hi) {
            if next < upper {
                found.extend(from_points(next, upper - 1));
            }
            next = upper + 1;
        }
        if next <= hi {
            found.extend(from_points(next, hi));
        }
        found.extend(between(&UPPER, lo, hi).flat_map(|(_, upper)| from_points(upper, upper)));
    }
    ClassUnicode::new(found)
}

/// The rows of a table whose first column is in `lo..=hi`.
fn between(table: &'static [(u32, u32)], lo: u32, hi: u32) -> impl Iterator<Item = (u32, u32)> {
    let start = table.partition_point(|(point, _)| *point < lo);
    table
        .iter()
        .skip(start)
        .take_while(move |(point, _)| *point <= hi)
        .copied()
}
