//! Small policies for the tests of compilation.

use serde_json::{Value, json};

use crate::program::Program;

/// A clause about a path such as `args.query`.
pub(super) fn leaf(path: &str, op: &str, operand: Value) -> Value {
    let (head, path) = path.split_once('.').expect("a path");
    let keys: Vec<&str> = path.split('.').collect();
    let dialect = (op == "matches").then_some("re2");
    json!({"k": "leaf", "head": head, "path": keys, "op": op, "operand": operand, "dialect": dialect})
}

/// A policy with a denial for each of these matches.
pub(super) fn denials(matches: impl IntoIterator<Item = Value>) -> Program {
    let rules = matches.into_iter().enumerate().map(|(number, matched)| {
        json!({
            "k": "rule", "id": format!("r{number}"), "priority": 0, "verdict": "deny", "reason": "",
            "approvers": [], "timeout_seconds": null, "transform": null, "match": matched,
        })
    });
    let rules: Vec<Value> = rules.collect();
    let policy = json!({
        "ir_version": 1, "language_version": 1, "profile": "strict", "rules": rules,
        "defaults": {"on_no_match": "deny", "on_missing_shadow": "deny", "on_rule_error": "deny"},
    });
    Program::from_ir(policy.to_string().as_bytes()).expect("a policy")
}
