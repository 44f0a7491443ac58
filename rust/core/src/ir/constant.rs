//! Constants of the IR: JSON values, with one-key mappings as tags for what JSON lacks.

use super::decode::{Decode, bad, limit};
use crate::json::Json;
use crate::limits::{MAX_CONST_DEPTH, MAX_INT_BITS, MAX_STRING_BYTES};
use crate::rule::Profile;
use crate::value::constant::{Const, Exotic};

/// Decodes a constant of the given profile.
pub(super) fn constant(json: &Json<'_>, profile: Profile) -> Decode<Const> {
    at_depth(json, profile, 0)
}

/// Decodes a string within the cap.
pub(super) fn string<'j>(json: &'j Json<'_>, what: &str) -> Decode<&'j str> {
    let Json::Text(text) = json else {
        return Err(bad(format!("{what} is not a string")));
    };
    let text = text
        .as_str()
        .ok_or_else(|| bad(format!("{what} holds a lone surrogate")))?;
    if text.len() > MAX_STRING_BYTES {
        return Err(limit(format!(
            "{what} has {} bytes, more than {MAX_STRING_BYTES}",
            text.len()
        )));
    }
    Ok(text)
}

fn at_depth(json: &Json<'_>, profile: Profile, depth: usize) -> Decode<Const> {
    if depth > MAX_CONST_DEPTH {
        return Err(limit(format!(
            "a constant is deeper than {MAX_CONST_DEPTH} levels"
        )));
    }
    Ok(match json {
        Json::Null => Const::Null,
        Json::Bool(value) => Const::Bool(*value),
        Json::Int(value) => Const::Int(*value),
        Json::BigInt(value) => Const::BigInt(value.clone()),
        Json::HugeInt => {
            return Err(limit(format!(
                "an integer has more than {MAX_INT_BITS} bits"
            )));
        }
        Json::Float(value) if value.is_finite() => Const::Float(*value),
        Json::Float(_) => return Err(bad("a float is out of range")),
        Json::Text(_) => Const::Str(string(json, "a constant")?.into()),
        Json::List(items) => Const::List(list(items, profile, depth)?),
        Json::Map(map) => match map.entries() {
            [(tag, body)] => tagged(tag.as_str().unwrap_or_default(), body, profile, depth)?,
            _ => return Err(bad("a mapping in a constant has no tag")),
        },
    })
}

fn list(items: &[Json<'_>], profile: Profile, depth: usize) -> Decode<Vec<Const>> {
    items
        .iter()
        .map(|item| at_depth(item, profile, depth + 1))
        .collect()
}

fn items<'j, 'a>(body: &'j Json<'a>, tag: &str) -> Decode<&'j [Json<'a>]> {
    match body {
        Json::List(items) => Ok(items),
        _ => Err(bad(format!("the constant `{tag}` is not a list"))),
    }
}

fn tagged(tag: &str, body: &Json<'_>, profile: Profile, depth: usize) -> Decode<Const> {
    match (tag, profile) {
        ("map", _) => {
            let Json::Map(map) = body else {
                return Err(bad("the constant `map` is not a mapping"));
            };
            let entry = |(key, value): &(crate::json::Text<'_>, Json<'_>)| {
                let key = key
                    .as_str()
                    .ok_or_else(|| bad("a key holds a lone surrogate"))?;
                Ok((key.into(), at_depth(value, profile, depth + 1)?))
            };
            Ok(Const::Map(
                map.entries().iter().map(entry).collect::<Decode<_>>()?,
            ))
        }
        ("timestamp", _) => match body {
            Json::Int(micros) => Ok(Const::Timestamp(*micros)),
            _ => Err(bad("the constant `timestamp` is not an integer of 64 bits")),
        },
        ("float", Profile::Lynx) => match string(body, "the constant `float`")? {
            "nan" => Ok(Const::Float(f64::NAN)),
            "inf" => Ok(Const::Float(f64::INFINITY)),
            "-inf" => Ok(Const::Float(f64::NEG_INFINITY)),
            other => Err(bad(format!("`{other}` is not a float"))),
        },
        ("date", Profile::Lynx) => Ok(Const::Exotic(Exotic::Date(string(body, "a date")?.into()))),
        ("datetime", Profile::Lynx) => Ok(Const::Exotic(Exotic::DateTime(
            string(body, "a datetime")?.into(),
        ))),
        ("bytes", Profile::Lynx) => Ok(Const::Exotic(Exotic::Bytes(string(body, "bytes")?.into()))),
        ("set", Profile::Lynx) => Ok(Const::Exotic(Exotic::Set(list(
            items(body, tag)?,
            profile,
            depth,
        )?))),
        ("tuple", Profile::Lynx) => Ok(Const::Exotic(Exotic::Tuple(list(
            items(body, tag)?,
            profile,
            depth,
        )?))),
        ("pairs", Profile::Lynx) => {
            let pair = |pair: &Json<'_>| match pair {
                Json::List(parts) => match parts.as_slice() {
                    [key, value] => Ok((
                        at_depth(key, profile, depth + 1)?,
                        at_depth(value, profile, depth + 1)?,
                    )),
                    _ => Err(bad("a pair does not have two parts")),
                },
                _ => Err(bad("a pair is not a list")),
            };
            let pairs = items(body, tag)?.iter().map(pair).collect::<Decode<_>>()?;
            Ok(Const::Exotic(Exotic::Pairs(pairs)))
        }
        (other, _) => Err(bad(format!("a constant has the unknown tag `{other}`"))),
    }
}
