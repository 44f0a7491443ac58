//! Occurrence of values in texts: the rows of `tests/vectors/occurrences.jsonl`, and texts that are long on purpose.
#![expect(clippy::panic, reason = "a failed test panics")]

use bobcat_core::num::bigint::parse_decimal;
use bobcat_core::num::number::Number;
use bobcat_core::text::{Haystack, Needle, occurs};
use serde_json::Value;

const ROWS: &str = include_str!("../../../../tests/vectors/occurrences.jsonl");

fn answer(needle: &Value, text: &str, lower: bool) -> bool {
    if let Some(needle) = needle.as_str() {
        return occurs(needle, text, lower);
    }
    let number = match needle.as_i64() {
        Some(number) => Number::Int(number),
        None if needle.is_u64() => match parse_decimal(&needle.to_string()) {
            Some(number) => Number::Big(number),
            None => panic!("{needle} is no integer"),
        },
        None => Number::from_float(needle.as_f64().unwrap_or(f64::NAN)),
    };
    let needle = Needle::number(&number);
    needle.is_some_and(|needle| Haystack::new(text, lower).holds(&needle))
}

#[test]
fn every_row_has_its_answer() {
    let mut wrong = Vec::new();
    for line in ROWS.lines() {
        let row: Value =
            serde_json::from_str(line).unwrap_or_else(|error| panic!("{line}: {error}"));
        let (needle, text) = (&row[0], row[1].as_str().unwrap_or_default());
        let lower = row.get(3).is_some();
        if Some(answer(needle, text, lower)) != row[2].as_bool() {
            wrong.push(line);
        }
    }
    assert!(
        wrong.is_empty(),
        "{} rows:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    assert!(ROWS.lines().count() > 400);
}

/// Texts on which a search of one place after the other, or of one boundary after the other, would take minutes.
#[test]
fn long_texts_take_time_in_proportion() {
    let size = 1 << 18;
    let long = |part: &str| part.repeat(size / part.len());
    for part in [
        "a",
        "ab",
        "a ",
        "(",
        ")",
        "(a",
        "a)",
        "<",
        ">",
        "a>",
        "<a>",
        "](",
        "'s",
        ",",
        "a,",
        "1",
        "1,",
        "1,000,",
        "1 ",
        "DE89 ",
        "DE89 1234 ",
        "a@b.c,",
        "\u{212a}",
        "é",
    ] {
        let text = long(part);
        let middle = (0..=size / 2).rfind(|&at| text.is_char_boundary(at));
        let half = &text[..middle.unwrap()];
        for needle in [
            half.to_owned(),
            format!("{half}b"),
            format!("b{half}"),
            part.repeat(2),
            part.into(),
        ] {
            for lower in [false, true] {
                let _ = occurs(&needle, &text, lower);
                let _ = occurs(&needle, &format!("{text}x"), lower);
            }
        }
    }
}

#[test]
fn a_place_is_that_of_the_words_around() {
    let text = "Pay  «Bob's\n bill» of $1,000 to DE89 3704 0044 0532 0130 00.";
    let haystack = Haystack::new(text, false);
    let place = |needle: &str| {
        haystack
            .find(&Needle::text(needle, false))
            .map(|range| &text[range])
    };
    assert_eq!(place("Bob"), Some("«Bob's"));
    assert_eq!(place("Bob's bill"), Some("«Bob's\n bill»"));
    assert_eq!(place("1000"), Some("$1,000"));
    assert_eq!(
        place("DE89370400440532013000"),
        Some("DE89 3704 0044 0532 0130 00.")
    );
    assert_eq!(place("bill"), Some("bill»"));
    assert_eq!(place("3704"), None);
}
