//! Sets of characters by a property, as CPython 3.11 has them: the tables of `regex-syntax` without the characters that
//! came after Unicode 14.0, and with the few whose property was another one then.

use std::sync::LazyLock;

use regex_syntax::hir::{Class, ClassUnicode, ClassUnicodeRange, Hir, HirKind};

/// `str.isalpha`.
pub(crate) static ALPHA: LazyLock<ClassUnicode> = LazyLock::new(|| known(r"\p{L}"));

/// `str.isdecimal`.
pub(crate) static DECIMAL: LazyLock<ClassUnicode> = LazyLock::new(|| known(r"\p{Nd}"));

/// `str.isprintable`, but for the space.
pub(super) static PRINTABLE: LazyLock<ClassUnicode> = LazyLock::new(|| known(r"[^\p{C}\p{Z}]"));

/// `str.islower`. Some modifier letters were not in lower case yet.
pub(super) static LOWERCASE: LazyLock<ClassUnicode> =
    LazyLock::new(|| known(r"[\p{Lowercase}--\u{10fc}\u{a7f2}-\u{a7f4}\u{ab69}]"));

/// `str.isupper`.
pub(super) static UPPERCASE: LazyLock<ClassUnicode> = LazyLock::new(|| known(r"\p{Uppercase}"));

/// The characters that the final-sigma rule skips. AHOM CONSONANT SIGN MEDIAL RA was one of them.
pub(super) static IGNORABLE: LazyLock<ClassUnicode> =
    LazyLock::new(|| known(r"[\p{Case_Ignorable}\u{1171e}]"));

/// The characters of a class that Unicode 14.0 has.
fn known(class: &str) -> ClassUnicode {
    parsed(&format!(r"[{class}&&\p{{age=14.0}}]"))
}

/// The characters that a class of `regex-syntax` matches; none for an invalid one, which a test excludes.
pub(crate) fn parsed(class: &str) -> ClassUnicode {
    match regex_syntax::parse(class).map(Hir::into_kind) {
        Ok(HirKind::Class(Class::Unicode(class))) => class,
        // A class of one character.
        Ok(HirKind::Literal(literal)) => {
            let text = String::from_utf8_lossy(&literal.0);
            ClassUnicode::new(
                text.chars()
                    .map(|found| ClassUnicodeRange::new(found, found)),
            )
        }
        Ok(_) | Err(_) => ClassUnicode::empty(),
    }
}

/// The range of a class that a character is in.
pub(super) fn range_of(class: &ClassUnicode, found: char) -> Option<&ClassUnicodeRange> {
    let after = class
        .ranges()
        .partition_point(|range| range.start() <= found);
    let range = class.ranges().get(after.checked_sub(1)?)?;
    (found <= range.end()).then_some(range)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bytes::hash::hash;

    /// The number of characters beyond ASCII, and a fingerprint of them.
    fn characters(class: &ClassUnicode) -> (usize, u64) {
        let beyond = ('\u{80}'..=char::MAX).filter(|found| range_of(class, *found).is_some());
        let points: Vec<u8> = beyond
            .flat_map(|found| u32::from(found).to_le_bytes())
            .collect();
        (points.len() / 4, hash(&points, 0))
    }

    #[test]
    fn the_sets_are_those_of_cpython_3_11_whatever_tables_they_are_made_of() {
        assert_eq!(characters(&ALPHA), (131_704, 0xe08d_b42d_3bce_141b));
        assert_eq!(characters(&DECIMAL), (650, 0xf553_131c_2527_c5a9));
        assert_eq!(characters(&PRINTABLE), (144_421, 0x0423_5016_71e3_b4ff));
        assert_eq!(characters(&LOWERCASE), (2_445, 0x556f_2c37_3e7b_1432));
        assert_eq!(characters(&UPPERCASE), (1_925, 0xde0d_a35b_3dae_4a15));
        assert_eq!(characters(&IGNORABLE), (2_597, 0x7f50_951d_2049_255e));
    }
}
