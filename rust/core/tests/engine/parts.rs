//! Rules over parts of parsed texts: with an index over the parts, the decision is that of the plain path.

use bobcat_core::json::value::JsonRequest;
use bobcat_core::program::{Program, Scratch};
use serde_json::{Value, json};

use crate::dressed::dress;
use crate::generator::Random;
use crate::short_cuts::CUTS;

const HOSTS: [&str; 6] = [
    "a.example",
    "b.example",
    "x.a.example",
    "example",
    "10.0.0.1",
    "c.test",
];
const ROOTS: [&str; 6] = ["/", "/srv", "/srv/ws", "/srv/ws/a", "/etc", "."];
const LINKS: [&str; 16] = [
    "https://a.example/",
    "http://x.a.example/b",
    "https://b.example:8443/?k=1",
    "https://xa.example/",
    "http://10.0.0.1/",
    "urn:isbn:1",
    "mailto:a@b",
    "https://a.example\\@b.example/",
    "http://127.1/",
    "nonsense",
    "https://u@a.example/",
    "ftp://example/",
    "file:///srv",
    "https://c.test./a",
    "",
    "https://A.EXAMPLE",
];
const FILES: [&str; 14] = [
    "/",
    "/srv",
    "/srv/ws",
    "/srv/ws/a/b.txt",
    "/srv/wsx",
    "/srv/ws/../x",
    "a",
    "a/..",
    "../a",
    "~/a",
    "/etc/passwd",
    "",
    "/srv/ws/",
    "/proc/self/root",
];
const COMMANDS: [&str; 14] = [
    "ls",
    "ls -l; rm -rf x",
    "cat a | git log",
    "rm -rf /",
    "rm *",
    "ls $(id)",
    "",
    "X=1",
    "sudo rm -rf x",
    "./ls",
    "cat a b",
    "git status && ls",
    "rm 'a b' -rf",
    "ls ${X}",
];
const VERSIONS: [&str; 6] = ["1.0.0", "1.0.0-rc", "1.10.0", "2.0.0+b", "1.0", "v1"];

fn pick<'t>(random: &mut Random, items: &[&'t str]) -> &'t str {
    items
        .get(random.below(items.len()))
        .copied()
        .unwrap_or_default()
}

fn facet(path: &str, facet: &str, tests: &Value) -> Value {
    json!({"k": "leaf", "head": "args", "path": [path], "op": facet, "operand": {"tests": tests}})
}

fn part(name: &str, op: &str, operand: &Value) -> Value {
    json!({"op": "part", "operand": {"path": [name], "tests": [{"op": op, "operand": operand}]}})
}

fn leaf(random: &mut Random) -> Value {
    let host = pick(random, &HOSTS);
    let other = pick(random, &HOSTS);
    match random.below(22) {
        0..=2 => facet("link", "url", &json!([part("host", "eq", &json!(host))])),
        3 | 4 => facet(
            "link",
            "url",
            &json!([part("host", "in", &json!([host, other]))]),
        ),
        5 | 6 => facet(
            "link",
            "url",
            &json!([part("host", "within", &json!(["example", other]))]),
        ),
        7 => facet(
            "link",
            "url",
            &json!([part("scheme", "eq", &json!("https"))]),
        ),
        8 => facet(
            "link",
            "url",
            &json!([part("is_private", "eq", &json!(true))]),
        ),
        9 => facet(
            "link",
            "url",
            &json!([
                part("host", "exists", &json!(false)),
                part("scheme", "in", &json!(["urn", "file"]))
            ]),
        ),
        10..=12 => facet(
            "file",
            "path",
            &json!([{"op": "within", "operand": pick(random, &ROOTS)}]),
        ),
        13 => facet(
            "file",
            "path",
            &json!([part("name", "eq", &json!("b.txt"))]),
        ),
        15..=20 => commands(random),
        14 => facet("file", "semver", &json!([{"op": "eq", "operand": "1.0.0"}])),
        _ => {
            json!({"k": "leaf", "head": "args", "path": ["file"], "op": "starts_with", "operand": "/srv"})
        }
    }
}

/// Tests of some or all commands.
fn commands(random: &mut Random) -> Value {
    let each = pick(random, &["any", "any", "all", "none"]);
    let program = pick(random, &["ls", "rm", "cat"]);
    let mut tests = vec![match random.below(3) {
        0 => part("program", "in", &json!([program, "git"])),
        _ => part("program", "eq", &json!(program)),
    }];
    if random.chance(30) {
        tests.push(part("argv", "contains", &json!("-rf")));
    }
    facet(
        "cmd",
        "shell",
        &json!([{"op": each, "operand": {"tests": tests}}]),
    )
}

fn expr(random: &mut Random, depth: usize) -> Value {
    let several = |random: &mut Random, k: &str| {
        let items: Vec<Value> = (0..1 + random.below(3))
            .map(|_| expr(random, depth - 1))
            .collect();
        json!({"k": k, "items": items})
    };
    match random.below(if depth == 0 { 4 } else { 8 }) {
        4 | 5 => several(random, "all"),
        6 => several(random, "any"),
        7 => json!({"k": "not", "item": expr(random, depth - 1)}),
        _ => leaf(random),
    }
}

fn policy(random: &mut Random, rules: usize) -> String {
    let rules: Vec<Value> = (0..rules)
        .map(|at| {
            let tool = json!({"k": "leaf", "head": "tool", "path": [], "op": "eq", "operand": "t"});
            let inner = expr(random, 2);
            let body = if random.chance(60) {
                json!({"k": "all", "items": [inner, tool]})
            } else {
                inner
            };
            json!({
                "k": "rule", "id": format!("r{at}"), "priority": 0, "match": body,
                "verdict": pick(random, &["allow", "deny", "dry_run", "approve_required"]),
                "reason": "", "approvers": [], "timeout_seconds": null, "transform": null,
            })
        })
        .collect();
    let on_error = pick(random, &["deny", "continue"]);
    json!({
        "ir_version": 1, "profile": "strict", "language_version": 1, "rules": rules,
        "defaults": {"on_no_match": "deny", "on_missing_shadow": "deny", "on_rule_error": on_error},
    })
    .to_string()
}

fn value(random: &mut Random, texts: &[&str]) -> Option<Value> {
    match random.below(12) {
        0 => None,
        1 => Some(json!(5)),
        2 => Some(json!([pick(random, texts)])),
        3 => Some(Value::Null),
        _ => Some(json!(pick(random, texts))),
    }
}

#[test]
fn with_any_optimisations_the_decision_is_that_of_the_plain_path() {
    let mut scratch = Scratch::new();
    let mut verdicts = std::collections::BTreeMap::new();
    let all: Vec<&str> = FILES.into_iter().chain(VERSIONS).collect();
    for seed in 0..600 {
        let mut random = Random::new(seed);
        let rules = [1, 3, 6, 12, 40].get(random.below(5)).copied().unwrap_or(1);
        let text = policy(&mut random, rules);
        let program = Program::from_ir(text.as_bytes())
            .unwrap_or_else(|error| panic!("seed {seed}: {error}: {text}"));
        for _ in 0..16 {
            let mut args = serde_json::Map::new();
            args.extend(value(&mut random, &LINKS).map(|value| ("link".to_owned(), value)));
            args.extend(value(&mut random, &COMMANDS).map(|value| ("cmd".to_owned(), value)));
            args.extend(value(&mut random, &all).map(|value| ("file".to_owned(), value)));
            let bytes = json!({"tool": pick(&mut random, &["t", "u"]), "args": args, "declared": {"reversible": true}})
                .to_string();
            let call = JsonRequest::parse(bytes.as_bytes()).expect("a request");
            let plain = dress(&program, program.decide_plain(&call));
            for cuts in CUTS {
                let fast = dress(&program, program.decide_with(&call, &mut scratch, cuts));
                assert_eq!(fast, plain, "seed {seed}, {cuts:?}\n{bytes}\n{text}");
            }
            *verdicts.entry(format!("{:?}", plain.verdict)).or_insert(0) += 1;
        }
    }
    assert!(
        verdicts.values().filter(|count| **count > 100).count() >= 3,
        "{verdicts:?}"
    );
}
