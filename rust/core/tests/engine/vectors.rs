//! The case corpus, run natively: `tests/vectors/cases.jsonl`, one policy and its requests per line.

use std::fs;
use std::path::PathBuf;

use bobcat_core::json::{self, Caps, Json};
use bobcat_core::program::{Decided, Program, Scratch};
use bobcat_core::value::json::JsonRequest;

use crate::dressed::{Dressed, dress};

fn vectors() -> String {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../tests/vectors/cases.jsonl");
    fs::read_to_string(path).expect("the vectors are part of the repository")
}

const CAPS: Caps = Caps {
    depth: 400,
    nodes: usize::MAX,
};

/// The part of `text` that `key` of this line holds.
fn part<'t>(text: &'t str, line: &Json<'_>, key: &str) -> &'t str {
    let Json::Map(line) = line else {
        panic!("a line is a mapping")
    };
    let Some(Json::Map(part)) = line.get(key) else {
        panic!("{key} is a mapping")
    };
    let (start, end) = part.span();
    &text[start..end]
}

#[test]
fn every_vector_is_decided_as_the_corpus_says() {
    let mut count = 0;
    for (number, text) in vectors().lines().enumerate() {
        let line = json::parse(text.as_bytes(), CAPS).expect("a line is JSON");
        let program = Program::from_ir(part(text, &line, "ir").as_bytes())
            .unwrap_or_else(|error| panic!("line {}: {error}", number + 1));
        let Json::Map(map) = &line else {
            panic!("a line is a mapping")
        };
        let Some(Json::List(requests)) = map.get("requests") else {
            panic!("requests is a list")
        };
        let mut scratch = Scratch::new();
        for (at, case) in requests.iter().enumerate() {
            let here = format!("line {}, request {at}", number + 1);
            let request = JsonRequest::parse(part(text, case, "request").as_bytes())
                .unwrap_or_else(|error| panic!("{here}: {error}"));
            let wanted = Dressed::from_json(part(text, case, "decision"));
            let fast = dress(&program, program.decide(&request, &mut scratch));
            assert_eq!(fast, wanted, "{here}: {text}");
            assert_eq!(
                dress(&program, program.decide_plain(&request)),
                wanted,
                "{here}: plain"
            );
            let (outcome, traces) = program.explain(&request);
            assert!(!matches!(outcome.decided, Decided::Aborted));
            assert_eq!(traces.len(), program.rules().len(), "{here}: explain");
            assert_eq!(dress(&program, outcome), wanted, "{here}: explain");
            count += 1;
        }
    }
    assert!(count > 400, "only {count} vectors were run");
}
