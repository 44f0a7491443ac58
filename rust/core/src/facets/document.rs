//! JSON in a text: a document that every reader reads alike.

use std::sync::Arc;

use super::Undecidable;
use crate::json::value::JsonValue;
use crate::json::{self, Caps, Json, JsonMap, Text};

/// Longest document, in bytes.
pub(crate) const MAX_TEXT: usize = 1024 * 1024;

/// Depth of a document.
const MAX_DEPTH: usize = 64;

/// Values of a document.
const MAX_VALUES: usize = 50_000;

/// Parses a document. Duplicate keys are refused, because readers take different ones of them.
///
/// # Errors
/// The text is no JSON, has a key twice, or is past a cap.
pub fn parse(text: &str) -> Result<JsonValue<'static>, Undecidable> {
    if text.len() > MAX_TEXT {
        return Err(Undecidable::new(
            "json_length",
            MAX_TEXT,
            "the text is too long",
        ));
    }
    let caps = Caps {
        depth: MAX_DEPTH,
        nodes: MAX_VALUES,
    };
    match json::parse(text.as_bytes(), caps) {
        Ok(parsed) => Ok(JsonValue::Json(owned(&parsed))),
        Err(error) => Err(Undecidable::new("json_form", error.at, error.message)),
    }
}

/// A copy that does not borrow the text.
fn owned(value: &Json<'_>) -> Json<'static> {
    match value {
        Json::Null => Json::Null,
        Json::Bool(flag) => Json::Bool(*flag),
        Json::Int(number) => Json::Int(*number),
        Json::BigInt(number) => Json::BigInt(Arc::clone(number)),
        Json::HugeInt => Json::HugeInt,
        Json::Float(number) => Json::Float(*number),
        Json::Text(text) => Json::Text(owned_text(text)),
        Json::List(items) => Json::List(Arc::new(items.iter().map(owned).collect())),
        Json::Map(map) => {
            let entry = |(key, value): &(Text<'_>, Json<'_>)| (owned_text(key), owned(value));
            let entries = map.entries().iter().map(entry).collect();
            Json::Map(Arc::new(JsonMap::new(entries).unwrap_or_default()))
        }
    }
}

fn owned_text(text: &Text<'_>) -> Text<'static> {
    match text.as_str() {
        Some(text) => Text::Owned(text.into()),
        None => Text::Bad,
    }
}
