//! Values inside JSON texts: the second implementation of values.

use std::sync::Arc;

pub use super::request::JsonRequest;
pub use super::request_reader::RequestReader;
use super::{Json, JsonMap, Text};
use crate::error::ErrorCode;
use crate::lang::path::Key;
use crate::value::constant::Const;
use crate::value::owned::OwnedValue;
use crate::value::request::{Transform, TransformOp};
use crate::value::{Civil, Step, Value, View};

/// A value of a request given as JSON.
#[derive(Clone, Debug)]
pub enum JsonValue<'a> {
    /// A value from the text.
    Json(Json<'a>),
    /// `context.timestamp`.
    Timestamp(Instant),
}

/// An instant as it was written: microseconds since 1970-01-01T00:00:00Z, and its offset from UTC.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Instant {
    /// Since the epoch.
    pub micros: i64,
    /// Ahead of UTC.
    pub offset: i64,
}

impl Instant {
    /// The instant of an RFC 3339 text.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let civil = Civil::parse(text)?;
        Some(Self {
            micros: civil.micros()?,
            offset: civil.offset?,
        })
    }
}

impl Value for JsonValue<'_> {
    fn view(&self) -> View<'_> {
        match self {
            Self::Timestamp(instant) => View::Timestamp(instant.micros),
            Self::Json(json) => match json {
                Json::Null => View::Null,
                Json::Bool(value) => View::Bool(*value),
                Json::Int(value) => View::Int(*value),
                Json::BigInt(value) => View::BigInt(value.as_ref().clone()),
                Json::HugeInt => View::HugeInt,
                Json::Float(value) => View::Float(*value),
                Json::Text(text) => view_text(text),
                Json::List(_) => View::List,
                Json::Map(_) => View::Map,
            },
        }
    }

    #[inline]
    fn text(&self) -> Option<&str> {
        match self {
            Self::Json(Json::Text(text)) => text.as_str(),
            Self::Json(_) | Self::Timestamp(_) => None,
        }
    }

    fn get(&self, key: Key<'_>) -> Step<Self> {
        match self {
            Self::Json(Json::Map(map)) => match map.get(key.text) {
                Some(value) => Step::Found(Self::Json(value.clone())),
                None => Step::Absent,
            },
            Self::Json(Json::Null) => Step::Absent,
            Self::Json(_) | Self::Timestamp(_) => Step::Unreadable,
        }
    }

    fn len(&self) -> usize {
        match self {
            Self::Json(Json::List(items)) => items.len(),
            Self::Json(Json::Map(map)) => map.entries().len(),
            Self::Json(_) | Self::Timestamp(_) => 0,
        }
    }

    fn item(&self, index: usize) -> Option<Self> {
        match self {
            Self::Json(Json::List(items)) => items.get(index).cloned().map(Self::Json),
            Self::Json(_) | Self::Timestamp(_) => None,
        }
    }

    fn each_pair(&self, visit: &mut dyn FnMut(Self, Self) -> bool) {
        if let Self::Json(Json::Map(map)) = self {
            for (key, value) in map.entries() {
                let key = Self::Json(Json::Text(key.clone()));
                if !visit(key, Self::Json(value.clone())) {
                    return;
                }
            }
        }
    }

    fn civil(&self) -> Option<Civil> {
        match self {
            Self::Timestamp(instant) => Some(Civil {
                offset: Some(instant.offset),
                ..Civil::utc(instant.micros + instant.offset)
            }),
            Self::Json(_) => None,
        }
    }

    fn each_entry(&self, visit: &mut dyn FnMut(View<'_>, &Self) -> bool) {
        if let Self::Json(Json::Map(map)) = self {
            for (key, value) in map.entries() {
                if !visit(view_text(key), &Self::Json(value.clone())) {
                    return;
                }
            }
        }
    }
}

fn view_text<'t>(text: &'t Text<'_>) -> View<'t> {
    text.as_str().map_or(View::BadStr, View::Str)
}

/// `owner` with `transform` applied at `path`; all other parts are shared.
pub(crate) fn rewrite<'a>(
    owner: &Json<'a>,
    path: &[Box<str>],
    transform: &Transform,
) -> Result<Json<'a>, ErrorCode> {
    let Json::Map(map) = owner else {
        return Err(ErrorCode::CannotTransform);
    };
    let Some((key, rest)) = path.split_first() else {
        return match transform.value {
            Const::Map(_) => from_const(&transform.value),
            _ => Err(ErrorCode::CannotTransform),
        };
    };
    let there = map.get(key);
    let replaced = match (transform.op, rest.is_empty(), there) {
        (TransformOp::Set, true, _) => Some(from_const(&transform.value)?),
        (TransformOp::Delete, true, _) => None,
        (TransformOp::Append, true, Some(value)) => Some(extended(value, &transform.value)?),
        (_, false, Some(value)) => Some(rewrite(value, rest, transform)?),
        (TransformOp::Set, false, None) => Some(rewrite(&empty(), rest, transform)?),
        (TransformOp::Delete, false, None) => return Ok(owner.clone()),
        (TransformOp::Append, _, None) => return Err(ErrorCode::CannotTransform),
    };
    let mut entries = map.entries().to_vec();
    let at = entries
        .iter()
        .position(|(name, _)| name.as_str() == Some(key));
    match (at, replaced) {
        (Some(at), Some(value)) => {
            if let Some((_, slot)) = entries.get_mut(at) {
                *slot = value;
            }
        }
        (Some(at), None) => {
            entries.remove(at);
        }
        (None, Some(value)) => entries.push((Text::Owned(key.as_ref().into()), value)),
        (None, None) => {}
    }
    mapping(entries)
}

/// A mapping, unless a key is there twice.
fn mapping<'a>(entries: Vec<(Text<'a>, Json<'a>)>) -> Result<Json<'a>, ErrorCode> {
    JsonMap::new(entries)
        .map(|map| Json::Map(Arc::new(map)))
        .map_err(|_| ErrorCode::CannotTransform)
}

fn extended<'a>(value: &Json<'a>, more: &Const) -> Result<Json<'a>, ErrorCode> {
    match (value, more) {
        (Json::Text(Text::Bad), Const::Str(_)) => Ok(Json::Text(Text::Bad)),
        (Json::Text(text), Const::Str(more)) => {
            let text = text.as_str().unwrap_or_default();
            Ok(Json::Text(Text::Owned([text, more].concat().into())))
        }
        (Json::List(items), more) => {
            let mut items = items.as_ref().clone();
            items.push(from_const(more)?);
            Ok(Json::List(Arc::new(items)))
        }
        _ => Err(ErrorCode::CannotTransform),
    }
}

/// A constant as JSON; those that have no such form cannot be put into these arguments.
fn from_const<'a>(constant: &Const) -> Result<Json<'a>, ErrorCode> {
    Ok(match constant {
        Const::Null => Json::Null,
        Const::Bool(value) => Json::Bool(*value),
        Const::Int(value) => Json::Int(*value),
        Const::BigInt(value) => Json::BigInt(Arc::new(value.clone())),
        Const::Float(value) => Json::Float(*value),
        Const::Str(value) => Json::Text(Text::Owned(value.as_ref().into())),
        Const::List(items) => Json::List(Arc::new(
            items.iter().map(from_const).collect::<Result<_, _>>()?,
        )),
        Const::Map(entries) => {
            let entry = |(key, value): &(Box<str>, Const)| {
                Ok((Text::Owned(key.as_ref().into()), from_const(value)?))
            };
            mapping(
                entries
                    .iter()
                    .map(entry)
                    .collect::<Result<_, ErrorCode>>()?,
            )?
        }
        Const::Timestamp(_) | Const::HostConst(_) => return Err(ErrorCode::CannotTransform),
    })
}

/// Converts a value built by a function to JSON.
pub(crate) fn from_made(made: OwnedValue<JsonValue<'_>>) -> Result<Json<'_>, ErrorCode> {
    Ok(match made {
        OwnedValue::Null => Json::Null,
        OwnedValue::Bool(value) => Json::Bool(value),
        OwnedValue::Int(value) => Json::Int(value),
        OwnedValue::BigInt(value) => Json::BigInt(Arc::new(value)),
        OwnedValue::Float(value) => Json::Float(value),
        OwnedValue::Str(text) => Json::Text(Text::Owned(text.into())),
        OwnedValue::List(items) | OwnedValue::Tuple(items) => {
            let items = items.into_iter().map(from_made);
            Json::List(Arc::new(items.collect::<Result<_, _>>()?))
        }
        OwnedValue::Read(JsonValue::Json(json)) => json,
        OwnedValue::Read(JsonValue::Timestamp(_)) | OwnedValue::Set(..) => {
            return Err(ErrorCode::CannotTransform);
        }
        OwnedValue::Map(entries) => {
            let mut texts = Vec::with_capacity(entries.len());
            for (key, value) in entries {
                let Json::Text(key) = from_made(key)? else {
                    return Err(ErrorCode::CannotTransform);
                };
                texts.push((key, from_made(value)?));
            }
            mapping(texts)?
        }
    })
}

/// `{}`
pub(crate) fn empty<'a>() -> Json<'a> {
    Json::Map(Arc::default())
}
