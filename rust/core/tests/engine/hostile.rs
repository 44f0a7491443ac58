//! Hostile bytes are rejected with a code, in bounded time; nothing panics.

use bobcat_core::json::value::JsonRequest;
use bobcat_core::limits::{MAX_CONST_DEPTH, MAX_EXPR_DEPTH, MAX_RULES};
use bobcat_core::program::{Program, Scratch};

use crate::generator::{Random, policy, request};

const CODES: [&str; 5] = [
    "ir_syntax",
    "ir_version",
    "ir_limit",
    "bad_pattern",
    "bad_ir",
];

fn code(bytes: &[u8]) -> &'static str {
    let error = Program::from_ir(bytes).expect_err("refused");
    assert!(CODES.contains(&error.code), "{error}");
    assert!(!error.message.is_empty());
    error.code
}

fn with_rules(rules: &str) -> String {
    format!(
        r#"{{"defaults":{{"on_missing_shadow":"deny","on_no_match":"deny","on_rule_error":"deny"}},"ir_version":1,"language_version":1,"profile":"strict","rules":[{rules}]}}"#
    )
}

fn with_match(expr: &str) -> String {
    with_rules(&format!(
        r#"{{"approvers":[],"id":"r","k":"rule","match":{expr},"priority":0,"reason":"","timeout_seconds":null,"transform":null,"verdict":"deny"}}"#
    ))
}

fn with_leaf(op: &str, operand: &str, dialect: &str) -> String {
    with_match(&format!(
        r#"{{"dialect":{dialect},"head":"args","k":"leaf","op":"{op}","operand":{operand},"path":["a"]}}"#
    ))
}

#[test]
fn every_truncation_is_refused() {
    let text = policy(&mut Random::new(7), "strict", 6);
    for end in 0..text.len() {
        if text.is_char_boundary(end) {
            assert_eq!(
                code(&text.as_bytes()[..end]),
                "ir_syntax",
                "{}",
                &text[..end]
            );
        }
    }
}

#[test]
fn changed_bytes_are_refused_or_make_a_policy_that_decides() {
    let text = policy(&mut Random::new(11), "strict", 4);
    let call = request(&mut Random::new(3));
    let call = JsonRequest::parse(call.as_bytes()).expect("a request");
    let mut random = Random::new(5);
    for _ in 0..20_000 {
        let mut bytes = text.clone().into_bytes();
        for _ in 0..1 + random.below(3) {
            let at = random.below(bytes.len());
            if random.chance(70) {
                bytes[at] ^= 1 << random.below(8);
            } else {
                bytes.remove(at);
            }
        }
        match Program::from_ir(&bytes) {
            Ok(program) => {
                program.decide(&call, &mut Scratch::new());
            }
            Err(error) => assert!(CODES.contains(&error.code), "{error}"),
        }
    }
}

#[test]
fn depth_is_capped_for_expressions_constants_and_json() {
    let nested = |depth: usize| {
        let open = r#"{"item":"#.repeat(depth);
        let close = r#","k":"not"}"#.repeat(depth);
        with_match(&format!(r#"{open}{{"items":[],"k":"all"}}{close}"#))
    };
    assert!(Program::from_ir(nested(MAX_EXPR_DEPTH - 1).as_bytes()).is_ok());
    assert_eq!(code(nested(MAX_EXPR_DEPTH).as_bytes()), "ir_limit");
    let listed = |depth: usize| {
        with_leaf(
            "eq",
            &format!("{}1{}", "[".repeat(depth), "]".repeat(depth)),
            "null",
        )
    };
    assert!(Program::from_ir(listed(MAX_CONST_DEPTH).as_bytes()).is_ok());
    assert_eq!(code(listed(MAX_CONST_DEPTH + 1).as_bytes()), "ir_limit");
    for byte in ["[", "{\"a\":"] {
        assert_eq!(code(byte.repeat(1_000_000).as_bytes()), "ir_limit");
    }
}

#[test]
fn the_number_of_rules_is_capped() {
    let host = r#"{"code":"c","k":"host","module":"m","name":"n","priority":0,"qualname":"q"}"#;
    let rules = vec![host; MAX_RULES].join(",");
    assert!(Program::from_ir(with_rules(&rules).as_bytes()).is_ok());
    assert_eq!(
        code(with_rules(&format!("{rules},{host}")).as_bytes()),
        "ir_limit"
    );
}

#[test]
fn patterns_are_capped_and_must_be_of_their_dialect() {
    assert_eq!(
        code(with_leaf("matches", &format!("\"{}\"", "a".repeat(1001)), "\"re2\"").as_bytes()),
        "ir_limit"
    );
    for pattern in ["(", "a{1001}", "(?=a)", "((((a{100}){100}){100}){100})"] {
        assert_eq!(
            code(with_leaf("matches", &format!("\"{pattern}\""), "\"re2\"").as_bytes()),
            "bad_pattern",
            "{pattern}"
        );
    }
    assert_eq!(
        code(with_leaf("matches", "\"a\"", "null").as_bytes()),
        "bad_ir"
    );
    assert_eq!(
        code(with_leaf("eq", "\"a\"", "\"re2\"").as_bytes()),
        "bad_ir"
    );
}

#[test]
fn operands_must_suit_their_operator() {
    let bad = [
        ("in", "1"),
        ("in", "[[1]]"),
        ("gt", "null"),
        ("gt", "true"),
        ("gt", "{\"timestamp\":1}"),
        ("between", "[1]"),
        ("between", "[1,\"a\"]"),
        ("contains", "[1]"),
        ("contains_all", "[]"),
        ("contains_any", "\"ab\""),
        ("exists", "1"),
        ("eq", "{\"float\":\"nan\"}"),
        ("eq", "{\"set\":[]}"),
        ("eq", "{\"a\":1,\"b\":2}"),
        ("eq", "1e999"),
        ("eq", "{\"map\":{\"a\":1,\"a\":2}}"),
        ("eq", "{\"map\":{\"abcdefgh1\":1,\"abcdefgh1\":2}}"),
        ("eq", "{\"map\":{\"b\":1,\"a\":2,\"b\":3}}"),
        ("eq", "{\"map\":{\"a\":1,\"\\u0061\":2}}"),
        ("eq", "\"\\ud800\""),
        ("matches", "1"),
        ("like", "1"),
        ("starts_with", "1"),
        ("starts_with", "[]"),
        ("ends_with", "[\"a\",1]"),
        ("length", "5"),
        ("length", r#"{"tests":[]}"#),
        ("length", r#"{"tests":[{"op":"contains","operand":"a"}]}"#),
        (
            "lower",
            r#"{"tests":[{"op":"length","operand":{"tests":[{"op":"eq","operand":1}]}}]}"#,
        ),
        ("any", r#"{"tests":[{"op":"exists","operand":true}]}"#),
        ("any", r#"{"tests":[{"op":"eq"}]}"#),
        ("any", r#"{"tests":[{"op":"matches","operand":"a"}]}"#),
        ("any", r#"{"tests":{"op":"eq","operand":1}}"#),
        ("eq", r#"{"tests":[{"op":"eq","operand":1}]}"#),
        ("eq", r#"{"ref":[]}"#),
        ("eq", r#"{"ref":["tools"]}"#),
        ("eq", r#"{"ref":["declared","colour"]}"#),
        ("eq", r#"{"ref":"args.a"}"#),
        ("eq", r#"[{"ref":["tool"]}]"#),
        ("between", r#"{"ref":["tool"]}"#),
        ("contains_any", r#"{"ref":["tool"]}"#),
    ];
    for (op, operand) in bad {
        let error = Program::from_ir(with_leaf(op, operand, "null").as_bytes()).expect_err(operand);
        assert!(
            ["bad_ir", "ir_syntax"].contains(&error.code),
            "{op} {operand}: {error}"
        );
    }
    assert_eq!(
        code(with_leaf("eq", &"9".repeat(2000), "null").as_bytes()),
        "ir_limit"
    );
    let mut deep = r#"{"tests":[{"op":"eq","operand":1}]}"#.to_owned();
    for level in 1..6 {
        let decoded = Program::from_ir(with_leaf("any", &deep, "null").as_bytes());
        assert_eq!(decoded.is_ok(), level <= 4, "{level} levels");
        deep = format!(r#"{{"tests":[{{"op":"any","operand":{deep}}}]}}"#);
    }
}

#[test]
fn the_keys_of_a_constant_stand_in_any_order() {
    for operand in [
        r#"{"map":{"b":1,"a":2}}"#,
        r#"{"map":{"abcdefgh2":1,"abcdefgh1":2,"abcdefgh":3}}"#,
        r#"{"map":{"":1,"\u0001":2,"a":3}}"#,
    ] {
        let policy = with_leaf("eq", operand, "null");
        assert!(Program::from_ir(policy.as_bytes()).is_ok(), "{operand}");
    }
}

#[test]
fn paths_of_the_strict_profile_are_known_ones() {
    for (head, path) in [
        ("tool", r#"["a"]"#),
        ("declared", "[]"),
        ("declared", r#"["scop"]"#),
        ("declared", r#"["cost","a"]"#),
        ("context", r#"["principal"]"#),
        ("context", r#"["principal","kind","a"]"#),
        ("context", r#"["nope"]"#),
        ("arg", r#"["a"]"#),
    ] {
        let expr = format!(
            r#"{{"dialect":null,"head":"{head}","k":"leaf","op":"eq","operand":1,"path":{path}}}"#
        );
        assert_eq!(
            code(with_match(&expr).as_bytes()),
            "bad_ir",
            "{head} {path}"
        );
    }
}

#[test]
fn another_version_is_refused_by_its_number() {
    assert_eq!(
        code(
            with_rules("")
                .replace("\"ir_version\":1", "\"ir_version\":2")
                .as_bytes()
        ),
        "ir_version"
    );
}

#[test]
fn requests_that_are_none_are_refused_with_a_code() {
    for text in [
        "",
        "1",
        "{}",
        r#"{"tool":1}"#,
        r#"{"tool":"t","arg":{}}"#,
        r#"{"tool":"t","args":[]}"#,
        r#"{"tool":"t","tool":"u"}"#,
        r#"{"tool":"t","declared":{"cost":1}}"#,
        r#"{"tool":"t","declared":{"scope":["a",1]}}"#,
        r#"{"tool":"t","context":{"timestamp":"2026-01-31T12:00:00"}}"#,
        r#"{"tool":"t","context":{"timestamp":"2026-02-30T12:00:00Z"}}"#,
        r#"{"tool":"t","context":{"principal":{"kind":"user"}}}"#,
        r#"{"tool":"t"} x"#,
        r#"{"tool":"t","args":{"a":NaN}}"#,
        "{\"tool\":\"t\",\"args\":{\"a\":\"\u{1}\"}}",
    ] {
        let error = JsonRequest::parse(text.as_bytes()).expect_err(text);
        assert_eq!(error.code, "bad_request", "{text}");
    }
    let deep = format!(r#"{{"tool":"t","args":{{"a":{}}}}}"#, "[".repeat(100_000));
    assert_eq!(
        JsonRequest::parse(deep.as_bytes()).expect_err("deep").code,
        "bad_request"
    );
    assert_eq!(
        JsonRequest::parse(b"{\"tool\":\"\xff\"}")
            .expect_err("bytes")
            .code,
        "bad_request"
    );
}

#[test]
fn changed_requests_never_panic() {
    let mut random = Random::new(17);
    let program = Program::from_ir(policy(&mut random, "strict", 12).as_bytes()).expect("a policy");
    let mut scratch = Scratch::new();
    for _ in 0..5_000 {
        let mut bytes = request(&mut random).into_bytes();
        let at = random.below(bytes.len());
        bytes[at] ^= 1 << random.below(8);
        match JsonRequest::parse(&bytes) {
            Ok(call) => {
                program.decide(&call, &mut scratch);
            }
            Err(error) => assert_eq!(error.code, "bad_request"),
        }
    }
}
