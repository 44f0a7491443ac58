//! Every answer about generated policies, compared with the evaluator on all requests of a small domain.

use std::collections::{BTreeMap, BTreeSet};

use bobcat_core::analysis::Budget;
use bobcat_core::program::Program;
use serde_json::{Value, json};

use crate::answers::{Side, analysis, ask, check_reasons, decide, side, tool_of};
use crate::generator::{Fragment, Random, long_policy, mutant, plain, policy, requests};

/// Questions that were asked, and those that stayed open.
#[derive(Debug, Default)]
struct Counts {
    asked: usize,
    open: usize,
}

fn program(policy: &Value) -> Program {
    Program::from_ir(policy.to_string().as_bytes()).expect("a policy")
}

/// The tools that leaves on the tool compare with by equality.
fn named_tools(policies: &[&Value]) -> BTreeSet<String> {
    let mut named = BTreeSet::new();
    let mut open: Vec<&Value> = policies.to_vec();
    while let Some(value) = open.pop() {
        match value {
            Value::Array(items) => open.extend(items),
            Value::Object(map) => {
                let operator = map.get("op").and_then(Value::as_str);
                if map.get("head") == Some(&json!("tool")) {
                    let texts = match (operator, map.get("operand")) {
                        (Some("eq"), Some(Value::String(text))) => vec![text.clone()],
                        (Some("in"), Some(Value::Array(items))) => {
                            match items.iter().all(Value::is_string) {
                                true => items
                                    .iter()
                                    .filter_map(Value::as_str)
                                    .map(str::to_owned)
                                    .collect(),
                                false => Vec::new(),
                            }
                        }
                        _ => Vec::new(),
                    };
                    named.extend(texts);
                }
                open.extend(map.values());
            }
            _ => {}
        }
    }
    named
}

/// The fewest rules that are searched one by one: all are, and none is.
const MANY: [usize; 2] = [1, 1000];

/// Numbers for the terms of rules, and of the defaults: denials have those of the defaults.
fn terms(policy: &Value) -> Vec<u64> {
    let rules = policy["rules"].as_array().expect("a list").iter();
    let own = rules.map(
        |rule| match (rule["verdict"].as_str(), rule["id"].as_str()) {
            (Some("deny"), _) | (_, None) => 0,
            // Equal rules have equal terms.
            (_, Some(id)) => 1 + u64::from(id.bytes().last().unwrap_or_default() % 3),
        },
    );
    own.chain([0]).collect()
}

/// The terms of a decision.
fn term(terms: &[u64], (verdict, rule): &Side) -> u64 {
    match rule {
        Some(rule) if verdict != "deny" => terms[usize::try_from(*rule).expect("an index")],
        _ => 0,
    }
}

fn compare(old: &Value, new: &Value, all: &[Value], counts: &mut Counts) {
    for many in MANY {
        compare_by(many, (old, new), all, counts);
    }
}

fn compare_by(many: usize, (old, new): (&Value, &Value), all: &[Value], counts: &mut Counts) {
    let (before, after) = (program(old), program(new));
    let (terms_old, terms_new) = (terms(old), terms(new));
    let answer = ask(
        &mut analysis(&[old, new], Budget::default()),
        &json!({"ask": "compare", "old": 0, "new": 1, "many": many, "terms": [terms_old, terms_new]}),
    );
    let mut termed: BTreeSet<(Option<String>, String, u64, u64)> = BTreeSet::new();
    let context = || format!("{old}\n{new}\n{answer}");
    check_reasons(&answer["unknown"], &context());
    let complete = answer["complete"].as_bool().expect("a bool");
    let mut found: BTreeSet<(Option<String>, Side, Side)> = BTreeSet::new();
    for region in answer["regions"].as_array().expect("a list") {
        let (one, other) = (side(&region["old"]), side(&region["new"]));
        let witness = &region["witness"];
        if !witness.is_null() {
            let ((left, left_args), (right, right_args)) =
                (decide(&before, witness), decide(&after, witness));
            assert_eq!((&left, &right), (&one, &other), "{}", context());
            if region["change"] == "terms" {
                let numbers = (term(&terms_old, &left), term(&terms_new, &right));
                assert_eq!(left.0, right.0, "{}", context());
                assert_ne!(numbers.0, numbers.1, "{}", context());
                let tool = region["tool"].as_str().map(str::to_owned);
                let is_new = termed.insert((tool, left.0, numbers.0, numbers.1));
                assert!(is_new, "{}", context());
                continue;
            }
            assert!(
                left.0 != right.0 || left_args != right_args,
                "{}",
                context()
            );
        }
        found.insert((region["tool"].as_str().map(str::to_owned), one, other));
    }
    let named = named_tools(&[old, new]);
    let mut seen = BTreeMap::new();
    for request in all {
        let ((left, left_args), (right, right_args)) =
            (decide(&before, request), decide(&after, request));
        if left.0 != right.0 || left_args != right_args {
            seen.insert((tool_of(request, &named), left, right), request);
        } else if complete {
            let numbers = (term(&terms_old, &left), term(&terms_new, &right));
            let key = (tool_of(request, &named), left.0, numbers.0, numbers.1);
            let known = numbers.0 == numbers.1 || termed.contains(&key);
            assert!(known, "{key:?} {request}\n{}", context());
        }
    }
    assert!(
        answer["same"] != json!(true) || seen.is_empty(),
        "{}\n{seen:?}",
        context()
    );
    counts.asked += 1;
    counts.open += usize::from(!complete);
    if complete {
        for (region, request) in seen {
            assert!(
                found.contains(&region),
                "{region:?} {request}\n{}",
                context()
            );
        }
    }
}

fn rules(policy: &Value, all: &[Value], counts: &mut Counts) {
    for many in MANY {
        rules_by(many, policy, all, counts);
    }
}

fn rules_by(many: usize, policy: &Value, all: &[Value], counts: &mut Counts) {
    let program_ = program(policy);
    let mut asked = analysis(&[policy], Budget::default());
    let answer = ask(
        &mut asked,
        &json!({"ask": "rules", "policy": 0, "many": many}),
    );
    let decided: BTreeSet<Option<u64>> = all
        .iter()
        .map(|request| decide(&program_, request).0.1)
        .collect();
    for (index, rule) in (0_u64..).zip(answer["rules"].as_array().expect("a list")) {
        check_reasons(&rule["reasons"], policy);
        counts.asked += 1;
        match rule["decides"].as_str() {
            Some("witness") => {
                let by = decide(&program_, &rule["witness"]).0.1;
                assert_eq!(by, Some(index), "{policy}\n{rule}");
            }
            Some("none") => assert!(!decided.contains(&Some(index)), "{policy}\n{rule}"),
            _ => counts.open += 1,
        }
    }
    for verdict in ["allow", "deny", "dry_run", "approve_required", "transform"] {
        let question =
            json!({"ask": "find", "where": [{"policy": 0, "verdicts": [verdict]}], "many": many});
        let found = ask(&mut asked, &question);
        let exists = all
            .iter()
            .find(|request| decide(&program_, request).0.0 == verdict);
        counts.asked += 1;
        match found["answer"].as_str() {
            Some("witness") => {
                assert_eq!(
                    decide(&program_, &found["witness"]).0.0,
                    verdict,
                    "{policy}\n{found}"
                );
            }
            Some("none") => assert!(exists.is_none(), "{verdict} {exists:?}\n{policy}"),
            _ => {
                check_reasons(&found["reasons"], policy);
                counts.open += 1;
            }
        }
    }
}

fn run(fragment: Fragment, seeds: std::ops::Range<u64>) -> Counts {
    let all = requests();
    let mut counts = Counts::default();
    for seed in seeds {
        let mut random = Random::new(seed);
        let old = policy(&mut random, fragment);
        let new = mutant(&mut random, &old, fragment);
        rules(&old, &all, &mut counts);
        compare(&old, &new, &all, &mut counts);
        compare(&old, &old, &all, &mut counts);
        let other = policy(&mut random, fragment);
        compare(&old, &other, &all, &mut counts);
    }
    counts
}

#[test]
fn answers_about_scalars_are_those_of_the_evaluator() {
    let counts = run(Fragment::Scalars, 0..40);
    assert!(counts.open * 100 <= counts.asked * 5, "{counts:?}");
}

#[test]
fn answers_about_lists_are_those_of_the_evaluator() {
    let counts = run(Fragment::Lists, 1000..1040);
    assert!(counts.open * 100 <= counts.asked * 20, "{counts:?}");
}

#[test]
fn answers_about_other_paths_and_facets_are_those_of_the_evaluator() {
    let counts = run(Fragment::All, 2000..2040);
    assert!(counts.open * 2 <= counts.asked, "{counts:?}");
}

#[test]
fn answers_about_long_lists_of_rules_are_those_of_the_evaluator() {
    let all = requests();
    let mut counts = Counts::default();
    for seed in 3000..3012 {
        let mut random = Random::new(seed);
        let old = long_policy(&mut random);
        let new = plain(&mutant(&mut random, &old, Fragment::Scalars));
        rules(&old, &all, &mut counts);
        compare(&old, &new, &all, &mut counts);
        compare(&old, &old, &all, &mut counts);
    }
    assert!(counts.open * 100 <= counts.asked * 5, "{counts:?}");
}
