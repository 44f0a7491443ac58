//! Sets of characters as `CPython`'s `re` has them: its own word, digit and space classes, its own idea of case.
//!
//! Case works on lower case there: a character is in a set if its lower case is in the set of the lower cases. The tables
//! are generated from `CPython` itself.

use std::sync::LazyLock;

use regex_syntax::hir::{ClassUnicode, ClassUnicodeRange};

use super::class::{from_points, from_ranges, from_table, negated};
use super::tables::{python, re2};
use crate::chars::LOWER;

static WORD: LazyLock<ClassUnicode> = LazyLock::new(|| from_table(python::WORD));

static DIGIT: LazyLock<ClassUnicode> = LazyLock::new(|| from_table(python::DIGIT));

static SPACE: LazyLock<ClassUnicode> = LazyLock::new(|| from_table(python::SPACE));

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
        ('d', true) => from_ranges(re2::DIGIT),
        ('s', true) => from_ranges(&[('\t', '\r'), (' ', ' ')]),
        ('w', true) => from_ranges(re2::WORD),
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
    if found.is_ascii() {
        return found == '_' || found.is_ascii_alphanumeric();
    }
    let point = u32::from(found);
    let after = python::WORD.partition_point(|(lo, _)| *lo <= point);
    after
        .checked_sub(1)
        .and_then(|index| python::WORD.get(index))
        .is_some_and(|(_, hi)| point <= *hi)
}

/// The characters `lo..=hi` match; `None` where `re` ignores case beyond U+FFFF in a way of its own.
pub(in crate::regex) fn span(lo: u32, hi: u32, case: Case) -> Option<ClassUnicode> {
    let plain: Vec<ClassUnicodeRange> = from_points(lo, hi).collect();
    match case {
        Case::Exact => Some(ClassUnicode::new(plain)),
        Case::Ascii if lo <= 0xFFFF && hi > 0xFFFF => None,
        Case::Unicode | Case::Ascii if hi > 0xFFFF => {
            let cased = between(LOWER, lo, hi)
                .next()
                .or_else(|| between(python::UPPER, lo, hi).next());
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
    for (upper, lower) in between(LOWER, lo, hi) {
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
        .flat_map(|(lo, hi)| between(python::EXTRA, *lo, *hi))
        .map(|(_, partner)| (partner, partner))
        .collect();
    lowered.extend(extra);
    let mut found: Vec<ClassUnicodeRange> = Vec::new();
    for (lo, hi) in lowered {
        // A character that has another lower case is never in a set of lower cases.
        let mut next = lo;
        for (upper, _) in between(LOWER, lo, hi) {
            if next < upper {
                found.extend(from_points(next, upper - 1));
            }
            next = upper + 1;
        }
        if next <= hi {
            found.extend(from_points(next, hi));
        }
        found.extend(
            between(python::UPPER, lo, hi).flat_map(|(_, upper)| from_points(upper, upper)),
        );
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
