//! JSON texts: as trees, for requests, and as tapes ([`tape`]), for the IR; caps are checked before anything is built.
//!
//! Values that general readers reject are kept: integers of any size, strings with lone surrogates (as such). Duplicate keys
//! are rejected, because two readers would disagree about them.

mod keys;
mod known;
mod lexer;
mod number;
mod reader;
pub(crate) mod request;
pub(crate) mod request_reader;
pub(crate) mod tape;
pub mod value;

use std::sync::Arc;

use crate::bytes::short::same;
use crate::num::bigint::BigInt;
use lexer::Lexer;
use reader::Reader;

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

    #[inline]
    fn is(&self, text: &str) -> bool {
        self.as_str()
            .is_some_and(|own| same(own.as_bytes(), text.as_bytes()))
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
        let mut map = Self {
            entries,
            index: Vec::new(),
        };
        map.check()?;
        Ok(map)
    }

    /// Makes the index of a mapping that has none; the error is a key that occurs twice.
    fn check(&mut self) -> Result<(), String> {
        let entries = &self.entries;
        if entries.len() <= LINEAR_SEARCH {
            for (at, (key, _)) in entries.iter().enumerate() {
                if let Some(key) = key.as_str()
                    && entries.iter().take(at).any(|(other, _)| other.is(key))
                {
                    return Err(key.to_owned());
                }
            }
            return Ok(());
        }
        self.index
            .extend(0..u32::try_from(entries.len()).unwrap_or(u32::MAX));
        let key = |at: &u32| entries.get(*at as usize).and_then(|(key, _)| key.as_str());
        self.index.sort_unstable_by(|a, b| key(a).cmp(&key(b)));
        for pair in self.index.windows(2) {
            if let [a, b] = pair
                && let Some(text) = key(a)
                && key(b) == Some(text)
            {
                return Err(text.to_owned());
            }
        }
        Ok(())
    }

    /// The value of `key`.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Json<'a>> {
        if self.index.is_empty() {
            return self
                .entries
                .iter()
                .find(|(written, _)| written.is(key))
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
        lexer.space();
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
