//! Seeded policies and requests over a small vocabulary, so that they meet.

use serde_json::{Value, json};

/// A small generator of numbers; the same seed gives the same sequence.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 16
    }

    pub(crate) fn below(&mut self, bound: usize) -> usize {
        (self.next() % bound as u64) as usize
    }

    pub(crate) fn chance(&mut self, percent: usize) -> bool {
        self.below(100) < percent
    }

    fn pick<T: Clone>(&mut self, items: &[T]) -> T {
        items[self.below(items.len())].clone()
    }
}

const TEXTS: [&str; 10] = [
    "",
    "a",
    "ab",
    "abc",
    "prod",
    "rm -rf /",
    "ls\n",
    "é",
    "cd /srv/data; rm -v -rf x",
    "a long text of a product, abc or not",
];
const PATTERNS: [&str; 14] = [
    "a",
    "^a",
    "b$",
    "^ab$",
    "^rm ",
    "rm.*-rf",
    "^(ls|cat)",
    "[a-c]+b",
    "(?i)PROD",
    "\\s",
    "^$",
    "é",
    "\\bab\\b",
    "x{2,3}|pro",
];
const TOOLS: [&str; 4] = ["shell", "sql", "http", "a"];

fn scalar(random: &mut Random) -> Value {
    match random.below(9) {
        0 => Value::Null,
        1 => json!(random.chance(50)),
        2 | 3 => json!(random.below(4) as i64 - 1),
        4 => json!(0.5),
        5 => serde_json::from_str("123456789012345678901234567890").expect("a number"),
        6 => json!(1e300),
        _ => json!(random.pick(&TEXTS)),
    }
}

fn value(random: &mut Random, depth: usize) -> Value {
    match random.below(if depth == 0 { 10 } else { 13 }) {
        10 => (0..random.below(3))
            .map(|_| value(random, depth - 1))
            .collect(),
        11 | 12 => {
            let mut map = serde_json::Map::new();
            for _ in 0..random.below(3) {
                map.insert(
                    random.pick(&["k", "a", "prod"]).to_owned(),
                    value(random, depth - 1),
                );
            }
            Value::Object(map)
        }
        _ => scalar(random),
    }
}

/// A value as a constant of the IR: mappings are tagged.
fn constant(value: &Value) -> Value {
    match value {
        Value::Array(items) => items.iter().map(constant).collect(),
        Value::Object(map) => {
            let map: serde_json::Map<_, _> =
                map.iter().map(|(k, v)| (k.clone(), constant(v))).collect();
            json!({ "map": map })
        }
        other => other.clone(),
    }
}

fn scalars(random: &mut Random) -> Vec<Value> {
    (0..1 + random.below(3)).map(|_| scalar(random)).collect()
}

/// The operand that is the value at another path.
fn reference(random: &mut Random) -> Value {
    json!({"ref": ["args", random.pick(&["x", "y", "z"])]})
}

/// A test of a nesting operator.
fn test(op: &str, operand: Value) -> Value {
    json!({"op": op, "operand": operand})
}

fn leaf(random: &mut Random, profile: &str) -> Value {
    let (head, path) = match random.below(10) {
        0 | 1 => ("tool", json!([])),
        2 => ("context", json!(["environment"])),
        3 => ("context", json!(["extra", random.pick(&["k", "a"])])),
        4 => (
            "declared",
            json!([random.pick(&["cost", "reversible", "scope", "blast_radius_hint"])]),
        ),
        5 => ("args", json!([random.pick(&["x", "y", "z"]), "k"])),
        _ => ("args", json!([random.pick(&["x", "y", "z", "w"])])),
    };
    let ordered = |random: &mut Random| {
        if random.chance(70) {
            json!(random.below(3))
        } else {
            json!(random.pick(&TEXTS))
        }
    };
    let lynx = profile == "lynx";
    let (op, operand) = match random.below(if lynx { 12 } else { 20 }) {
        0 | 1 if head == "tool" => ("eq", json!(random.pick(&TOOLS))),
        2 if head == "tool" => ("in", json!([random.pick(&TOOLS), random.pick(&TOOLS)])),
        0 => ("eq", constant(&value(random, 2))),
        1 => ("eq", scalar(random)),
        2 => ("in", json!(scalars(random))),
        3..=5 => ("matches", json!(random.pick(&PATTERNS))),
        6 => ("contains", scalar(random)),
        7 => ("contains_any", json!(scalars(random))),
        8 => ("contains_all", json!(scalars(random))),
        9 => (random.pick(&["gt", "ge", "lt", "le"]), ordered(random)),
        10 => ("between", json!([0, random.below(3)])),
        11 => ("not_between", json!(["a", random.pick(&["ab", "z"])])),
        12 | 13 => ("exists", json!(random.chance(60))),
        14 => (
            random.pick(&["starts_with", "ends_with"]),
            json!([random.pick(&TEXTS), random.pick(&TEXTS)]),
        ),
        15 => (
            random.pick(&["eq", "in", "contains", "lt", "ge", "starts_with"]),
            reference(random),
        ),
        16 => (
            "length",
            json!({"tests": [test("le", json!(random.below(4)))]}),
        ),
        17 => (
            "lower",
            json!({"tests": [test("contains", json!(random.pick(&TEXTS)))]}),
        ),
        _ => {
            let inner = match random.below(4) {
                0 => test("eq", scalar(random)),
                1 => test("eq", reference(random)),
                2 => test("starts_with", json!(random.pick(&TEXTS))),
                _ => test(
                    "length",
                    json!({"tests": [test("gt", json!(random.below(3)))]}),
                ),
            };
            (
                random.pick(&["any", "all", "none"]),
                json!({"tests": [inner]}),
            )
        }
    };
    let dialect = match (op, lynx) {
        ("matches", true) => json!("python"),
        ("matches", false) => json!("re2"),
        _ => Value::Null,
    };
    json!({"k": "leaf", "head": head, "path": path, "op": op, "operand": operand, "dialect": dialect})
}

fn expr(random: &mut Random, depth: usize, profile: &str) -> Value {
    match random.below(if depth == 0 { 5 } else { 10 }) {
        5..=7 => {
            let items: Vec<_> = (0..random.below(4))
                .map(|_| expr(random, depth - 1, profile))
                .collect();
            json!({"k": "all", "items": items})
        }
        8 => {
            let items: Vec<_> = (0..random.below(4))
                .map(|_| expr(random, depth - 1, profile))
                .collect();
            json!({"k": "any", "items": items})
        }
        9 => json!({"k": "not", "item": expr(random, depth - 1, profile)}),
        _ => leaf(random, profile),
    }
}

fn rule(random: &mut Random, index: usize, profile: &str) -> Value {
    let mut items = vec![leaf(random, profile)];
    if random.chance(60) {
        items.insert(
            0,
            json!({"k": "leaf", "head": "tool", "path": [], "op": "eq", "operand": random.pick(&TOOLS), "dialect": null}),
        );
    }
    if random.chance(60) {
        items.push(expr(random, 2, profile));
    }
    let verdict = random.pick(&["allow", "deny", "dry_run", "approve_required", "transform"]);
    let transform = if verdict == "transform" {
        random.pick(&[
            json!({"op": "set", "path": ["x"], "value": "abc"}),
            json!({"op": "append", "path": ["y"], "value": "b"}),
            json!({"op": "delete", "path": ["z", "k"], "value": null}),
            json!({"op": "set", "path": ["w", "k"], "value": 1}),
        ])
    } else {
        Value::Null
    };
    json!({
        "k": "rule", "id": format!("r{index}"), "priority": 0, "match": {"k": "all", "items": items}, "verdict": verdict,
        "reason": "", "approvers": [], "timeout_seconds": null, "transform": transform,
    })
}

/// A leaf about one argument of those that indexes hold many of.
fn crowded_leaf(random: &mut Random) -> Value {
    let number = |random: &mut Random| match random.below(8) {
        0 => json!(0.5),
        1 => json!(-1.5),
        2 => json!(1e300),
        3 => serde_json::from_str("123456789012345678901234567890").expect("a number"),
        _ => json!(random.below(8) as i64 - 2),
    };
    let text =
        |random: &mut Random| random.pick(&["a", "ab", "b", "bc", "rm", "prod", "é", "", "s "]);
    let wanted = |random: &mut Random| match random.below(6) {
        0 => scalar(random),
        1 => json!(random.below(4)),
        _ => json!(text(random)),
    };
    let (op, operand) = match random.below(13) {
        11 | 12 => ("matches", json!(random.pick(&PATTERNS))),
        8 => ("starts_with", json!(text(random))),
        9 => ("ends_with", json!(text(random))),
        10 => (
            random.pick(&["starts_with", "ends_with"]),
            json!([text(random), text(random)]),
        ),
        0..=2 => (random.pick(&["gt", "ge", "lt", "le"]), number(random)),
        3 => (
            random.pick(&["between", "not_between"]),
            json!([number(random), number(random)]),
        ),
        4 | 5 => ("contains", wanted(random)),
        6 => ("contains_any", json!([wanted(random), wanted(random)])),
        _ => ("contains_all", json!([wanted(random), wanted(random)])),
    };
    let dialect = if op == "matches" {
        json!("re2")
    } else {
        Value::Null
    };
    let key = random.pick(&["x", "x", "x", "y"]);
    json!({"k": "leaf", "head": "args", "path": [key], "op": op, "operand": operand, "dialect": dialect})
}

/// A test of a text, or of an element of a list.
fn made_test(random: &mut Random) -> Value {
    let text = |random: &mut Random| random.pick(&["a", "ab", "b", "bc", "PROD", "é", "", "-rf"]);
    match random.below(12) {
        0 => test("eq", scalar(random)),
        1 => test("in", json!(scalars(random))),
        2 => test("in", json!([text(random), random.below(4)])),
        3 => test("contains", scalar(random)),
        4 => test("contains_any", json!([text(random), text(random)])),
        5 => test(
            "contains_all",
            json!([text(random), random.pick(&[json!("b"), json!(1)])]),
        ),
        6 => test("starts_with", json!(text(random))),
        7 => test("ends_with", json!([text(random), text(random)])),
        8 => {
            let mut test = test("matches", json!(random.pick(&PATTERNS)));
            test["dialect"] = json!("re2");
            test
        }
        9 => test(random.pick(&["gt", "le"]), json!(random.below(3))),
        10 => test("eq", reference(random)),
        _ => test("eq", json!(text(random))),
    }
}

/// A leaf about what is made from one argument.
fn made_leaf(random: &mut Random) -> Value {
    let tests = |random: &mut Random| {
        let count = 1 + usize::from(random.chance(20));
        json!({"tests": (0..count).map(|_| made_test(random)).collect::<Vec<_>>()})
    };
    let (op, operand) = match random.below(8) {
        0 => ("subset_of", json!(scalars(random))),
        1 => ("subset_of", json!(["a", "ab", random.below(3)])),
        2 | 3 => ("lower", tests(random)),
        number => {
            let mut inner = tests(random);
            if number == 4 {
                inner = json!({"tests": [test("lower", inner), made_test(random)]});
            }
            (random.pick(&["any", "any", "all", "first", "none"]), inner)
        }
    };
    let key = random.pick(&["x", "x", "x", "y"]);
    json!({"k": "leaf", "head": "args", "path": [key], "op": op, "operand": operand, "dialect": null})
}

/// A policy of many rules about what is made from one argument.
pub(crate) fn made_policy(random: &mut Random, rules: usize) -> String {
    let rules = (0..rules).map(|index| {
        let mut rule = rule(random, index, "strict");
        let item = match random.below(8) {
            0 => json!({"k": "any", "items": [made_leaf(random), made_leaf(random)]}),
            1 => json!({"k": "not", "item": made_leaf(random)}),
            2 => json!({"k": "all", "items": [made_leaf(random), leaf(random, "strict")]}),
            _ => json!({"k": "all", "items": [made_leaf(random)]}),
        };
        rule["match"] = item;
        rule
    });
    let rules = rules.collect();
    with_rules(rules, "strict", random)
}

/// A request with lists of texts, and texts in upper case.
pub(crate) fn request_of_lists(random: &mut Random) -> String {
    let text = |random: &mut Random| match random.below(12) {
        0 => "\\ud800".to_owned(),
        1 => random
            .pick(&TEXTS)
            .to_ascii_uppercase()
            .replace('\n', "\\n"),
        2 => "x".repeat(random.below(300)) + "AB",
        _ => random
            .pick(&[
                "a", "ab", "A", "Ab", "ABC", "b", "bc", "prod", "Prod", "É", "rm -RF /", "x",
            ])
            .to_owned(),
    };
    let item = |random: &mut Random| match random.below(14) {
        0 => "9".repeat(6000),
        1 => value(random, 2).to_string(),
        2 => json!(random.below(4)).to_string(),
        3 => "1.0".to_owned(),
        _ => format!("\"{}\"", text(random)),
    };
    let args = ["x", "y", "z"].map(|key| match random.below(6) {
        0 => format!("\"{key}\": {}", item(random)),
        1 => format!("\"{key}\": \"{}\"", text(random)),
        _ => {
            let items: Vec<String> = (0..random.below(5)).map(|_| item(random)).collect();
            format!("\"{key}\": [{}]", items.join(", "))
        }
    });
    let tool = random.pick(&["shell", "sql", "http"]);
    format!(
        "{{\"tool\": \"{tool}\", \"args\": {{{}}}}}",
        args.join(", ")
    )
}

/// The same in the `lynx` profile, where values of any two types compare.
fn crowded_lynx_leaf(random: &mut Random) -> Value {
    let plain = |random: &mut Random| match random.below(8) {
        0 => json!(random.chance(50)),
        1 => Value::Null,
        2 => json!(0.5),
        3 | 4 => json!(random.below(4)),
        _ => json!(random.pick(&TEXTS)),
    };
    let (op, operand) = match random.below(5) {
        0 => ("eq", plain(random)),
        1 => ("in", json!([plain(random), plain(random), plain(random)])),
        2 => ("matches", json!(random.pick(&PATTERNS))),
        _ => loop {
            let leaf = crowded_leaf(random);
            if !["starts_with", "ends_with", "matches"].contains(&leaf["op"].as_str().unwrap_or(""))
            {
                return leaf;
            }
        },
    };
    let dialect = if op == "matches" {
        json!("python")
    } else {
        Value::Null
    };
    let key = random.pick(&["x", "x", "x", "y"]);
    json!({"k": "leaf", "head": "args", "path": [key], "op": op, "operand": operand, "dialect": dialect})
}

/// A policy of the `lynx` profile as IR bytes, whose rules crowd on two tools and two arguments: a clause that may raise
/// stands before or after the others.
pub(crate) fn crowded_lynx_policy(random: &mut Random, rules: usize) -> String {
    let (negated, generic) = random.pick(&[(0, 10), (10, 0), (90, 50)]);
    let rules = (0..rules).map(|index| {
        let mut made = rule(random, index, "lynx");
        let tool = json!({"k": "leaf", "head": "tool", "path": [], "op": "in", "operand": ["shell", "sql"], "dialect": null});
        let mut items = Vec::new();
        for _ in 0..1 + random.below(3) {
            let item = crowded_lynx_leaf(random);
            items.push(match random.below(10) {
                0 => json!({"k": "any", "items": [item, crowded_lynx_leaf(random)]}),
                1 => json!({"k": "all", "items": [crowded_lynx_leaf(random), item]}),
                2 => json!({"k": "not", "item": {"k": "any", "items": [item, crowded_lynx_leaf(random)]}}),
                _ if random.chance(negated) => json!({"k": "not", "item": item}),
                _ => item,
            });
        }
        if random.chance(40) {
            items.insert(random.below(items.len() + 1), leaf(random, "lynx"));
        }
        if !random.chance(generic) {
            items.insert(0, tool);
        }
        made["match"] = json!({"k": "all", "items": items});
        made
    });
    with_rules(rules.collect(), "lynx", random)
}

/// A policy as IR bytes, whose rules crowd on one tool and two arguments.
pub(crate) fn crowded_policy(random: &mut Random, rules: usize) -> String {
    let rules = (0..rules).map(|index| {
        let mut made = rule(random, index, "strict");
        let tool = json!({"k": "leaf", "head": "tool", "path": [], "op": "eq", "operand": "shell", "dialect": null});
        let mut items = vec![tool, crowded_leaf(random)];
        if random.chance(80) {
            items.push(leaf(random, "strict"));
        }
        made["match"] = json!({"k": "all", "items": items});
        made
    });
    with_rules(rules.collect(), "strict", random)
}

/// A policy as IR bytes, whose rules have mostly negated clauses, for one tool or for any.
pub(crate) fn negated_policy(random: &mut Random, rules: usize) -> String {
    // Where one value excludes most rules, those that are left decide.
    let (crowded, most, common) = random.pick(&[(0, 6, 0), (90, 1, 85), (90, 2, 95)]);
    let rules = (0..rules).map(|index| {
        let mut made = rule(random, index, "strict");
        let mut items = Vec::new();
        if random.chance(60) {
            items.push(json!({"k": "leaf", "head": "tool", "path": [], "op": "eq", "operand": "shell", "dialect": null}));
        }
        items.extend((0..1 + random.below(most)).map(|_| negated(random, crowded)));
        if random.chance(common) {
            let item = json!({"k": "leaf", "head": "args", "path": ["x"], "op": "exists", "operand": true, "dialect": null});
            items.push(json!({"k": "not", "item": item}));
        }
        if random.chance(10) {
            items.push(json!({"k": "any", "items": [negated(random, crowded), negated(random, crowded)]}));
        }
        made["match"] = json!({"k": "all", "items": items});
        made
    });
    with_rules(rules.collect(), "strict", random)
}

/// A negation: of so many clauses in a hundred that indexes hold many of, or of what many rules negate, or of anything.
fn negated(random: &mut Random, crowded: usize) -> Value {
    let one = |random: &mut Random| {
        if random.chance(crowded) {
            let mut leaf = crowded_leaf(random);
            if random.chance(50) {
                let texts = ["a", "b", "bc", "rm", "prod", "d"];
                leaf["op"] = json!(random.pick(&["contains_any", "contains_all"]));
                leaf["dialect"] = Value::Null;
                leaf["operand"] = json!([random.pick(&texts), random.pick(&texts)]);
            }
            return leaf;
        }
        let key = random.pick(&["x", "y", "z", "w"]);
        let (op, operand) = match random.below(8) {
            0 => ("exists", json!(random.chance(70))),
            1 => ("eq", scalar(random)),
            2 => ("ge", json!(random.below(3) as i64 - 1)),
            3 | 4 => return leaf(random, "strict"),
            5 => {
                let operand = random.pick(&PATTERNS);
                return json!({"k": "leaf", "head": "args", "path": [key], "op": "matches", "operand": operand, "dialect": "re2"});
            }
            _ => ("in", json!(TEXTS)),
        };
        json!({"k": "leaf", "head": "args", "path": [key], "op": op, "operand": operand, "dialect": null})
    };
    let item = match random.below(5) {
        0 => json!({"k": "any", "items": [one(random), one(random)]}),
        1 => json!({"k": "all", "items": [one(random), one(random)]}),
        _ => one(random),
    };
    json!({"k": "not", "item": item})
}

/// A policy as IR bytes.
pub(crate) fn policy(random: &mut Random, profile: &str, rules: usize) -> String {
    let rules: Vec<_> = (0..rules)
        .map(|index| rule(random, index, profile))
        .collect();
    with_rules(rules, profile, random)
}

fn with_rules(rules: Vec<Value>, profile: &str, random: &mut Random) -> String {
    let on_rule_error = if random.chance(30) {
        "continue"
    } else {
        "deny"
    };
    json!({
        "ir_version": 1, "language_version": 1, "profile": profile, "rules": rules,
        "defaults": {"on_no_match": "allow", "on_missing_shadow": "approve_required", "on_rule_error": on_rule_error},
    })
    .to_string()
}

/// A request as JSON.
pub(crate) fn request(random: &mut Random) -> String {
    let mut args = serde_json::Map::new();
    for key in ["x", "y", "z", "w"] {
        if random.chance(65) {
            args.insert(key.to_owned(), value(random, 2));
        }
    }
    let mut extra = serde_json::Map::new();
    if random.chance(50) {
        extra.insert("k".to_owned(), value(random, 1));
    }
    json!({
        "tool": random.pick(&["shell", "sql", "http", "a", "other", "prod"]), "args": args,
        "declared": {"reversible": random.chance(50), "scope": ["a", "prod"], "cost": random.pick(&["low", "abc"])},
        "context": {"environment": random.pick(&["prod", "dev"]), "extra": extra},
    })
    .to_string()
}
