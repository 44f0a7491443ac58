//! Explanations have the result of every rule and clause.

use bobcat_core::json::value::JsonRequest;
use bobcat_core::lang::path::Head;
use bobcat_core::program::{Program, ReadFrom, TraceNode, TraceOutcome};

const POLICY: &str = r#"{"defaults":{"on_missing_shadow":"deny","on_no_match":"deny","on_rule_error":"deny"},"ir_version":1,"language_version":1,"profile":"strict","rules":[
{"approvers":[],"id":"a","k":"rule","match":{"items":[{"dialect":null,"head":"args","k":"leaf","op":"gt","operand":1,"path":["n"]},{"item":{"dialect":null,"head":"args","k":"leaf","op":"eq","operand":"x","path":["gone"]},"k":"not"}],"k":"all"},"priority":0,"reason":"","timeout_seconds":null,"transform":null,"verdict":"allow"},
{"approvers":[],"id":"b","k":"rule","match":{"items":[{"dialect":null,"head":"args","k":"leaf","op":"eq","operand":[1,"é"],"path":["s"]},{"dialect":null,"head":"tool","k":"leaf","op":"eq","operand":"t","path":[]}],"k":"any"},"priority":0,"reason":"","timeout_seconds":null,"transform":null,"verdict":"allow"},
{"approvers":[],"id":"c","k":"rule","match":{"items":[],"k":"all"},"priority":0,"reason":"","timeout_seconds":null,"transform":null,"verdict":"deny"}]}"#;

#[test]
fn a_trace_has_outcomes_values_operands_and_leaf_indexes() {
    let program = Program::from_ir(POLICY.as_bytes()).expect("a policy");
    let text = format!(
        r#"{{"tool":"t","args":{{"n":5,"s":"{}"}}}}"#,
        "é".repeat(500)
    );
    let call = JsonRequest::parse(text.as_bytes()).expect("a request");
    let (_, traces) = program.explain(&call);
    let outcomes: Vec<_> = traces.iter().map(|trace| trace.outcome.as_str()).collect();
    assert_eq!(outcomes, ["absent", "true", "not_reached"]);
    let Some(TraceNode::All(TraceOutcome::Absent, items)) = &traces[0].tree else {
        panic!("{:?}", traces[0])
    };
    let [
        TraceNode::Leaf(first),
        TraceNode::Not(TraceOutcome::Absent, inner),
    ] = items.as_slice()
    else {
        panic!("{items:?}")
    };
    assert_eq!(
        (
            first.outcome,
            first.operand.as_str(),
            first.value.as_deref()
        ),
        (TraceOutcome::True, "1", Some("5"))
    );
    let TraceNode::Leaf(second) = inner.as_ref() else {
        panic!("{inner:?}")
    };
    assert_eq!((second.index, second.value.as_deref()), (1, None));
    let Some(TraceNode::Any(TraceOutcome::True, items)) = &traces[1].tree else {
        panic!("{:?}", traces[1])
    };
    let TraceNode::Leaf(error) = &items[0] else {
        panic!("{items:?}")
    };
    assert_eq!(
        error.error.as_ref().map(|code| code.as_str()),
        Some("wrong_type")
    );
    assert_eq!(error.operand, "[1, \"é\"]");
    let shown = error.value.as_deref().unwrap_or_default();
    let (value, rest) = shown.split_once("... [").unwrap_or_default();
    assert_eq!(value.chars().count(), 200);
    assert!(rest.ends_with(" more characters]"), "{rest}");
    assert!(traces[2].tree.is_none());
}

#[test]
fn instants_are_shown_as_rfc_3339() {
    let policy = r#"{"defaults":{"on_missing_shadow":"deny","on_no_match":"deny","on_rule_error":"deny"},"ir_version":1,"language_version":1,"profile":"strict","rules":[
{"approvers":[],"id":"a","k":"rule","match":{"dialect":null,"head":"context","k":"leaf","op":"ge","operand":{"timestamp":1709164800000000},"path":["timestamp"]},"priority":0,"reason":"","timeout_seconds":null,"transform":null,"verdict":"allow"}]}"#;
    let program = Program::from_ir(policy.as_bytes()).expect("a policy");
    for (written, shown) in [
        (
            "2024-02-29T01:02:03.5+01:00",
            "\"2024-02-29T00:02:03.500000Z\"",
        ),
        ("0001-01-01T00:00:00Z", "\"0001-01-01T00:00:00Z\""),
        (
            "1969-12-31t23:59:59.999999z",
            "\"1969-12-31T23:59:59.999999Z\"",
        ),
        ("9999-12-31T23:59:59Z", "\"9999-12-31T23:59:59Z\""),
    ] {
        let text = format!(r#"{{"tool":"t","context":{{"timestamp":"{written}"}}}}"#);
        let call = JsonRequest::parse(text.as_bytes())
            .unwrap_or_else(|error| panic!("{written}: {error}"));
        let (_, traces) = program.explain(&call);
        let Some(TraceNode::Leaf(leaf)) = &traces[0].tree else {
            panic!("a leaf")
        };
        assert_eq!(leaf.value.as_deref(), Some(shown));
        assert_eq!(leaf.operand, "\"2024-02-29T00:00:00Z\"");
    }
}

const FUNCTION: &str = r#"{"defaults":{"on_missing_shadow":"deny","on_no_match":"deny","on_rule_error":"deny"},"ir_version":1,"language_version":1,"profile":"strict","rules":[
{"body":[
{"k":"assign","target":{"k":"slot","slot":0},"value":{"body":[{"k":"return","value":{"k":"const","value":7}}],"k":"inline","parameters":[]}},
{"k":"if","otherwise":[],"test":{"first":{"k":"local","slot":0},"k":"compare","operators":["lt"],"others":[{"args":[{"k":"const","value":"n"}],"k":"method","name":"get","of":{"k":"attr","name":"args","of":{"k":"root","name":"request"}}}]},"then":[{"k":"return","value":{"args":[],"k":"decide","verdict":"allow"}}]},
{"k":"raise","name":"ValueError"}],
"k":"function","name":"f","priority":0,"slots":1}]}"#;

#[test]
fn a_function_is_traced_to_its_return_or_its_error() {
    let program = Program::from_ir(FUNCTION.as_bytes()).expect("a policy");
    let traced = |text: &str| {
        let call = JsonRequest::parse(text.as_bytes()).expect("a request");
        let (_, mut traces) = program.explain(&call);
        let trace = traces.remove(0);
        let function = trace.function.expect("it was reached");
        let reads = function.conditions[0]
            .reads
            .iter()
            .map(|read| (read.from.clone(), read.value.clone()))
            .collect::<Vec<_>>();
        let outcome = function.conditions[0].outcome;
        (trace.outcome, function.at, outcome, reads)
    };
    let slot = (ReadFrom::Local(0), Some("7".to_owned()));
    let path = |value: Option<&str>| {
        let keys = vec!["n".into()];
        (ReadFrom::Path(Head::Args, keys), value.map(str::to_owned))
    };
    // Statement 1 is the `return` of the function that statement 0 calls.
    assert_eq!(
        traced(r#"{"tool":"t","args":{"n":8}}"#),
        (
            TraceOutcome::True,
            Some(3),
            TraceOutcome::True,
            vec![slot.clone(), path(Some("8"))]
        )
    );
    assert_eq!(
        traced(r#"{"tool":"t","args":{"n":7}}"#),
        (
            TraceOutcome::Error,
            Some(4),
            TraceOutcome::False,
            vec![slot.clone(), path(Some("7"))]
        )
    );
    assert_eq!(
        traced(r#"{"tool":"t","args":{}}"#),
        (
            TraceOutcome::Error,
            Some(2),
            TraceOutcome::Error,
            vec![slot, path(None)]
        )
    );
}
