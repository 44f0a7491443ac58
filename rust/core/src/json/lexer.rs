//! The words of a JSON text, one after the other.

use super::{Caps, JsonError, JsonErrorKind, Text};
use crate::bytes::short::same;
use crate::limits::MAX_INT_DIGITS;

/// PERF: boxed, so that results are returned in registers.
pub(super) type Read<T> = Result<T, Box<JsonError>>;

/// A number, as far as it fits.
pub(super) enum Number<'a> {
    /// An integer of at most 64 bits.
    Int(i64),
    /// A larger integer, as written.
    Large(&'a str),
    /// Written with `.` or `e`; infinite when out of range.
    Float(f64),
}

/// A text, and how far it has been read.
pub(super) struct Lexer<'a> {
    text: &'a str,
    bytes: &'a [u8],
    at: usize,
    nodes: usize,
    caps: Caps,
}

impl<'a> Lexer<'a> {
    pub(super) fn new(bytes: &'a [u8], caps: Caps) -> Read<Self> {
        let text = std::str::from_utf8(bytes).map_err(|error| {
            Box::new(JsonError {
                kind: JsonErrorKind::Syntax,
                at: error.valid_up_to(),
                message: "not UTF-8".to_owned(),
            })
        })?;
        Ok(Self {
            text,
            bytes,
            at: 0,
            nodes: caps.nodes,
            caps,
        })
    }

    /// The whole text.
    pub(super) fn text(&self) -> &'a str {
        self.text
    }

    /// The byte offset.
    pub(super) fn at(&self) -> usize {
        self.at
    }

    /// Checks that the text ends here.
    pub(super) fn end(&mut self) -> Read<()> {
        self.space();
        if self.at < self.bytes.len() {
            return Err(self.syntax("something follows the value"));
        }
        Ok(())
    }

    #[cold]
    pub(super) fn twice(&self, key: &str) -> Box<JsonError> {
        self.syntax(format!("the key `{key}` is there twice"))
    }

    #[cold]
    pub(super) fn syntax(&self, message: impl Into<String>) -> Box<JsonError> {
        Box::new(JsonError {
            kind: JsonErrorKind::Syntax,
            at: self.at,
            message: message.into(),
        })
    }

    #[cold]
    fn limit(&self, message: String) -> Box<JsonError> {
        Box::new(JsonError {
            kind: JsonErrorKind::Limit,
            at: self.at,
            message,
        })
    }

    #[inline]
    pub(super) fn peek(&self) -> Option<u8> {
        self.bytes.get(self.at).copied()
    }

    #[inline]
    pub(super) fn space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\n' | b'\r' | b'\t')) {
            self.at += 1;
        }
    }

    #[inline]
    fn eat(&mut self, byte: u8) -> bool {
        let there = self.peek() == Some(byte);
        self.at += usize::from(there);
        there
    }

    /// Enters a value at this depth.
    #[inline]
    pub(super) fn begin(&mut self, depth: usize) -> Read<()> {
        if depth > self.caps.depth {
            return Err(self.limit(format!("deeper than {} levels", self.caps.depth)));
        }
        self.nodes = match self.nodes.checked_sub(1) {
            Some(left) => left,
            None => return Err(self.limit(format!("more than {} values", self.caps.nodes))),
        };
        self.space();
        Ok(())
    }

    /// Reads the bracket here; returns false after reading a `close` that follows at once.
    #[inline]
    pub(super) fn open(&mut self, close: u8) -> bool {
        self.at += 1;
        self.space();
        !self.eat(close)
    }

    /// Returns true if another item follows the one just read.
    #[inline]
    pub(super) fn more(&mut self, close: u8) -> Read<bool> {
        self.space();
        if self.eat(b',') {
            Ok(true)
        } else if self.eat(close) {
            Ok(false)
        } else {
            Err(self.syntax(format!("expected `,` or `{}`", char::from(close))))
        }
    }

    /// Moves to the quote of the next key.
    #[inline]
    pub(super) fn before_key(&mut self) -> Read<()> {
        self.space();
        if self.peek() == Some(b'"') {
            Ok(())
        } else {
            Err(self.syntax("expected a key"))
        }
    }

    /// Reads the colon after a key.
    #[inline]
    pub(super) fn colon(&mut self) -> Read<()> {
        self.space();
        if self.eat(b':') {
            Ok(())
        } else {
            Err(self.syntax("expected `:`"))
        }
    }

    pub(super) fn word(&mut self, word: &str) -> Read<()> {
        if self
            .bytes
            .get(self.at..)
            .is_some_and(|rest| rest.starts_with(word.as_bytes()))
        {
            self.at += word.len();
            Ok(())
        } else {
            Err(self.syntax("no JSON value"))
        }
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

    pub(super) fn number(&mut self) -> Read<Number<'a>> {
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
        let text = self.slice(start, self.at)?;
        if integral {
            return match text.parse() {
                Ok(number) => Ok(Number::Int(number)),
                Err(_) if text.trim_start_matches('-').len() > MAX_INT_DIGITS => {
                    Err(self.limit(format!("an integer of more than {MAX_INT_DIGITS} digits")))
                }
                Err(_) => Ok(Number::Large(text)),
            };
        }
        text.parse()
            .map(Number::Float)
            .map_err(|_| self.syntax("no number"))
    }

    #[inline]
    pub(super) fn slice(&self, start: usize, end: usize) -> Read<&'a str> {
        self.text
            .get(start..end)
            .ok_or_else(|| self.syntax("not UTF-8"))
    }

    /// Moves to the next quote, backslash or control character.
    #[inline]
    fn plain(&mut self) {
        const ONES: u64 = u64::MAX / 255;
        const TOPS: u64 = ONES << 7;
        // PERF: eight bytes at a time; the lowest byte marked is exact, which is the one that counts.
        while let Some(word) = self
            .bytes
            .get(self.at..)
            .and_then(|rest| rest.first_chunk())
        {
            let word = u64::from_le_bytes(*word);
            let zero = |word: u64| word.wrapping_sub(ONES) & !word & TOPS;
            let low = word.wrapping_sub(ONES * 0x20) & !word & TOPS;
            let found = zero(word ^ (ONES * 0x22)) | zero(word ^ (ONES * 0x5c)) | low;
            if found != 0 {
                self.at += found.trailing_zeros() as usize / 8;
                return;
            }
            self.at += 8;
        }
        while !matches!(self.peek(), Some(b'"' | b'\\' | 0..=0x1f) | None) {
            self.at += 1;
        }
    }

    /// Reads a string, whose quote is here, if it has no escapes: its start and end without quotes. Otherwise
    /// [`Lexer::escaped`] reads the rest.
    #[inline]
    pub(super) fn plain_string(&mut self) -> Option<(usize, usize)> {
        self.at += 1;
        let start = self.at;
        self.plain();
        let end = self.at;
        self.eat(b'"').then_some((start, end))
    }

    /// Reads a string, whose quote is here, if it is `text`, written without escapes.
    #[inline]
    pub(super) fn string_is(&mut self, text: &str) -> bool {
        let rest = self.bytes.get(self.at + 1..).unwrap_or_default();
        let there = rest
            .split_at_checked(text.len())
            .is_some_and(|(read, rest)| rest.first() == Some(&b'"') && same(read, text.as_bytes()));
        self.at += if there { text.len() + 2 } else { 0 };
        there
    }

    /// Reads a string, whose quote is here, into `place`.
    #[inline]
    pub(super) fn string(&mut self, place: &mut Text<'a>) -> Read<()> {
        let start = self.at + 1;
        *place = match self.plain_string() {
            Some((start, end)) => Text::Borrowed(self.slice(start, end)?),
            None => self.escaped(start)?,
        };
        Ok(())
    }

    /// Reads the rest of a string with escapes that begins at `start`.
    #[cold]
    pub(super) fn escaped(&mut self, start: usize) -> Read<Text<'a>> {
        let mut text = self.slice(start, self.at)?.to_owned();
        let mut bad = false;
        loop {
            let plain = self.at;
            self.plain();
            text.push_str(self.slice(plain, self.at)?);
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
