//! Decisions converted as the host converts them.

use bobcat_core::json::value::JsonRequest;
use bobcat_core::program::{DecidedBy, Outcome, Profile, Program, Verdict};
use bobcat_core::value::constant::Const;
use serde_json::{Value, json};

/// A decision in full.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Dressed {
    pub(crate) verdict: String,
    pub(crate) reason: Value,
    pub(crate) matched_rules: Vec<String>,
    pub(crate) approvers: Value,
    pub(crate) timeout_seconds: Value,
    pub(crate) transform_args: Value,
}

impl Dressed {
    pub(crate) fn from_json(text: &str) -> Self {
        let decision: Value = serde_json::from_str(text).expect("a decision is JSON");
        let names = decision["matched_rules"].as_array().expect("a list");
        Self {
            verdict: decision["verdict"].as_str().expect("a string").to_owned(),
            reason: decision["reason"].clone(),
            matched_rules: names
                .iter()
                .map(|name| name.as_str().expect("a string").to_owned())
                .collect(),
            approvers: decision["approvers"].clone(),
            timeout_seconds: decision["timeout_seconds"].clone(),
            transform_args: decision["transform_args"].clone(),
        }
    }
}

fn value(constant: &Const) -> Value {
    match constant {
        Const::Null => Value::Null,
        Const::Bool(value) => json!(value),
        Const::Int(value) => json!(value),
        Const::Float(value) => json!(value),
        Const::Str(text) => json!(text),
        other => json!(format!("{other:?}")),
    }
}

fn name(program: &Program, rule: u32) -> String {
    match &program.rule(rule).expect("a rule").id {
        Const::Str(text) => text.to_string(),
        other => format!("{other:?}"),
    }
}

/// A decision as the host converts it.
pub(crate) fn dress(program: &Program, outcome: Outcome<JsonRequest<'_>>) -> Dressed {
    let mut names: Vec<String> = outcome
        .markers
        .iter()
        .map(|marker| {
            format!(
                "<rule_error:{}:{}>",
                name(program, marker.rule),
                marker.code
            )
        })
        .collect();
    names.extend(
        outcome
            .transforms
            .iter()
            .map(|step| name(program, step.rule)),
    );
    let args = outcome.transformed.map_or(Value::Null, |request| {
        serde_json::from_str(&request.args_json()).expect("arguments are JSON")
    });
    let plain = |verdict: Verdict, reason: &str, marker: &str| Dressed {
        verdict: verdict.as_str().to_owned(),
        reason: json!(reason),
        matched_rules: [names.clone(), vec![marker.to_owned()]].concat(),
        approvers: json!([]),
        timeout_seconds: Value::Null,
        transform_args: Value::Null,
    };
    match outcome.decided {
        DecidedBy::Rule(rule) => {
            let info = program.rule(rule).expect("a rule");
            let transformed = !args.is_null();
            let verdict = match info.verdict {
                Verdict::Allow if transformed && program.profile() == Profile::Strict => {
                    Verdict::Transform
                }
                verdict => verdict,
            };
            names.push(name(program, rule));
            Dressed {
                verdict: verdict.as_str().to_owned(),
                reason: value(&info.reason),
                matched_rules: names,
                approvers: info.approvers.iter().map(value).collect(),
                timeout_seconds: value(&info.timeout_seconds),
                transform_args: if verdict == Verdict::Deny {
                    Value::Null
                } else {
                    args
                },
            }
        }
        DecidedBy::Function(rule, _) => panic!("no function is rule {rule} of these policies"),
        DecidedBy::ErrorDeny(rule, code) => {
            let id = name(program, rule);
            let reason = format!("rule `{id}` could not be judged ({code}); denied");
            plain(Verdict::Deny, &reason, &format!("<rule_error:{id}:{code}>"))
        }
        DecidedBy::NoMatch => plain(
            program.defaults().on_no_match,
            "no rule matched; default policy",
            "<default:on_no_match>",
        ),
        DecidedBy::MissingShadow => plain(
            program.defaults().on_missing_shadow,
            "irreversible action with no shadow; default policy",
            "<default:on_missing_shadow>",
        ),
        DecidedBy::Host(_, never) => match never {},
        DecidedBy::Aborted => unreachable!("JSON requests never abort"),
    }
}
