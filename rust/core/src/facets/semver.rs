//! Semantic versions, ordered by precedence.

use super::Undecidable;

/// Longest version, in bytes.
const MAX_TEXT: usize = 256;

/// A parsed version.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Version {
    /// A text that sorts as the version does: equal for versions of one precedence.
    pub key: String,
    /// The numbers `major`, `minor` and `patch`, where they fit.
    pub numbers: [i64; 3],
    /// What follows the `-`; empty of a release.
    pub prerelease: String,
}

/// Parses a version, `1.2.3-rc.1+build`, without a `v` before it.
///
/// # Errors
/// The text is another one.
pub fn parse(text: &str) -> Result<Version, Undecidable> {
    if text.len() > MAX_TEXT {
        return Err(bad(MAX_TEXT, "the text is longer than a version"));
    }
    let (before, build) = split(text, '+');
    let (core, prerelease) = split(before, '-');
    let mut key = String::with_capacity(text.len() + 8);
    let mut numbers = [0; 3];
    let mut parts = core.split('.');
    let mut at = 0;
    for number in &mut numbers {
        let Some(part) = parts.next() else {
            return Err(bad(core.len(), "a version has three numbers"));
        };
        if !is_number(part) {
            return Err(bad(
                at,
                "a version has three numbers, without zeros before them",
            ));
        }
        *number = part
            .parse()
            .map_err(|_| bad(at, "the number is too large"))?;
        push_number(&mut key, part);
        at += part.len() + 1;
    }
    if parts.next().is_some() {
        return Err(bad(at, "a version has three numbers"));
    }
    match prerelease {
        // A release comes after all that precede it.
        None => key.push('~'),
        Some(prerelease) => {
            for part in prerelease.split('.') {
                if !is_identifier(part) || (is_digits(part) && !is_number(part)) {
                    return Err(bad(at, "the part after `-` is no prerelease"));
                }
                if is_digits(part) {
                    key.push('1');
                    push_number(&mut key, part);
                } else {
                    key.push('2');
                    key.push_str(part);
                    key.push('\0');
                }
                at += part.len() + 1;
            }
            key.push('0');
        }
    }
    if let Some(build) = build
        && !build.split('.').all(is_identifier)
    {
        return Err(bad(before.len() + 1, "the part after `+` is no build"));
    }
    Ok(Version {
        key,
        numbers,
        prerelease: prerelease.unwrap_or_default().to_owned(),
    })
}

fn split(text: &str, separator: char) -> (&str, Option<&str>) {
    match text.split_once(separator) {
        Some((before, after)) => (before, Some(after)),
        None => (text, None),
    }
}

fn is_digits(text: &str) -> bool {
    !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit())
}

fn is_number(text: &str) -> bool {
    is_digits(text) && (text == "0" || !text.starts_with('0'))
}

fn is_identifier(text: &str) -> bool {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-';
    !text.is_empty() && text.bytes().all(plain)
}

/// Appends a number so that texts sort by it: its length before its digits.
fn push_number(key: &mut String, digits: &str) {
    let length = u32::try_from(digits.len()).ok();
    key.extend(length.and_then(|length| char::from_u32(0x100 + length)));
    key.push_str(digits);
}

fn bad(at: usize, detail: &'static str) -> Undecidable {
    Undecidable::new("semver_form", at, detail)
}
