//! Constants of the IR: JSON values, with one-key mappings as tags for values that JSON lacks.

use super::node::{Decode, bad, limit, pair};
use crate::json::tape::{Item, Node};
use crate::lang::Profile;
use crate::limits::{MAX_CONST_DEPTH, MAX_INT_BITS, MAX_STRING_BYTES};
use crate::num::bigint::parse_decimal;
use crate::value::constant::{Const, HostConst};

/// Decodes a constant of the given profile.
pub(super) fn constant(item: Item<'_, '_>, profile: Profile) -> Decode<Const> {
    at_depth(item, profile, 0)
}

/// Decodes a string within the cap.
#[inline]
pub(super) fn string<'t>(item: Item<'t, '_>, what: &str) -> Decode<&'t str> {
    match item.text() {
        Some(text) if text.len() <= MAX_STRING_BYTES => Ok(text),
        other => Err(match (other, item.node()) {
            (Some(text), _) => limit(format!(
                "{what} has {} bytes, more than {MAX_STRING_BYTES}",
                text.len()
            )),
            (None, Node::BadText) => bad(format!("{what} holds a lone surrogate")),
            (None, _) => bad(format!("{what} is not a string")),
        }),
    }
}

/// Returns true if `item` is, by its kind, a scalar that every profile has. PERF: such an item needs no decoding to be
/// checked.
#[inline]
pub(super) fn is_plain(item: Item<'_, '_>) -> bool {
    match item.node() {
        Node::Null | Node::Bool(_) | Node::Int(_) => true,
        Node::Float(value) => value.is_finite(),
        Node::Text(start, end) => (end - start) as usize <= MAX_STRING_BYTES,
        Node::BigInt(..)
        | Node::HugeInt
        | Node::Escaped(_)
        | Node::BadText
        | Node::List(_)
        | Node::Map { .. } => false,
    }
}

fn at_depth(item: Item<'_, '_>, profile: Profile, depth: usize) -> Decode<Const> {
    if depth > MAX_CONST_DEPTH {
        return Err(limit(format!(
            "a constant is deeper than {MAX_CONST_DEPTH} levels"
        )));
    }
    Ok(match item.node() {
        Node::Null => Const::Null,
        Node::Bool(value) => Const::Bool(value),
        Node::Int(value) => Const::Int(value),
        Node::BigInt(..) => match item.digits().and_then(parse_decimal) {
            Some(value) => Const::BigInt(value),
            None => return Err(too_many_bits()),
        },
        Node::HugeInt => return Err(too_many_bits()),
        Node::Float(value) if value.is_finite() => Const::Float(value),
        Node::Float(_) => return Err(bad("a float is out of range")),
        Node::Text(..) | Node::Escaped(_) | Node::BadText => {
            Const::Str(string(item, "a constant")?.into())
        }
        Node::List(_) => Const::List(list(item, profile, depth)?),
        Node::Map { .. } => {
            let mut entries = item.entries().into_iter().flatten();
            match (entries.next(), entries.next()) {
                (Some((tag, body)), None) => {
                    tagged(tag.text().unwrap_or_default(), body, profile, depth)?
                }
                _ => return Err(bad("a mapping in a constant has no tag")),
            }
        }
    })
}

#[cold]
fn too_many_bits() -> crate::error::DecodeError {
    limit(format!("an integer has more than {MAX_INT_BITS} bits"))
}

fn list(item: Item<'_, '_>, profile: Profile, depth: usize) -> Decode<Vec<Const>> {
    item.items()
        .into_iter()
        .flatten()
        .map(|item| at_depth(item, profile, depth + 1))
        .collect()
}

fn items(body: Item<'_, '_>, tag: &str, profile: Profile, depth: usize) -> Decode<Vec<Const>> {
    if body.items().is_none() {
        return Err(bad(format!("the constant `{tag}` is not a list")));
    }
    list(body, profile, depth)
}

fn tagged(tag: &str, body: Item<'_, '_>, profile: Profile, depth: usize) -> Decode<Const> {
    let text = |what| string(body, what).map(Into::into);
    match (tag, profile) {
        ("map", _) => {
            let Some(entries) = body.entries() else {
                return Err(bad("the constant `map` is not a mapping"));
            };
            let entry = |(key, value): (Item<'_, '_>, Item<'_, '_>)| {
                let key = key
                    .text()
                    .ok_or_else(|| bad("a key holds a lone surrogate"))?;
                Ok((key.into(), at_depth(value, profile, depth + 1)?))
            };
            Ok(Const::Map(entries.map(entry).collect::<Decode<_>>()?))
        }
        ("timestamp", _) => match body.node() {
            Node::Int(micros) => Ok(Const::Timestamp(micros)),
            _ => Err(bad("the constant `timestamp` is not an integer of 64 bits")),
        },
        ("float", Profile::Lynx) => match string(body, "the constant `float`")? {
            "nan" => Ok(Const::Float(f64::NAN)),
            "inf" => Ok(Const::Float(f64::INFINITY)),
            "-inf" => Ok(Const::Float(f64::NEG_INFINITY)),
            other => Err(bad(format!("`{other}` is not a float"))),
        },
        ("date", Profile::Lynx) => Ok(Const::HostConst(HostConst::Date(text("a date")?))),
        ("datetime", Profile::Lynx) => {
            Ok(Const::HostConst(HostConst::DateTime(text("a datetime")?)))
        }
        ("bytes", Profile::Lynx) => Ok(Const::HostConst(HostConst::Bytes(text("bytes")?))),
        ("set", Profile::Lynx) => Ok(Const::HostConst(HostConst::Set(items(
            body, tag, profile, depth,
        )?))),
        ("tuple", Profile::Lynx) => Ok(Const::HostConst(HostConst::Tuple(items(
            body, tag, profile, depth,
        )?))),
        ("pairs", Profile::Lynx) => {
            let pair = |item: Item<'_, '_>| {
                let (key, value) = pair(item, "a pair")?;
                let key = at_depth(key, profile, depth + 1)?;
                Ok((key, at_depth(value, profile, depth + 1)?))
            };
            let Some(pairs) = body.items() else {
                return Err(bad("the constant `pairs` is not a list"));
            };
            Ok(Const::HostConst(HostConst::Pairs(
                pairs.map(pair).collect::<Decode<_>>()?,
            )))
        }
        (other, _) => Err(bad(format!("a constant has the unknown tag `{other}`"))),
    }
}
