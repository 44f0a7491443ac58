//! The words of a JSON text, one after the other.

use super::keys::Quoted;
use super::{Caps, JsonError, JsonErrorKind, Text};

/// PERF: boxed, so that results are returned in registers.
pub(super) type Read<T> = Result<T, Box<JsonError>>;

/// A text, and how far it has been read. PERF: what is left of it is checked for its length once per word; with an offset, each
/// byte was checked.
pub(super) struct Lexer<'a> {
    text: &'a str,
    pub(super) rest: &'a [u8],
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
            rest: bytes,
            nodes: caps.nodes,
            caps,
        })
    }

    /// The whole text.
    pub(super) fn text(&self) -> &'a str {
        self.text
    }

    /// The byte offset.
    #[inline]
    pub(super) fn at(&self) -> usize {
        self.text.len() - self.rest.len()
    }

    /// Checks that the text ends here.
    pub(super) fn end(&mut self) -> Read<()> {
        self.space();
        if !self.rest.is_empty() {
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
            at: self.at(),
            message: message.into(),
        })
    }

    #[cold]
    pub(super) fn limit(&self, message: String) -> Box<JsonError> {
        Box::new(JsonError {
            kind: JsonErrorKind::Limit,
            at: self.at(),
            message,
        })
    }

    #[inline]
    pub(super) fn peek(&self) -> Option<u8> {
        self.rest.first().copied()
    }

    /// Moves past white space. PERF: most words follow each other at once, or after one space.
    #[inline]
    pub(super) fn space(&mut self) {
        if let [b' ', rest @ ..] = self.rest {
            self.rest = rest;
        }
        if let [..=b' ', ..] = self.rest {
            self.spaces();
        }
    }

    #[inline(never)]
    fn spaces(&mut self) {
        while let [b' ' | b'\n' | b'\r' | b'\t', rest @ ..] = self.rest {
            self.rest = rest;
        }
    }

    #[inline]
    pub(super) fn eat(&mut self, byte: u8) -> bool {
        match self.rest {
            [first, rest @ ..] if *first == byte => {
                self.rest = rest;
                true
            }
            _ => false,
        }
    }

    /// Moves to a value at this depth.
    #[inline]
    pub(super) fn begin(&mut self, depth: usize) -> Read<()> {
        self.space();
        self.enter(depth)
    }

    /// Enters the value here, which is at this depth.
    #[inline]
    pub(super) fn enter(&mut self, depth: usize) -> Read<()> {
        self.nodes = match self.nodes.checked_sub(1) {
            Some(left) if depth <= self.caps.depth => left,
            _ => return Err(self.past_a_cap(depth)),
        };
        Ok(())
    }

    #[cold]
    fn past_a_cap(&self, depth: usize) -> Box<JsonError> {
        if depth > self.caps.depth {
            self.limit(format!("deeper than {} levels", self.caps.depth))
        } else {
            self.limit(format!("more than {} values", self.caps.nodes))
        }
    }

    /// Moves past a byte that may follow white space, and past the white space after it; returns true if it is there.
    #[inline]
    fn mark(&mut self, byte: u8) -> bool {
        // PERF: as most texts are written, two bytes are compared at once.
        if let Some((read, rest)) = self.rest.split_first_chunk()
            && *read == [byte, b' ']
        {
            self.rest = rest;
        } else {
            if let [..=b' ', ..] = self.rest {
                self.spaces();
            }
            if !self.eat(byte) {
                return false;
            }
        }
        if let [..=b' ', ..] = self.rest {
            self.spaces();
        }
        true
    }

    /// Moves past the bracket here and white space; returns false after reading a `close` that follows.
    #[inline]
    pub(super) fn open(&mut self, close: u8) -> bool {
        self.rest = self.rest.get(1..).unwrap_or_default();
        self.space();
        !self.eat(close)
    }

    /// Moves to the next item; returns false after reading `close` instead.
    #[inline]
    pub(super) fn more(&mut self, close: u8) -> Read<bool> {
        if self.mark(b',') {
            Ok(true)
        } else if self.eat(close) {
            Ok(false)
        } else {
            Err(self.neither(close))
        }
    }

    #[cold]
    fn neither(&self, close: u8) -> Box<JsonError> {
        self.syntax(format!("expected `,` or `{}`", char::from(close)))
    }

    /// Checks that a key is here.
    #[inline]
    pub(super) fn before_key(&self) -> Read<()> {
        if self.peek() == Some(b'"') {
            Ok(())
        } else {
            Err(self.syntax("expected a key"))
        }
    }

    /// Moves past the colon after a key, to the value.
    #[inline]
    pub(super) fn colon(&mut self) -> Read<()> {
        if self.mark(b':') {
            Ok(())
        } else {
            Err(self.syntax("expected `:`"))
        }
    }

    #[inline]
    pub(super) fn word<const N: usize>(&mut self, word: &[u8; N]) -> Read<()> {
        if let Some((read, rest)) = self.rest.split_first_chunk()
            && read == word
        {
            self.rest = rest;
            Ok(())
        } else {
            Err(self.syntax("no JSON value"))
        }
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
        // PERF: eight bytes at a time; the lowest byte marked is exact, which is the one that counts. With one bit
        // flipped, the quote follows the control characters.
        let mut rest = self.rest;
        while let Some((word, after)) = rest.split_first_chunk() {
            let word = u64::from_le_bytes(*word);
            let below = |word: u64, bound: u64| word.wrapping_sub(ONES * bound) & !word;
            let low = below(word ^ (ONES * 0x02), 0x21);
            let found = (low | below(word ^ (ONES * 0x5c), 1)) & TOPS;
            if found != 0 {
                let plain = found.trailing_zeros() as usize / 8;
                self.rest = rest.get(plain..).unwrap_or_default();
                return;
            }
            rest = after;
        }
        while let [first, after @ ..] = rest
            && !matches!(first, b'"' | b'\\' | 0..=0x1f)
        {
            rest = after;
        }
        self.rest = rest;
    }

    /// Reads a string, whose quote is here, if it has no escapes: its start and end without quotes. Otherwise
    /// [`Lexer::escaped`] reads the rest.
    #[inline]
    pub(super) fn plain_string(&mut self) -> Option<(usize, usize)> {
        self.rest = self.rest.get(1..).unwrap_or_default();
        let start = self.at();
        self.plain();
        let end = self.at();
        self.eat(b'"').then_some((start, end))
    }

    /// Reads a string, whose quote is here, if it is `text`, written without escapes.
    #[inline]
    pub(super) fn string_is(&mut self, text: &Quoted) -> bool {
        let there = self
            .rest
            .first_chunk()
            .is_some_and(|read| text.begins(read));
        if there {
            self.rest = self.rest.get(text.length..).unwrap_or_default();
        }
        there
    }

    /// Reads a string, whose quote is here, into `place`.
    #[inline]
    pub(super) fn string(&mut self, place: &mut Text<'a>) -> Read<()> {
        let start = self.at() + 1;
        match self.plain_string() {
            Some((start, end)) => *place = Text::Borrowed(self.slice(start, end)?),
            None => *place = self.escaped(start)?,
        }
        Ok(())
    }

    /// Reads the rest of a string with escapes that begins at `start`.
    #[cold]
    pub(super) fn escaped(&mut self, start: usize) -> Read<Text<'a>> {
        let mut text = self.slice(start, self.at())?.to_owned();
        let mut bad = false;
        loop {
            let plain = self.at();
            self.plain();
            text.push_str(self.slice(plain, self.at())?);
            match self.rest {
                [b'"', rest @ ..] => {
                    self.rest = rest;
                    return Ok(if bad {
                        Text::Bad
                    } else {
                        Text::Owned(text.into())
                    });
                }
                [b'\\', rest @ ..] => {
                    self.rest = rest;
                    match self.escape()? {
                        Some(c) => text.push(c),
                        None => bad = true,
                    }
                }
                [_, ..] => return Err(self.syntax("a control character in a string")),
                [] => return Err(self.syntax("the string does not end")),
            }
        }
    }

    /// The character of an escape; `None` for a lone surrogate.
    fn escape(&mut self) -> Read<Option<char>> {
        let byte = self.peek();
        self.rest = self.rest.get(1..).unwrap_or_default();
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
                let here = self.rest;
                if self.eat(b'\\') && self.eat(b'u') {
                    let second = self.hex4()?;
                    if (0xdc00..0xe000).contains(&second) {
                        return Ok(char::from_u32(
                            0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00),
                        ));
                    }
                }
                self.rest = here;
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
            self.rest = self.rest.get(1..).unwrap_or_default();
        }
        Ok(code)
    }
}
