//! Values that the analysis makes: evaluated by the tests of the engine itself, and written as JSON.

use std::sync::Arc;

use crate::budget::Steps;
use crate::clause::context::{Around, Referred};
use crate::clause::operand::{Check, Operand};
use crate::clause::predicate::{Test, Truth, evaluate};
use crate::error::Fault;
use crate::facets::cache::Cache;
use crate::json::value::{Instant, JsonValue};
use crate::json::{Json, JsonMap, Text, write_float, write_string};
use crate::num::number::Number;
use crate::value::Step;
use crate::value::constant::Const;
use crate::value::memory::{LeafValue, Reading, Wanted};

use super::dd::{ABSENT, Dd, ERROR, FALSE, TRUE};
use super::slot::Kind;

/// Nothing beside a value: no other path, no state.
struct Alone {
    steps: Steps,
    facets: Cache,
    referred: Referred<JsonValue<'static>>,
}

impl Around<JsonValue<'static>> for Alone {
    fn at(&self, _: u32) -> Step<JsonValue<'static>> {
        Step::Absent
    }

    fn steps(&self) -> &Steps {
        &self.steps
    }

    fn facets(&self) -> &Cache {
        &self.facets
    }

    fn reading(&self, _: u32) -> Result<Reading, Fault> {
        Err(Fault::NoState)
    }

    fn drawn(&self, _: Wanted, _: &LeafValue<'_>) -> Result<bool, Fault> {
        Err(Fault::NoState)
    }

    fn referred(&self) -> &Referred<JsonValue<'static>> {
        &self.referred
    }
}

/// The result of a test of a value.
pub(super) fn result(test: &Test, value: JsonValue<'static>) -> Dd {
    let alone = Alone {
        steps: Steps::endless(),
        facets: Cache::default(),
        referred: Referred::default(),
    };
    match evaluate(test, &Step::Found(value), &alone) {
        Truth::True => TRUE,
        Truth::False => FALSE,
        Truth::Absent => ABSENT,
        Truth::Error(_) => ERROR,
    }
}

/// The result of a test of a JSON value.
pub(super) fn result_of(test: &Test, value: &Json<'static>) -> Dd {
    result(test, JsonValue::Json(value.clone()))
}

/// The instant of so many microseconds.
pub(super) fn instant(micros: i64) -> JsonValue<'static> {
    JsonValue::Timestamp(Instant { micros, offset: 0 })
}

pub(super) fn text(text: &str) -> Json<'static> {
    Json::Text(Text::Owned(text.into()))
}

/// A text that no operator can evaluate.
pub(super) fn broken() -> Json<'static> {
    Json::Text(Text::Bad)
}

/// The type of a value.
pub(super) fn kind_of(value: &JsonValue<'static>) -> Kind {
    match value {
        JsonValue::Timestamp(_) => Kind::Instant,
        JsonValue::Json(json) => match json {
            Json::Null => Kind::Null,
            Json::Bool(true) => Kind::True,
            Json::Bool(false) => Kind::False,
            Json::Int(_) | Json::BigInt(_) | Json::Float(_) => Kind::Number,
            Json::HugeInt | Json::Text(Text::Bad) => Kind::Broken,
            Json::Text(_) => Kind::Text,
            Json::List(_) => Kind::List,
            Json::Map(_) => Kind::Map,
        },
    }
}

pub(super) fn json_number(number: &Number) -> Json<'static> {
    match number {
        Number::Int(value) => Json::Int(*value),
        Number::Big(value) => Json::BigInt(Arc::new(value.clone())),
        Number::Float(value) => Json::Float(*value),
    }
}

pub(super) fn list(items: Vec<Json<'static>>) -> Json<'static> {
    Json::List(Arc::new(items))
}

/// A mapping; entries with a key that is there already are left out.
pub(super) fn mapping(entries: Vec<(String, Json<'static>)>) -> Json<'static> {
    let mut kept: Vec<(Text<'static>, Json<'static>)> = Vec::new();
    for (key, value) in entries {
        if !kept.iter().any(|(known, _)| known.as_str() == Some(&key)) {
            kept.push((Text::Owned(key.into()), value));
        }
    }
    Json::Map(Arc::new(JsonMap::new(kept).unwrap_or_default()))
}

/// A value with another one at a path of keys; mappings that lack a key of the path get it.
pub(super) fn replaced(
    value: &Json<'static>,
    keys: &[Box<str>],
    by: &Json<'static>,
) -> Json<'static> {
    match (keys.split_first(), value) {
        (None, _) => by.clone(),
        (Some((first, rest)), Json::Map(map)) => {
            let mut entries = map.entries().to_vec();
            let is_own = |(key, _): &&mut (Text<'static>, _)| key.as_str() == Some(&**first);
            match entries.iter_mut().find(is_own) {
                Some((_, value)) => *value = replaced(value, rest, by),
                None => {
                    let made = replaced(&mapping(Vec::new()), rest, by);
                    entries.push((Text::Owned((&**first).into()), made));
                }
            }
            let made = JsonMap::new(entries);
            Json::Map(made.map_or_else(|_| map.clone(), Arc::new))
        }
        _ => value.clone(),
    }
}

/// A constant as a value; `None` for an instant.
pub(super) fn of_const(constant: &Const) -> Option<Json<'static>> {
    Some(match constant {
        Const::Null => Json::Null,
        Const::Bool(value) => Json::Bool(*value),
        Const::Int(value) => Json::Int(*value),
        Const::BigInt(value) => Json::BigInt(Arc::new(value.clone())),
        Const::Float(value) => Json::Float(*value),
        Const::Str(value) => text(value),
        Const::List(items) => list(items.iter().map(of_const).collect::<Option<_>>()?),
        Const::Map(entries) => mapping(
            entries
                .iter()
                .map(|(key, value)| Some((key.to_string(), of_const(value)?)))
                .collect::<Option<_>>()?,
        ),
        Const::Timestamp(_) | Const::HostConst(_) => return None,
    })
}

/// Appends a value as JSON: what [`Json::write`] cannot write is escaped, or out of range.
pub(super) fn write(value: &Json<'_>, out: &mut String) {
    match value {
        Json::Text(Text::Bad) => out.push_str("\"\\ud800\""),
        Json::Text(text) => write_string(text.as_str().unwrap_or_default(), out),
        Json::Float(value) if value.is_infinite() => {
            out.push_str(if *value > 0.0 { "1e999" } else { "-1e999" });
        }
        Json::Float(value) => write_float(*value, out),
        Json::List(items) => {
            out.push('[');
            for (at, item) in items.iter().enumerate() {
                if at > 0 {
                    out.push_str(", ");
                }
                write(item, out);
            }
            out.push(']');
        }
        Json::Map(map) => {
            out.push('{');
            for (at, (key, value)) in map.entries().iter().enumerate() {
                if at > 0 {
                    out.push_str(", ");
                }
                write_string(key.as_str().unwrap_or_default(), out);
                out.push_str(": ");
                write(value, out);
            }
            out.push('}');
        }
        Json::Null | Json::Bool(_) | Json::Int(_) | Json::BigInt(_) | Json::HugeInt => {
            value.write(out);
        }
    }
}

/// Calls `visit` with every constant in an operand that is a scalar.
pub(super) fn scalars<'o>(operand: &'o Operand, visit: &mut impl FnMut(&'o Const)) {
    match operand {
        Operand::Const(constant) => scalars_of(constant, visit),
        Operand::Tests(checks) | Operand::Part(_, checks) => {
            for check in checks {
                scalars(&check.operand, visit);
            }
        }
        Operand::Places(places) => {
            for place in places {
                scalars(place, visit);
            }
        }
        Operand::Ref(..) | Operand::Sources(_) => {}
    }
}

fn scalars_of<'o>(constant: &'o Const, visit: &mut impl FnMut(&'o Const)) {
    match constant {
        Const::List(items) => items.iter().for_each(|item| scalars_of(item, visit)),
        Const::Map(entries) => entries
            .iter()
            .for_each(|(_, value)| scalars_of(value, visit)),
        scalar => visit(scalar),
    }
}

/// The number that a constant is.
pub(super) fn number_of(constant: &Const) -> Option<Number> {
    use crate::num::bigint::to_i64;
    match constant {
        Const::Int(value) => Some(Number::Int(*value)),
        Const::BigInt(value) => {
            Some(to_i64(value).map_or_else(|| Number::Big(value.clone()), Number::Int))
        }
        Const::Float(value) => Some(Number::from_float(*value)),
        _ => None,
    }
}

/// Why a check has no result for a value alone: it reads something else.
pub(super) fn reads_beside(check: &Check) -> Option<&'static str> {
    if check.operand.reads_sources() {
        return Some("memory");
    }
    let refers = check.operand.each_ref(&mut |_, _| Err(())).is_err();
    refers.then_some("ref")
}
