//! Tokens of a statement, in the characters that all databases read alike.

use super::Undecidable;

/// The type of a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Type {
    /// A name or a keyword without quotes.
    Word,
    /// A name in double quotes; to MySQL it is a text, which can stand in no place of a table or function.
    Quoted,
    /// A text in single quotes.
    Text,
    /// A number.
    Number,
    /// A placeholder: `?`, `$1`, `:name`.
    Parameter,
    /// `(`.
    Open,
    /// `)`.
    Close,
    /// `[` of a subscript or an array.
    Bracket,
    /// `]`.
    EndBracket,
    /// `,`.
    Comma,
    /// `.`.
    Dot,
    /// `::`.
    Cast,
    /// `;`.
    Semicolon,
    /// Another operator character.
    Operator,
}

/// A token: its type and its bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Token {
    pub(super) of: Type,
    pub(super) start: usize,
    pub(super) end: usize,
}

/// Splits a text into tokens. A semicolon can only end it.
pub(super) fn scan(text: &str) -> Result<Vec<Token>, Undecidable> {
    let mut scanner = Scanner {
        bytes: text.as_bytes(),
        at: 0,
        bracket: None,
        tokens: Vec::with_capacity(text.len() / 4 + 4),
    };
    while scanner.next()? {}
    let mut tokens = scanner.tokens;
    if let Some(first) = tokens.iter().position(|token| token.of == Type::Semicolon) {
        if let Some(next) = tokens.get(first + 1) {
            let detail = "another statement follows: `sql` takes one";
            return Err(Undecidable::new("sql_statements", next.start, detail));
        }
        tokens.truncate(first);
    }
    Ok(tokens)
}

struct Scanner<'t> {
    bytes: &'t [u8],
    at: usize,
    /// The place of the `]` that ends the open bracket.
    bracket: Option<usize>,
    tokens: Vec<Token>,
}

fn is_name(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

impl Scanner<'_> {
    fn byte(&self, at: usize) -> u8 {
        self.bytes.get(at).copied().unwrap_or(0)
    }

    fn refused<T>(&self, code: &'static str, at: usize, detail: &str) -> Result<T, Undecidable> {
        Err(Undecidable::new(code, at, detail))
    }

    fn push(&mut self, of: Type, end: usize) {
        self.tokens.push(Token {
            of,
            start: self.at,
            end,
        });
        self.at = end;
    }

    /// Scans one token, a comment or space; false at the end.
    fn next(&mut self) -> Result<bool, Undecidable> {
        let (at, next) = (self.at, self.byte(self.at + 1));
        if self.bracket.is_some_and(|end| at > end) {
            return self.bracket_is_uncertain(at);
        }
        let Some(&byte) = self.bytes.get(at) else {
            return Ok(false);
        };
        match byte {
            b' ' | b'\t' | b'\n' => self.at += 1,
            b'\r' if next == b'\n' => self.at += 2,
            b'A'..=b'Z' | b'a'..=b'z' | b'_' => self.word()?,
            b'\'' => self.quoted(b'\'', Type::Text)?,
            b'"' => self.quoted(b'"', Type::Quoted)?,
            b'0'..=b'9' => self.number()?,
            b'.' if next.is_ascii_digit() => self.number()?,
            b'-' if next == b'-' => self.line_comment()?,
            b'/' if next == b'*' => self.comment()?,
            b'(' => self.push(Type::Open, at + 1),
            b')' => self.push(Type::Close, at + 1),
            b'[' => self.bracket()?,
            b']' if self.bracket == Some(at) => {
                self.bracket = None;
                self.push(Type::EndBracket, at + 1);
            }
            b',' => self.push(Type::Comma, at + 1),
            b'.' => self.push(Type::Dot, at + 1),
            b';' => self.push(Type::Semicolon, at + 1),
            b':' | b'$' | b'?' | b'@' => self.marked(byte, next)?,
            b'+' | b'-' | b'*' | b'/' | b'%' | b'<' | b'>' | b'=' | b'!' | b'~' | b'^' | b'&'
            | b'|' => {
                self.push(Type::Operator, at + 1);
            }
            _ => {
                let detail = "databases read this character in different ways outside of texts";
                return self.refused("sql_character", at, detail);
            }
        }
        Ok(true)
    }

    /// `ARRAY[1, 2]`, `a[1]`, `int[]`. SQLite reads a name up to the first `]`, which has to be the end for every database.
    fn bracket(&mut self) -> Result<(), Undecidable> {
        let (start, before) = (self.at, self.tokens.last().map(|token| token.of));
        let rest = self.bytes.get(start..).unwrap_or_default();
        let follows = matches!(
            before,
            Some(Type::Word | Type::Quoted | Type::Close | Type::EndBracket)
        );
        match rest.iter().position(|byte| *byte == b']') {
            Some(length) if follows && self.bracket.is_none() => {
                self.bracket = Some(start + length);
                self.push(Type::Bracket, start + 1);
                Ok(())
            }
            _ => self.bracket_is_uncertain(start),
        }
    }

    fn bracket_is_uncertain<T>(&self, at: usize) -> Result<T, Undecidable> {
        let detail = "databases read what is in brackets in different ways here";
        self.refused("sql_character", at, detail)
    }

    fn run(&self, from: usize, is: impl Fn(u8) -> bool) -> usize {
        let rest = self.bytes.get(from..).unwrap_or_default();
        from + rest.iter().take_while(|byte| is(**byte)).count()
    }

    fn word(&mut self) -> Result<(), Undecidable> {
        let end = self.run(self.at, is_name);
        match self.byte(end) {
            b'\'' | b'"' => {
                let detail = "a prefix of a quote changes how the text is read: write a space before the quote, or no prefix";
                self.refused("sql_string", self.at, detail)
            }
            b'$' | b'@' => self.refused(
                "sql_character",
                end,
                "some databases take this for a part of the name",
            ),
            _ => {
                self.push(Type::Word, end);
                Ok(())
            }
        }
    }

    /// A text or a name in quotes, in which a doubled quote stands for one.
    fn quoted(&mut self, quote: u8, of: Type) -> Result<(), Undecidable> {
        let start = self.at;
        let mut at = start + 1;
        loop {
            match self.bytes.get(at) {
                None => return self.refused("sql_string", start, "the quote is not closed"),
                Some(b'\\') => {
                    let detail =
                        "a backslash escapes in some databases only: pass the text as a parameter";
                    return self.refused("sql_string", at, detail);
                }
                Some(0) => return self.refused("sql_character", at, "a text holds no NUL"),
                Some(byte) if *byte == quote => {
                    if self.byte(at + 1) != quote {
                        break;
                    }
                    at += 2;
                }
                Some(_) => at += 1,
            }
        }
        if is_name(self.byte(at + 1)) || matches!(self.byte(at + 1), b'\'' | b'"') {
            return self.refused(
                "sql_string",
                at,
                "something stands at the quote without a space",
            );
        }
        self.push(of, at + 1);
        Ok(())
    }

    fn number(&mut self) -> Result<(), Undecidable> {
        if let Some(last) = self.tokens.last()
            && last.end == self.at
            && matches!(last.of, Type::Word | Type::Quoted | Type::Dot)
        {
            return self.refused("sql_number", self.at, "a number stands at a name");
        }
        let mut end = self.run(self.at, |byte| byte.is_ascii_digit());
        if self.byte(end) == b'.' {
            end = self.run(end + 1, |byte| byte.is_ascii_digit());
        }
        if matches!(self.byte(end), b'e' | b'E') {
            let sign = usize::from(matches!(self.byte(end + 1), b'+' | b'-'));
            let digits = self.run(end + 1 + sign, |byte| byte.is_ascii_digit());
            end = if digits > end + 1 + sign { digits } else { end };
        }
        if is_name(self.byte(end)) || matches!(self.byte(end), b'.' | b'$' | b'\'' | b'"') {
            return self.refused("sql_number", end, "a name stands at a number");
        }
        self.push(Type::Number, end);
        Ok(())
    }

    fn line_comment(&mut self) -> Result<(), Undecidable> {
        let start = self.at;
        if !matches!(self.byte(start + 2), b' ' | b'\t' | b'\n' | 0) {
            let detail = "`--` begins a comment in some databases only: write a space after it";
            return self.refused("sql_comment", start, detail);
        }
        let end = self.run(start, |byte| byte != b'\n');
        let body = self.bytes.get(start..end).unwrap_or_default();
        let line = body.strip_suffix(b"\r").unwrap_or(body);
        if line.iter().any(|byte| matches!(byte, b'\r' | b'\\' | 0)) {
            return self.refused(
                "sql_comment",
                start,
                "databases end this comment at different places",
            );
        }
        self.at = end;
        Ok(())
    }

    fn comment(&mut self) -> Result<(), Undecidable> {
        let start = self.at;
        let rest = self.bytes.get(start + 2..).unwrap_or_default();
        let Some(length) = rest.windows(2).position(|pair| pair == b"*/") else {
            return self.refused("sql_comment", start, "the comment is not closed");
        };
        let body = rest.get(..length).unwrap_or_default();
        let runs = matches!(body.first(), Some(b'!' | b'+' | b'/' | b'M' | b'm'));
        if runs
            || body.windows(2).any(|pair| pair == b"/*")
            || body.ends_with(b"/")
            || body.contains(&0)
        {
            let detail = "some databases execute this comment, or end it at another place";
            return self.refused("sql_comment", start, detail);
        }
        self.at = start + 2 + length + 2;
        Ok(())
    }

    /// Placeholders, `::`, `@>` and the like.
    fn marked(&mut self, byte: u8, next: u8) -> Result<(), Undecidable> {
        let at = self.at;
        if byte == b':' && next == b':' && self.byte(at + 2) != b':' {
            self.push(Type::Cast, at + 2);
            return Ok(());
        }
        let (of, end) = match byte {
            b'$' if next.is_ascii_digit() => (
                Type::Parameter,
                self.run(at + 1, |byte| byte.is_ascii_digit()),
            ),
            b':' if next.is_ascii_alphabetic() => (Type::Parameter, self.run(at + 1, is_name)),
            b'?' => (
                Type::Parameter,
                self.run(at + 1, |byte| byte.is_ascii_digit()),
            ),
            b'@' if matches!(next, b'>' | b' ' | b'@') => (Type::Operator, at + 1),
            _ => {
                let detail = "databases read this character in different ways";
                return self.refused("sql_character", at, detail);
            }
        };
        let follows = self.byte(end);
        // SQLite lets names of parameters go on with `::` and with a text in parentheses.
        let joined =
            is_name(follows) || matches!(follows, b'$' | b':' | b'@' | b'(' | b'\'' | b'"');
        if of == Type::Parameter && joined {
            return self.refused(
                "sql_character",
                end,
                "some databases take this for a part of the parameter",
            );
        }
        self.push(of, end);
        Ok(())
    }
}
