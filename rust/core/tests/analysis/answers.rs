//! Questions asked of an analysis, and decisions of the evaluator beside them.

use std::collections::BTreeSet;

use bobcat_core::analysis::{Analysis, Budget, Clock, Host};
use bobcat_core::json::value::JsonRequest;
use bobcat_core::program::{DecidedBy, Program, Scratch, Verdict};
use serde_json::Value;

/// A host that waits.
pub(crate) struct Patient;

impl Host for Patient {
    fn clock(&mut self, _: Option<f64>) -> Option<Clock> {
        None
    }

    fn progress(&mut self, _: usize, _: usize, _: Option<&str>) -> bool {
        true
    }
}

/// An analysis of policies.
pub(crate) fn analysis(policies: &[&Value], budget: Budget) -> Analysis {
    let policies = policies
        .iter()
        .map(|policy| policy.to_string().into_bytes());
    Analysis::new(policies, budget).expect("checked policies")
}

/// The answer to a question.
pub(crate) fn ask(analysis: &mut Analysis, question: &Value) -> Value {
    let answer = analysis
        .ask(question.to_string().as_bytes(), &mut Patient)
        .expect("a question");
    // Readers of JSON refuse a lone surrogate, which a request may have.
    serde_json::from_str(&answer.replace("\\ud800", BROKEN)).expect("JSON")
}

/// The text in the place of one with a lone surrogate.
const BROKEN: &str = "<broken>";

/// A verdict and the deciding rule.
pub(crate) type Side = (String, Option<u64>);

/// The decision of the evaluator, and the new arguments.
pub(crate) fn decide(program: &Program, request: &Value) -> (Side, Option<String>) {
    let text = request.to_string().replace(BROKEN, "\\ud800");
    let request = JsonRequest::parse(text.as_bytes()).expect("a request");
    let outcome = program.decide_plain(&request);
    let optimised = program.decide(&request, &mut Scratch::new());
    assert_eq!(outcome.decided, optimised.decided);
    let verdict = match &outcome.decided {
        DecidedBy::Rule(rule) => match program.rule(*rule).expect("a rule").verdict {
            Verdict::Allow if outcome.transformed.is_some() => Verdict::Transform,
            verdict => verdict,
        },
        DecidedBy::NoMatch => program.defaults().on_no_match,
        DecidedBy::MissingShadow => program.defaults().on_missing_shadow,
        _ => Verdict::Deny,
    };
    let rule = outcome.decided.rule().map(u64::from);
    let args = outcome
        .transformed
        .as_ref()
        .filter(|_| verdict == Verdict::Transform);
    (
        (verdict.as_str().to_owned(), rule),
        args.map(|made| made.args_json()),
    )
}

/// The side of a region.
pub(crate) fn side(value: &Value) -> Side {
    let verdict = value["verdict"].as_str().expect("a verdict").to_owned();
    (verdict, value["rule"].as_u64())
}

/// The tool of an answer for the tool of a request.
pub(crate) fn tool_of(request: &Value, named: &BTreeSet<String>) -> Option<String> {
    let tool = request["tool"].as_str().expect("a tool");
    named.contains(tool).then(|| tool.to_owned())
}

/// Fails unless every reason has a code that is known, and is not a mistake of the analysis.
pub(crate) fn check_reasons(reasons: &Value, context: &dyn std::fmt::Display) {
    for reason in reasons.as_array().into_iter().flatten() {
        let code = reason["code"].as_str().expect("a code");
        let known = [
            "facet",
            "ref",
            "memory",
            "host_rule",
            "function_rule",
            "list",
            "transform",
            "layers",
            "occurs_in",
            "budget_states",
            "budget_nodes",
            "budget_assignments",
            "budget_seconds",
            "stopped",
        ];
        assert!(known.contains(&code), "{reason}\n{context}");
    }
}
