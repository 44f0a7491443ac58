//! Random tests of texts, each with the engine's own decision about it.

use bobcat_core::analysis::theory::TextTest;
use bobcat_core::json::value::JsonRequest;
use bobcat_core::program::{DecidedBy, Program, Scratch};
use serde_json::{Value, json};

/// A small generator of numbers; the same seed gives the same sequence.
pub(crate) struct Random(u64);

impl Random {
    pub(crate) fn new(seed: u64) -> Self {
        Self(seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1)
    }

    pub(crate) fn below(&mut self, bound: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        (self.0.wrapping_mul(0x2545_f491_4f6c_dd1d) >> 16) as usize % bound
    }

    pub(crate) fn pick<'a>(&mut self, items: &[&'a str]) -> &'a str {
        items[self.below(items.len())]
    }
}

const ATOMS: [&str; 27] = [
    "a", "b", "ab", "é", "k", r"\.", r"\n", r"\d", r"\w", r"\W", r"\s", ".", "[ab]", "[^a]",
    "[^a-k]", "^", "$", r"\b", r"\B", r"\A", r"\z", "(?i:k)", "(?s:.)", "(?m:^)", "(?m:$)",
    "(?i:σ)", "[α-ω]",
];
const OPERATORS: [&str; 10] = ["", "", "", "", "*", "+", "?", "{2}", "{0,3}", "{2,}"];
const LETTERS: [&str; 22] = [
    "a",
    "b",
    "ab",
    "k",
    "K",
    "A",
    "\u{212a}",
    "é",
    "É",
    "\n",
    " ",
    "_",
    "1",
    ".",
    "漢",
    "Σ",
    "σ",
    "ς",
    "'",
    "İ",
    "\u{1f600}",
    "\u{301}",
];
const WORDS: [&str; 14] = [
    "", "a", "b", "ab", "aba", "k", "σ", "ς", "Σ", "é", "i\u{307}", "1", "bb", ".",
];

/// A short text.
pub(crate) fn text(random: &mut Random) -> String {
    let length = random.below(6);
    (0..length).map(|_| random.pick(&LETTERS)).collect()
}

pub(crate) fn pattern(random: &mut Random, depth: usize) -> String {
    let mut found = String::new();
    for _ in 0..random.below(4) {
        if depth > 0 && random.below(4) == 0 {
            let (left, right) = (pattern(random, depth - 1), pattern(random, depth - 1));
            found += &format!("(?:{left}|{right}){}", random.pick(&OPERATORS));
            continue;
        }
        let atom = random.pick(&ATOMS);
        let look = ["^", "$", r"\b", r"\B", r"\A", r"\z"].contains(&atom);
        found += atom;
        found += if look { "" } else { random.pick(&OPERATORS) };
    }
    found
}

/// The decision of the engine about a text.
pub(crate) enum Oracle {
    Clause(Box<Program>),
    Behind(String, Box<Oracle>),
    Not(Box<Oracle>),
    All(Vec<Oracle>),
    Any(Vec<Oracle>),
}

impl Oracle {
    pub(crate) fn passes(&self, text: &str) -> bool {
        match self {
            Self::Clause(program) => {
                let call =
                    json!({"tool": "t", "args": {"a": text}, "declared": {"reversible": true}})
                        .to_string();
                let call = JsonRequest::parse(call.as_bytes()).expect("a request");
                match program.decide(&call, &mut Scratch::new()).decided {
                    DecidedBy::Rule(0) => true,
                    DecidedBy::NoMatch => false,
                    decided => panic!("{text:?}: {decided:?}"),
                }
            }
            Self::Behind(suffix, inner) => inner.passes(&format!("{text}{suffix}")),
            Self::Not(inner) => !inner.passes(text),
            Self::All(parts) => parts.iter().all(|part| part.passes(text)),
            Self::Any(parts) => parts.iter().any(|part| part.passes(text)),
        }
    }
}

fn clause(op: &str, operand: &Value) -> Oracle {
    let mut leaf = json!({"k": "leaf", "head": "args", "path": ["a"], "op": op, "operand": operand, "dialect": null});
    if op == "matches" {
        leaf["dialect"] = json!("re2");
    }
    let policy = json!({
        "defaults": {"on_missing_shadow": "deny", "on_no_match": "dry_run", "on_rule_error": "deny"},
        "ir_version": 1, "language_version": 1, "profile": "strict",
        "rules": [{
            "approvers": [], "id": "r", "k": "rule", "priority": 0, "reason": "", "match": leaf,
            "timeout_seconds": null, "transform": null, "verdict": "deny",
        }],
    });
    let program = Program::from_ir(policy.to_string().as_bytes());
    Oracle::Clause(Box::new(
        program.unwrap_or_else(|error| panic!("{error}: {op} {operand}")),
    ))
}

fn words(random: &mut Random) -> Vec<String> {
    let count = 1 + random.below(3);
    (0..count).map(|_| random.pick(&WORDS).to_owned()).collect()
}

/// A test of the text itself that has one operator, with its operand.
fn simple(random: &mut Random) -> (TextTest, &'static str, Value) {
    match random.below(8) {
        0 => {
            let texts = words(random);
            (
                TextTest::OneOf(texts.iter().cloned().collect()),
                "in",
                json!(texts),
            )
        }
        1 => {
            let texts = words(random);
            (
                TextTest::StartsWith(texts.clone()),
                "starts_with",
                json!(texts),
            )
        }
        2 => {
            let texts = words(random);
            (TextTest::EndsWith(texts.clone()), "ends_with", json!(texts))
        }
        3 => {
            let texts = words(random);
            (
                TextTest::Contains(texts.clone()),
                "contains_any",
                json!(texts),
            )
        }
        4 => {
            let bound = text(random);
            let (op, least) = [("ge", true), ("gt", false)][random.below(2)];
            let test = TextTest::Ordered {
                least: Some((bound.clone(), least)),
                most: None,
            };
            (test, op, json!(bound))
        }
        5 => {
            let (low, high) = (text(random), text(random));
            let least = Some((low.clone(), true));
            let most = Some((high.clone(), true));
            (
                TextTest::Ordered { least, most },
                "between",
                json!([low, high]),
            )
        }
        _ => {
            let pattern = pattern(random, 2);
            (
                TextTest::Matches {
                    pattern: pattern.clone(),
                },
                "matches",
                json!(pattern),
            )
        }
    }
}

fn within(op: &str, inner: &str, operand: &Value) -> Oracle {
    let dialect = (inner == "matches").then_some("re2");
    clause(
        op,
        &json!({"tests": [{"op": inner, "operand": operand, "dialect": dialect}]}),
    )
}

/// A random test, and the decision of the engine about it.
pub(crate) fn test(random: &mut Random, depth: usize) -> (TextTest, Oracle) {
    let parts = |random: &mut Random| -> (Vec<TextTest>, Vec<Oracle>) {
        let count = random.below(3);
        (0..count).map(|_| test(random, depth - 1)).unzip()
    };
    match random.below(if depth == 0 { 9 } else { 13 }) {
        0 => {
            let min = random.below(4) as u64;
            let max = min + random.below(3) as u64;
            let bounds = json!([min, max]);
            if random.below(2) == 0 {
                let test = TextTest::Length {
                    min: Some(min),
                    max: Some(max),
                };
                (test, within("length", "between", &bounds))
            } else {
                let test = TextTest::ByteLength {
                    min: Some(min),
                    max: Some(max),
                };
                (test, within("byte_length", "between", &bounds))
            }
        }
        1 => {
            let min = random.below(5) as u64;
            let test = TextTest::Length {
                min: Some(min),
                max: None,
            };
            (test, within("length", "ge", &json!(min)))
        }
        2 | 3 => {
            let (test, op, operand) = simple(random);
            (
                TextTest::Lower(Box::new(test)),
                within("lower", op, &operand),
            )
        }
        4..=8 => {
            let (test, op, operand) = simple(random);
            (test, clause(op, &operand))
        }
        9 => {
            let (test, oracle) = test(random, depth - 1);
            (TextTest::Not(Box::new(test)), Oracle::Not(Box::new(oracle)))
        }
        10 => {
            let (tests, oracles) = parts(random);
            (TextTest::All(tests), Oracle::All(oracles))
        }
        11 => {
            let (tests, oracles) = parts(random);
            (TextTest::Any(tests), Oracle::Any(oracles))
        }
        _ => {
            let suffix = random.pick(&WORDS).to_owned();
            let (test, oracle) = test(random, depth - 1);
            let oracle = Oracle::Behind(suffix.clone(), Box::new(oracle));
            (
                TextTest::Appended {
                    suffix,
                    test: Box::new(test),
                },
                oracle,
            )
        }
    }
}
