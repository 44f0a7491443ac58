//! The façade of the crate: bundles, decisions in words, refusals.
#![expect(clippy::expect_used, reason = "a failed test panics")]

use std::fs;
use std::path::PathBuf;

use bobcat_core::{EvaluateError, Policy, Verdict};
use serde_json::Value;

fn shared(path: &str) -> Vec<u8> {
    let path = PathBuf::from(env!("CARGO_MANIFEST_DIR"))
        .join("../../tests")
        .join(path);
    fs::read(path).expect("a file of the repository")
}

fn texts(list: &Value) -> Vec<String> {
    let text = |each: &Value| each.as_str().expect("a text").to_owned();
    list.as_array().expect("a list").iter().map(text).collect()
}

#[test]
fn a_released_bundle_decides_as_it_did_when_it_was_released() {
    let policy = Policy::from_bundle(&shared("bundles/v1/full.bobcat")).expect("a bundle");
    let expected: Value =
        serde_json::from_slice(&shared("bundles/v1/full.expected.json")).expect("JSON");
    assert_eq!(policy.id(), expected["digest"]);
    let decisions = expected["decisions"].as_array().expect("a list");
    let requests = String::from_utf8(shared("bundles/v1/requests.jsonl")).expect("text");
    assert_eq!(requests.lines().count(), decisions.len());
    for (request, wanted) in requests.lines().zip(decisions) {
        let found = policy.evaluate(request.as_bytes()).expect("a decision");
        assert_eq!(
            found.decision.verdict.as_str(),
            wanted["verdict"],
            "{request}"
        );
        assert_eq!(found.decision.reason, wanted["reason"], "{request}");
        assert_eq!(
            found.decision.rules,
            texts(&wanted["matched_rules"]),
            "{request}"
        );
        let args = found.args.map_or(Value::Null, |args| {
            serde_json::from_str(&args).expect("arguments are JSON")
        });
        assert_eq!(args, wanted["transform_args"], "{request}");
    }
}

#[test]
fn a_damaged_bundle_is_refused_at_every_byte() {
    let whole = include_bytes!("../../examples/allow_reads.bobcat");
    Policy::from_bundle(whole).expect("a bundle");
    for at in 0..whole.len() {
        let mut damaged = whole.to_vec();
        damaged[at] ^= 0x10;
        // The source map takes no part in decisions, and its digest is checked all the same.
        assert!(Policy::from_bundle(&damaged).is_err(), "byte {at}");
        assert!(Policy::from_bundle(&whole[..at]).is_err(), "{at} bytes");
    }
}

#[test]
fn a_bundle_that_needs_python_is_refused() {
    let error = Policy::from_bundle(&shared("bundles/v1/lynx.bobcat")).expect_err("refused");
    assert!(error.to_string().contains("profile `lynx`"), "{error}");
}

#[test]
fn a_text_that_is_no_request_has_no_decision() {
    let policy =
        Policy::from_bundle(include_bytes!("../../examples/allow_reads.bobcat")).expect("a bundle");
    for text in ["", "{}", "[]", r#"{"tool": 1}"#, r#"{"tool": "shell""#] {
        let error = policy.evaluate(text.as_bytes()).expect_err(text);
        assert!(matches!(error, EvaluateError::BadRequest(_)), "{error}");
    }
    let found = policy
        .evaluate(br#"{"tool": "shell", "args": {"cmd": "git status; rm x"}}"#)
        .expect("a decision");
    assert_eq!(found.decision.verdict, Verdict::Deny);
    assert_eq!(found.decision.rules, ["no-rm"]);
}
