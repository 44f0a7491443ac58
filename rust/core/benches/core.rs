//! Benchmarks of the core without Python around it: `cargo bench -p bobcat-core`. Times, for a quiet machine; CI gates on
//! the instruction counts of `benches/instructions`.

#![expect(clippy::expect_used, reason = "a bench that cannot be set up ends")]
#![expect(missing_docs, reason = "made by a macro")]

use std::hint::black_box;

use bobcat_core::eval::ShortCuts;
use bobcat_core::json::value::JsonRequest;
use bobcat_core::program::{Program, Scratch};
use bobcat_core::regex::{Dialect, MatchSet, Pattern, PatternSet};
use criterion::{BenchmarkId, Criterion, Throughput, criterion_group, criterion_main};

const REQUEST: &str = r#"{"tool":"work","args":{"cmd":"git log --oneline -n 20 -- src/main.py","amount":7,
"customer_id":"c-none"},"declared":{"reversible":true,"has_shadow":true}}"#;
const SIZES: [usize; 3] = [10, 100, 1_000];

/// The IR of rules on one tool, each with one leaf more.
fn policy(rules: usize, leaf: impl Fn(usize) -> String) -> String {
    let rules: Vec<String> = (0..rules)
        .map(|n| {
            let tool = r#"{"head":"tool","k":"leaf","op":"eq","operand":"work","path":[]}"#;
            format!(
                r#"{{"approvers":[],"id":"r{n}","k":"rule","match":{{"items":[{tool},{}],"k":"all"}},"priority":0,"reason":"no","timeout_seconds":null,"transform":null,"verdict":"deny"}}"#,
                leaf(n)
            )
        })
        .collect();
    format!(
        r#"{{"defaults":{{"on_missing_shadow":"deny","on_no_match":"deny","on_rule_error":"deny"}},"ir_version":1,"language_version":1,"profile":"strict","rules":[{}]}}"#,
        rules.join(",")
    )
}

fn equality(n: usize) -> String {
    format!(r#"{{"head":"args","k":"leaf","op":"eq","operand":"c-{n}","path":["customer_id"]}}"#)
}

fn band(n: usize) -> String {
    let (from, to) = (n * 10 + 10, n * 10 + 15);
    format!(
        r#"{{"head":"args","k":"leaf","op":"between","operand":[{from},{to}],"path":["amount"]}}"#
    )
}

fn pattern(n: usize) -> String {
    format!(
        r#"{{"dialect":"re2","head":"args","k":"leaf","op":"matches","operand":"{}","path":["cmd"]}}"#,
        pattern_text(n).replace('\\', "\\\\")
    )
}

fn pattern_text(n: usize) -> String {
    format!(r"(?i)\b(drop|truncate)\s+table\s+t{n}\b")
}

fn program(text: &str) -> Program {
    Program::from_ir(text.as_bytes()).expect("a policy")
}

fn decide(c: &mut Criterion) {
    let mut group = c.benchmark_group("decide");
    let call = JsonRequest::parse(REQUEST.as_bytes()).expect("a request");
    for (name, leaf) in [
        ("equality", equality as fn(usize) -> String),
        ("bands", band),
        ("patterns", pattern),
    ] {
        for rules in SIZES {
            let program = program(&policy(rules, leaf));
            let mut scratch = Scratch::new();
            group.bench_function(BenchmarkId::new(name, rules), |b| {
                b.iter(|| program.decide(black_box(&call), &mut scratch));
            });
        }
        let program = program(&policy(100, leaf));
        group.bench_function(BenchmarkId::new(format!("{name}, plain"), 100), |b| {
            b.iter(|| program.decide_with(black_box(&call), &mut Scratch::new(), ShortCuts::NONE));
        });
    }
    group.finish();
}

fn load(c: &mut Criterion) {
    let mut group = c.benchmark_group("load");
    for rules in SIZES {
        let text = policy(rules, pattern);
        group.throughput(Throughput::Bytes(text.len() as u64));
        group.bench_function(BenchmarkId::from_parameter(rules), |b| {
            b.iter(|| program(black_box(&text)));
        });
    }
    group.finish();
}

fn read(c: &mut Criterion) {
    let mut group = c.benchmark_group("read a request");
    group.throughput(Throughput::Bytes(REQUEST.len() as u64));
    group.bench_function("in place", |b| {
        b.iter(|| JsonRequest::parse(black_box(REQUEST.as_bytes())));
    });
    group.bench_function("by way of a tree", |b| {
        b.iter(|| JsonRequest::parse_plain(black_box(REQUEST.as_bytes())));
    });
    group.finish();
}

fn search(c: &mut Criterion) {
    let mut group = c.benchmark_group("search");
    let text = "the quick brown fox jumps over the lazy dog ".repeat(25);
    group.throughput(Throughput::Bytes(text.len() as u64));
    for count in SIZES {
        let patterns: Vec<Pattern> = (0..count)
            .map(|n| Pattern::parse(&pattern_text(n), Dialect::Re2).expect("a pattern"))
            .collect();
        let set = PatternSet::build(&patterns.iter().collect::<Vec<_>>());
        let mut found = MatchSet::new();
        group.bench_function(BenchmarkId::from_parameter(count), |b| {
            b.iter(|| set.matches(black_box(&text), &mut found));
        });
    }
    group.finish();
}

fn shell(c: &mut Criterion) {
    let mut group = c.benchmark_group("shell");
    for (name, text) in [
        (
            "80 characters",
            "cd src && git log --oneline -n 20 -- main.py | grep -v 'a b' > /tmp/out.txt 2>&1",
        ),
        (
            "behind launchers",
            "env A=1 nice -n 5 timeout 10 find . -name '*.py' -exec grep -l 'a b' {} + 2>&1 |cat",
        ),
    ] {
        group.throughput(Throughput::Bytes(text.len() as u64));
        group.bench_function(name, |b| {
            b.iter(|| bobcat_core::facets::shell::parse(black_box(text)))
        });
    }
    group.finish();
}

criterion_group!(core, decide, load, read, search, shell);
criterion_main!(core);
