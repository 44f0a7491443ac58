//! JSON texts as trees: read by the IR decoder and by requests, with caps checked before anything is built.
//!
//! What general readers give up is kept here: integers of any size, strings with lone surrogates (as such), the bytes a
//! mapping was read from. Duplicate keys are refused, because two readers would disagree about them.

use std::sync::Arc;

use crate::value::bigint::BigInt;

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
    BigInt(BigInt),
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
    /// Where the input has it.
    span: (usize, usize),
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
        Ok(Self {
            entries,
            index,
            span: (0, 0),
        })
    }

    /// The value of `key`.
    #[must_use]
    pub fn get(&self, key: &str) -> Option<&Json<'a>> {
        if self.index.is_empty() {
            return self
                .entries
                .iter()
                .find(|(k, _)| k.as_str() == Some(key))
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

    /// Where the input has this mapping, as byte offsets.
    #[must_use]
    pub fn span(&self) -> (usize, usize) {
        self.span
    }
}

/// Why a text is no JSON, or not read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct JsonError {
    /// What kind of trouble it is.
    pub kind: JsonErrorKind,
    /// The byte offset.
    pub at: usize,
    /// What is wrong there.
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

/// What a text may hold.
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
    let mut reader = Reader::new(bytes, caps)?;
    let value = reader.value(0)?;
    reader.end()?;
    Ok(value)
}

/// Reads one JSON object whose key `key`, when it holds an array, is not kept: `each` gets the entries before it and one
/// element after the other, until it answers `false`; then the result is `None`.
///
/// # Errors
/// Those of [`parse`].
pub fn parse_streaming<'a>(
    bytes: &'a [u8],
    caps: Caps,
    key: &str,
    each: &mut Each<'_, 'a>,
) -> Result<Option<Json<'a>>, JsonError> {
    let mut reader = Reader::new(bytes, caps)?;
    reader.space();
    if reader.peek() != Some(b'{') {
        return parse(bytes, caps).map(Some);
    }
    let mut entries = Vec::new();
    let mut going = true;
    reader.members(0, &mut |reader, name| {
        reader.space();
        if name.as_str() == Some(key) && reader.peek() == Some(b'[') {
            reader.elements(1, &mut |reader| {
                let item = reader.value(2)?;
                going = going && each(&entries, &item);
                Ok(going)
            })?;
            entries.push((name, Json::List(Arc::default())));
        } else {
            let value = reader.value(1)?;
            entries.push((name, value));
        }
        Ok(going)
    })?;
    if !going {
        return Ok(None);
    }
    reader.end()?;
    let map = JsonMap::new(entries).map_err(|key| reader.twice(&key))?;
    Ok(Some(Json::Map(Arc::new(map))))
}

/// What [`parse_streaming`] calls: the entries read so far, an element, whether to go on.
pub type Each<'e, 'a> = dyn FnMut(&[(Text<'a>, Json<'a>)], &Json<'a>) -> bool + 'e;

struct Reader<'a> {
    text: &'a str,
    bytes: &'a [u8],
    at: usize,
    nodes: usize,
    caps: Caps,
    /// PERF: what open arrays and objects hold so far, so that each is allocated once and to size.
    items: Vec<Json<'a>>,
    entries: Vec<(Text<'a>, Json<'a>)>,
}

type Read<T> = Result<T, JsonError>;

impl<'a> Reader<'a> {
    fn new(bytes: &'a [u8], caps: Caps) -> Read<Self> {
        let text = std::str::from_utf8(bytes).map_err(|error| JsonError {
            kind: JsonErrorKind::Syntax,
            at: error.valid_up_to(),
            message: "not UTF-8".to_owned(),
        })?;
        Ok(Self {
            text,
            bytes,
            at: 0,
            nodes: caps.nodes,
            caps,
            items: Vec::new(),
            entries: Vec::new(),
        })
    }

    /// Nothing may follow.
    fn end(&mut self) -> Read<()> {
        self.space();
        if self.at < self.bytes.len() {
            return Err(self.syntax("something follows the value"));
        }
        Ok(())
    }

    fn twice(&self, key: &str) -> JsonError {
        self.syntax(format!("the key `{key}` is there twice"))
    }

    fn syntax(&self, message: impl Into<String>) -> JsonError {
        JsonError {
            kind: JsonErrorKind::Syntax,
            at: self.at,
            message: message.into(),
        }
    }

    fn limit(&self, message: String) -> JsonError {
        JsonError {
            kind: JsonErrorKind::Limit,
            at: self.at,
            message,
        }
    }

    fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    fn space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\n' | b'\r' | b'\t')) {
            self.at += 1;
        }
    }

    fn eat(&mut self, byte: u8) -> bool {
        let there = self.peek() == Some(byte);
        self.at += usize::from(there);
        there
    }

    fn word(&mut self, word: &str, value: Json<'a>) -> Read<Json<'a>> {
        if self
            .bytes
            .get(self.at..)
            .is_some_and(|rest| rest.starts_with(word.as_bytes()))
        {
            self.at += word.len();
            Ok(value)
        } else {
            Err(self.syntax("no JSON value"))
        }
    }

    fn value(&mut self, depth: usize) -> Read<Json<'a>> {
        self.nest(depth)?;
        self.nodes = match self.nodes.checked_sub(1) {
            Some(left) => left,
            None => return Err(self.limit(format!("more than {} values", self.caps.nodes))),
        };
        self.space();
        match self.peek() {
            Some(b'"') => self.string().map(Json::Text),
            Some(b'{') => self.map(depth),
            Some(b'[') => self.list(depth),
            Some(b'-' | b'0'..=b'9') => self.number(),
            Some(b't') => self.word("true", Json::Bool(true)),
            Some(b'f') => self.word("false", Json::Bool(false)),
            Some(b'n') => self.word("null", Json::Null),
            Some(_) => Err(self.syntax("no JSON value")),
            None => Err(self.syntax("the text ends too early")),
        }
    }

    fn list(&mut self, depth: usize) -> Read<Json<'a>> {
        let base = self.items.len();
        self.elements(depth, &mut |reader| {
            let item = reader.value(depth + 1)?;
            reader.items.push(item);
            Ok(true)
        })?;
        Ok(Json::List(Arc::new(self.items.drain(base..).collect())))
    }

    /// Walks an array; `each` reads one element and says whether to go on.
    fn elements(
        &mut self,
        depth: usize,
        each: &mut dyn FnMut(&mut Self) -> Read<bool>,
    ) -> Read<()> {
        self.nest(depth)?;
        self.at += 1;
        self.space();
        if self.eat(b']') {
            return Ok(());
        }
        while each(self)? {
            self.space();
            if self.eat(b']') {
                return Ok(());
            }
            if !self.eat(b',') {
                return Err(self.syntax("expected `,` or `]`"));
            }
        }
        Ok(())
    }

    fn map(&mut self, depth: usize) -> Read<Json<'a>> {
        let start = self.at;
        let base = self.entries.len();
        self.members(depth, &mut |reader, key| {
            let value = reader.value(depth + 1)?;
            reader.entries.push((key, value));
            Ok(true)
        })?;
        let entries = self.entries.drain(base..).collect();
        let mut map = JsonMap::new(entries).map_err(|key| self.twice(&key))?;
        map.span = (start, self.at);
        Ok(Json::Map(Arc::new(map)))
    }

    /// Walks an object; `each` gets a key, reads its value and says whether to go on.
    fn members(
        &mut self,
        depth: usize,
        each: &mut dyn FnMut(&mut Self, Text<'a>) -> Read<bool>,
    ) -> Read<()> {
        self.nest(depth)?;
        self.at += 1;
        self.space();
        if self.eat(b'}') {
            return Ok(());
        }
        loop {
            self.space();
            if self.peek() != Some(b'"') {
                return Err(self.syntax("expected a key"));
            }
            let key = self.string()?;
            self.space();
            if !self.eat(b':') {
                return Err(self.syntax("expected `:`"));
            }
            if !each(self, key)? {
                return Ok(());
            }
            self.space();
            if self.eat(b'}') {
                return Ok(());
            }
            if !self.eat(b',') {
                return Err(self.syntax("expected `,` or `}`"));
            }
        }
    }

    fn nest(&self, depth: usize) -> Read<()> {
        if depth > self.caps.depth {
            return Err(self.limit(format!("deeper than {} levels", self.caps.depth)));
        }
        Ok(())
    }

    fn digits(&mut self) -> Read<()> {
        let start = self.at;
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
        if self.at == start {
            Err(self.syntax("expected a digit"))
        } else {
            Ok(())
        }
    }

    fn number(&mut self) -> Read<Json<'a>> {
        let start = self.at;
        self.eat(b'-');
        if !self.eat(b'0') {
            self.digits()?;
        }
        let integral = !matches!(self.peek(), Some(b'.' | b'e' | b'E'));
        if self.eat(b'.') {
            self.digits()?;
        }
        if self.eat(b'e') || self.eat(b'E') {
            if !self.eat(b'-') {
                self.eat(b'+');
            }
            self.digits()?;
        }
        let text = self.slice(start)?;
        if !integral {
            return text
                .parse()
                .map(Json::Float)
                .map_err(|_| self.syntax("no number"));
        }
        Ok(match text.parse() {
            Ok(small) => Json::Int(small),
            Err(_) => BigInt::parse_decimal(text).map_or(Json::HugeInt, Json::BigInt),
        })
    }

    fn slice(&self, start: usize) -> Read<&'a str> {
        self.text
            .get(start..self.at)
            .ok_or_else(|| self.syntax("not UTF-8"))
    }

    fn string(&mut self) -> Read<Text<'a>> {
        self.at += 1;
        let start = self.at;
        loop {
            match self.peek() {
                Some(b'"') => {
                    let text = self.slice(start)?;
                    self.at += 1;
                    return Ok(Text::Borrowed(text));
                }
                Some(b'\\') => return self.escaped(start),
                Some(0..=0x1f) => return Err(self.syntax("a control character in a string")),
                Some(_) => self.at += 1,
                None => return Err(self.syntax("the string does not end")),
            }
        }
    }

    /// The rest of a string whose first escape is here.
    fn escaped(&mut self, start: usize) -> Read<Text<'a>> {
        let mut text = self.slice(start)?.to_owned();
        let mut bad = false;
        loop {
            let plain = self.at;
            while !matches!(self.peek(), Some(b'"' | b'\\' | 0..=0x1f) | None) {
                self.at += 1;
            }
            text.push_str(self.slice(plain)?);
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(if bad {
                        Text::Bad
                    } else {
                        Text::Owned(text.into())
                    });
                }
                Some(b'\\') => {
                    self.at += 1;
                    match self.escape()? {
                        Some(c) => text.push(c),
                        None => bad = true,
                    }
                }
                Some(_) => return Err(self.syntax("a control character in a string")),
                None => return Err(self.syntax("the string does not end")),
            }
        }
    }

    /// The character of an escape; `None` for a lone surrogate.
    fn escape(&mut self) -> Read<Option<char>> {
        let byte = self.peek();
        self.at += 1;
        Ok(Some(match byte {
            Some(b'"') => '"',
            Some(b'\\') => '\\',
            Some(b'/') => '/',
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => {
                let first = self.hex4()?;
                if !(0xd800..0xdc00).contains(&first) {
                    return Ok(char::from_u32(first));
                }
                let here = self.at;
                if self.eat(b'\\') && self.eat(b'u') {
                    let second = self.hex4()?;
                    if (0xdc00..0xe000).contains(&second) {
                        return Ok(char::from_u32(
                            0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00),
                        ));
                    }
                }
                self.at = here;
                return Ok(None);
            }
            _ => return Err(self.syntax("no such escape")),
        }))
    }

    fn hex4(&mut self) -> Read<u32> {
        let mut code = 0;
        for _ in 0..4 {
            let digit = self.peek().and_then(|byte| char::from(byte).to_digit(16));
            code =
                code * 16 + digit.ok_or_else(|| self.syntax("expected four hexadecimal digits"))?;
            self.at += 1;
        }
        Ok(code)
    }
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

/// Appends a float as JSON has it: always with `.` or `e`; what JSON lacks by the names Python's `json` gives it.
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
