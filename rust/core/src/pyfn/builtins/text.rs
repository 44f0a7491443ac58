//! Strings: what `str` does, by code points.

use memchr::memmem;

use crate::chars::{
    is_cased as has_case, is_lower, is_space, is_title, is_upper, push_lower, push_title,
    push_upper,
};

/// The number of code points.
#[inline]
pub(in crate::pyfn) fn length(text: &str) -> usize {
    if text.is_ascii() {
        text.len()
    } else {
        text.chars().count()
    }
}

/// The byte where code point `index` begins, or the end.
fn offset(text: &str, index: usize) -> usize {
    if text.is_ascii() {
        return index.min(text.len());
    }
    text.char_indices()
        .nth(index)
        .map_or(text.len(), |(at, _)| at)
}

/// The code points from `start` up to `stop`.
pub(in crate::pyfn) fn slice(text: &str, start: usize, stop: usize) -> &str {
    let from = offset(text, start);
    let rest = text.get(from..).unwrap_or_default();
    let to = offset(rest, stop.saturating_sub(start));
    rest.get(..to).unwrap_or_default()
}

/// The byte where `wanted` begins first.
#[inline]
pub(in crate::pyfn) fn find(text: &str, wanted: &str) -> Option<usize> {
    memmem::find(text.as_bytes(), wanted.as_bytes())
}

/// The byte where `wanted` begins last.
pub(in crate::pyfn) fn rfind(text: &str, wanted: &str) -> Option<usize> {
    text.rfind(wanted)
}

fn strips(chars: Option<&str>) -> impl Fn(char) -> bool + '_ {
    move |found| match chars {
        None => is_space(found),
        Some(chars) => chars.contains(found),
    }
}

/// `text.strip(chars)`.
pub(in crate::pyfn) fn strip<'t>(text: &'t str, chars: Option<&str>) -> &'t str {
    text.trim_matches(strips(chars))
}

/// `text.lstrip(chars)`.
pub(in crate::pyfn) fn lstrip<'t>(text: &'t str, chars: Option<&str>) -> &'t str {
    text.trim_start_matches(strips(chars))
}

/// `text.rstrip(chars)`.
pub(in crate::pyfn) fn rstrip<'t>(text: &'t str, chars: Option<&str>) -> &'t str {
    text.trim_end_matches(strips(chars))
}

/// `text.split(None, limit)`; a negative limit means no limit.
pub(in crate::pyfn) fn split_space(text: &str, limit: i64) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut rest = text.trim_start_matches(is_space);
    while !rest.is_empty() {
        if limit >= 0 && parts.len() as i64 >= limit {
            parts.push(rest);
            break;
        }
        let end = rest.find(is_space).unwrap_or(rest.len());
        let (part, after) = rest.split_at(end);
        parts.push(part);
        rest = after.trim_start_matches(is_space);
    }
    parts
}

/// `text.rsplit(None, limit)`.
pub(in crate::pyfn) fn rsplit_space(text: &str, limit: i64) -> Vec<&str> {
    let mut parts = Vec::new();
    let mut rest = text.trim_end_matches(is_space);
    while !rest.is_empty() {
        if limit >= 0 && parts.len() as i64 >= limit {
            parts.push(rest);
            break;
        }
        let start = rest
            .char_indices()
            .rev()
            .find(|(_, found)| is_space(*found))
            .map_or(0, |(at, found)| at + found.len_utf8());
        let (before, part) = rest.split_at(start);
        parts.push(part);
        rest = before.trim_end_matches(is_space);
    }
    parts.reverse();
    parts
}

/// `text.split(separator, limit)` of a separator that is not empty.
pub(in crate::pyfn) fn split<'t>(text: &'t str, separator: &str, limit: i64) -> Vec<&'t str> {
    match usize::try_from(limit) {
        Ok(limit) => text.splitn(limit.saturating_add(1), separator).collect(),
        Err(_) => text.split(separator).collect(),
    }
}

/// `text.rsplit(separator, limit)` of a separator that is not empty.
pub(in crate::pyfn) fn rsplit<'t>(text: &'t str, separator: &str, limit: i64) -> Vec<&'t str> {
    let mut parts: Vec<&str> = match usize::try_from(limit) {
        Ok(limit) => text.rsplitn(limit.saturating_add(1), separator).collect(),
        Err(_) => text.rsplit(separator).collect(),
    };
    parts.reverse();
    parts
}

/// `text.splitlines(keep)`.
pub(in crate::pyfn) fn lines(text: &str, keep: bool) -> Vec<&str> {
    let ends = |found: char| {
        matches!(
            found,
            '\n' | '\r'
                | '\x0b'
                | '\x0c'
                | '\x1c'
                | '\x1d'
                | '\x1e'
                | '\u{85}'
                | '\u{2028}'
                | '\u{2029}'
        )
    };
    let mut lines = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let Some((at, end)) = rest.char_indices().find(|(_, found)| ends(*found)) else {
            lines.push(rest);
            break;
        };
        let mut after = at + end.len_utf8();
        if end == '\r' && rest.as_bytes().get(after) == Some(&b'\n') {
            after += 1;
        }
        let (line, next) = rest.split_at(after);
        let kept = if keep { after } else { at };
        lines.push(line.get(..kept).unwrap_or(line));
        rest = next;
    }
    lines
}

/// `text.isupper()` with `true`, `text.islower()` with `false`.
pub(in crate::pyfn) fn is_cased(text: &str, upper: bool) -> bool {
    let mut cased = false;
    for found in text.chars() {
        let (wanted, other) = if upper {
            (is_upper(found), is_lower(found))
        } else {
            (is_lower(found), is_upper(found))
        };
        if other || is_title(found) {
            return false;
        }
        cased |= wanted;
    }
    cased
}

/// `text.istitle()`.
pub(in crate::pyfn) fn is_titled(text: &str) -> bool {
    let (mut cased, mut before) = (false, false);
    for found in text.chars() {
        if is_upper(found) || is_title(found) {
            if before {
                return false;
            }
            (cased, before) = (true, true);
        } else if is_lower(found) {
            if !before {
                return false;
            }
            (cased, before) = (true, true);
        } else {
            before = false;
        }
    }
    cased
}

/// Returns true if the lower case of a character depends on the characters around it.
fn is_sigma(text: &str) -> bool {
    text.contains('\u{3a3}')
}

/// `text.title()`; `None` where the context of a letter matters.
pub(in crate::pyfn) fn titled(text: &str) -> Option<String> {
    if is_sigma(text) {
        return None;
    }
    let mut out = String::with_capacity(text.len());
    let mut before = false;
    for found in text.chars() {
        if before {
            push_lower(&mut out, found);
        } else {
            push_title(&mut out, found);
        }
        before = has_case(found);
    }
    Some(out)
}

/// `text.capitalize()`; `None` where the context of a letter matters.
pub(in crate::pyfn) fn capitalized(text: &str) -> Option<String> {
    if is_sigma(text) {
        return None;
    }
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars();
    if let Some(first) = chars.next() {
        push_title(&mut out, first);
    }
    for found in chars {
        push_lower(&mut out, found);
    }
    Some(out)
}

/// `text.swapcase()`; `None` where the context of a letter matters.
pub(in crate::pyfn) fn swapped(text: &str) -> Option<String> {
    if is_sigma(text) {
        return None;
    }
    let mut out = String::with_capacity(text.len());
    for found in text.chars() {
        if is_upper(found) {
            push_lower(&mut out, found);
        } else if is_lower(found) {
            push_upper(&mut out, found);
        } else {
            out.push(found);
        }
    }
    Some(out)
}

/// `text.zfill(width)`.
pub(in crate::pyfn) fn zero_filled(text: &str, width: usize) -> String {
    let missing = width.saturating_sub(length(text));
    let (sign, digits) = match text.strip_prefix(['+', '-']) {
        Some(digits) => text.split_at(text.len() - digits.len()),
        None => ("", text),
    };
    format!("{sign}{}{digits}", "0".repeat(missing))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn splitting_is_what_python_does() {
        assert_eq!(split_space("  a  b c ", -1), ["a", "b", "c"]);
        assert_eq!(split_space("  a  b c ", 1), ["a", "b c "]);
        assert_eq!(split_space(" a ", 0), ["a "]);
        assert_eq!(rsplit_space(" a  b c ", 1), [" a  b", "c"]);
        assert_eq!(split("a,b,,c", ",", -1), ["a", "b", "", "c"]);
        assert_eq!(split("a,b,,c", ",", 1), ["a", "b,,c"]);
        assert_eq!(rsplit("a,b,,c", ",", 1), ["a,b,", "c"]);
        assert_eq!(split("", ",", -1), [""]);
        assert_eq!(split_space("", -1), [""; 0]);
        assert_eq!(lines("a\nb\r\nc\u{85}d\r", false), ["a", "b", "c", "d"]);
        assert_eq!(lines("a\n\r\n", true), ["a\n", "\r\n"]);
    }

    #[test]
    fn slices_count_code_points() {
        assert_eq!(slice("aéz😀b", 1, 4), "éz😀");
        assert_eq!(slice("abc", 1, 9), "bc");
        assert_eq!((length("é😀"), length("ab")), (2, 2));
    }

    #[test]
    fn case_is_what_python_says() {
        assert_eq!(titled("ǆ they're ﬁne").as_deref(), Some("ǅ They'Re Fine"));
        assert_eq!(capitalized("ßA").as_deref(), Some("Ssa"));
        assert_eq!(swapped("aBß").as_deref(), Some("AbSS"));
        assert!(is_cased("ABC 1", true) && !is_cased("1", true) && !is_cased("ǅ", true));
        assert!(is_titled("They'Re") && !is_titled("they"));
        assert_eq!(zero_filled("-42", 5), "-0042");
    }
}
