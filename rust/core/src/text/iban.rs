//! IBANs in texts: with a space after every four characters, or without spaces.

/// Shortest and longest, without spaces.
const LENGTHS: std::ops::RangeInclusive<usize> = 15..=34;

/// Most groups of four.
pub(super) const MAX_GROUPS: usize = 9;

/// The characters without spaces, of a text that has the form of an IBAN.
pub(super) fn parse(text: &str, lower: bool) -> Option<String> {
    // INVARIANT: the longest has 34 characters in 9 groups.
    if text.len() > 34 + MAX_GROUPS {
        return None;
    }
    let mut groups = text.split(' ').peekable();
    let mut out = String::new();
    let spaced = text.contains(' ');
    while let Some(group) = groups.next() {
        let last = groups.peek().is_none();
        if spaced && (group.len() > 4 || (group.len() < 4 && !last)) {
            return None;
        }
        out.push_str(group);
    }
    is_whole(&out, lower).then_some(out)
}

/// Returns true if a text without spaces has the form of an IBAN.
pub(super) fn is_whole(text: &str, lower: bool) -> bool {
    let head = text.get(..4).is_some_and(|head| is_head(head, lower));
    head && LENGTHS.contains(&text.len()) && text.bytes().all(|byte| is_member(byte, lower))
}

/// Returns true if four characters begin an IBAN: a country and two digits.
pub(super) fn is_head(text: &str, lower: bool) -> bool {
    match text.as_bytes() {
        [one, two, rest @ ..] if rest.len() == 2 => {
            is_letter(*one, lower) && is_letter(*two, lower) && rest.iter().all(u8::is_ascii_digit)
        }
        _ => false,
    }
}

/// Returns true if a text can be a group after the first.
pub(super) fn is_group(text: &str, lower: bool) -> bool {
    (1..=4).contains(&text.len()) && text.bytes().all(|byte| is_member(byte, lower))
}

fn is_member(byte: u8, lower: bool) -> bool {
    byte.is_ascii_digit() || is_letter(byte, lower)
}

fn is_letter(byte: u8, lower: bool) -> bool {
    if lower {
        byte.is_ascii_lowercase()
    } else {
        byte.is_ascii_uppercase()
    }
}

/// Returns true if the check digits of ISO 7064 are right.
pub(super) fn is_valid(text: &str) -> bool {
    let (head, rest) = text.split_at_checked(4).unwrap_or((text, ""));
    let value = |sum: u32, found: char| {
        let digit = found.to_digit(36).unwrap_or(0);
        (sum * if digit > 9 { 100 } else { 10 } + digit) % 97
    };
    rest.chars().chain(head.chars()).fold(0, value) == 1
}
