//! Canonical JSON, as `bobcat.text.json_text` writes it: keys sorted by code point, no white space, ASCII, floats as in Python.

use bobcat_core::json::Json;
use bobcat_core::pyfn::float_repr;

/// The canonical text of `json`; `None` if no text reads back as the same value: an infinity, a lone surrogate and an
/// integer above the cap have no such text.
pub(crate) fn canonical_json(json: &Json<'_>) -> Option<String> {
    let mut out = String::new();
    write(json, &mut out)?;
    Some(out)
}

/// Appends `text` as a string of canonical JSON.
pub(crate) fn write_text(text: &str, out: &mut String) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            '\u{8}' => out.push_str("\\b"),
            '\u{c}' => out.push_str("\\f"),
            ' '..='~' => out.push(c),
            _ => {
                for unit in c.encode_utf16(&mut [0; 2]) {
                    out.push_str(&format!("\\u{unit:04x}"));
                }
            }
        }
    }
    out.push('"');
}

/// Appends the texts as a list of canonical JSON.
pub(crate) fn write_texts(texts: &[String], out: &mut String) {
    out.push('[');
    for (at, text) in texts.iter().enumerate() {
        out.push_str(if at > 0 { "," } else { "" });
        write_text(text, out);
    }
    out.push(']');
}

fn write(json: &Json<'_>, out: &mut String) -> Option<()> {
    match json {
        Json::Null => out.push_str("null"),
        Json::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
        Json::Int(value) => out.push_str(&value.to_string()),
        Json::BigInt(value) => out.push_str(&value.to_string()),
        Json::Float(value) if value.is_finite() => out.push_str(&float_repr(*value)),
        Json::HugeInt | Json::Float(_) => return None,
        Json::Text(text) => write_text(text.as_str()?, out),
        Json::List(items) => {
            out.push('[');
            for (at, item) in items.iter().enumerate() {
                out.push_str(if at > 0 { "," } else { "" });
                write(item, out)?;
            }
            out.push(']');
        }
        Json::Map(map) => {
            let mut entries = Vec::with_capacity(map.entries().len());
            for (key, value) in map.entries() {
                entries.push((key.as_str()?, value));
            }
            // The order of UTF-8 bytes is the order of code points.
            entries.sort_unstable_by_key(|(key, _)| *key);
            out.push('{');
            for (at, (key, value)) in entries.into_iter().enumerate() {
                out.push_str(if at > 0 { "," } else { "" });
                write_text(key, out);
                out.push(':');
                write(value, out)?;
            }
            out.push('}');
        }
    }
    Some(())
}

#[cfg(test)]
mod tests {
    use bobcat_core::json::{Caps, parse};

    use super::canonical_json;

    fn canonical(text: &str) -> Option<String> {
        let caps = Caps {
            depth: 8,
            nodes: 99,
        };
        canonical_json(&parse(text.as_bytes(), caps).ok()?)
    }

    #[test]
    fn a_value_is_written_as_python_does() {
        for (text, written) in [
            (
                r#"{"b": [1, null, true], "a": 1e16, "\u00e9": "\ud83d\ude00\u007f\b\f"}"#,
                r#"{"a":1e+16,"b":[1,null,true],"\u00e9":"\ud83d\ude00\u007f\b\f"}"#,
            ),
            ("[0.00001, -0.0, 1E2]", "[1e-05,-0.0,100.0]"),
            (
                "123456789012345678901234567890",
                "123456789012345678901234567890",
            ),
            (r#""\"\\\/\n\r\t""#, r#""\"\\/\n\r\t""#),
        ] {
            assert_eq!(canonical(text).as_deref(), Some(written));
        }
    }

    #[test]
    fn a_value_without_an_exact_text_is_refused() {
        for text in ["1e999", r#""\ud800""#, r#"{"\udc00": 1}"#] {
            assert_eq!(canonical(text), None);
        }
    }
}
