//! Random tests: the automata accept what the engine accepts, texts that are found pass, and conflicts are real and minimal.

use bobcat_core::analysis::theory::{Solved, TextTest, Texts, TheoryBudget};

use crate::oracle::{Oracle, Random, test, text};

/// All texts of at most three of these.
fn short_texts() -> Vec<String> {
    let letters = ["a", "b", "1", ".", "K", "Σ", "σ", "é", "\n"];
    let mut all = vec![String::new()];
    let mut last = all.clone();
    for _ in 0..3 {
        last = last
            .iter()
            .flat_map(|text| letters.iter().map(move |letter| format!("{text}{letter}")))
            .collect();
        all.extend(last.iter().cloned());
    }
    all
}

#[test]
fn automata_accept_what_the_engine_accepts() {
    let mut random = Random::new(1);
    for round in 0..2_000 {
        let mut texts = Texts::new(TheoryBudget::default());
        let (test, oracle) = test(&mut random, 2);
        let id = texts.add(test.clone()).unwrap();
        for _ in 0..30 {
            let text = text(&mut random);
            let accepted = texts.accepts(id, &text).unwrap();
            assert_eq!(
                accepted,
                oracle.passes(&text),
                "round {round}: {test:?} on {text:?}"
            );
        }
    }
}

#[test]
fn answers_are_right_and_minimal() {
    let mut random = Random::new(7);
    let short = short_texts();
    let (mut values, mut conflicts) = (0, 0);
    for round in 0..1_000 {
        let mut texts = Texts::new(TheoryBudget::default());
        let count = 1 + random.below(4);
        let tests: Vec<(TextTest, Oracle)> = (0..count).map(|_| test(&mut random, 1)).collect();
        let wanted: Vec<bool> = tests.iter().map(|_| random.below(3) > 0).collect();
        let ids: Vec<_> = tests
            .iter()
            .zip(&wanted)
            .map(|((test, _), wanted)| (texts.add(test.clone()).unwrap(), *wanted))
            .collect();
        let shown = || {
            format!(
                "round {round}: {:?} {wanted:?}",
                tests.iter().map(|(test, _)| test).collect::<Vec<_>>()
            )
        };
        let excluded = ["a", ""];
        let passes = |text: &str, places: &[usize]| {
            !excluded.contains(&text)
                && places
                    .iter()
                    .all(|at| tests[*at].1.passes(text) == wanted[*at])
        };
        let all: Vec<usize> = (0..count).collect();
        match texts.solve(&ids, &excluded) {
            Solved::Value(text) => {
                values += 1;
                assert!(passes(&text, &all), "{text:?} {}", shown());
                let length = text.chars().count();
                let plain = |text: &str| text.chars().all(|found| (' '..='~').contains(&found));
                let bytes = tests
                    .iter()
                    .any(|(test, _)| format!("{test:?}").contains("ByteLength"));
                let shorter = short.iter().find(|short| {
                    plain(short) && short.chars().count() < length && passes(short, &all)
                });
                assert!(
                    bytes || shorter.is_none(),
                    "{shorter:?} {text:?} {}",
                    shown()
                );
            }
            Solved::Conflict(places) => {
                conflicts += 1;
                assert!(places.is_sorted(), "{}", shown());
                let found = short.iter().find(|text| passes(text, &places));
                assert_eq!(found, None, "{places:?} {}", shown());
                for left_out in &places {
                    let fewer: Vec<_> = places
                        .iter()
                        .filter(|at| *at != left_out)
                        .map(|at| ids[*at])
                        .collect();
                    let answer = texts.solve(&fewer, &excluded);
                    assert!(
                        matches!(answer, Solved::Value(_)),
                        "{places:?} {answer:?} {}",
                        shown()
                    );
                }
            }
            Solved::GaveUp(failure) => panic!("{failure:?} {}", shown()),
        }
    }
    assert!(values > 200 && conflicts > 100, "{values} {conflicts}");
}
