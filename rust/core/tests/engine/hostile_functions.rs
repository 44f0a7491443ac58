//! Functions in hostile bytes: rejected with a code, or run within bounds. Nothing panics, and nothing runs for ever.

use bobcat_core::json::value::JsonRequest;
use bobcat_core::limits::{MAX_CODE_DEPTH, MAX_CODE_NODES, MAX_SLOTS};
use bobcat_core::program::{Program, Scratch};

use crate::generator::Random;

/// A function with most kinds of nodes.
const BODY: &str = r#"{"k":"assign","target":{"k":"slot","slot":0},"value":{"body":[{"k":"if","otherwise":[],"test":{"item":{"k":"isinstance","of":{"k":"local","slot":1},"types":["str"]},"k":"not"},"then":[{"k":"raise","name":"TypeError"}]},{"k":"return","value":{"k":"slice","of":{"k":"local","slot":1},"start":{"k":"binary","left":{"args":[{"k":"const","value":"/"}],"k":"method","name":"rfind","of":{"k":"local","slot":1}},"operator":"add","right":{"k":"const","value":1}},"step":null,"stop":null}}],"k":"inline","parameters":[[1,{"k":"item","key":{"k":"const","value":"path"},"of":{"k":"attr","name":"args","of":{"k":"root","name":"request"}}}]]}},{"body":[{"handlers":[{"body":[{"k":"continue"}],"names":["LookupError"]}],"k":"try","body":[{"k":"append","slot":3,"value":{"k":"local","slot":2}}],"otherwise":[{"k":"break"}]}],"k":"for","otherwise":[],"over":{"k":"const","value":{"tuple":["a","b"]}},"target":{"k":"slot","slot":2}},{"k":"if","otherwise":[{"k":"evaluate","value":{"k":"unary","item":{"k":"const","value":1},"operator":"neg"}}],"test":{"default":null,"k":"collect","key":null,"kind":"any","loops":[{"conditions":[],"over":{"k":"const","value":{"set":["x","y"]}},"target":{"k":"slot","slot":2}}],"value":{"first":{"k":"local","slot":0},"k":"compare","operators":["eq"],"others":[{"k":"local","slot":2}]}},"then":[{"k":"return","value":{"args":[["reason",{"k":"text","parts":["no ",{"conversion":"r","spec":">5","value":{"k":"local","slot":0}}]}]],"k":"decide","verdict":"deny"}}]},{"k":"return","value":{"flags":2,"how":"search","k":"regex","pattern":"a+b","text":{"k":"local","slot":0}}}"#;

fn with_body(body: &str, slots: usize) -> String {
    format!(
        r#"{{"defaults":{{"on_missing_shadow":"deny","on_no_match":"deny","on_rule_error":"deny"}},"ir_version":1,"language_version":1,"profile":"strict","rules":[{{"body":[{body}],"k":"function","name":"f","priority":0,"slots":{slots}}}]}}"#
    )
}

fn returning(code: &str) -> String {
    with_body(&format!(r#"{{"k":"return","value":{code}}}"#), 4)
}

fn code(text: &str) -> &'static str {
    let error = Program::from_ir(text.as_bytes()).expect_err("refused");
    assert!(!error.message.is_empty());
    error.code
}

/// The error of the function on one request, the same on every path of evaluation.
fn error(text: &str) -> String {
    let program = Program::from_ir(text.as_bytes()).expect("a policy");
    let text = r#"{"tool":"t","args":{"path":"a/b","n":7,"xs":[1,2,3]}}"#;
    let call = JsonRequest::parse(text.as_bytes()).expect("a request");
    let (explained, traces) = program.explain(&call);
    let decided = program.decide(&call, &mut Scratch::new());
    assert_eq!(
        format!("{:?}", explained.decided),
        format!("{:?}", decided.decided)
    );
    traces[0].error.as_ref().map_or_else(
        || panic!("no error: {:?}", decided.decided),
        ToString::to_string,
    )
}

#[test]
fn every_truncation_of_a_function_is_refused() {
    let text = with_body(BODY, 4);
    assert!(Program::from_ir(text.as_bytes()).is_ok());
    for end in 0..text.len() {
        assert_eq!(code(&text[..end]), "ir_syntax", "{}", &text[..end]);
    }
}

#[test]
fn a_changed_function_is_refused_or_decides() {
    let text = with_body(BODY, 4);
    let call = r#"{"tool":"t","args":{"path":"a/x","n":7}}"#;
    let call = JsonRequest::parse(call.as_bytes()).expect("a request");
    let mut random = Random::new(17);
    let mut taken = 0;
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
        if let Ok(program) = Program::from_ir(&bytes) {
            program.decide(&call, &mut Scratch::new());
            program.explain(&call);
            taken += 1;
        }
    }
    assert!(taken > 0, "some changes are to texts and numbers");
}

#[test]
fn depth_and_counts_are_capped() {
    let inside = |depth: usize| {
        let open = r#"{"item":"#.repeat(depth);
        let close = r#","k":"not"}"#.repeat(depth);
        returning(&format!(r#"{open}{{"k":"const","value":1}}{close}"#))
    };
    assert!(Program::from_ir(inside(MAX_CODE_DEPTH - 1).as_bytes()).is_ok());
    assert_eq!(code(&inside(MAX_CODE_DEPTH)), "ir_limit");
    assert_eq!(code(&inside(5_000)), "ir_limit");
    let ifs = |depth: usize| {
        let open = r#"{"k":"if","otherwise":[],"test":{"k":"const","value":1},"then":["#;
        with_body(&format!("{}{}", open.repeat(depth), "]}".repeat(depth)), 0)
    };
    assert!(Program::from_ir(ifs(MAX_CODE_DEPTH - 1).as_bytes()).is_ok());
    assert_eq!(code(&ifs(MAX_CODE_DEPTH + 1)), "ir_limit");
    let targets = format!(
        r#"{{"k":"assign","target":{}{{"k":"slot","slot":0}}{},"value":{{"k":"const","value":1}}}}"#,
        r#"{"k":"unpack","targets":["#.repeat(MAX_CODE_DEPTH + 1),
        "]}".repeat(MAX_CODE_DEPTH + 1)
    );
    assert_eq!(code(&with_body(&targets, 1)), "ir_limit");
    let many = |count: usize| {
        let item = r#"{"k":"const","value":1}"#;
        returning(&format!(
            r#"{{"items":[{}],"k":"display","kind":"list"}}"#,
            vec![item; count].join(",")
        ))
    };
    assert!(Program::from_ir(many(MAX_CODE_NODES - 2).as_bytes()).is_ok());
    assert_eq!(code(&many(MAX_CODE_NODES)), "ir_limit");
    assert!(Program::from_ir(with_body("", MAX_SLOTS).as_bytes()).is_ok());
    assert_eq!(code(&with_body("", MAX_SLOTS + 1)), "ir_limit");
    for slots in ["-1", "1.5", "null", "99999999999999999999"] {
        let text = with_body("", 0).replace(r#""slots":0"#, &format!(r#""slots":{slots}"#));
        assert_eq!(code(&text), "ir_limit", "{slots}");
    }
}

#[test]
fn what_is_no_node_is_refused_by_its_name() {
    let one = r#"{"k":"const","value":1}"#;
    for (text, says) in [
        (with_body(r#"{"k":"while"}"#, 0), "while"),
        (with_body(r#"{"k":"break"}"#, 0), "outside of a loop"),
        (
            with_body(r#"{"k":"raise","name":"SystemExit"}"#, 0),
            "SystemExit",
        ),
        (with_body(r#"{"k":"return"}"#, 0), "value"),
        (with_body(r#"{"k":"return","value":null}"#, 0), "code"),
        (with_body("5", 0), "statement"),
        (returning(r#"{"k":"call"}"#), "function"),
        (returning(r#"{"k":"exec"}"#), "exec"),
        (returning(r#"{"k":"local","slot":4}"#), "slot"),
        (returning(r#"{"k":"local","slot":-1}"#), "slot"),
        (returning(r#"{"k":"root","name":"globals"}"#), "globals"),
        (
            returning(r#"{"args":[],"function":"open","k":"call"}"#),
            "open",
        ),
        (
            returning(&format!(
                r#"{{"args":[],"k":"method","name":"__class__","of":{one}}}"#
            )),
            "__class__",
        ),
        (
            returning(&format!(
                r#"{{"k":"isinstance","of":{one},"types":["object"]}}"#
            )),
            "object",
        ),
        (
            returning(&format!(r#"{{"item":{one},"k":"unary","operator":"not"}}"#)),
            "not",
        ),
        (
            returning(&format!(
                r#"{{"k":"binary","left":{one},"operator":"matmul","right":{one}}}"#
            )),
            "matmul",
        ),
        (
            returning(&format!(
                r#"{{"first":{one},"k":"compare","operators":["eq","lt"],"others":[{one}]}}"#
            )),
            "operand",
        ),
        (
            returning(&format!(
                r#"{{"first":{one},"k":"compare","operators":[],"others":[]}}"#
            )),
            "operand",
        ),
        (returning(r#"{"items":[],"k":"or"}"#), "no items"),
        (
            returning(r#"{"items":[],"k":"display","kind":"deque"}"#),
            "deque",
        ),
        (
            returning(r#"{"args":[],"k":"decide","verdict":"maybe"}"#),
            "maybe",
        ),
        (
            returning(&format!(
                r#"{{"args":[["owner",{one}]],"k":"decide","verdict":"deny"}}"#
            )),
            "owner",
        ),
        (
            returning(r#"{"k":"const","value":{"nothing":1}}"#),
            "constant",
        ),
        (returning(r#"{"k":"text","parts":[5]}"#), "part"),
    ] {
        let error = Program::from_ir(text.as_bytes()).expect_err(&text);
        assert_eq!(error.code, "bad_ir", "{text}");
        assert!(error.message.contains(says), "{says}: {}", error.message);
    }
}

#[test]
fn what_explodes_when_it_runs_is_an_error_of_the_rule() {
    let number = |value: u64| format!(r#"{{"k":"const","value":{value}}}"#);
    let range = |value: u64| {
        format!(
            r#"{{"args":[{}],"function":"range","k":"call"}}"#,
            number(value)
        )
    };
    let each = |body: &str| {
        format!(
            r#"{{"body":[{body}],"k":"for","otherwise":[],"over":{},"target":{{"k":"slot","slot":0}}}}"#,
            range(1_000_000_000)
        )
    };
    let loops = each(&each(&each("")));
    assert_eq!(error(&with_body(&loops, 1)), "too_many_steps");
    let list = r#"{"items":[{"k":"const","value":1}],"k":"display","kind":"list"}"#;
    let assign = |value: &str| {
        format!(r#"{{"k":"assign","target":{{"k":"slot","slot":1}},"value":{value}}}"#)
    };
    let local = r#"{"k":"local","slot":1}"#;
    let binary = |operator: &str, right: &str| {
        format!(r#"{{"k":"binary","left":{local},"operator":"{operator}","right":{right}}}"#)
    };
    for (first, next, known) in [
        (list, binary("add", local), "too_large"),
        (
            r#"{"k":"const","value":"ab"}"#,
            binary("add", local),
            "too_large",
        ),
        (
            r#"{"k":"const","value":"ab"}"#,
            binary("mul", &number(1 << 40)),
            "too_large",
        ),
        (
            r#"{"k":"const","value":3}"#,
            binary("mul", local),
            "out_of_range",
        ),
        (
            r#"{"k":"const","value":3}"#,
            binary("pow", &number(1 << 40)),
            "out_of_range",
        ),
    ] {
        let grown = format!("{},{}", assign(first), each(&assign(&next)));
        let found = error(&with_body(&grown, 2));
        let bounds = ["too_large", "too_many_steps", "out_of_range", "unsupported"];
        assert!(bounds.contains(&found.as_str()), "{known}: {found}");
    }
    let nested = format!(
        "{},{}",
        assign(list),
        each(&assign(&format!(
            r#"{{"items":[{local}],"k":"display","kind":"list"}}"#
        )))
    );
    assert_eq!(error(&with_body(&nested, 2)), "too_large");
}

#[test]
fn a_wrong_number_of_arguments_is_a_type_error() {
    let one = r#"{"k":"const","value":1}"#;
    let many = [one; 3].join(",");
    for name in [
        "len",
        "abs",
        "bool",
        "sorted",
        "sorted_by",
        "round",
        "float",
        "enumerate",
    ] {
        let text = format!(r#"{{"args":[{many}],"function":"{name}","k":"call"}}"#);
        assert_eq!(error(&returning(&text)), "TypeError", "{name}");
    }
    for name in ["len", "abs", "sorted", "sorted_by", "max"] {
        let text = format!(r#"{{"args":[],"function":"{name}","k":"call"}}"#);
        assert_eq!(error(&returning(&text)), "TypeError", "{name}");
    }
    for (of, name, args) in [
        (r#""a""#, "lower", one),
        (r#""a""#, "startswith", ""),
        (r#""a""#, "replace", one),
        (r#"{"pairs":[]}"#, "get", ""),
        (r#"{"pairs":[]}"#, "items", one),
    ] {
        let text = format!(
            r#"{{"args":[{args}],"k":"method","name":"{name}","of":{{"k":"const","value":{of}}}}}"#
        );
        assert_eq!(error(&returning(&text)), "TypeError", "{name}");
    }
}

#[test]
fn keys_of_another_number_than_items_are_not_judged() {
    let list = |items: &str| format!(r#"{{"k":"const","value":[{items}]}}"#);
    let text = format!(
        r#"{{"args":[{},{}],"function":"sorted_by","k":"call"}}"#,
        list("1,2"),
        list("1")
    );
    assert_eq!(error(&returning(&text)), "unsupported");
}
