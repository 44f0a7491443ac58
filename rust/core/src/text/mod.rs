//! Occurrence: whether a value stands in a text as a whole, not as a part of something longer.
//!
//! The operators `occurs_in` and `from` ask. A rule permits by a positive answer, so every uncertain answer is a negative one.
//! `docs/reference/occurrence.md` has the rules; `tests/oracle/occurrence.py` implements them a second time.
//!
//! INVARIANT: linear in the value and the text, whatever they are. No text of a request makes it panic.

mod boundaries;
mod decimal;
mod haystack;
mod iban;
mod search;

use std::borrow::Cow;

pub use haystack::Haystack;

use crate::chars;
use crate::num::number::Number;

/// Returns true if `needle` occurs in `haystack`; with `lower`, if it does when both are in lower case.
#[must_use]
pub fn occurs(needle: &str, haystack: &str, lower: bool) -> bool {
    Haystack::new(haystack, lower).holds(&Needle::text(needle, lower))
}

/// A value that is searched for.
#[derive(Debug)]
pub struct Needle<'n> {
    /// The text, with one space for each run of white space; empty of a number.
    text: Cow<'n, str>,
    /// The number that the value is, as [`decimal`] writes it.
    number: Option<String>,
    /// The text without spaces, of one that has the form of an IBAN.
    iban: Option<String>,
}

impl<'n> Needle<'n> {
    /// The needle that is a text.
    #[must_use]
    pub fn text(text: &'n str, lower: bool) -> Self {
        let text = normal(text, lower);
        Self {
            number: decimal::parse(&text),
            iban: iban::parse(&text, lower),
            text,
        }
    }

    /// The needle that is a number; `None`: it is infinite or none.
    #[must_use]
    pub fn number(number: &Number) -> Option<Self> {
        Some(Self {
            text: Cow::Borrowed(""),
            number: Some(decimal::of(number)?),
            iban: None,
        })
    }
}

/// The text with one space for each run of white space, and none at the ends.
fn normal(text: &str, lower: bool) -> Cow<'_, str> {
    if !lower && !text.contains(|found| found != ' ' && chars::is_space(found)) {
        let trimmed = text.trim_matches(' ');
        if !trimmed.contains("  ") {
            return Cow::Borrowed(trimmed);
        }
    }
    let mut out = String::with_capacity(text.len());
    for chunk in text
        .split(chars::is_space)
        .filter(|chunk| !chunk.is_empty())
    {
        if !out.is_empty() {
            out.push(' ');
        }
        push_cased(&mut out, chunk, lower);
    }
    Cow::Owned(out)
}

/// Appends a chunk, in lower case if that is asked for.
fn push_cased(out: &mut String, chunk: &str, lower: bool) {
    if !lower {
        return out.push_str(chunk);
    }
    let mut rest = chunk;
    while let Some(at) = rest.find(is_twin) {
        let (before, behind) = rest.split_at(at);
        out.push_str(&chars::lower(before));
        let mut behind = behind.chars();
        out.extend(behind.next());
        rest = behind.as_str();
    }
    out.push_str(&chars::lower(rest));
}

/// Signs that look like letters and have their lower case: the one of kelvin is no `k`.
pub(crate) fn is_twin(found: char) -> bool {
    matches!(found, '\u{212a}' | '\u{212b}' | '\u{2126}' | '\u{3f4}')
}
