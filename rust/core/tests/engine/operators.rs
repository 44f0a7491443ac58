//! The operator table of `docs/reference/semantics.md`, cell by cell, in a rule that permits and in one that restricts.

use bobcat_core::json::value::JsonRequest;
use bobcat_core::program::{DecidedBy, Program, Scratch};

use crate::dressed::dress;

/// Evaluates `args.a OP OPERAND` on `value` (`None`: no such argument).
fn judge(op: &str, operand: &str, value: Option<&str>, verdict: &str) -> String {
    let dialect = if op == "matches" { "\"re2\"" } else { "null" };
    let leaf = format!(
        r#"{{"dialect":{dialect},"head":"args","k":"leaf","op":"{op}","operand":{operand},"path":["a"]}}"#
    );
    let rule = format!(
        r#"{{"approvers":[],"id":"r","k":"rule","match":{leaf},"priority":0,"reason":"","timeout_seconds":null,"transform":null,"verdict":"{verdict}"}}"#
    );
    let policy = format!(
        r#"{{"defaults":{{"on_missing_shadow":"deny","on_no_match":"dry_run","on_rule_error":"deny"}},"ir_version":1,"language_version":1,"profile":"strict","rules":[{rule}]}}"#
    );
    let program =
        Program::from_ir(policy.as_bytes()).unwrap_or_else(|error| panic!("{error}: {leaf}"));
    let args = value.map_or(String::new(), |value| format!("\"a\":{value}"));
    let call = format!(r#"{{"tool":"t","args":{{{args}}},"declared":{{"reversible":true}}}}"#);
    let call = JsonRequest::parse(call.as_bytes()).expect("a request");
    let outcome = program.decide(&call, &mut Scratch::new());
    match (&outcome.decided, outcome.markers.as_slice()) {
        (DecidedBy::Rule(0), []) => "true".to_owned(),
        (DecidedBy::NoMatch, []) => "false".to_owned(),
        (DecidedBy::NoMatch, [marker]) => marker.code.to_string(),
        (DecidedBy::ErrorDeny(0, code), []) => code.to_string(),
        _ => panic!("{:?}", dress(&program, outcome)),
    }
}

#[test]
fn every_cell_of_the_operator_table_holds() {
    let values = [
        "null",
        "true",
        "1",
        "1.0",
        "\"ab\"",
        "[\"a\",1]",
        "{\"k\":1}",
    ];
    let wrong = "wrong_type";
    #[rustfmt::skip]
    let table = [
        ("eq", "null",           ["true", "false", "false", "false", "false", wrong, wrong]),
        ("eq", "true",           ["false", "true", wrong, wrong, wrong, wrong, wrong]),
        ("eq", "false",          ["false", "false", wrong, wrong, wrong, wrong, wrong]),
        ("eq", "1",              ["false", "false", "true", "true", "false", wrong, wrong]),
        ("eq", "\"ab\"",         ["false", "false", "false", "false", "true", wrong, wrong]),
        ("eq", "[\"a\",1]",      ["false", wrong, wrong, wrong, wrong, "true", "false"]),
        ("eq", "{\"map\":{\"k\":1}}", ["false", wrong, wrong, wrong, wrong, "false", "true"]),
        ("in", "[1,\"ab\"]",     ["false", "false", "true", "true", "true", wrong, wrong]),
        ("in", "[null,0.5]",     ["true", "false", "false", "false", "false", wrong, wrong]),
        ("in", "[1,true]",       ["false", "true", "true", "true", wrong, wrong, wrong]),
        ("in", "[null,false]",   ["true", "false", wrong, wrong, wrong, wrong, wrong]),
        ("in", "[]",             ["false", "false", "false", "false", "false", wrong, wrong]),
        ("matches", "\"a\"",     [wrong, wrong, wrong, wrong, "true", wrong, wrong]),
        ("contains", "\"a\"",    [wrong, wrong, wrong, wrong, "true", "true", "false"]),
        ("contains", "\"k\"",    [wrong, wrong, wrong, wrong, "false", "false", "true"]),
        ("contains", "1",        [wrong, wrong, wrong, wrong, wrong, "true", wrong]),
        ("contains_any", "[\"z\",\"b\"]", [wrong, wrong, wrong, wrong, "true", "false", "false"]),
        ("contains_any", "[1,\"a\"]", [wrong, wrong, wrong, wrong, "true", "true", wrong]),
        ("contains_any", "[]",   [wrong, wrong, wrong, wrong, "false", "false", "false"]),
        ("contains_all", "[\"a\",\"b\"]", [wrong, wrong, wrong, wrong, "true", "false", "false"]),
        ("contains_all", "[1,\"z\"]", [wrong, wrong, wrong, wrong, "false", "false", "false"]),
        ("gt", "0",              [wrong, wrong, "true", "true", wrong, wrong, wrong]),
        ("ge", "1",              [wrong, wrong, "true", "true", wrong, wrong, wrong]),
        ("lt", "1",              [wrong, wrong, "false", "false", wrong, wrong, wrong]),
        ("le", "\"b\"",          [wrong, wrong, wrong, wrong, "true", wrong, wrong]),
        ("between", "[1,2]",     [wrong, wrong, "true", "true", wrong, wrong, wrong]),
        ("between", "[\"a\",\"b\"]", [wrong, wrong, wrong, wrong, "true", wrong, wrong]),
        ("not_between", "[1,2]", [wrong, wrong, "false", "false", wrong, wrong, wrong]),
        ("starts_with", "\"a\"", [wrong, wrong, wrong, wrong, "true", wrong, wrong]),
        ("ends_with", "[\"a\",\"z\"]", [wrong, wrong, wrong, wrong, "false", wrong, wrong]),
        ("length", r#"{"tests":[{"op":"eq","operand":2}]}"#, [wrong, wrong, wrong, wrong, "true", "true", "false"]),
        ("lower", r#"{"tests":[{"op":"eq","operand":"ab"}]}"#, [wrong, wrong, wrong, wrong, "true", wrong, wrong]),
        ("byte_length", r#"{"tests":[{"op":"le","operand":2}]}"#, [wrong, wrong, wrong, wrong, "true", wrong, wrong]),
        ("first", r#"{"tests":[{"op":"eq","operand":"a"}]}"#, [wrong, wrong, wrong, wrong, wrong, "true", wrong]),
        ("any", r#"{"tests":[{"op":"eq","operand":1}]}"#, [wrong, wrong, wrong, wrong, wrong, "true", wrong]),
        ("all", r#"{"tests":[{"op":"eq","operand":1}]}"#, [wrong, wrong, wrong, wrong, wrong, "false", wrong]),
        ("none", r#"{"tests":[{"op":"eq","operand":2}]}"#, [wrong, wrong, wrong, wrong, wrong, "true", wrong]),
        ("eq", r#"{"ref":["tool"]}"#, ["false", "false", "false", "false", "false", wrong, wrong]),
        ("eq", r#"{"ref":["declared","reversible"]}"#, ["false", "true", wrong, wrong, wrong, wrong, wrong]),
        ("in", r#"{"ref":["args","a"]}"#, [wrong; 7]),
        ("contains", r#"{"ref":["tool"]}"#, [wrong, wrong, wrong, wrong, "false", "false", "false"]),
        ("lt", r#"{"ref":["tool"]}"#, [wrong, wrong, wrong, wrong, "true", wrong, wrong]),
        ("eq", r#"{"ref":["args","b"]}"#, ["false"; 7]),
        ("exists", "true",       ["true"; 7]),
        ("exists", "false",      ["false"; 7]),
    ];
    for (op, operand, row) in table {
        for (value, wanted) in values.into_iter().zip(row) {
            for verdict in ["allow", "deny"] {
                assert_eq!(
                    judge(op, operand, Some(value), verdict),
                    wanted,
                    "{value} {op} {operand} in `{verdict}`"
                );
            }
        }
    }
}

#[test]
fn a_tool_that_meets_a_bool_is_an_error_for_every_tool() {
    let rule = |id: &str, op: &str, operand: &str| {
        format!(
            r#"{{"approvers":[],"id":"{id}","k":"rule","match":{{"dialect":null,"head":"tool","k":"leaf","op":"{op}","operand":{operand},"path":[]}},"priority":0,"reason":"","timeout_seconds":null,"transform":null,"verdict":"approve_required"}}"#
        )
    };
    for (op, operand) in [("eq", "true"), ("in", r#"["a",true]"#)] {
        let rules = [rule("odd", op, operand), rule("rest", "eq", "\"b\"")].join(",");
        let policy = format!(
            r#"{{"defaults":{{"on_missing_shadow":"deny","on_no_match":"dry_run","on_rule_error":"deny"}},"ir_version":1,"language_version":1,"profile":"strict","rules":[{rules}]}}"#
        );
        let program = Program::from_ir(policy.as_bytes()).expect("a policy");
        let call = JsonRequest::parse(br#"{"tool":"b","args":{}}"#).expect("a request");
        let outcome = program.decide(&call, &mut Scratch::new());
        assert_eq!(
            dress(&program, outcome),
            dress(&program, program.decide_plain(&call))
        );
        let outcome = program.decide(&call, &mut Scratch::new());
        assert!(
            matches!(&outcome.decided, DecidedBy::ErrorDeny(0, code) if code.to_string() == "wrong_type")
        );
    }
}

#[test]
fn a_missing_path_fires_nothing_but_exists_false() {
    for verdict in ["allow", "deny"] {
        for (op, operand) in [
            ("eq", "null"),
            ("in", "[null]"),
            ("not_between", "[1,2]"),
            ("exists", "true"),
        ] {
            assert_eq!(
                judge(op, operand, None, verdict),
                "false",
                "{op} in `{verdict}`"
            );
        }
        assert_eq!(judge("exists", "false", None, verdict), "true");
    }
}

#[test]
fn values_that_no_operator_judges_have_their_own_codes() {
    let huge = "9".repeat(1300);
    for (op, operand) in [
        ("eq", "1"),
        ("in", "[]"),
        ("gt", "0"),
        ("contains", "\"a\""),
        ("matches", "\"a\""),
    ] {
        assert_eq!(
            judge(op, operand, Some(&huge), "deny"),
            "out_of_range",
            "{op}"
        );
        assert_eq!(
            judge(op, operand, Some(r#""\ud800""#), "deny"),
            "bad_unicode",
            "{op}"
        );
    }
    assert_eq!(judge("exists", "true", Some(&huge), "deny"), "true");
}

#[test]
fn elements_count_until_the_answer_is_known() {
    assert_eq!(
        judge("contains", "1", Some(r#"[1,"\ud800"]"#), "deny"),
        "true"
    );
    assert_eq!(
        judge("contains", "1", Some(r#"["\ud800",1]"#), "deny"),
        "bad_unicode"
    );
    assert_eq!(judge("contains", "1", Some("[[1],{}]"), "deny"), "false");
    assert_eq!(
        judge("eq", "[1,2]", Some(r#"[1,"\ud800"]"#), "deny"),
        "bad_unicode"
    );
    assert_eq!(
        judge("eq", "[1,2]", Some(r#"[3,"\ud800"]"#), "deny"),
        "false"
    );
    assert_eq!(
        judge("eq", "[1,2]", Some(r#"[1,2,"\ud800"]"#), "deny"),
        "false"
    );
    assert_eq!(
        judge("contains_any", "[\"x\",1]", Some(r#"[1,"\ud800"]"#), "deny"),
        "true"
    );
}
