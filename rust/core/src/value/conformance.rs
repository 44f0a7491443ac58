//! A kit of checks that every implementation of values must pass.
//!
//! An implementation builds values from a [`Spec`]; [`failures`] walks a table of them and reports every
//! answer that differs from what the spec promises.

use super::{Step, Value, View};
use crate::lang::path::Key;
use crate::num::bigint::{parse_decimal, to_i64};

/// A value, described.
#[derive(Clone, Debug, PartialEq)]
pub enum Spec {
    /// `null`
    Null,
    /// A boolean.
    Bool(bool),
    /// An integer of any size, in decimal.
    Int(String),
    /// A float.
    Float(f64),
    /// Text.
    Str(String),
    /// A string with a lone surrogate.
    BadStr,
    /// A list.
    List(Vec<Spec>),
    /// A mapping with string keys.
    Map(Vec<(String, Spec)>),
    /// An instant, in microseconds since 1970-01-01T00:00:00Z.
    Timestamp(i64),
    /// A value that no operator can evaluate.
    Opaque,
}

/// The constructors of values of an implementation.
pub trait Maker {
    /// The implementation.
    type Value: Value;
    /// The value `spec` describes; `None` when the implementation has no such value.
    fn make(&self, spec: &Spec) -> Option<Self::Value>;
    /// The id of a key, whose text [`Maker::make`] has seen or not.
    fn key(&self, text: &str) -> u32;
}

/// A key that no spec has.
const NO_KEY: &str = "no such key";

/// The table of values.
#[must_use]
pub fn specs() -> Vec<Spec> {
    let mut specs = vec![
        Spec::Null,
        Spec::Bool(false),
        Spec::Bool(true),
        Spec::BadStr,
        Spec::Opaque,
        Spec::Timestamp(0),
        Spec::Timestamp(1_769_860_800_000_001),
        Spec::Timestamp(-1),
    ];
    let cap = "1".repeat(1233);
    let ints = [
        "0",
        "-1",
        "9223372036854775807",
        "-9223372036854775808",
        "9223372036854775808",
        "-9223372036854775809",
    ];
    specs.extend(
        ints.into_iter()
            .chain([cap.as_str(), &"1".repeat(1300)])
            .map(|text| Spec::Int(text.to_owned())),
    );
    specs.extend(
        [
            0.0,
            -0.0,
            1.5,
            f64::MAX,
            f64::INFINITY,
            f64::NEG_INFINITY,
            f64::NAN,
        ]
        .map(Spec::Float),
    );
    let long = "x".repeat(100_000);
    specs.extend(["", "a", "é😀", "a\0b", &long].map(|text| Spec::Str(text.to_owned())));
    let all = specs.clone();
    specs.push(Spec::List(Vec::new()));
    specs.push(Spec::List(all.clone()));
    specs.push(Spec::List(vec![
        Spec::List(vec![Spec::Null]),
        Spec::Map(Vec::new()),
    ]));
    specs.push(Spec::Map(Vec::new()));
    specs.push(Spec::Map(
        all.into_iter()
            .enumerate()
            .map(|(at, spec)| (format!("k{at}"), spec))
            .collect(),
    ));
    let key = |text: &str, spec| (text.to_owned(), spec);
    specs.push(Spec::Map(vec![
        key("", Spec::Null),
        key("é", Spec::Map(vec![key("b.c", Spec::Bool(true))])),
        key("items", Spec::Str("keys".to_owned())),
    ]));
    specs
}

/// Returns the failures of an implementation; empty when it conforms.
#[must_use]
pub fn failures<M: Maker>(maker: &M) -> Vec<String> {
    let mut failures = Vec::new();
    for spec in specs() {
        let spec = possible(maker, spec);
        if let Some(value) = maker.make(&spec) {
            check(maker, &spec, &value, &mut failures);
        }
    }
    failures
}

/// `spec` without the parts the implementation has no value for.
fn possible<M: Maker>(maker: &M, spec: Spec) -> Spec {
    let kept = |spec: Spec| {
        let spec = possible(maker, spec);
        maker.make(&spec).is_some().then_some(spec)
    };
    match spec {
        Spec::List(items) => Spec::List(items.into_iter().filter_map(kept).collect()),
        Spec::Map(entries) => Spec::Map(
            entries
                .into_iter()
                .filter_map(|(key, spec)| Some((key, kept(spec)?)))
                .collect(),
        ),
        other => other,
    }
}

fn check<M: Maker>(maker: &M, spec: &Spec, value: &M::Value, failures: &mut Vec<String>) {
    let mut fail = |what: String| failures.push(format!("{}: {what}", short(spec)));
    if !is_view(spec, &value.view()) || !is_view(spec, &value.clone().view()) {
        fail(format!("seen as {}", short(&value.view())));
    }
    if let Some(text) = value.text()
        && !matches!(spec, Spec::Str(expected) if expected == text)
    {
        fail(format!("a text: {}", short(&text)));
    }
    let key = |text: &'static str| Key {
        id: maker.key(text),
        text,
    };
    let step = value.get(key(NO_KEY));
    let stepped = match spec {
        Spec::Null | Spec::Map(_) => matches!(step, Step::Absent),
        _ => matches!(step, Step::Unreadable),
    };
    if !stepped {
        fail("a step to a key that is not there".to_owned());
    }
    let len = match spec {
        Spec::List(items) => items.len(),
        Spec::Map(entries) => entries.len(),
        _ => 0,
    };
    if value.len() != len || value.is_empty() != (len == 0) {
        fail(format!("length {}", value.len()));
    }
    let mut visits = 0;
    value.each_entry(&mut |_, _| {
        visits += 1;
        false
    });
    if visits != usize::from(len > 0 && matches!(spec, Spec::Map(_))) {
        fail(format!("{visits} entries visited after a stop"));
    }
    match spec {
        Spec::List(items) => check_list(maker, items, value, failures),
        Spec::Map(entries) => check_map(maker, entries, value, failures),
        _ => {
            if value.item(0).is_some() {
                fail("an element".to_owned());
            }
        }
    }
}

fn check_list<M: Maker>(maker: &M, items: &[Spec], value: &M::Value, failures: &mut Vec<String>) {
    for (index, spec) in items.iter().enumerate() {
        match value.item(index) {
            Some(item) => check(maker, spec, &item, failures),
            None => failures.push(format!("element {index} is not there")),
        }
    }
    if value.item(items.len()).is_some() || value.item(usize::MAX).is_some() {
        failures.push("an element past the end".to_owned());
    }
}

fn check_map<M: Maker>(
    maker: &M,
    entries: &[(String, Spec)],
    value: &M::Value,
    failures: &mut Vec<String>,
) {
    for (text, spec) in entries {
        match value.get(Key {
            id: maker.key(text),
            text,
        }) {
            Step::Found(item) => check(maker, spec, &item, failures),
            Step::Absent | Step::Unreadable => {
                failures.push(format!("the entry `{text}` is not there"))
            }
        }
    }
    let mut seen = Vec::new();
    value.each_entry(&mut |key, item| {
        seen.push(match key {
            View::Str(text) => text.to_owned(),
            other => short(&other),
        });
        let spec = entries.iter().find(|(text, _)| seen.last() == Some(text));
        if !spec.is_some_and(|(_, spec)| is_view(spec, &item.view())) {
            failures.push(format!("entry {seen:?} visited with another value"));
        }
        true
    });
    if !seen.iter().eq(entries.iter().map(|(text, _)| text)) {
        failures.push(format!("entries visited: {seen:?}"));
    }
}

fn is_view(spec: &Spec, view: &View<'_>) -> bool {
    match (spec, view) {
        (Spec::Null, View::Null)
        | (Spec::BadStr, View::BadStr)
        | (Spec::List(_), View::List)
        | (Spec::Map(_), View::Map)
        | (Spec::Opaque, View::Opaque) => true,
        (Spec::Bool(spec), View::Bool(value)) => spec == value,
        (Spec::Int(text), View::Int(value)) => *text == value.to_string(),
        (Spec::Int(text), View::BigInt(value)) => {
            to_i64(value).is_none() && *text == value.to_string()
        }
        (Spec::Int(text), View::HugeInt) => parse_decimal(text).is_none(),
        (Spec::Float(spec), View::Float(value)) => spec.to_bits() == value.to_bits(),
        (Spec::Str(spec), View::Str(value)) => spec == value,
        (Spec::Timestamp(spec), View::Timestamp(value)) => spec == value,
        _ => false,
    }
}

fn short(what: &impl std::fmt::Debug) -> String {
    let text = format!("{what:?}");
    text.chars().take(80).collect()
}
