//! One budget for the states of all automata of a program: of clauses, of sets of them and of functions.

use bobcat_core::json::value::JsonRequest;
use bobcat_core::program::{Program, Scratch};
use bobcat_core::regex::CacheBudget;
use bobcat_core::source::Source;

use crate::generator::Random;

fn clause(number: usize, key: &str, pattern: &str) -> String {
    format!(
        r#"{{"approvers":[],"id":"r{number}","k":"rule","match":{{"dialect":"re2","head":"args","k":"leaf","op":"matches","operand":"{pattern}","path":["{key}"]}},"priority":0,"reason":"","timeout_seconds":null,"transform":null,"verdict":"deny"}}"#
    )
}

fn function(number: usize, pattern: &str) -> String {
    format!(
        r#"{{"body":[{{"k":"if","otherwise":[],"test":{{"flags":0,"how":"search","k":"regex","pattern":"{pattern}","text":{{"k":"item","key":{{"k":"const","value":"f"}},"of":{{"k":"attr","name":"args","of":{{"k":"root","name":"request"}}}}}}}},"then":[{{"k":"return","value":{{"args":[],"k":"decide","verdict":"deny"}}}}]}}],"k":"function","name":"f{number}","priority":0,"slots":0}}"#
    )
}

/// Patterns alone at their paths, a set of them at one path, and patterns of functions; the last match few texts.
fn policy() -> String {
    let pattern = |number: usize| format!("[a-d].{{{}}}e{}", number % 5 + 5, number % 7);
    let mut rules: Vec<String> = (0..40)
        .map(|n| clause(n, &format!("p{n}"), &pattern(n)))
        .collect();
    rules.extend((40..80).map(|n| clause(n, "s", &pattern(n))));
    rules.extend((80..100).map(|n| function(n, &pattern(n))));
    format!(
        r#"{{"defaults":{{"on_missing_shadow":"deny","on_no_match":"allow","on_rule_error":"deny"}},"ir_version":1,"language_version":1,"profile":"strict","rules":[{}]}}"#,
        rules.join(",")
    )
}

/// Requests with long texts, with one match or without.
fn requests() -> Vec<String> {
    let ends = (5..10).flat_map(|count| (0..7).map(move |digit| (count, digit)));
    let ends = ends.map(|(count, digit)| format!(" a{}e{digit}", "-".repeat(count)));
    let ends: String = ends.collect();
    let request = |(seed, matched): (u64, &str)| {
        let mut random = Random::new(seed);
        let letters = (0..18_000).map(|_| char::from(b"abcdefgh"[random.below(8)]));
        let text: String = letters.collect();
        let keys = (0..40).map(|n| format!("p{n}"));
        let keys = keys.chain(["s".to_owned(), "f".to_owned()]);
        let args = keys.map(|key| {
            let end = if key == matched { &ends } else { "" };
            format!(r#""{key}":"{text}{end}""#)
        });
        let args: Vec<String> = args.collect();
        format!(r#"{{"tool":"t","args":{{{}}}}}"#, args.join(","))
    };
    let matched = ["p0", "s", "f", "nothing"];
    (0..).zip(matched).map(request).collect()
}

#[test]
fn decisions_are_the_same_within_any_budget_and_never_leave_more() {
    let policy = policy();
    let decide = |budget: &CacheBudget, limit: usize| {
        let source = Source::new(policy.clone().into_bytes());
        let program = Program::from_source_within(source, budget).expect("a policy");
        let mut scratch = Scratch::new();
        let mut decided = Vec::new();
        let texts = requests();
        for text in texts.iter().chain(&texts) {
            let call = JsonRequest::parse(text.as_bytes()).expect("a request");
            decided.push(format!("{:?}", program.decide(&call, &mut scratch).decided));
            assert!(budget.held() <= limit, "{budget:?}");
        }
        let held = budget.held();
        drop(program);
        assert_eq!(budget.held(), 0);
        (decided, held)
    };
    let (wanted, most) = decide(&CacheBudget::new(usize::MAX), usize::MAX);
    let distinct = |decided: &[String]| {
        let mut decided = decided.to_vec();
        decided.sort();
        decided.dedup();
        decided.len()
    };
    assert!(distinct(&wanted) == 4, "{wanted:?}");
    for limit in [0, 100_000, most / 4, most] {
        let (decided, held) = decide(&CacheBudget::new(limit), limit);
        assert_eq!(decided, wanted, "{limit}");
        assert_eq!(held > 0, limit > 0, "{held} of {limit}");
    }
}
