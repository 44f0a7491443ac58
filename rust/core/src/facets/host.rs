//! Names of hosts: their one canonical form, and the border of labels.

use std::borrow::Cow;

use super::Undecidable;
use crate::chars;

/// Longest name, in bytes.
const MAX_NAME: usize = 253;

/// Longest label, in bytes.
const MAX_LABEL: usize = 63;

/// The canonical form of a name: lower case, labels beyond ASCII encoded, no dot at the end. `at` is its place in the text.
///
/// # Errors
/// The text is no name, or is one that IDNA maps to another.
pub fn parse(text: &str, at: usize) -> Result<String, Undecidable> {
    canonical(text, at).map(Cow::into_owned)
}

/// The same; a beginning of the text where that is canonical.
pub(crate) fn canonical(text: &str, at: usize) -> Result<Cow<'_, str>, Undecidable> {
    let name = text.strip_suffix('.').unwrap_or(text);
    let mut encoded = false;
    let mut here = at;
    for label in name.as_bytes().split(|byte| *byte == b'.') {
        if label.is_empty() {
            return Err(bad(here, "a label is empty"));
        }
        let wrong = |byte: &u8| {
            !(byte.is_ascii_alphanumeric() || matches!(byte, b'-' | b'_') || !byte.is_ascii())
        };
        if let Some(place) = label.iter().position(wrong) {
            return Err(bad(here + place, "a name has letters, digits, `-` and `_`"));
        }
        let is_ascii = label.is_ascii();
        let prefix = label.get(..4).unwrap_or_default();
        encoded |= !is_ascii || prefix.eq_ignore_ascii_case(b"xn--");
        if is_ascii && label.len() > MAX_LABEL {
            return Err(bad(here, "a label has more than 63 characters"));
        }
        here += label.len() + 1;
    }
    let name = if encoded {
        Cow::Owned(idna(name, at)?)
    } else {
        lower(name)
    };
    if name.len() > MAX_NAME {
        return Err(bad(at, "a name has more than 253 characters"));
    }
    Ok(name)
}

/// A text in lower case, letters of ASCII only.
pub(crate) fn lower(text: &str) -> Cow<'_, str> {
    if text.bytes().any(|byte| byte.is_ascii_uppercase()) {
        Cow::Owned(text.to_ascii_lowercase())
    } else {
        Cow::Borrowed(text)
    }
}

/// Encodes a name that has labels beyond ASCII, or that are encoded already.
#[cold]
fn idna(name: &str, at: usize) -> Result<String, Undecidable> {
    let wrong = |detail| Undecidable::new("host_idna", at, detail);
    let ascii =
        idna::domain_to_ascii_strict(name).map_err(|_| wrong("a label has no encoding in IDNA"))?;
    let (unicode, result) = idna::domain_to_unicode(&ascii);
    if result.is_err() {
        return Err(wrong("a label has no encoding in IDNA"));
    }
    // Programs differ in the characters that they map to others: full width, ligatures, `ß`, joiners.
    let lower = chars::lower(name);
    if name.contains(['ß', 'ẞ', 'ς', '\u{200c}', '\u{200d}'])
        || unicode.contains(['ß', 'ς', '\u{200c}', '\u{200d}'])
        || lower
            != if name.is_ascii() {
                ascii.clone()
            } else {
                unicode
            }
    {
        return Err(wrong("programs encode this name in different ways"));
    }
    Ok(ascii)
}

/// Returns true if the last label is one that readers take for a part of an IPv4 address: digits, or `0x` and digits.
#[must_use]
pub fn ends_in_number(name: &str) -> bool {
    let name = name.strip_suffix('.').unwrap_or(name);
    let border = name.bytes().rposition(|byte| byte == b'.');
    let last = name
        .get(border.map_or(0, |at| at + 1)..)
        .unwrap_or_default();
    if !last.starts_with(|char: char| char.is_ascii_digit()) {
        return false;
    }
    let hex = last.strip_prefix("0x").or_else(|| last.strip_prefix("0X"));
    last.bytes().all(|byte| byte.is_ascii_digit())
        || hex.is_some_and(|digits| digits.bytes().all(|byte| byte.is_ascii_hexdigit()))
}

/// Domains of this machine or its network.
pub(crate) const PRIVATE: [&str; 8] = [
    "localhost",
    "localdomain",
    "local",
    "internal",
    "intranet",
    "lan",
    "home.arpa",
    "svc",
];

/// Names that lead to this machine or its network without a public name service.
#[must_use]
pub fn is_private(name: &str) -> bool {
    !name.contains('.') || PRIVATE.iter().any(|suffix| is_within(name, suffix))
}

/// Returns true if a canonical name is a domain, or lies below it: `a.example.com` does below `example.com`.
#[inline]
#[must_use]
pub fn is_within(name: &str, domain: &str) -> bool {
    name.strip_suffix(domain)
        .is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
}

fn bad(at: usize, detail: &'static str) -> Undecidable {
    Undecidable::new("host_form", at, detail)
}
