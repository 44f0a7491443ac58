//! The case corpus, run natively: `tests/vectors/cases.jsonl`, one policy and its requests per line.

use std::collections::HashMap;
use std::fs;
use std::path::PathBuf;

use bobcat_core::decision;
use bobcat_core::json::value::JsonRequest;
use bobcat_core::program::{DecidedBy, Program, Scratch};
use serde_json::value::RawValue;

use crate::dressed::{Dressed, dress};

fn vectors() -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/vectors/cases.jsonl");
    fs::read_to_string(path).expect("the vectors are part of the repository")
}

/// The bytes of every part of a mapping, as they are written.
fn parts(text: &str) -> HashMap<String, Box<RawValue>> {
    serde_json::from_str(text).expect("a mapping")
}

#[test]
fn every_vector_is_decided_as_the_corpus_says() {
    let mut count = 0;
    for (number, text) in vectors().lines().enumerate() {
        let line = parts(text);
        let program = Program::from_ir(line["ir"].get().as_bytes())
            .unwrap_or_else(|error| panic!("line {}: {error}", number + 1));
        let requests: Vec<Box<RawValue>> =
            serde_json::from_str(line["requests"].get()).expect("a list");
        let mut scratch = Scratch::new();
        for (at, case) in requests.iter().enumerate() {
            let here = format!("line {}, request {at}", number + 1);
            let case = parts(case.get());
            let request = JsonRequest::parse(case["request"].get().as_bytes())
                .unwrap_or_else(|error| panic!("{here}: {error}"));
            let wanted = Dressed::from_json(case["decision"].get());
            let fast = dress(&program, program.decide(&request, &mut scratch));
            assert_eq!(fast, wanted, "{here}: {text}");
            assert_eq!(
                dress(&program, program.decide_plain(&request)),
                wanted,
                "{here}: plain"
            );
            let (outcome, traces) = program.explain(&request);
            assert!(!matches!(outcome.decided, DecidedBy::Aborted));
            assert_eq!(traces.len(), program.rule_count(), "{here}: explain");
            assert_eq!(dress(&program, outcome), wanted, "{here}: explain");
            let (words, transformed) =
                decision::decide(&program, &request, &mut scratch).expect("no host rules");
            assert_eq!(words.verdict.as_str(), wanted.verdict, "{here}: words");
            assert_eq!(words.rules, wanted.matched_rules, "{here}: words");
            if let Some(reason) = wanted.reason.as_str() {
                assert_eq!(words.reason, reason, "{here}: words");
            }
            let args = transformed.map_or(serde_json::Value::Null, |made| {
                serde_json::from_str(&made.args_json()).expect("arguments are JSON")
            });
            assert_eq!(args, wanted.transform_args, "{here}: words");
            count += 1;
        }
    }
    assert!(count > 400, "only {count} vectors were run");
}
