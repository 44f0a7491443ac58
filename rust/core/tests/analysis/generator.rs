//! Small policies over two arguments, and all requests over a few values.

use serde_json::{Value, json};

/// A generator of numbers, the same on every machine.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub(crate) fn below(&mut self, end: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0 >> 11) as usize % end
    }

    pub(crate) fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    pub(crate) fn pick<T: Clone>(&mut self, items: &[T]) -> T {
        items[self.below(items.len())].clone()
    }
}

/// The operators that a policy is made from.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fragment {
    /// Scalars.
    Scalars,
    /// Lists and mappings too.
    Lists,
    /// Other paths and facets too.
    All,
}

const TEXTS: [&str; 5] = ["", "a", "ab", "B", "a b"];

fn scalar(random: &mut Random) -> Value {
    match random.below(9) {
        0 => json!(null),
        1 => json!(true),
        2 => json!(0),
        3 => json!(1),
        4 => json!(1.5),
        _ => json!(random.pick(&TEXTS)),
    }
}

fn bound(random: &mut Random) -> Value {
    match random.below(4) {
        0 => json!(random.pick(&TEXTS)),
        1 => json!(1.5),
        _ => json!(random.below(3)),
    }
}

fn check(op: &str, operand: Value) -> Value {
    match op {
        "matches" => json!({"op": op, "operand": operand, "dialect": "re2"}),
        _ => json!({"op": op, "operand": operand}),
    }
}

/// A test of a scalar that may be an element.
fn scalar_check(random: &mut Random) -> Value {
    let (op, operand) = scalar_test(random);
    check(&op, operand)
}

fn scalar_test(random: &mut Random) -> (String, Value) {
    let text = json!(random.pick(&TEXTS));
    let (op, operand) = match random.below(14) {
        0..=2 => ("eq", scalar(random)),
        3 => ("in", json!([scalar(random), scalar(random)])),
        4 => ("not_in", json!([scalar(random), scalar(random)])),
        5 => (
            "matches",
            json!(random.pick(&["^a", "b$", "^ab?$", "(?i)b", "[ab] "])),
        ),
        6 => ("starts_with", text),
        7 => ("ends_with", json!([text, "b"])),
        8 => ("contains", scalar(random)),
        9 => (random.pick(&["gt", "ge", "lt", "le"]), bound(random)),
        10 => (random.pick(&["between", "not_between"]), json!([0, 1])),
        11 => ("empty", json!(random.chance(50))),
        12 => (
            "length",
            json!({"tests": [check(random.pick(&["ge", "eq", "lt"]), json!(random.below(3)))]}),
        ),
        _ => (
            "lower",
            json!({"tests": [check(random.pick(&["eq", "contains", "starts_with"]), json!(random.pick(&["a", "b", "ab"])))]}),
        ),
    };
    (op.to_owned(), operand)
}

fn list_test(random: &mut Random) -> (String, Value) {
    match random.below(9) {
        0 => (
            "eq".to_owned(),
            random.pick(&[
                json!([]),
                json!(["a"]),
                json!([1, "a"]),
                json!({"map": {"k": "a"}}),
            ]),
        ),
        1 => ("subset_of".to_owned(), json!(["a", 1])),
        2 => (
            random.pick(&["contains_any", "contains_all"]).to_owned(),
            json!([scalar(random), random.pick(&["a", "k"])]),
        ),
        3 => ("contains".to_owned(), json!(random.pick(&["a", "k"]))),
        4 => (
            "length".to_owned(),
            json!({"tests": [check("le", json!(random.below(3)))]}),
        ),
        _ => (
            random.pick(&["any", "all", "none", "first"]).to_owned(),
            json!({"tests": [scalar_check(random)]}),
        ),
    }
}

fn reading_test(random: &mut Random) -> (String, Value) {
    match random.below(3) {
        0 => (
            "url".to_owned(),
            json!({"tests": [{"op": "part", "operand": {"path": ["host"], "tests": [check("eq", json!("a"))]}}]}),
        ),
        _ => (
            random.pick(&["eq", "lt", "starts_with"]).to_owned(),
            json!({"ref": ["args", "y"]}),
        ),
    }
}

fn leaf(random: &mut Random, fragment: Fragment) -> Value {
    let (head, path) = match random.below(12) {
        0 => ("tool", json!([])),
        1 => ("context", json!(["environment"])),
        2 => ("declared", json!(["reversible"])),
        3 if fragment != Fragment::Scalars => ("args", json!(["x", "k"])),
        4..=6 => ("args", json!(["y"])),
        _ => ("args", json!(["x"])),
    };
    let (op, operand) = match (random.below(10), fragment) {
        (0, _) if head != "tool" => ("exists".to_owned(), json!(random.chance(60))),
        (1..=4, Fragment::Lists | Fragment::All) => list_test(random),
        (5, Fragment::All) if head == "args" => reading_test(random),
        _ => scalar_test(random),
    };
    let dialect = if op == "matches" {
        json!("re2")
    } else {
        json!(null)
    };
    json!({"k": "leaf", "head": head, "path": path, "op": op, "operand": operand, "dialect": dialect})
}

fn expr(random: &mut Random, depth: usize, fragment: Fragment) -> Value {
    match random.below(if depth == 0 { 4 } else { 9 }) {
        4 | 5 => {
            json!({"k": "all", "items": (0..random.below(3)).map(|_| expr(random, depth - 1, fragment)).collect::<Vec<_>>()})
        }
        6 => {
            json!({"k": "any", "items": (0..random.below(3)).map(|_| expr(random, depth - 1, fragment)).collect::<Vec<_>>()})
        }
        7 | 8 => json!({"k": "not", "item": expr(random, depth - 1, fragment)}),
        _ => leaf(random, fragment),
    }
}

fn rule(random: &mut Random, index: usize, fragment: Fragment) -> Value {
    let mut items = vec![expr(random, 2, fragment)];
    if random.chance(60) {
        items.push(json!({"k": "leaf", "head": "tool", "path": [], "op": "eq", "operand": random.pick(&["shell", "http"]), "dialect": null}));
    }
    let verdict = random.pick(&[
        "allow",
        "allow",
        "deny",
        "dry_run",
        "approve_required",
        "transform",
    ]);
    let transform = match verdict {
        "transform" => random.pick(&[
            json!({"op": "set", "path": ["x"], "value": "a"}),
            json!({"op": "set", "path": ["y"], "value": 1}),
            json!({"op": "set", "path": ["x", "k"], "value": 1}),
            json!({"op": "append", "path": ["x"], "value": "b"}),
            json!({"op": "delete", "path": ["x"], "value": null}),
        ]),
        _ => json!(null),
    };
    json!({
        "k": "rule", "id": format!("r{index}"), "priority": 0, "match": {"k": "all", "items": items}, "verdict": verdict,
        "reason": "", "approvers": [], "timeout_seconds": null, "transform": transform,
    })
}

/// A policy as a JSON value.
pub(crate) fn policy(random: &mut Random, fragment: Fragment) -> Value {
    let rules: Vec<Value> = (0..1 + random.below(4))
        .map(|index| rule(random, index, fragment))
        .collect();
    json!({
        "ir_version": 1, "language_version": 1, "profile": "strict", "rules": rules,
        "defaults": {
            "on_no_match": random.pick(&["allow", "deny"]), "on_missing_shadow": "approve_required",
            "on_rule_error": random.pick(&["deny", "deny", "continue"]),
        },
    })
}

/// Rules enough for a list that is searched without one diagram of all of them.
const LONG: usize = 26;

/// A policy with many rules about one tool, all of them matches that rewrite nothing.
pub(crate) fn long_policy(random: &mut Random) -> Value {
    let mut long = policy(random, Fragment::Scalars);
    long["rules"] = (0..LONG)
        .map(|index| rule(random, index, Fragment::Scalars))
        .collect();
    plain(&long)
}

/// The policy with every rule about one tool and narrow, and without transforms.
pub(crate) fn plain(policy: &Value) -> Value {
    let mut made = policy.clone();
    let rules = made["rules"].as_array_mut().expect("a list");
    for (at, rule) in rules.iter_mut().enumerate() {
        if rule["verdict"] == "transform" {
            rule["verdict"] = json!("dry_run");
            rule["transform"] = json!(null);
        }
        let narrow = NARROW[at % NARROW.len()];
        rule["match"] = json!({"k": "all", "items": [
            rule["match"],
            {"k": "leaf", "head": "tool", "path": [], "op": "eq", "operand": "shell", "dialect": null},
            {"k": "leaf", "head": "args", "path": [narrow.0], "op": "eq", "operand": narrow.1, "dialect": null},
        ]});
    }
    made
}

/// Arguments with a text, one for each rule of a long list.
const NARROW: [(&str, &str); 7] = [
    ("x", "a"),
    ("y", "a"),
    ("x", "ab"),
    ("y", "zz b"),
    ("x", "B"),
    ("y", ""),
    ("x", ""),
];

/// The policy with one small change.
pub(crate) fn mutant(random: &mut Random, policy: &Value, fragment: Fragment) -> Value {
    let mut changed = policy.clone();
    let rules = changed["rules"].as_array_mut().expect("a list");
    let at = random.below(rules.len());
    match random.below(4) {
        0 => {
            rules.remove(at);
        }
        1 => rules[at]["match"] = expr(random, 2, fragment),
        2 => {
            let to = random.below(rules.len());
            rules.swap(at, to);
        }
        _ => rules.insert(at, rule(random, 9, fragment)),
    }
    changed
}

/// Every request over some values of two arguments, and some tools and declarations.
pub(crate) fn requests() -> Vec<Value> {
    let values = [
        None,
        Some(json!(null)),
        Some(json!(true)),
        Some(json!(false)),
        Some(json!(0)),
        Some(json!(1)),
        Some(json!(2.5)),
        Some(json!("")),
        Some(json!("a")),
        Some(json!("ab")),
        Some(json!("B")),
        Some(json!("zz b")),
        Some(json!([])),
        Some(json!(["a"])),
        Some(json!([1, "a"])),
        Some(json!(["zz", {"k": 1}])),
        Some(json!({})),
        Some(json!({"k": "a"})),
        Some(json!({"k": ["a"], "a": null})),
    ];
    let mut all = Vec::new();
    for tool in ["shell", "http", "ab"] {
        for (reversible, environment) in [(true, "dev"), (false, "a")] {
            for x in &values {
                for y in values.iter().step_by(2) {
                    let mut args = serde_json::Map::new();
                    for (key, value) in [("x", x), ("y", y)] {
                        if let Some(value) = value {
                            args.insert(key.to_owned(), value.clone());
                        }
                    }
                    all.push(json!({
                        "tool": tool, "args": args, "declared": {"reversible": reversible},
                        "context": {"environment": environment},
                    }));
                }
            }
        }
    }
    all
}
