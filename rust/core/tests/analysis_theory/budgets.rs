//! Work beyond a budget ends, and its name is the answer.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use bobcat_core::analysis::theory::{GaveUpCode, Solved, TextTest, Texts, TheoryBudget};

use crate::oracle::{Random, pattern};

fn matches(pattern: &str) -> TextTest {
    TextTest::Matches {
        pattern: pattern.to_owned(),
    }
}

/// Texts in which many places have to be kept in mind at once.
fn hard() -> [TextTest; 3] {
    ["a[ab]{8}c", "b[ab]{7}d", "^[ab]+(c|d)[ab]+(c|d)$"].map(matches)
}

#[test]
fn states_and_time_are_named() {
    let code = |budget: TheoryBudget| {
        let mut texts = Texts::new(budget);
        let wanted = hard().map(|test| (texts.add(test).unwrap(), true));
        match texts.solve(&wanted, &[]) {
            Solved::GaveUp(failure) => Some(failure.code),
            Solved::Value(_) | Solved::Conflict(_) => None,
        }
    };
    let few = TheoryBudget {
        states: 10,
        is_over: None,
    };
    assert_eq!(code(few), Some(GaveUpCode::States));
    let asked = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&asked);
    let over = move || counter.fetch_add(1, Ordering::Relaxed) > 0;
    let short = TheoryBudget {
        is_over: Some(Arc::new(over)),
        ..TheoryBudget::default()
    };
    assert_eq!(code(short), Some(GaveUpCode::Seconds));
    assert!(asked.load(Ordering::Relaxed) > 1);
}

#[test]
fn a_larger_budget_answers_what_a_smaller_one_did_not() {
    let mut texts = Texts::new(TheoryBudget {
        states: 10,
        is_over: None,
    });
    let wanted = hard().map(|test| (texts.add(test).unwrap(), true));
    assert!(matches!(texts.solve(&wanted, &[]), Solved::GaveUp(_)));
    texts.set_budget(TheoryBudget::default());
    let Solved::Value(text) = texts.solve(&wanted, &[]) else {
        panic!("a text");
    };
    for (id, _) in wanted {
        assert!(texts.accepts(id, &text).unwrap(), "{text}");
    }
}

#[test]
fn rejected_patterns_are_named() {
    let mut texts = Texts::new(TheoryBudget::default());
    let failure = texts.add(matches("(")).unwrap_err();
    assert_eq!(failure.code, GaveUpCode::Pattern);
    assert!(failure.message.contains("`(`"), "{}", failure.message);
}

#[test]
fn large_patterns_end() {
    let budget = TheoryBudget {
        states: 2_000,
        is_over: None,
    };
    let large = [
        r"(?i)\pL{40}$",
        r"(a|b|ab){200}\b",
        r"(?:[a-z]+\.){50}com",
        r"^(?:(?:a{1,30}b){1,30}c)+$",
        r"\w{100}\W{100}\w{100}",
        r"[^\x00-\x{10FFFF}]",
    ];
    for first in large {
        for second in large {
            let mut texts = Texts::new(budget.clone());
            let wanted =
                [first, second].map(|pattern| (texts.add(matches(pattern)).unwrap(), true));
            match texts.solve(&wanted, &[]) {
                Solved::Value(text) => {
                    for (id, _) in wanted {
                        assert!(texts.accepts(id, &text).unwrap(), "{first} {second}");
                    }
                }
                Solved::Conflict(places) => assert!(!places.is_empty(), "{first} {second}"),
                Solved::GaveUp(failure) => assert_eq!(failure.code, GaveUpCode::States),
            }
        }
    }
}

#[test]
fn answers_do_not_depend_on_the_run() {
    let answers = || {
        let mut random = Random::new(5);
        let mut texts = Texts::new(TheoryBudget::default());
        let ids: Vec<_> = (0..40)
            .map(|_| texts.add(matches(&pattern(&mut random, 2))).unwrap())
            .collect();
        let mut answers = Vec::new();
        for _ in 0..200 {
            let wanted: Vec<_> = (0..4)
                .map(|_| (ids[random.below(ids.len())], random.below(2) == 0))
                .collect();
            answers.push(texts.solve(&wanted, &[]));
        }
        answers
    };
    assert_eq!(answers(), answers());
}
