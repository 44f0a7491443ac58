//! Numbers in texts, by value: `1000`, `1,000` and `1000.00` are one number.

use crate::num::number::Number;

/// Writes a number as [`parse`] does; `None`: it is infinite or none.
pub(super) fn of(number: &Number) -> Option<String> {
    Some(match number {
        Number::Int(value) => value.to_string(),
        Number::Big(value) => value.to_string(),
        // The shortest decimal number that reads as this float.
        Number::Float(value) if value.is_finite() => value.to_string(),
        Number::Float(_) => return None,
    })
}

/// The number that a token of a text is, next to a sign of a currency or not.
pub(super) fn amount(token: &str) -> Option<String> {
    let (negative, rest) = signed(token);
    let bare = rest.strip_prefix(is_currency);
    let (inner, rest) = bare.map_or((false, rest), signed);
    let rest = match bare {
        Some(_) => rest,
        None => rest.strip_suffix(is_currency).unwrap_or(rest),
    };
    match (negative, inner) {
        (true, true) => None,
        (negative, inner) => unsigned(rest, negative || inner),
    }
}

/// The digits of a token, with the separators between them, if it has nothing else but a currency.
pub(super) fn is_shaped(token: &str) -> bool {
    let bare = token.trim_start_matches(|found| found == '-' || found == '+' || is_currency(found));
    let bare = bare.trim_end_matches(|found| found == '%' || is_currency(found));
    let inside = |byte: u8| byte.is_ascii_digit() || matches!(byte, b'.' | b',' | b'\'');
    bare.starts_with(|found: char| found.is_ascii_digit()) && bare.bytes().all(inside)
}

/// The number that a text is: its digits without grouping, without zeros at the end of the fraction.
pub(super) fn parse(text: &str) -> Option<String> {
    let (negative, rest) = signed(text);
    unsigned(rest, negative)
}

fn signed(text: &str) -> (bool, &str) {
    match text.strip_prefix('-') {
        Some(rest) => (true, rest),
        None => (false, text),
    }
}

fn is_currency(found: char) -> bool {
    matches!(found, '$' | '£' | '¤' | '¥' | '฿' | '\u{20a0}'..='\u{20cf}')
}

fn unsigned(text: &str, negative: bool) -> Option<String> {
    if !text.starts_with(|found: char| found.is_ascii_digit()) {
        return None;
    }
    let (whole, fraction) = parts(text)?;
    if whole.len() > 1 && whole.starts_with('0') {
        return None;
    }
    let fraction = fraction.trim_end_matches('0');
    let mut out = String::with_capacity(text.len());
    if negative && (whole != "0" || !fraction.is_empty()) {
        out.push('-');
    }
    out.push_str(&whole);
    if !fraction.is_empty() {
        out.push('.');
        out.push_str(fraction);
    }
    Some(out)
}

/// The digits before and after the point.
fn parts(text: &str) -> Option<(String, &str)> {
    let plain = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    if plain(text) {
        return Some((text.into(), ""));
    }
    if let Some((whole, fraction)) = text.split_once('.')
        && plain(whole)
        && plain(fraction)
    {
        // `1.500` is one and a half, or one thousand and five hundred. `1.234` is the number of the same digits only.
        let grouped = whole.len() <= 3 && whole != "0" && fraction.len() == 3;
        return (!grouped || !fraction.ends_with('0')).then(|| (whole.into(), fraction));
    }
    if let Some((whole, fraction)) = text.split_once(',')
        && plain(fraction)
        && fraction.len() <= 2
        && whole.contains('.')
    {
        return Some((grouped(whole, '.')?, fraction));
    }
    let (whole, fraction) = match text.split_once('.') {
        Some((_, fraction)) if !plain(fraction) => return None,
        Some(split) => split,
        None => (text, ""),
    };
    let separator = whole
        .chars()
        .find(|found| matches!(found, ',' | '\'' | '’'))?;
    Some((grouped(whole, separator)?, fraction))
}

/// The digits of groups of three.
fn grouped(text: &str, separator: char) -> Option<String> {
    let mut groups = text.split(separator);
    let digits = |group: &str| group.bytes().all(|byte| byte.is_ascii_digit());
    let first = groups.next()?;
    if !(1..=3).contains(&first.len()) || !digits(first) || first.starts_with('0') {
        return None;
    }
    let mut out = String::from(first);
    for group in groups {
        if group.len() != 3 || !digits(group) {
            return None;
        }
        out.push_str(group);
    }
    Some(out)
}
