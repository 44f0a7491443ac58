//! Requests given as JSON, per `docs/reference/requests.md`.

use std::convert::Infallible;
use std::sync::Arc;

use super::keys::Keys;
use super::request_reader::RequestReader;
use super::value::{Instant, JsonValue, empty, from_made, rewrite};
use super::{Caps, Json, Text};
use crate::error::{DecodeError, ErrorCode};
use crate::json;
use crate::lang::path::{Field, Key};
use crate::limits::{MAX_REQUEST_DEPTH, MAX_REQUEST_VALUES};
use crate::value::Step;
use crate::value::owned::OwnedValue;
use crate::value::request::{HostAnswer, Request, Transform};

pub(super) const CAPS: Caps = Caps {
    depth: MAX_REQUEST_DEPTH,
    nodes: MAX_REQUEST_VALUES,
};

/// A request given as JSON. It knows no host rules: they fail with `not_a_decision`.
#[derive(Clone, Debug, PartialEq)]
pub struct JsonRequest<'a> {
    pub(super) tool: Json<'a>,
    pub(super) args: Json<'a>,
    /// PERF: no counted reference, which takes two locked instructions for each request that is read.
    pub(super) frame: Box<Frame<'a>>,
}

/// The values of `declared` and `context`, by field; absent fields have a default.
#[derive(Clone, Debug)]
pub(super) struct Frame<'a> {
    /// Something that owns nothing, for an absent field.
    values: [Json<'a>; Field::ALL.len()],
    /// A bit for each field that is there.
    present: u32,
    /// A bit for each field whose value owns something.
    owning: u32,
    pub(super) timestamp: Instant,
}

const _: () = assert!(Field::ALL.len() <= u32::BITS as usize);

impl Default for Frame<'_> {
    fn default() -> Self {
        Self {
            values: [const { Json::Null }; Field::ALL.len()],
            present: 0,
            owning: 0,
            timestamp: Instant::default(),
        }
    }
}

impl<'a> Frame<'a> {
    #[inline]
    fn get(&self, field: Field) -> Option<&Json<'a>> {
        let there = self.present >> (field as u32) & 1 != 0;
        self.values.get(field as usize).filter(|_| there)
    }

    /// Fills the place of a field, which is there from now on and owns nothing so far; returns what `fill` does.
    #[inline]
    pub(super) fn fill<T>(
        &mut self,
        field: Field,
        fill: impl FnOnce(&mut Json<'a>) -> Option<T>,
    ) -> Option<T> {
        let place = self.values.get_mut(field as usize)?;
        let filled = fill(place)?;
        let bit = 1 << (field as u32);
        self.present |= bit;
        if place.owns() {
            self.owning |= bit;
        }
        Some(filled)
    }

    fn put(&mut self, field: Field, value: Json<'a>) {
        self.fill(field, |place| {
            *place = value;
            Some(())
        });
    }

    /// Makes every field absent; `each` leaves something that owns nothing in the places of values that do.
    #[inline]
    pub(super) fn clear(&mut self, mut each: impl FnMut(&mut Json<'a>)) {
        self.present = 0;
        while self.owning != 0 {
            if let Some(place) = self.values.get_mut(self.owning.trailing_zeros() as usize) {
                each(place);
            }
            self.owning &= self.owning - 1;
        }
        self.timestamp = Instant::default();
    }
}

impl PartialEq for Frame<'_> {
    fn eq(&self, other: &Self) -> bool {
        let same = |field| self.get(field) == other.get(field);
        self.timestamp == other.timestamp && Field::ALL.into_iter().all(same)
    }
}

pub(super) const ROOT: &Keys<4> = &Keys::new(["tool", "args", "declared", "context"]);

pub(super) const DECLARED_FIELDS: [(Field, Kind); 7] = [
    (Field::Cost, Kind::Text),
    (Field::Reversible, Kind::Bool),
    (Field::Scope, Kind::Texts),
    (Field::BlastRadiusHint, Kind::IntOrNull),
    (Field::HasShadow, Kind::Bool),
    (Field::Isolation, Kind::TextOrNull),
    (Field::Effect, Kind::Text),
];

pub(super) const DECLARED: &Keys<7> = &Keys::new(names(DECLARED_FIELDS, 0));

pub(super) const CONTEXT_FIELDS: [(Field, Kind); 8] = [
    (Field::PrincipalId, Kind::Object),
    (Field::Environment, Kind::Text),
    (Field::Workspace, Kind::Text),
    (Field::CorrelationId, Kind::Text),
    (Field::StepSeq, Kind::Int),
    (Field::Timestamp, Kind::Text),
    (Field::Extra, Kind::Object),
    (Field::Task, Kind::TextOrNull),
];

pub(super) const CONTEXT: &Keys<8> = &Keys::new(names(CONTEXT_FIELDS, 0));

pub(super) const PRINCIPAL_FIELDS: [(Field, Kind); 3] = [
    (Field::PrincipalKind, Kind::Text),
    (Field::PrincipalId, Kind::Text),
    (Field::PrincipalName, Kind::TextOrNull),
];

pub(super) const PRINCIPAL: &Keys<3> = &Keys::new(names(PRINCIPAL_FIELDS, 1));

/// The keys of the paths of some fields, at a depth.
#[expect(clippy::indexing_slicing, reason = "the compiler evaluates it")]
const fn names<const N: usize>(fields: [(Field, Kind); N], depth: usize) -> [&'static str; N] {
    let mut names = [""; N];
    let mut at = 0;
    while at < N {
        names[at] = fields[at].0.path().1[depth];
        at += 1;
    }
    names
}

/// Returns the default of an absent field. The principal is absent as a whole or not at all, except for its name.
fn default<'a>(field: Field) -> Json<'a> {
    let text = |text| Json::Text(Text::Borrowed(text));
    match field {
        Field::Cost => text("high"),
        Field::Reversible | Field::HasShadow => Json::Bool(false),
        Field::Scope => Json::List(Arc::default()),
        Field::BlastRadiusHint
        | Field::Isolation
        | Field::PrincipalName
        | Field::Tool
        | Field::Timestamp
        | Field::Task
        | Field::Result
        | Field::Record => Json::Null,
        Field::Effect => text("unsafe"),
        Field::Environment => text("dev"),
        Field::Workspace => text("."),
        Field::CorrelationId => text(""),
        Field::StepSeq => Json::Int(0),
        Field::PrincipalKind => text("user"),
        Field::PrincipalId => text("anonymous"),
        Field::Args | Field::Extra => empty(),
    }
}

impl<'a> JsonRequest<'a> {
    /// Reads a request.
    ///
    /// # Errors
    /// Code `bad_request`, or `too_large` past [`crate::limits::MAX_REQUEST_BYTES`].
    pub fn parse(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        RequestReader::default().read(bytes)
    }

    /// Checks that a text is JSON within the caps of a request, whatever its content.
    ///
    /// # Errors
    /// Code `bad_request`.
    pub fn check(bytes: &[u8]) -> Result<(), DecodeError> {
        json::parse(bytes, CAPS)
            .map(|_| ())
            .map_err(|error| bad(format!("{} (at byte {})", error.message, error.at)))
    }

    /// Reads a request through a whole tree; the caller has checked its size.
    ///
    /// # Errors
    /// Code `bad_request`.
    pub fn parse_plain(bytes: &'a [u8]) -> Result<Self, DecodeError> {
        let root = json::parse(bytes, CAPS)
            .map_err(|error| bad(format!("{} (at byte {})", error.message, error.at)))?;
        let whole = "the request";
        let [tool, args, declared, context] = entries(Some(&root), whole, ROOT)?;
        let tool = checked(tool, Kind::Text, ("tool", whole))?
            .ok_or_else(|| bad("the request has no `tool`"))?;
        let args = checked(args, Kind::Object, ("args", whole))?;
        let declared = entries(declared, "`declared`", DECLARED)?;
        let context = entries(context, "`context`", CONTEXT)?;
        let mut frame = Frame::default();
        if let [Some(principal), ..] = context {
            let name = "`context.principal`";
            let found = entries(Some(principal), name, PRINCIPAL)?;
            for ((value, key), (field, kind)) in
                found.into_iter().zip(PRINCIPAL.names).zip(PRINCIPAL_FIELDS)
            {
                match checked(value, kind, (key, name))? {
                    Some(value) => frame.put(field, value),
                    None if key == "name" => {}
                    None => return Err(bad(format!("{name} has no `{key}`"))),
                }
            }
        }
        if let [_, _, _, _, _, Some(written), _, _] = context {
            let Json::Text(text) = written else {
                return Err(bad("`context.timestamp` must be a string"));
            };
            frame.timestamp = text.as_str().and_then(Instant::parse).ok_or_else(|| {
                bad("`context.timestamp` must be RFC 3339 with an offset, such as `2026-01-31T12:00:00Z`")
            })?;
        }
        for ((value, key), (field, kind)) in declared
            .into_iter()
            .zip(DECLARED.names)
            .zip(DECLARED_FIELDS)
        {
            if let Some(value) = checked(value, kind, (key, "`declared`"))? {
                frame.put(field, value);
            }
        }
        for ((value, key), (field, kind)) in
            context.into_iter().zip(CONTEXT.names).zip(CONTEXT_FIELDS)
        {
            if !matches!(key, "principal" | "timestamp")
                && let Some(value) = checked(value, kind, (key, "`context`"))?
            {
                frame.put(field, value);
            }
        }
        Ok(Self {
            tool,
            args: args.unwrap_or_else(empty),
            frame: Box::new(frame),
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

    #[inline]
    fn tool(&self) -> Option<&str> {
        match &self.tool {
            Json::Text(text) => text.as_str(),
            _ => None,
        }
    }

    fn field(&self, field: Field) -> Step<JsonValue<'a>> {
        let json = match field {
            Field::Tool => self.tool.clone(),
            Field::Args => self.args.clone(),
            Field::Timestamp => {
                return Step::Found(JsonValue::Timestamp(self.frame.timestamp));
            }
            // A request without a task has no such path; null is no task.
            Field::Task => match self.frame.get(field) {
                Some(written @ Json::Text(_)) => written.clone(),
                _ => return Step::Absent,
            },
            field => match self.frame.get(field) {
                Some(written) => written.clone(),
                None => default(field),
            },
        };
        Step::Found(JsonValue::Json(json))
    }

    #[inline]
    fn arg(&self, key: Key<'_>, place: &mut Step<JsonValue<'a>>) {
        *place = match &self.args {
            Json::Map(map) => match map.get(key.text) {
                Some(value) => Step::Found(JsonValue::Json(value.clone())),
                None => Step::Absent,
            },
            _ => Step::Unreadable,
        };
    }

    fn host(&self, _host: u32, _rule: u32) -> HostAnswer<Self> {
        HostAnswer::Failed(ErrorCode::NotADecision)
    }

    fn with_made(&self, args: OwnedValue<JsonValue<'a>>) -> Result<Self, ErrorCode> {
        Ok(Self {
            tool: self.tool.clone(),
            args: from_made(args)?,
            frame: self.frame.clone(),
        })
    }

    fn with_transform(&self, _rule: u32, transform: &Transform) -> Result<Self, ErrorCode> {
        let args = rewrite(&self.args, &transform.path, transform)?;
        Ok(Self {
            tool: self.tool.clone(),
            args,
            frame: self.frame.clone(),
        })
    }
}

fn bad(message: impl Into<String>) -> DecodeError {
    DecodeError::new("bad_request", message)
}

/// The kind of value that a key of a request takes.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum Kind {
    Text,
    TextOrNull,
    Texts,
    Bool,
    Int,
    IntOrNull,
    Object,
}

impl Kind {
    #[inline]
    pub(super) fn accepts(self, json: &Json<'_>) -> bool {
        match self {
            Self::Text => matches!(json, Json::Text(_)),
            Self::TextOrNull => matches!(json, Json::Text(_) | Json::Null),
            Self::Texts => match json {
                Json::List(items) => items.iter().all(|item| matches!(item, Json::Text(_))),
                _ => false,
            },
            Self::Bool => matches!(json, Json::Bool(_)),
            Self::Int => matches!(json, Json::Int(_) | Json::BigInt(_) | Json::HugeInt),
            Self::IntOrNull => matches!(json, Json::Null) || Self::Int.accepts(json),
            Self::Object => matches!(json, Json::Map(_)),
        }
    }

    fn name(self) -> &'static str {
        match self {
            Self::Text | Self::TextOrNull => "a string",
            Self::Texts => "a list of strings",
            Self::Bool => "true or false",
            Self::Int | Self::IntOrNull => "an integer",
            Self::Object => "an object",
        }
    }
}

/// Returns the values of the known keys of an object; none when there is no object.
fn entries<'j, 'a, const N: usize>(
    object: Option<&'j Json<'a>>,
    name: &str,
    keys: &Keys<N>,
) -> Result<[Option<&'j Json<'a>>; N], DecodeError> {
    let mut values = [None; N];
    let map = match object {
        None => return Ok(values),
        Some(Json::Map(map)) => map,
        Some(_) => return Err(bad(format!("{name} must be an object"))),
    };
    for (key, value) in map.entries() {
        let key = key.as_str().unwrap_or("\u{fffd}");
        let at = keys.names.iter().position(|known| *known == key);
        let Some(slot) = at.and_then(|at| values.get_mut(at)) else {
            return Err(bad(format!(
                "{name} has no key `{key}`; its keys are {}",
                keys.names.join(", ")
            )));
        };
        *slot = Some(value);
    }
    Ok(values)
}

fn checked<'a>(
    value: Option<&Json<'a>>,
    kind: Kind,
    (key, owner): (&str, &str),
) -> Result<Option<Json<'a>>, DecodeError> {
    match value {
        Some(json) if !kind.accepts(json) => {
            Err(bad(format!("`{key}` of {owner} must be {}", kind.name())))
        }
        value => Ok(value.cloned()),
    }
}
