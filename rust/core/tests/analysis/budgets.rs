//! Budgets end a question with their name, and questions that are wrong are errors.

use bobcat_core::analysis::{Budget, Clock, Host};
use serde_json::{Value, json};

use crate::answers::{analysis, ask};
use crate::generator::{Fragment, Random, policy};

struct Impatient;

impl Host for Impatient {
    fn clock(&mut self, _: Option<f64>) -> Option<Clock> {
        None
    }

    fn progress(&mut self, done: usize, _: usize, _: Option<&str>) -> bool {
        done == 0
    }
}

fn sample() -> Value {
    policy(&mut Random::new(7), Fragment::Scalars)
}

#[test]
fn a_budget_of_nodes_that_is_hit_is_named() {
    let budget = Budget {
        nodes: 2,
        ..Budget::default()
    };
    let answer = ask(
        &mut analysis(&[&sample()], budget),
        &json!({"ask": "find", "where": [{"policy": 0, "verdicts": ["dry_run"]}]}),
    );
    assert_eq!(answer["answer"], "unknown");
    assert_eq!(answer["reasons"][0]["code"], "budget_nodes");
}

#[test]
fn a_caller_that_stops_gets_an_open_answer() {
    let mut asked = analysis(&[&sample()], Budget::default());
    let question = json!({"ask": "find", "where": [{"policy": 0, "verdicts": ["transform"]}], "tools": ["a", "b"]});
    let answer = asked
        .ask(question.to_string().as_bytes(), &mut Impatient)
        .expect("a question");
    let answer: Value = serde_json::from_str(&answer).expect("JSON");
    let codes: Vec<&str> = answer["reasons"]
        .as_array()
        .into_iter()
        .flatten()
        .filter_map(|reason| reason["code"].as_str())
        .collect();
    assert!(
        answer["answer"] == "witness" || codes.contains(&"stopped"),
        "{answer}"
    );
}

#[test]
fn the_same_question_has_the_same_answer() {
    let (one, other) = (sample(), policy(&mut Random::new(8), Fragment::All));
    let question = json!({"ask": "compare", "old": 0, "new": 1});
    let first = ask(&mut analysis(&[&one, &other], Budget::default()), &question);
    let second = ask(&mut analysis(&[&one, &other], Budget::default()), &question);
    assert_eq!(first, second);
}

#[test]
fn wrong_questions_are_errors() {
    let mut asked = analysis(&[&sample()], Budget::default());
    for question in [
        json!({}),
        json!([]),
        json!({"ask": "why"}),
        json!({"ask": "find"}),
        json!({"ask": "rules", "policy": 1}),
        json!({"ask": "find", "where": [{"policy": 0, "verdicts": ["maybe"]}]}),
        json!({"ask": "tools", "more": 1}),
        json!({"ask": "compare", "old": 0, "new": -1}),
        json!({"ask": "tools", "seconds": -1}),
    ] {
        let answer = asked.ask(question.to_string().as_bytes(), &mut Impatient);
        assert!(answer.is_err(), "{question}: {answer:?}");
    }
}
