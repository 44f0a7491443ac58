//! JSON values pass the conformance kit, and the kit finds broken ones.

use bobcat_core::json::value::{Instant, JsonValue};
use bobcat_core::json::{Json, JsonMap, Text};
use bobcat_core::lang::path::Key;
use bobcat_core::num::bigint::parse_decimal;
use bobcat_core::value::conformance::{Maker, Spec, failures, specs};
use bobcat_core::value::{Step, Value, View};
use std::sync::Arc;

struct JsonMaker;

fn json(spec: &Spec) -> Option<Json<'static>> {
    Some(match spec {
        Spec::Null => Json::Null,
        Spec::Bool(value) => Json::Bool(*value),
        Spec::Int(text) => match text.parse() {
            Ok(value) => Json::Int(value),
            Err(_) => {
                parse_decimal(text).map_or(Json::HugeInt, |number| Json::BigInt(Arc::new(number)))
            }
        },
        Spec::Float(value) => Json::Float(*value),
        Spec::Str(text) => Json::Text(Text::Owned(text.as_str().into())),
        Spec::BadStr => Json::Text(Text::Bad),
        Spec::List(items) => Json::List(Arc::new(items.iter().map(json).collect::<Option<_>>()?)),
        Spec::Map(entries) => {
            let entry = |(key, spec): &(String, Spec)| {
                Some((Text::Owned(key.as_str().into()), json(spec)?))
            };
            let entries = entries.iter().map(entry).collect::<Option<_>>()?;
            Json::Map(Arc::new(JsonMap::new(entries).expect("distinct keys")))
        }
        Spec::Timestamp(_) | Spec::Opaque => return None,
    })
}

impl Maker for JsonMaker {
    type Value = JsonValue<'static>;

    fn make(&self, spec: &Spec) -> Option<Self::Value> {
        match spec {
            Spec::Timestamp(micros) => Some(JsonValue::Timestamp(Instant {
                micros: *micros,
                offset: 0,
            })),
            spec => json(spec).map(JsonValue::Json),
        }
    }

    fn key(&self, _text: &str) -> u32 {
        0
    }
}

#[test]
fn json_values_conform() {
    assert_eq!(failures(&JsonMaker), Vec::<String>::new());
    let made = specs()
        .iter()
        .filter(|spec| JsonMaker.make(spec).is_some())
        .count();
    assert!(made > 25, "only {made} specs have a JSON form");
}

/// A value that is wrong about everything.
#[derive(Clone)]
struct Liar;

impl Value for Liar {
    fn view(&self) -> View<'_> {
        View::Int(42)
    }
    fn get(&self, _key: Key<'_>) -> Step<Self> {
        Step::Found(Self)
    }
    fn len(&self) -> usize {
        3
    }
    fn item(&self, index: usize) -> Option<Self> {
        (index > 2).then_some(Self)
    }
    fn each_entry(&self, visit: &mut dyn FnMut(View<'_>, &Self) -> bool) {
        if visit(View::Opaque, self) {
            visit(View::Null, self);
        }
    }
}

struct LiarMaker;

impl Maker for LiarMaker {
    type Value = Liar;
    fn make(&self, spec: &Spec) -> Option<Liar> {
        (!matches!(spec, Spec::List(_) | Spec::Map(_))).then_some(Liar)
    }
    fn key(&self, _text: &str) -> u32 {
        0
    }
}

#[test]
fn the_kit_finds_a_value_that_lies() {
    let found = failures(&LiarMaker);
    assert!(found.len() >= specs().len() / 2, "{found:?}");
}
