//! Properties of characters in Unicode 14.0, as in CPython 3.11.
//!
//! INVARIANT: decisions use no other tables. Those of the standard library are the compiler's, so the same bundle would
//! decide otherwise in a build by another one; `clippy.toml` forbids them. [`tables`] is generated, and a test has the
//! fingerprints of [`classes`].

pub(crate) mod classes;
mod expand;
#[cfg(feature = "analysis")]
pub(crate) mod lowering;
mod tables;

use regex_syntax::hir::ClassUnicode;

use classes::range_of;
pub(crate) use classes::{ALPHA, DECIMAL};
pub(crate) use tables::{LOWER, NUMERIC, SAME_IN_PATTERNS};

/// The version of Unicode.
pub const UNICODE_VERSION: (u8, u8, u8) = (14, 0, 0);

/// `str.isspace` of one character.
#[inline]
pub fn is_space(found: char) -> bool {
    matches!(found,
        '\t'..='\r' | '\x1c'..=' ' | '\u{85}' | '\u{a0}' | '\u{1680}' | '\u{2000}'..='\u{200a}' | '\u{2028}'
        | '\u{2029}' | '\u{202f}' | '\u{205f}' | '\u{3000}')
}

/// Returns true if a character is in a class.
fn is_of(class: &ClassUnicode, found: char) -> bool {
    range_of(class, found).is_some()
}

/// Returns true if a character is in a table.
fn is_in(table: &[(u32, u32)], found: char) -> bool {
    let point = u32::from(found);
    let after = table.partition_point(|(low, _)| *low <= point);
    after
        .checked_sub(1)
        .and_then(|at| table.get(at))
        .is_some_and(|(_, high)| point <= *high)
}

/// `str.isalpha` of one character.
pub(crate) fn is_alpha(found: char) -> bool {
    found.is_ascii_alphabetic() || (!found.is_ascii() && is_of(&ALPHA, found))
}

/// `str.isdecimal` of one character.
pub(crate) fn is_decimal(found: char) -> bool {
    found.is_ascii_digit() || (!found.is_ascii() && is_of(&DECIMAL, found))
}

/// The value of a decimal digit beyond ASCII. The digits of a script are consecutive, from zero.
pub(crate) fn decimal(found: char) -> Option<u8> {
    let first = range_of(&DECIMAL, found)?.start();
    u8::try_from((u32::from(found) - u32::from(first)) % 10).ok()
}

/// `str.isdigit` of one character.
pub(crate) fn is_digit(found: char) -> bool {
    found.is_ascii_digit() || (!found.is_ascii() && is_in(&tables::DIGIT, found))
}

/// `str.isnumeric` of one character.
pub(crate) fn is_numeric(found: char) -> bool {
    found.is_ascii_digit() || (!found.is_ascii() && is_in(&tables::NUMERIC, found))
}

/// `str.isprintable` of one character.
pub fn is_printable(found: char) -> bool {
    if found.is_ascii() {
        (' '..='~').contains(&found)
    } else {
        is_of(&classes::PRINTABLE, found)
    }
}

/// Returns true if a character is a lower-case letter.
pub(crate) fn is_lower(found: char) -> bool {
    found.is_ascii_lowercase() || (!found.is_ascii() && is_of(&classes::LOWERCASE, found))
}

/// Returns true if a character is an upper-case letter.
pub(crate) fn is_upper(found: char) -> bool {
    found.is_ascii_uppercase() || (!found.is_ascii() && is_of(&classes::UPPERCASE, found))
}

/// Returns true if a character is a letter of any case.
pub(crate) fn is_cased(found: char) -> bool {
    is_lower(found) || is_upper(found) || is_title(found)
}

/// Returns true if the final-sigma rule skips a character.
fn is_ignorable(found: char) -> bool {
    matches!(found, '\'' | '.' | ':' | '^' | '`')
        || (!found.is_ascii() && is_of(&classes::IGNORABLE, found))
}

/// Returns true if a character is a title-case letter.
pub(crate) fn is_title(found: char) -> bool {
    matches!(u32::from(found),
        0x1C5 | 0x1C8 | 0x1CB | 0x1F2 | 0x1F88..=0x1F8F | 0x1F98..=0x1F9F | 0x1FA8..=0x1FAF | 0x1FBC | 0x1FCC | 0x1FFC)
}

/// The characters that a table has for one.
fn mapped(table: &[[u16; 4]], found: char) -> Option<impl Iterator<Item = char>> {
    let point = u16::try_from(u32::from(found)).ok()?;
    let at = table
        .binary_search_by_key(&point, |[from, ..]| *from)
        .ok()?;
    let [_, to @ ..] = *table.get(at)?;
    let to = to.into_iter().take_while(|point| *point != 0);
    Some(to.filter_map(|point| char::from_u32(point.into())))
}

/// The one character that a table has for another.
fn paired(table: &[(u32, u32)], found: char) -> Option<char> {
    let at = table
        .binary_search_by_key(&u32::from(found), |(from, _)| *from)
        .ok()?;
    table.get(at).and_then(|(_, to)| char::from_u32(*to))
}

/// Appends the lower case of one character, regardless of its context.
pub(crate) fn push_lower(out: &mut String, found: char) {
    if found.is_ascii() {
        out.push(found.to_ascii_lowercase());
    } else if let Some(more) = mapped(&tables::LOWER_MORE, found) {
        out.extend(more);
    } else {
        out.push(paired(&tables::LOWER, found).unwrap_or(found));
    }
}

/// Appends the mapping of one character, if it is in either table.
fn push_mapped(
    out: &mut String,
    found: char,
    (one, more): (&[(u32, u32)], &[[u16; 4]]),
) -> Option<()> {
    match paired(one, found) {
        Some(other) => out.push(other),
        None => out.extend(mapped(more, found)?),
    }
    Some(())
}

/// Appends the upper case of one character.
pub(crate) fn push_upper(out: &mut String, found: char) {
    if found.is_ascii() {
        out.push(found.to_ascii_uppercase());
    } else if push_mapped(out, found, (&tables::UPPER, &tables::UPPER_MORE)).is_none() {
        out.push(found);
    }
}

/// Appends the title case of one character.
pub(crate) fn push_title(out: &mut String, found: char) {
    if push_mapped(out, found, (&tables::TITLE, &tables::TITLE_MORE)).is_none() {
        push_upper(out, found);
    }
}

/// `text.lower()`.
#[must_use]
pub fn lower(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_lowercase();
    }
    let mut out = String::with_capacity(text.len());
    for (at, found) in text.char_indices() {
        if found == SIGMA {
            out.push(if is_final(text, at) { 'ς' } else { 'σ' });
        } else {
            push_lower(&mut out, found);
        }
    }
    out
}

const SIGMA: char = 'Σ';

/// Returns true if the sigma at byte `at` ends a word: a letter precedes it, and no letter follows it.
///
/// PERF: linear over a text, as the search from a sigma ends at another one, which is a letter.
fn is_final(text: &str, at: usize) -> bool {
    let (before, behind) = text.split_at(at);
    let letter = |found: Option<char>| found.is_some_and(is_cased);
    let mut behind = behind.chars().skip(1);
    letter(before.chars().rev().find(|found| !is_ignorable(*found)))
        && !letter(behind.find(|found| !is_ignorable(*found)))
}

/// `text.upper()`.
#[must_use]
pub fn upper(text: &str) -> String {
    if text.is_ascii() {
        return text.to_ascii_uppercase();
    }
    let mut out = String::with_capacity(text.len());
    text.chars().for_each(|found| push_upper(&mut out, found));
    out
}

/// `text.casefold()`.
#[must_use]
pub fn folded(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for found in text.chars() {
        if push_mapped(&mut out, found, (&tables::FOLDED, &tables::FOLDED_MORE)).is_none() {
            push_lower(&mut out, found);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::{folded, lower, upper};

    #[test]
    fn case_is_what_python_says() {
        assert_eq!(folded("Straße ΣΑΣ"), "strasse σασ");
        assert_eq!(lower("ΑΣ ΑΣ'Β Σ ΑΣ' İ"), "ας ασ'β σ ας' i\u{307}");
        assert_eq!(upper("straße ǆ ŉ"), "STRASSE Ǆ \u{2bc}N");
    }

    #[test]
    fn characters_that_came_after_this_version_have_no_case() {
        for late in ['\u{10D50}', '\u{A7CB}', '\u{A7DA}'] {
            let text = late.to_string();
            assert_eq!(lower(&text), text);
            assert_eq!(folded(&text), text);
        }
        assert_eq!(upper("\u{10D70}"), "\u{10D70}");
    }
}
