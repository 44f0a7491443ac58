//! Sets of characters and the steps both dialects take with them.

use regex_syntax::hir::{ClassUnicode, ClassUnicodeRange};

/// Ranges of scalar values from inclusive ranges of code points: surrogates are in no text, and so in no set.
pub(in crate::regex) fn from_points(lo: u32, hi: u32) -> impl Iterator<Item = ClassUnicodeRange> {
    let low = range(lo, hi.min(0xD7FF));
    let high = range(lo.max(0xE000), hi);
    low.into_iter().chain(high)
}

fn range(lo: u32, hi: u32) -> Option<ClassUnicodeRange> {
    (lo <= hi).then_some(())?;
    Some(ClassUnicodeRange::new(
        char::from_u32(lo)?,
        char::from_u32(hi)?,
    ))
}

/// A set from inclusive ranges of code points.
pub(in crate::regex) fn from_table(table: &[(u32, u32)]) -> ClassUnicode {
    ClassUnicode::new(table.iter().flat_map(|(lo, hi)| from_points(*lo, *hi)))
}

/// A set from inclusive ranges of characters.
pub(in crate::regex) fn from_ranges(ranges: &[(char, char)]) -> ClassUnicode {
    ClassUnicode::new(
        ranges
            .iter()
            .map(|(lo, hi)| ClassUnicodeRange::new(*lo, *hi)),
    )
}

/// Returns the complement of `class`.
pub(in crate::regex) fn negated(mut class: ClassUnicode) -> ClassUnicode {
    class.negate();
    class
}

/// Any character, without line feed unless `line_feed`.
pub(in crate::regex) fn any(line_feed: bool) -> ClassUnicode {
    let ranges: &[(char, char)] = if line_feed {
        &[('\0', char::MAX)]
    } else {
        &[('\0', '\x09'), ('\x0b', char::MAX)]
    };
    from_ranges(ranges)
}
