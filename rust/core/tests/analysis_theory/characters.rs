//! Classes of characters are those of the engine, for every character up to the last one that has a case.

use bobcat_core::analysis::theory::{TextTest, Texts, TheoryBudget};
use bobcat_core::chars;
use bobcat_core::regex::{Dialect, Pattern};

const PATTERNS: [&str; 24] = [
    r"\w",
    r"\W",
    r"\d",
    r"\s",
    r"[^\s]",
    ".",
    r"(?s:.)",
    r"\pL",
    r"\PL",
    r"\p{Greek}",
    r"\p{Lu}",
    r"(?i:k)",
    r"(?i:[k-t])",
    r"(?i:σ)",
    r"(?i:ǆ)",
    r"(?i:[^a-z])",
    r"[[:alpha:]]",
    r"[[:^punct:]]",
    r"[^\x{10000}-\x{10FFFF}]",
    r"^\b",
    r"\B",
    r"\b$",
    r"(?m:^$)",
    r"\x{1D7D8}|[ÿ-Ā]",
];

fn characters() -> impl Iterator<Item = char> {
    ('\0'..='\u{1ffff}').chain(['\u{2fa1d}', '\u{e0100}', '\u{fffff}', char::MAX])
}

#[test]
fn patterns_have_the_classes_of_the_engine() {
    let mut texts = Texts::new(TheoryBudget::default());
    for text in PATTERNS {
        let pattern = Pattern::parse(text, Dialect::Re2).unwrap();
        let id = texts
            .add(TextTest::Matches {
                pattern: text.to_owned(),
            })
            .unwrap();
        for found in characters() {
            let one = found.to_string();
            assert_eq!(
                texts.accepts(id, &one).unwrap(),
                pattern.is_match(&one),
                "{text} {found:?}"
            );
        }
    }
}

#[test]
fn lower_case_is_that_of_the_engine() {
    let mut texts = Texts::new(TheoryBudget::default());
    for text in [r"^[a-k]", r"ς$|^σ", r"\x{307}$", r"[ա-ֆ]|[𐐨-𐑏]|ß|[à-þ]"] {
        let pattern = Pattern::parse(text, Dialect::Re2).unwrap();
        let test = TextTest::Matches {
            pattern: text.to_owned(),
        };
        let id = texts.add(TextTest::Lower(Box::new(test))).unwrap();
        for found in characters() {
            for around in [
                format!("{found}"),
                format!("{found}Σ"),
                format!("Σ{found}"),
                format!("aΣ{found}b"),
            ] {
                let expected = pattern.is_match(&chars::lower(&around));
                assert_eq!(
                    texts.accepts(id, &around).unwrap(),
                    expected,
                    "{text} {around:?}"
                );
            }
        }
    }
}
