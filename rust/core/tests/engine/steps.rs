//! The steps of a decision: their consumers, and growth no faster than the request, by the index and without it.

use bobcat_core::eval::ShortCuts;
use bobcat_core::json::value::JsonRequest;
use bobcat_core::limits::MAX_DECISION_STEPS;
use bobcat_core::program::{Program, Scratch};
use serde_json::{Value, json};

use crate::dressed::dress;

/// The ratio of the large request to the small one, and the tolerance of the ratio of their steps.
const FACTOR: usize = 100;
const MARGIN: u64 = 4;

fn policy(rules: &[Value]) -> Program {
    made(rules, "deny")
}

/// A policy that goes on after a rule in error.
fn lenient(rules: &[Value]) -> Program {
    made(rules, "continue")
}

fn made(rules: &[Value], on_rule_error: &str) -> Program {
    let policy = json!({
        "defaults": {"on_missing_shadow": "deny", "on_no_match": "deny", "on_rule_error": on_rule_error},
        "ir_version": 1, "language_version": 1, "profile": "strict", "rules": rules,
    });
    Program::from_ir(policy.to_string().as_bytes()).unwrap_or_else(|error| panic!("{error}"))
}

fn dialect(op: &str) -> Option<&str> {
    (op == "matches").then_some("re2")
}

/// A rule that denies by one clause on `args.PATH`.
fn clause(id: usize, path: &str, op: &str, operand: &Value) -> Value {
    json!({
        "approvers": [], "id": format!("r{id}"), "k": "rule", "priority": 0, "reason": "",
        "match": {
            "dialect": dialect(op), "head": "args", "k": "leaf", "op": op, "operand": operand, "path": [path],
        },
        "timeout_seconds": null, "transform": null, "verdict": "deny",
    })
}

fn one(path: &str, op: &str, operand: &Value) -> Program {
    policy(&[clause(0, path, op, operand)])
}

/// The operand of `any`, `all` and `lower`.
fn of(op: &str, operand: &Value) -> Value {
    let mut test = json!({"op": op, "operand": operand});
    if let Some(dialect) = dialect(op) {
        test["dialect"] = json!(dialect);
    }
    json!({"tests": [test]})
}

/// The steps of a decision by the index, and along the plain path.
fn both(program: &Program, args: &Value) -> [u64; 2] {
    let text = json!({"tool": "t", "args": args}).to_string();
    let call = JsonRequest::parse(text.as_bytes()).expect("a request");
    [ShortCuts::ALL, ShortCuts::NONE].map(|cuts| {
        let (_, steps) = program.decide_counted(&call, &mut Scratch::new(), cuts);
        steps
    })
}

fn steps(program: &Program, args: &Value) -> u64 {
    let [steps, _] = both(program, args);
    steps
}

fn words(count: usize) -> Vec<String> {
    (0..count).map(|number| format!("w{number}")).collect()
}

/// A thousand words, again and again.
fn repeated(count: usize) -> Vec<String> {
    words(1_000).into_iter().cycle().take(count).collect()
}

#[test]
fn a_clause_on_a_scalar_or_a_short_text_takes_no_step() {
    let program = policy(&[
        clause(0, "n", "gt", &json!(5)),
        clause(1, "text", "matches", &json!("[a-z]+[0-9]{3}$")),
        clause(2, "text", "contains", &json!("zzz")),
    ]);
    let args = json!({"n": 1, "text": "x".repeat(1_000)});
    assert_eq!(both(&program, &args), [0, 0]);
}

#[test]
fn a_decision_takes_no_more_steps_than_there_are() {
    let elements = |rule: usize| {
        clause(
            rule,
            "items",
            "any",
            &of("eq", &json!(format!("no {rule}"))),
        )
    };
    let needles = |rule: usize| {
        let needles: Vec<_> = (0..50).map(|number| format!("n{number} {rule}")).collect();
        clause(rule, "items", "contains_any", &json!(needles))
    };
    let args = json!({"items": vec!["x"; 100_000]});
    for rules in [
        (0..60).map(elements).collect::<Vec<_>>(),
        (0..60).map(needles).collect(),
    ] {
        let program = policy(&rules);
        assert!(
            both(&program, &args)
                .into_iter()
                .all(|steps| steps <= MAX_DECISION_STEPS)
        );
    }
}

#[test]
fn without_steps_rules_about_made_values_are_in_error_by_the_index_too() {
    // No index lists bounds of elements: each rule goes over the list, until no step is left.
    let spent = (0..45).map(|rule| clause(rule, "items", "any", &of("gt", &json!(rule + 1))));
    let own = |rule: usize, op| clause(rule, "own", op, &of("eq", &json!(format!("no {rule}"))));
    let numbers: Vec<u8> = vec![0; 100_000];
    for (op, value) in [
        ("any", json!(["x", "y"])),
        ("lower", json!("X".repeat(100_000))),
    ] {
        let rules = spent.clone().chain((100..110).map(|rule| own(rule, op)));
        let program = lenient(&rules.collect::<Vec<_>>());
        let text = json!({"tool": "t", "args": {"items": numbers, "own": value}}).to_string();
        let call = JsonRequest::parse(text.as_bytes()).expect("a request");
        let [fast, plain] = [ShortCuts::ALL, ShortCuts::NONE].map(|cuts| {
            dress(
                &program,
                program.decide_with(&call, &mut Scratch::new(), cuts),
            )
        });
        assert_eq!(fast, plain, "{op}");
        assert!(format!("{plain:?}").contains("r109"), "{op}: {plain:?}");
    }
}

#[test]
fn elements_looked_up_at_another_path_take_a_step_each() {
    let mut rule = clause(
        0,
        "to",
        "all",
        &of("in", &json!({"ref": ["args", "known"]})),
    );
    for verdict in ["allow", "deny"] {
        rule["verdict"] = json!(verdict);
        let program = policy(std::slice::from_ref(&rule));
        for (count, range) in [(1_000, 1_000..=5_000), (100_000, 100_000..=200_000)] {
            let args = json!({"to": repeated(count), "known": words(1_000)});
            let steps = steps(&program, &args);
            assert!(range.contains(&steps), "{verdict}: {steps}");
        }
    }
}

#[test]
fn a_list_is_gone_over_once_for_all_needles() {
    for op in ["contains_any", "contains_all"] {
        let program = one("items", op, &json!(words(1_000)));
        let steps = steps(&program, &json!({"items": vec!["x"; 100_000]}));
        assert!((100_000..=200_000).contains(&steps), "{op}: {steps}");
    }
}

#[test]
fn a_text_is_gone_over_once_for_all_needles() {
    let program = one("text", "contains_any", &json!(words(1_000)));
    let steps = steps(&program, &json!({"text": "x".repeat(1_000_000)}));
    assert!((1..20_000).contains(&steps), "{steps}");
}

#[test]
fn the_steps_of_functions_are_those_of_the_decision() {
    let sum: Value = serde_json::from_str(
        r#"{"body":[{"k":"assign","target":{"k":"slot","slot":0},"value":{"k":"const","value":0}},{"body":[{"k":"assign","target":{"k":"slot","slot":0},"value":{"k":"binary","left":{"k":"local","slot":0},"operator":"add","right":{"k":"local","slot":1}}}],"k":"for","otherwise":[],"over":{"k":"item","key":{"k":"const","value":"numbers"},"of":{"k":"attr","name":"args","of":{"k":"root","name":"request"}}},"target":{"k":"slot","slot":1}},{"k":"if","otherwise":[],"test":{"first":{"k":"local","slot":0},"k":"compare","operators":["eq"],"others":[{"k":"const","value":-1}]},"then":[{"k":"return","value":{"args":[["reason",{"k":"const","value":"x"}]],"k":"decide","verdict":"deny"}}]},{"k":"return","value":{"k":"const","value":null}}],"k":"function","name":"counts","priority":5,"slots":2}"#,
    )
    .expect("a function");
    let program = policy(&[sum, clause(0, "items", "any", &of("eq", &json!("no")))]);
    let numbers: Vec<_> = (0..100_000).collect();
    let [indexed, plain] = both(&program, &json!({"numbers": numbers, "items": []}));
    assert!(indexed >= 100_000, "{indexed}");
    assert_eq!(indexed, plain);
}

#[test]
fn a_chain_of_transforms_ends() {
    let rules: Vec<_> = (0..600)
        .map(|number| {
            let mut rule = clause(number, "n", "eq", &json!(600 - number));
            rule["transform"] = json!({"op": "set", "path": ["n"], "value": 601 - number});
            rule["verdict"] = json!("transform");
            rule
        })
        .collect();
    let mut args: Value = (0..20_000)
        .map(|number| (format!("k{number}"), json!(number)))
        .collect();
    args["n"] = json!(1);
    let steps = steps(&policy(&rules), &args);
    assert!(
        (MAX_DECISION_STEPS / 2..=MAX_DECISION_STEPS).contains(&steps),
        "{steps}"
    );
}

/// The arguments of a request of a size.
type Args = fn(usize) -> Value;

#[test]
fn a_decision_takes_steps_in_proportion() {
    let needles = json!(words(1_000));
    let other = json!({"ref": ["args", "other"]});
    let fractions: Vec<_> = (0..1_000).map(|number| f64::from(number) + 0.5).collect();
    #[rustfmt::skip]
    let kinds: [(&str, Value, Args); 15] = [
        ("all", of("in", &other), |n| json!({"own": repeated(n), "other": words(1_000)})),
        ("any", of("in", &other), |n| json!({"own": vec!["x"; n], "other": words(1_000)})),
        ("any", of("any", &of("in", &other)), |n| json!({"own": vec![["x"]; n], "other": words(1_000)})),
        ("in", other, |n| json!({"own": "x", "other": words(n)})),
        ("contains_any", needles.clone(), |n| json!({"own": vec!["x"; n]})),
        ("contains_all", needles.clone(), |n| json!({"own": vec!["x"; n]})),
        ("contains_any", needles.clone(), |n| json!({"own": "x".repeat(n * 10)})),
        ("contains_all", needles.clone(), |n| json!({"own": "w1".repeat(n * 5)})),
        ("any", of("in", &needles), |n| json!({"own": vec!["x"; n]})),
        ("any", of("in", &json!(fractions)), |n| json!({"own": vec![0.25; n]})),
        ("any", of("starts_with", &needles), |n| json!({"own": vec!["x"; n]})),
        ("any", of("ends_with", &needles), |n| json!({"own": vec!["x"; n]})),
        ("any", of("matches", &json!("[a-z]{3}[0-9]+$")), |n| json!({"own": vec!["x"; n]})),
        ("matches", json!("[a-z]{3}[0-9]+$"), |n| json!({"own": "x".repeat(n * 10)})),
        ("lower", of("eq", &json!("x")), |n| json!({"own": "X".repeat(n * 10)})),
    ];
    for (op, operand, args) in kinds {
        let program = one("own", op, &operand);
        let [few, many] = [1_000, 1_000 * FACTOR].map(|size| both(&program, &args(size)));
        for (few, many) in few.into_iter().zip(many) {
            let most = MARGIN * FACTOR as u64 * few.max(50);
            assert!(many <= most, "{op} {operand}: {few} steps, then {many}");
        }
    }
}
