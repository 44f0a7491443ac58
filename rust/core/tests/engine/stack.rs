//! Code of the greatest depth on a thread with a small stack: decoded, decided by, explained and dropped.

use bobcat_core::json::value::JsonRequest;
use bobcat_core::program::{Program, Scratch};

/// A thread of a host may have no more. Tests are built with larger frames than a release is.
const STACK: usize = 256 * 1024;
/// Maximum depth of the body of a function, less the levels around it.
const DEPTH: usize = 95;

/// The text around the rest, and the number of levels that it adds.
#[rustfmt::skip]
const KINDS: [(&str, &str, &str, usize); 17] = [
    ("not", r#"{"item":"#, r#","k":"not"}"#, 1),
    ("unary", r#"{"item":"#, r#","k":"unary","operator":"neg"}"#, 1),
    ("binary", r#"{"k":"binary","left":{"k":"const","value":1},"operator":"add","right":"#, "}", 1),
    ("compare", r#"{"first":{"k":"const","value":1},"k":"compare","operators":["eq"],"others":["#, "]}", 1),
    ("and", r#"{"items":[{"k":"const","value":1},"#, r#"],"k":"and"}"#, 1),
    ("or", r#"{"items":[{"k":"const","value":0},"#, r#"],"k":"or"}"#, 1),
    ("ifelse", r#"{"k":"ifelse","otherwise":{"k":"const","value":2},"test":"#, r#","then":{"k":"const","value":1}}"#, 1),
    ("list", r#"{"items":["#, r#"],"k":"display","kind":"list"}"#, 1),
    ("tuple", r#"{"items":["#, r#"],"k":"display","kind":"tuple"}"#, 1),
    ("mapping", r#"{"entries":[[{"k":"const","value":"a"},"#, r#"]],"k":"mapping"}"#, 1),
    ("item", r#"{"k":"item","key":{"k":"const","value":0},"of":{"items":["#, r#"],"k":"display","kind":"list"}}"#, 2),
    ("slice", r#"{"k":"slice","of":{"items":["#, r#"],"k":"display","kind":"list"},"start":null,"step":null,"stop":null}"#, 2),
    ("call", r#"{"args":["#, r#"],"function":"str","k":"call"}"#, 1),
    ("method", r#"{"args":[],"k":"method","name":"strip","of":{"args":["#, r#"],"function":"str","k":"call"}}"#, 2),
    ("collect", r#"{"default":null,"k":"collect","key":null,"kind":"list","loops":[{"conditions":[],"over":{"items":["#, r#"],"k":"display","kind":"list"},"target":{"k":"slot","slot":0}}],"value":{"k":"local","slot":0}}"#, 2),
    ("text", r#"{"k":"text","parts":[{"conversion":"r","spec":"","value":"#, "}]}", 1),
    ("inline", r#"{"body":[{"k":"return","value":"#, r#"}],"k":"inline","parameters":[]}"#, 2),
];

fn policy(open: &str, close: &str, levels: usize) -> String {
    let count = DEPTH / levels;
    let (open, close) = (open.repeat(count), close.repeat(count));
    let inner = r#"{"k":"item","key":{"k":"const","value":"x"},"of":{"k":"attr","name":"args","of":{"k":"root","name":"request"}}}"#;
    let test = format!("{open}{inner}{close}");
    format!(
        r#"{{"defaults":{{"on_missing_shadow":"deny","on_no_match":"deny","on_rule_error":"deny"}},"ir_version":1,"language_version":1,"profile":"strict","rules":[{{"body":[{{"k":"if","otherwise":[],"test":{test},"then":[]}}],"k":"function","name":"f","priority":0,"slots":1}}]}}"#
    )
}

#[test]
fn the_deepest_code_needs_a_small_stack() {
    for (kind, open, close, levels) in KINDS {
        let text = policy(open, close, levels);
        let run = move || {
            let call = JsonRequest::parse(br#"{"tool":"t","args":{"x":5}}"#).expect("a request");
            let program =
                Program::from_ir(text.as_bytes()).unwrap_or_else(|error| panic!("{kind}: {error}"));
            let decided = program.decide(&call, &mut Scratch::new());
            let (explained, traces) = program.explain(&call);
            assert_eq!(
                format!("{:?}", decided.decided),
                format!("{:?}", explained.decided)
            );
            assert_eq!(traces.len(), 1);
            program.prepare_all();
        };
        let thread = std::thread::Builder::new().stack_size(STACK).spawn(run);
        thread.expect("a thread").join().expect(kind);
    }
}
