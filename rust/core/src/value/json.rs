//! Requests given as JSON: the second implementation of values, per `docs/reference/requests.md`.

use std::convert::Infallible;
use std::sync::Arc;

use super::constant::Const;
use super::request::{HostAnswer, Request, Transform, TransformOp};
use super::{Key, Step, Value, View};
use crate::error::{DecodeError, ErrorCode};
use crate::json::{self, Caps, Json, JsonMap, Text};
use crate::limits::{MAX_REQUEST_BYTES, MAX_REQUEST_DEPTH};
use crate::path::Field;

/// A value of a request given as JSON.
#[derive(Clone, Debug)]
pub enum JsonValue<'a> {
    /// What the text holds.
    Json(Json<'a>),
    /// `context.timestamp`.
    Timestamp(i64),
}

impl Value for JsonValue<'_> {
    fn view(&self) -> View<'_> {
        match self {
            Self::Timestamp(micros) => View::Timestamp(*micros),
            Self::Json(json) => match json {
                Json::Null => View::Null,
                Json::Bool(value) => View::Bool(*value),
                Json::Int(value) => View::Int(*value),
                Json::BigInt(value) => View::BigInt(value.clone()),
                Json::HugeInt => View::HugeInt,
                Json::Float(value) => View::Float(*value),
                Json::Text(text) => view_text(text),
                Json::List(_) => View::List,
                Json::Map(_) => View::Map,
            },
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

/// A request given as JSON. It knows no host rules: they fail with `not_a_decision`.
#[derive(Clone, Debug)]
pub struct JsonRequest<'a> {
    tool: Json<'a>,
    args: Json<'a>,
    /// What `declared` and `context` hold, with the defaults filled in.
    frame: Arc<Frame<'a>>,
}

#[derive(Debug)]
struct Frame<'a> {
    cost: Json<'a>,
    reversible: Json<'a>,
    scope: Json<'a>,
    blast_radius_hint: Json<'a>,
    has_shadow: Json<'a>,
    isolation: Json<'a>,
    environment: Json<'a>,
    workspace: Json<'a>,
    correlation_id: Json<'a>,
    step_seq: Json<'a>,
    timestamp: i64,
    principal_kind: Json<'a>,
    principal_id: Json<'a>,
    principal_name: Json<'a>,
    extra: Json<'a>,
}

impl<'a> JsonRequest<'a> {
    /// Reads a request.
    ///
    /// # Errors
    /// Code `bad_request`, or `too_large` past [`MAX_REQUEST_BYTES`].
    pub fn parse(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        if bytes.len() > MAX_REQUEST_BYTES {
            return Err(DecodeError::new(
                "too_large",
                format!("the request is longer than {MAX_REQUEST_BYTES} bytes"),
            ));
        }
        let root = json::parse(
            bytes,
            Caps {
                depth: MAX_REQUEST_DEPTH,
                nodes: MAX_REQUEST_BYTES,
            },
        )
        .map_err(|error| bad(format!("{} (at byte {})", error.message, error.at)))?;
        Self::from_json(&root)
    }

    /// The request in a parsed text.
    ///
    /// # Errors
    /// Code `bad_request`.
    pub fn from_json(root: &Json<'a>) -> Result<Self, DecodeError> {
        let root = Object::new(
            root,
            "the request",
            &["tool", "args", "declared", "context"],
        )?;
        let tool = root.required("tool", Kind::Text)?;
        let args = root.optional("args", Kind::Object, empty)?;
        let nothing = empty();
        let declared = Object::new(
            root.get("declared").unwrap_or(&nothing),
            "`declared`",
            &[
                "cost",
                "reversible",
                "scope",
                "blast_radius_hint",
                "has_shadow",
                "isolation",
            ],
        )?;
        let context = Object::new(
            root.get("context").unwrap_or(&nothing),
            "`context`",
            &[
                "principal",
                "environment",
                "workspace",
                "correlation_id",
                "step_seq",
                "timestamp",
                "extra",
            ],
        )?;
        let (kind, id, name) = match context.get("principal") {
            None => (text("user"), text("anonymous"), Json::Null),
            Some(principal) => {
                let principal =
                    Object::new(principal, "`context.principal`", &["kind", "id", "name"])?;
                (
                    principal.required("kind", Kind::Text)?,
                    principal.required("id", Kind::Text)?,
                    principal.nullable("name", Kind::Text)?,
                )
            }
        };
        let timestamp = match context.get("timestamp") {
            None => 0,
            Some(Json::Text(text)) => text.as_str().and_then(parse_timestamp).ok_or_else(|| {
                bad("`context.timestamp` must be RFC 3339 with an offset, such as `2026-01-31T12:00:00Z`")
            })?,
            Some(_) => return Err(bad("`context.timestamp` must be a string")),
        };
        let frame = Frame {
            cost: declared.optional("cost", Kind::Text, || text("high"))?,
            reversible: declared.optional("reversible", Kind::Bool, || Json::Bool(false))?,
            scope: declared.optional("scope", Kind::Texts, || Json::List(Arc::default()))?,
            blast_radius_hint: declared.nullable("blast_radius_hint", Kind::Int)?,
            has_shadow: declared.optional("has_shadow", Kind::Bool, || Json::Bool(false))?,
            isolation: declared.nullable("isolation", Kind::Text)?,
            environment: context.optional("environment", Kind::Text, || text("dev"))?,
            workspace: context.optional("workspace", Kind::Text, || text("."))?,
            correlation_id: context.optional("correlation_id", Kind::Text, || text(""))?,
            step_seq: context.optional("step_seq", Kind::Int, || Json::Int(0))?,
            timestamp,
            principal_kind: kind,
            principal_id: id,
            principal_name: name,
            extra: context.optional("extra", Kind::Object, empty)?,
        };
        Ok(Self {
            tool,
            args,
            frame: Arc::new(frame),
        })
    }

    /// The arguments.
    #[must_use]
    pub fn args(&self) -> &Json<'a> {
        &self.args
    }

    /// The arguments as JSON text; a lone surrogate is escaped as it was.
    #[must_use]
    pub fn args_json(&self) -> String {
        let mut out = String::new();
        self.args.write(&mut out);
        out
    }
}

impl<'a> Request for JsonRequest<'a> {
    type Value = JsonValue<'a>;
    type Decision = Infallible;

    fn field(&self, field: Field) -> Step<JsonValue<'a>> {
        let frame = &self.frame;
        let json = match field {
            Field::Tool => &self.tool,
            Field::Args => &self.args,
            Field::Cost => &frame.cost,
            Field::Reversible => &frame.reversible,
            Field::Scope => &frame.scope,
            Field::BlastRadiusHint => &frame.blast_radius_hint,
            Field::HasShadow => &frame.has_shadow,
            Field::Isolation => &frame.isolation,
            Field::Environment => &frame.environment,
            Field::Workspace => &frame.workspace,
            Field::CorrelationId => &frame.correlation_id,
            Field::StepSeq => &frame.step_seq,
            Field::Timestamp => return Step::Found(JsonValue::Timestamp(frame.timestamp)),
            Field::PrincipalKind => &frame.principal_kind,
            Field::PrincipalId => &frame.principal_id,
            Field::PrincipalName => &frame.principal_name,
            Field::Extra => &frame.extra,
        };
        Step::Found(JsonValue::Json(json.clone()))
    }

    fn host(&self, _host: u32, _rule: u32) -> HostAnswer<Self> {
        HostAnswer::Failed(ErrorCode::NotADecision)
    }

    fn with_transform(&self, _rule: u32, transform: &Transform) -> Result<Self, ErrorCode> {
        let args = rewrite(&self.args, &transform.path, transform)?;
        Ok(Self {
            tool: self.tool.clone(),
            args,
            frame: Arc::clone(&self.frame),
        })
    }
}

/// `owner` with `transform` made at `path`; what the path does not touch is shared.
fn rewrite<'a>(
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
        Const::BigInt(value) => Json::BigInt(value.clone()),
        Const::Float(value) => Json::Float(*value),
        Const::Str(value) => text(value),
        Const::List(items) => Json::List(Arc::new(
            items.iter().map(from_const).collect::<Result<_, _>>()?,
        )),
        Const::Map(entries) => {
            let entry = |(key, value): &(Box<str>, Const)| {
                Ok((Text::Owned(key.as_ref().into()), from_const(value)?))
            };
            let entries = entries
                .iter()
                .map(entry)
                .collect::<Result<_, ErrorCode>>()?;
            JsonMap::new(entries)
                .map(|map| Json::Map(Arc::new(map)))
                .map_err(|_| ErrorCode::CannotTransform)?
        }
        Const::Timestamp(_) | Const::Exotic(_) => return Err(ErrorCode::CannotTransform),
    })
}

fn bad(message: impl Into<String>) -> DecodeError {
    DecodeError::new("bad_request", message)
}

fn empty<'a>() -> Json<'a> {
    Json::Map(Arc::default())
}

fn text<'a>(text: &str) -> Json<'a> {
    Json::Text(Text::Owned(text.into()))
}

/// What a key of a request takes.
#[derive(Clone, Copy)]
enum Kind {
    Text,
    Texts,
    Bool,
    Int,
    Object,
}

impl Kind {
    fn accepts(self, json: &Json<'_>) -> bool {
        match self {
            Self::Text => matches!(json, Json::Text(_)),
            Self::Texts => match json {
                Json::List(items) => items.iter().all(|item| matches!(item, Json::Text(_))),
                _ => false,
            },
            Self::Bool => matches!(json, Json::Bool(_)),
            Self::Int => matches!(json, Json::Int(_) | Json::BigInt(_) | Json::HugeInt),
            Self::Object => matches!(json, Json::Map(_)),
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Text => "a string",
            Self::Texts => "a list of strings",
            Self::Bool => "true or false",
            Self::Int => "an integer",
            Self::Object => "an object",
        }
    }
}

/// One object of a request, whose keys are known.
struct Object<'j, 'a> {
    map: &'j JsonMap<'a>,
    name: &'static str,
}

impl<'j, 'a> Object<'j, 'a> {
    fn new(json: &'j Json<'a>, name: &'static str, keys: &[&str]) -> Result<Self, DecodeError> {
        let Json::Map(map) = json else {
            return Err(bad(format!("{name} must be an object")));
        };
        for (key, _) in map.entries() {
            let key = key.as_str().unwrap_or("\u{fffd}");
            if !keys.contains(&key) {
                return Err(bad(format!(
                    "{name} has no key `{key}`; its keys are {}",
                    keys.join(", ")
                )));
            }
        }
        Ok(Self { map, name })
    }

    fn get(&self, key: &str) -> Option<&'j Json<'a>> {
        self.map.get(key)
    }

    fn checked(&self, key: &str, json: &Json<'a>, kind: Kind) -> Result<Json<'a>, DecodeError> {
        if kind.accepts(json) {
            Ok(json.clone())
        } else {
            Err(bad(format!(
                "`{key}` of {} must be {}",
                self.name,
                kind.name()
            )))
        }
    }

    fn required(&self, key: &str, kind: Kind) -> Result<Json<'a>, DecodeError> {
        let json = self
            .get(key)
            .ok_or_else(|| bad(format!("{} has no `{key}`", self.name)))?;
        self.checked(key, json, kind)
    }

    fn optional(
        &self,
        key: &str,
        kind: Kind,
        default: impl FnOnce() -> Json<'a>,
    ) -> Result<Json<'a>, DecodeError> {
        self.get(key)
            .map_or_else(|| Ok(default()), |json| self.checked(key, json, kind))
    }

    fn nullable(&self, key: &str, kind: Kind) -> Result<Json<'a>, DecodeError> {
        match self.get(key) {
            None | Some(Json::Null) => Ok(Json::Null),
            Some(json) => self.checked(key, json, kind),
        }
    }
}

/// The instant of an RFC 3339 text, in microseconds since 1970-01-01T00:00:00Z.
fn parse_timestamp(text: &str) -> Option<i64> {
    let bytes = text.as_bytes();
    let number = |from: usize, to: usize| -> Option<i64> {
        let digits = bytes.get(from..to)?;
        digits.iter().try_fold(0, |sum, &d| {
            d.is_ascii_digit().then(|| sum * 10 + i64::from(d - b'0'))
        })
    };
    let is = |at: usize, any: &[u8]| bytes.get(at).is_some_and(|byte| any.contains(byte));
    if !(is(4, b"-") && is(7, b"-") && is(10, b"Tt") && is(13, b":") && is(16, b":")) {
        return None;
    }
    let (year, month, day) = (number(0, 4)?, number(5, 7)?, number(8, 10)?);
    let (hour, minute, second) = (number(11, 13)?, number(14, 16)?, number(17, 19)?);
    let mut at = 19;
    let mut micros = 0;
    if is(at, b".") {
        at += 1;
        let mut unit = 100_000;
        let start = at;
        while let Some(digit) = bytes.get(at).filter(|byte| byte.is_ascii_digit()) {
            if unit == 0 && *digit != b'0' {
                return None;
            }
            micros += unit * i64::from(digit - b'0');
            unit /= 10;
            at += 1;
        }
        if at == start {
            return None;
        }
    }
    let offset = if is(at, b"Zz") {
        at += 1;
        0
    } else {
        let sign = if is(at, b"+") {
            1
        } else if is(at, b"-") {
            -1
        } else {
            return None;
        };
        let (hours, minutes) = (number(at + 1, at + 3)?, number(at + 4, at + 6)?);
        if !is(at + 3, b":") || hours > 23 || minutes > 59 {
            return None;
        }
        at += 6;
        sign * (hours * 60 + minutes)
    };
    let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
    let length = match month {
        4 | 6 | 9 | 11 => 30,
        2 => 28 + i64::from(leap),
        _ => 31,
    };
    let real = at == bytes.len()
        && year >= 1
        && (1..=12).contains(&month)
        && (1..=length).contains(&day)
        && hour <= 23
        && minute <= 59
        && second <= 59;
    if !real {
        return None;
    }
    // Days since 0000-03-01, so that leap days end a year.
    let (year, month) = if month <= 2 {
        (year - 1, month + 9)
    } else {
        (year, month - 3)
    };
    let days =
        year * 365 + year / 4 - year / 100 + year / 400 + (153 * month + 2) / 5 + day - 1 - 719_468;
    Some((((days * 24 + hour) * 60 + minute - offset) * 60 + second) * 1_000_000 + micros)
}
