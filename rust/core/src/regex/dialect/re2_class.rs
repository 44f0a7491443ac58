//! Sets of characters as RE2 has them: Perl, POSIX and Unicode classes, case folding.

use std::sync::LazyLock;

use regex_syntax::hir::{ClassUnicode, ClassUnicodeRange};

use super::class::{from_points, from_ranges, negated};
use super::re2_names;
use crate::chars::classes::parsed;

/// The characters of Unicode 15.1, google-re2's version: later ones are in none of its classes and have no case there.
static ASSIGNED: LazyLock<ClassUnicode> = LazyLock::new(|| property("age=15.1"));

/// The one character that a later version moved to another category: AHOM CONSONANT SIGN MEDIAL RA.
const MOVED: (char, char) = ('\u{1171E}', '\u{1171E}');

/// `\d`, `\S` and the like, by their letter.
pub(in crate::regex) fn perl(letter: char, fold: bool) -> Option<ClassUnicode> {
    let ranges = match letter.to_ascii_lowercase() {
        'd' => re2_names::DIGIT,
        's' => re2_names::SPACE,
        'w' => re2_names::WORD,
        _ => return None,
    };
    Some(signed(
        from_ranges(ranges),
        letter.is_ascii_uppercase(),
        fold,
    ))
}

/// `[:alpha:]`, by its name without the negation.
pub(in crate::regex) fn posix(name: &str, negative: bool, fold: bool) -> Option<ClassUnicode> {
    let (_, ranges) = re2_names::POSIX.iter().find(|(known, _)| *known == name)?;
    Some(signed(from_ranges(ranges), negative, fold))
}

/// `\p{Greek}`, by its name.
pub(in crate::regex) fn unicode(name: &str, negative: bool, fold: bool) -> Option<ClassUnicode> {
    let class = if name == "Any" {
        from_ranges(&[('\0', char::MAX)])
    } else if name == "C" {
        let mut class = property("gc=Cc");
        class.union(&property("gc=Cf"));
        class.union(&property("gc=Co"));
        class
    } else if name == "Cs" {
        ClassUnicode::empty()
    } else if name == "Mn" {
        let mut class = property("gc=Mn");
        class.union(&from_ranges(&[MOVED]));
        class
    } else if name == "Mc" {
        let mut class = property("gc=Mc");
        class.difference(&from_ranges(&[MOVED]));
        class
    } else if re2_names::CATEGORIES.binary_search(&name).is_ok() {
        property(&format!("gc={name}"))
    } else if re2_names::SCRIPTS.binary_search(&name).is_ok() {
        property(&format!("sc={name}"))
    } else {
        return None;
    };
    let class = if name == "Any" || name == "Cs" {
        class
    } else {
        assigned(class)
    };
    Some(signed(class, negative, fold))
}

fn assigned(mut class: ClassUnicode) -> ClassUnicode {
    class.intersect(&ASSIGNED);
    class
}

/// A property of the Unicode tables.
fn property(query: &str) -> ClassUnicode {
    parsed(&format!(r"\p{{{query}}}"))
}

fn signed(class: ClassUnicode, negative: bool, fold: bool) -> ClassUnicode {
    let class = if fold { folded(class) } else { class };
    if negative { negated(class) } else { class }
}

/// `class` and every character that differs from one of it in case only.
pub(in crate::regex) fn folded(class: ClassUnicode) -> ClassUnicode {
    let mut inside = class.clone();
    if !class.is_ascii() {
        inside.intersect(&ASSIGNED);
    }
    if inside.try_case_fold_simple().is_err() {
        return class;
    }
    // PERF: the partners of ASCII are all in Unicode 15, which spares the intersection (30 us).
    if !class.is_ascii() {
        inside.intersect(&ASSIGNED);
    }
    inside.union(&class);
    inside
}

/// A range of code points, with the characters that differ in case only if `fold`.
pub(in crate::regex) fn span(lo: u32, hi: u32, fold: bool) -> ClassUnicode {
    let class = ClassUnicode::new(from_points(lo, hi).collect::<Vec<ClassUnicodeRange>>());
    if fold { folded(class) } else { class }
}
