//! Builds trees of JSON texts.

use std::mem::{forget, replace};
use std::sync::Arc;

use super::lexer::{Lexer, Read};
use super::number::Number;
use super::{Json, JsonMap, Text};
use crate::num::bigint::parse_decimal;

/// Lists, and mappings, at most, that a reader keeps to be filled again.
const KEPT: usize = 64;

/// Items, at most, of a list or a mapping that is kept.
const KEPT_ITEMS: usize = 64;

/// Reads one value after the other. PERF: it fills the lists and mappings of values that are handed back, so that reading many
/// requests allocates nothing: a quarter of their time.
#[derive(Default)]
pub(super) struct Reader<'a> {
    lists: Vec<Arc<Vec<Json<'a>>>>,
    maps: Vec<Arc<JsonMap<'a>>>,
}

/// PERF: values are written where they stay. One that is handed on in memory is written in pieces and read as a whole,
/// which the processor waits for: a tenth of the time of `evaluate_json`.
impl<'a> Reader<'a> {
    /// Reads the value here into `place`, which owns nothing. PERF: most values are strings; those are read in place.
    #[inline]
    pub(super) fn value(
        &mut self,
        lexer: &mut Lexer<'a>,
        depth: usize,
        place: &mut Json<'a>,
    ) -> Read<()> {
        lexer.enter(depth)?;
        if lexer.peek() == Some(b'"') {
            return string(lexer, place);
        }
        self.other(lexer, depth, place)
    }

    /// Reads the value here, which is no string. PERF: it saves six registers, which no string needs.
    #[inline(never)]
    fn other(&mut self, lexer: &mut Lexer<'a>, depth: usize, place: &mut Json<'a>) -> Read<()> {
        match lexer.peek() {
            Some(b'{') => return self.map(lexer, depth, place),
            Some(b'[') => return self.list(lexer, depth, place),
            Some(b'-' | b'0'..=b'9') => match lexer.number()? {
                Number::Int(value) => put(place, Json::Int(value)),
                Number::Float(value) => put(place, Json::Float(value)),
                Number::Large(text) => put(
                    place,
                    match parse_decimal(text) {
                        Some(number) => Json::BigInt(Arc::new(number)),
                        None => Json::HugeInt,
                    },
                ),
            },
            Some(b't') => {
                lexer.word(b"true")?;
                put(place, Json::Bool(true));
            }
            Some(b'f') => {
                lexer.word(b"false")?;
                put(place, Json::Bool(false));
            }
            Some(b'n') => {
                lexer.word(b"null")?;
                put(place, Json::Null);
            }
            Some(_) => return Err(lexer.syntax("no JSON value")),
            None => return Err(lexer.syntax("the text ends too early")),
        }
        Ok(())
    }

    fn list(&mut self, lexer: &mut Lexer<'a>, depth: usize, place: &mut Json<'a>) -> Read<()> {
        let mut made = self.lists.pop().unwrap_or_default();
        if let Some(items) = Arc::get_mut(&mut made) {
            let mut more = lexer.open(b']');
            while more {
                items.push(Json::Null);
                if let Some(item) = items.last_mut() {
                    self.value(lexer, depth + 1, item)?;
                }
                more = lexer.more(b']')?;
            }
        }
        put(place, Json::List(made));
        Ok(())
    }

    fn map(&mut self, lexer: &mut Lexer<'a>, depth: usize, place: &mut Json<'a>) -> Read<()> {
        let mut made = self.maps.pop().unwrap_or_default();
        if let Some(map) = Arc::get_mut(&mut made) {
            let mut more = lexer.open(b'}');
            while more {
                lexer.before_key()?;
                map.entries.push((Text::Bad, Json::Null));
                if let Some((key, value)) = map.entries.last_mut() {
                    lexer.string(key)?;
                    lexer.colon()?;
                    self.value(lexer, depth + 1, value)?;
                }
                more = lexer.more(b'}')?;
            }
            map.check().map_err(|key| lexer.twice(&key))?;
        }
        put(place, Json::Map(made));
        Ok(())
    }

    /// Leaves null, or what owns nothing, in a place. The lists and mappings are filled again, unless something else holds them.
    #[inline]
    pub(super) fn reuse(&mut self, place: &mut Json<'a>) {
        if place.owns() {
            self.keep(replace(place, Json::Null));
        }
    }

    fn keep(&mut self, value: Json<'a>) {
        match value {
            Json::List(mut list) if self.lists.len() < KEPT => {
                if let Some(items) = Arc::get_mut(&mut list)
                    && items.capacity() <= KEPT_ITEMS
                {
                    for item in items.iter_mut() {
                        self.reuse(item);
                    }
                    items.clear();
                    self.lists.push(list);
                }
            }
            Json::Map(mut map) if self.maps.len() < KEPT => {
                if let Some(JsonMap { entries, index }) = Arc::get_mut(&mut map)
                    && entries.capacity() <= KEPT_ITEMS
                {
                    index.clear();
                    for (_, value) in entries.iter_mut() {
                        self.reuse(value);
                    }
                    entries.clear();
                    self.maps.push(map);
                }
            }
            _ => {}
        }
    }
}

/// Reads a string, whose quote is here.
#[inline]
fn string<'a>(lexer: &mut Lexer<'a>, place: &mut Json<'a>) -> Read<()> {
    let start = lexer.at() + 1;
    match lexer.plain_string() {
        Some((start, end)) => put(place, Json::Text(Text::Borrowed(lexer.slice(start, end)?))),
        None => put(place, Json::Text(lexer.escaped(start)?)),
    }
    Ok(())
}

/// Writes a value into a place that owns nothing. PERF: what was there need not be dropped.
#[inline]
fn put<'a>(place: &mut Json<'a>, value: Json<'a>) {
    debug_assert!(!place.owns());
    forget(replace(place, value));
}

impl Json<'_> {
    /// Returns true if something is freed when this value is dropped.
    #[inline]
    pub(super) fn owns(&self) -> bool {
        match self {
            Self::BigInt(_) | Self::List(_) | Self::Map(_) | Self::Text(Text::Owned(_)) => true,
            Self::Null
            | Self::Bool(_)
            | Self::Int(_)
            | Self::HugeInt
            | Self::Float(_)
            | Self::Text(Text::Borrowed(_) | Text::Bad) => false,
        }
    }
}
