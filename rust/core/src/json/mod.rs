//! JSON texts: as trees, for requests, and as tapes ([`tape`]), for the IR; caps are checked before anything is built.
//!
//! Values that general readers reject are kept: integers of any size, strings with lone surrogates (as such). Duplicate keys
//! are rejected, because two readers would disagree about them.

pub(crate) mod known;
mod lexer;
pub(crate) mod request;
pub(crate) mod tape;
pub mod value;

use std::sync::Arc;

use crate::bytes::short::same;
use crate::num::bigint::{BigInt, parse_decimal};
use lexer::{Lexer, Number, Read};

/// Mappings above this size are searched through an index.
const LINEAR_SEARCH: usize = 8;

/// A JSON value. Cloning is cheap.
#[derive(Clone, Debug, PartialEq)]
pub enum Json<'a> {
    /// `null`
    Null,
    /// `true`, `false`
    Bool(bool),
    /// An integer of at most 64 bits.
    Int(i64),
    /// A larger integer, within [`crate::limits::MAX_INT_BITS`].
    BigInt(Arc<BigInt>),
    /// An integer above the cap.
    HugeInt,
    /// A number written with `.` or `e`; infinite when out of range.
    Float(f64),
    /// A string.
    Text(Text<'a>),
    /// An array.
    List(Arc<Vec<Json<'a>>>),
    /// An object.
    Map(Arc<JsonMap<'a>>),
}

/// PERF: a request may have a million of them.
const _: () = assert!(size_of::<Json<'_>>() <= 24);

/// The text of a string or a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Text<'a> {
    /// Written without escapes: the bytes of the input.
    Borrowed(&'a str),
    /// Written with escapes, or made here.
    Owned(Arc<str>),
    /// Holds a lone surrogate.
    Bad,
}

impl Text<'_> {
    /// The text; `None` when it holds a lone surrogate.
    #[must_use]
    pub fn as_str(&self) -> Option<&str> {
        match self {
            Self::Borrowed(text) => Some(text),
            Self::Owned(text) => Some(text),
            Self::Bad => None,
        }
    }
}

/// A JSON object, in the order it was written.
#[derive(Clone, Debug, Default)]
pub struct JsonMap<'a> {
    entries: Vec<(Text<'a>, Json<'a>)>,
    /// The entries by key; empty for small mappings.
    index: Vec<u32>,
}

impl PartialEq for JsonMap<'_> {
    fn eq(&self, other: &Self) -> bool {
        self.entries == other.entries
    }
}

impl<'a> JsonMap<'a> {
    /// A mapping of `entries`; the key that occurs twice, if one does, is the error.
    ///
    /// # Errors
    /// The first key that is there twice.
    pub fn new(entries: Vec<(Text<'a>, Json<'a>)>) -> Result<Self, String> {
        let mut index = Vec::new();
        if entries.len() <= LINEAR_SEARCH {
            for (at, (key, _)) in entries.iter().enumerate() {
                if *key != Text::Bad
                    && entries
                        .iter()
                        .take(at)
                        .any(|(other, _)| other.as_str() == key.as_str())
                {
                    return Err(key.as_str().unwrap_or_default().to_owned());
                }
            }
        } else {
            index = (0..u32::try_from(entries.len()).unwrap_or(u32::MAX)).collect();
            let key = |at: &u32| entries.get(*at as usize).and_then(|(key, _)| key.as_str());
            index.sort_unstable_by(|a, b| key(a).cmp(&key(b)));
            for pair in index.windows(2) {
                if let [a, b] = pair
                    && let Some(text) = key(a)
                    && key(b) == Some(text)
                {
                    return Err(text.to_owned());
                }
            }
        }
        Ok(Self { entries, index })
    }

    /// The value of `key`.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Json<'a>> {
        if self.index.is_empty() {
            return self
                .entries
                .iter()
                .find(|(k, _)| {
                    k.as_str()
                        .is_some_and(|k| same(k.as_bytes(), key.as_bytes()))
                })
                .map(|(_, value)| value);
        }
        let at = |i: &u32| self.entries.get(*i as usize);
        let found = self
            .index
            .binary_search_by(|i| at(i).and_then(|(k, _)| k.as_str()).cmp(&Some(key)))
            .ok()?;
        self.index.get(found).and_then(at).map(|(_, value)| value)
    }

    /// The entries, in the order they were written.
    pub fn entries(&self) -> &[(Text<'a>, Json<'a>)] {
        &self.entries
    }

    /// The entries, in the order they were written.
    #[must_use]
    pub fn into_entries(self) -> Vec<(Text<'a>, Json<'a>)> {
        self.entries
    }
}

/// The reason why a text is not JSON, or is not read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JsonError {
    /// The kind of error.
    pub kind: JsonErrorKind,
    /// The byte offset.
    pub at: usize,
    /// The description of the error.
    pub message: String,
}

/// The kinds of [`JsonError`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum JsonErrorKind {
    /// Not JSON, or not UTF-8.
    Syntax,
    /// Deeper, or of more values, than the caller allows.
    Limit,
}

/// The caps on a text.
#[derive(Clone, Copy, Debug)]
pub struct Caps {
    /// The deepest level of nesting; the value itself is at 0.
    pub depth: usize,
    /// The most values, keys not counted.
    pub nodes: usize,
}

/// Reads one JSON value.
///
/// # Errors
/// The bytes are not UTF-8, not JSON, have a key twice, or pass a cap.
pub fn parse(bytes: &[u8], caps: Caps) -> Result<Json<'_>, JsonError> {
    let read = || {
        let mut lexer = Lexer::new(bytes, caps)?;
        let mut value = Json::Null;
        Reader::default().value(&mut lexer, 0, &mut value)?;
        lexer.end()?;
        Ok(value)
    };
    read().map_err(|error: Box<JsonError>| *error)
}

/// The lines of a JSON Lines text: no line comes after a line feed at its end.
pub fn lines(data: &[u8]) -> impl Iterator<Item = &[u8]> {
    let data = data.strip_suffix(b"\n").unwrap_or(data);
    let mut rest = (!data.is_empty()).then_some(data);
    std::iter::from_fn(move || {
        let here = rest?;
        // PERF: 16 bytes or more at a time; by bytes it took a seventh of a decision.
        let (line, after) = match memchr::memchr(b'\n', here) {
            Some(end) => (here.get(..end)?, here.get(end + 1..)),
            None => (here, None),
        };
        rest = after;
        Some(line)
    })
}

/// PERF: the items of open arrays and objects, so that each is allocated once and to size.
#[derive(Default)]
struct Reader<'a> {
    items: Vec<Json<'a>>,
    entries: Vec<(Text<'a>, Json<'a>)>,
}

/// PERF: values are written where they stay. One that is handed on in memory is written in pieces and read as a whole,
/// which the processor waits for: a tenth of the time of `evaluate_json`.
impl<'a> Reader<'a> {
    /// Reads a value into `place`.
    fn value(&mut self, lexer: &mut Lexer<'a>, depth: usize, place: &mut Json<'a>) -> Read<()> {
        lexer.begin(depth)?;
        if !scalar(lexer, place)? {
            *place = self.collection(lexer, depth)?;
        }
        Ok(())
    }

    /// Reads the array or the object that begins here.
    fn collection(&mut self, lexer: &mut Lexer<'a>, depth: usize) -> Read<Json<'a>> {
        if lexer.peek() == Some(b'{') {
            self.map(lexer, depth)
        } else {
            self.list(lexer, depth)
        }
    }

    fn list(&mut self, lexer: &mut Lexer<'a>, depth: usize) -> Read<Json<'a>> {
        let base = self.items.len();
        let mut more = lexer.open(b']');
        while more {
            lexer.begin(depth + 1)?;
            self.items.push(Json::Null);
            if let Some(item) = self.items.last_mut()
                && !scalar(lexer, item)?
            {
                let made = self.collection(lexer, depth + 1)?;
                if let Some(item) = self.items.last_mut() {
                    *item = made;
                }
            }
            more = lexer.more(b']')?;
        }
        Ok(Json::List(Arc::new(self.items.drain(base..).collect())))
    }

    fn map(&mut self, lexer: &mut Lexer<'a>, depth: usize) -> Read<Json<'a>> {
        let base = self.entries.len();
        let mut more = lexer.open(b'}');
        while more {
            lexer.before_key()?;
            self.entries.push((Text::Bad, Json::Null));
            if let Some((key, value)) = self.entries.last_mut() {
                lexer.string(key)?;
                lexer.colon()?;
                lexer.begin(depth + 1)?;
                if !scalar(lexer, value)? {
                    let made = self.collection(lexer, depth + 1)?;
                    if let Some((_, value)) = self.entries.last_mut() {
                        *value = made;
                    }
                }
            }
            more = lexer.more(b'}')?;
        }
        let entries = self.entries.drain(base..).collect();
        let map = JsonMap::new(entries).map_err(|key| lexer.twice(&key))?;
        Ok(Json::Map(Arc::new(map)))
    }
}

/// Reads the value here into `place`, unless it is an array or an object; returns true if it did.
#[inline]
fn scalar<'a>(lexer: &mut Lexer<'a>, place: &mut Json<'a>) -> Read<bool> {
    match lexer.peek() {
        Some(b'"') => {
            let start = lexer.at() + 1;
            match lexer.plain_string() {
                Some((start, end)) => *place = Json::Text(Text::Borrowed(lexer.slice(start, end)?)),
                None => *place = Json::Text(lexer.escaped(start)?),
            }
        }
        Some(b'{' | b'[') => return Ok(false),
        Some(b'-' | b'0'..=b'9') => match lexer.number()? {
            Number::Int(value) => *place = Json::Int(value),
            Number::Float(value) => *place = Json::Float(value),
            Number::Large(text) => {
                *place = match parse_decimal(text) {
                    Some(number) => Json::BigInt(Arc::new(number)),
                    None => Json::HugeInt,
                };
            }
        },
        Some(b't') => {
            lexer.word("true")?;
            *place = Json::Bool(true);
        }
        Some(b'f') => {
            lexer.word("false")?;
            *place = Json::Bool(false);
        }
        Some(b'n') => {
            lexer.word("null")?;
            *place = Json::Null;
        }
        Some(_) => return Err(lexer.syntax("no JSON value")),
        None => return Err(lexer.syntax("the text ends too early")),
    }
    Ok(true)
}

/// Appends `text` as a JSON string.
pub fn write_string(text: &str, out: &mut String) {
    out.push('"');
    for c in text.chars() {
        match c {
            '"' => out.push_str("\\\""),
            '\\' => out.push_str("\\\\"),
            '\n' => out.push_str("\\n"),
            '\r' => out.push_str("\\r"),
            '\t' => out.push_str("\\t"),
            c if c < ' ' => out.push_str(&format!("\\u{:04x}", u32::from(c))),
            c => out.push(c),
        }
    }
    out.push('"');
}

/// Appends a float as JSON has it: always with `.` or `e`; values that JSON lacks by the names of Python's `json`.
pub fn write_float(value: f64, out: &mut String) {
    if value.is_nan() {
        out.push_str("NaN");
    } else if value.is_infinite() {
        out.push_str(if value > 0.0 { "Infinity" } else { "-Infinity" });
    } else {
        out.push_str(&format!("{value:?}"));
    }
}

impl Json<'_> {
    /// Appends this value as JSON.
    pub fn write(&self, out: &mut String) {
        match self {
            Self::Null => out.push_str("null"),
            Self::Bool(value) => out.push_str(if *value { "true" } else { "false" }),
            Self::Int(value) => out.push_str(&value.to_string()),
            Self::BigInt(value) => out.push_str(&value.to_string()),
            Self::HugeInt => out.push_str("\"<huge int>\""),
            Self::Float(value) => write_float(*value, out),
            Self::Text(text) => write_string(text.as_str().unwrap_or("\u{fffd}"), out),
            Self::List(items) => {
                out.push('[');
                for (at, item) in items.iter().enumerate() {
                    if at > 0 {
                        out.push(',');
                    }
                    item.write(out);
                }
                out.push(']');
            }
            Self::Map(map) => {
                out.push('{');
                for (at, (key, value)) in map.entries().iter().enumerate() {
                    if at > 0 {
                        out.push(',');
                    }
                    write_string(key.as_str().unwrap_or("\u{fffd}"), out);
                    out.push(':');
                    value.write(out);
                }
                out.push('}');
            }
        }
    }
}
