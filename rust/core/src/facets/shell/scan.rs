//! Words: quoting is removed, expansions are refused or marked.

use super::super::Undecidable;
use super::grammar::Parser;
use super::script::{PATTERN, QUOTED, SPLIT, TILDE, VARIABLE, WILD, WordRow};

/// Bytes that stand for themselves anywhere in a word.
#[expect(clippy::indexing_slicing, reason = "evaluated by the compiler")]
const PLAIN: [bool; 256] = {
    let mut table = [false; 256];
    let mut byte = 0;
    while byte < 128 {
        table[byte] = (byte as u8).is_ascii_alphanumeric();
        byte += 1;
    }
    let others = b"_-./,:@%+^]}=";
    let mut index = 0;
    while index < others.len() {
        table[others[index] as usize] = true;
        index += 1;
    }
    table
};

/// Bytes that stand for themselves between double quotes.
#[expect(clippy::indexing_slicing, reason = "evaluated by the compiler")]
const PLAIN_IN_QUOTES: [bool; 256] = {
    let mut table = [true; 256];
    table[b'"' as usize] = false;
    table[b'\\' as usize] = false;
    table[b'$' as usize] = false;
    table[b'`' as usize] = false;
    table[b'!' as usize] = false;
    table[0] = false;
    table
};

/// The byte ends a word.
pub(super) fn ends_word(byte: u8) -> bool {
    matches!(
        byte,
        0 | b' ' | b'\t' | b'\n' | b';' | b'&' | b'|' | b'<' | b'>' | b'(' | b')'
    )
}

impl Parser<'_, '_> {
    /// Scans the word that begins here.
    pub(super) fn word(&mut self) -> Result<WordRow, Undecidable> {
        let (begin, start) = (self.at, self.script.buffer.len());
        let mut flags = 0;
        loop {
            let from = self.at;
            while PLAIN.get(self.peek() as usize).is_some_and(|plain| *plain) {
                self.at += 1;
            }
            self.keep(from, self.at);
            let (at, byte) = (self.at, self.peek());
            match byte {
                _ if ends_word(byte) => break,
                b'\'' => {
                    self.at += 1;
                    let rest = self.bytes.get(self.at..).unwrap_or_default();
                    let Some(length) = memchr::memchr(b'\'', rest) else {
                        return Err(self.error("unterminated_quote", at, "this quote has no end"));
                    };
                    self.keep(self.at, self.at + length);
                    self.at += length + 1;
                    flags |= QUOTED;
                }
                b'"' => flags |= self.double_quoted(start)?,
                b'\\' => {
                    let next = self.peek_at(at + 1);
                    if next == b'\n' {
                        // A shell joins the lines before it looks for words and operators.
                        if !matches!(self.peek_at(at + 2), 0 | b' ' | b'\t' | b'\n') {
                            return Err(self.error(
                                "continuation",
                                at,
                                "a line continues inside of a word",
                            ));
                        }
                        break;
                    }
                    if !(b' '..0x7f).contains(&next) {
                        return Err(self.error(
                            "escape",
                            at,
                            "a backslash in front of no printable ASCII character",
                        ));
                    }
                    self.keep(at + 1, at + 2);
                    self.at += 2;
                    flags |= QUOTED;
                }
                b'*' | b'?' | b'[' => {
                    flags |= PATTERN;
                    if self.script.buffer.len() == start {
                        flags |= WILD;
                        // `[` alone is a program, or an argument.
                        if byte == b'[' && flags & QUOTED == 0 && ends_word(self.peek_at(at + 1)) {
                            flags &= !(PATTERN | WILD);
                        }
                    }
                    self.keep(at, at + 1);
                    self.at += 1;
                }
                b'{' => {
                    if flags & PATTERN == 0 && self.may_expand_brace() {
                        flags |= PATTERN;
                    }
                    if flags & PATTERN != 0 && self.script.buffer.len() == start {
                        flags |= WILD;
                    }
                    self.keep(at, at + 1);
                    self.at += 1;
                }
                b'~' => {
                    flags |= self.tilde(begin)?;
                    self.keep(at, at + 1);
                    self.at += 1;
                }
                b'!' => {
                    if !matches!(self.peek_at(at + 1), 0 | b' ' | b'\t' | b'\n' | b'=') {
                        return Err(self.error(
                            "history",
                            at,
                            "a history expansion in an interactive shell",
                        ));
                    }
                    self.keep(at, at + 1);
                    self.at += 1;
                }
                b'#' => {
                    self.keep(at, at + 1);
                    self.at += 1;
                }
                b'$' => {
                    let next = self.peek_at(at + 1);
                    if let Some(end) = variable_end(self.bytes, at) {
                        flags |= match self.is_number(at) {
                            true => PATTERN,
                            false => PATTERN | VARIABLE | SPLIT | WILD,
                        };
                        self.at = end;
                    } else if matches!(next, 0 | b' ' | b'\t' | b'\n') {
                        self.at += 1;
                    } else {
                        return Err(self.expansion(at, next));
                    }
                    self.keep(at, self.at);
                }
                b'`' => return Err(self.expansion(at, b'(')),
                _ => {
                    return Err(self.error(
                        "non_ascii",
                        at,
                        "a character outside of ASCII that is not quoted",
                    ));
                }
            }
        }
        if self.peek_at(begin) == b'=' && self.at - begin > 1 && self.peek_at(begin + 1) != b'=' {
            return Err(self.error(
                "equals_expansion",
                begin,
                "zsh replaces a word that begins with `=`",
            ));
        }
        Ok(WordRow {
            start: to_u32(start),
            end: to_u32(self.script.buffer.len()),
            at: self.offset(begin),
            flags,
        })
    }

    /// Scans a quoted part of the word that begins at `start` in the buffer, and returns its flags.
    fn double_quoted(&mut self, start: usize) -> Result<u8, Undecidable> {
        let (open, mut flags) = (self.at, QUOTED);
        self.at += 1;
        loop {
            let from = self.at;
            while PLAIN_IN_QUOTES
                .get(self.peek() as usize)
                .is_some_and(|plain| *plain)
            {
                self.at += 1;
            }
            self.keep(from, self.at);
            let at = self.at;
            let next = self.peek_at(at + 1);
            match self.peek() {
                b'"' => {
                    self.at += 1;
                    return Ok(flags);
                }
                b'\\' => {
                    match next {
                        b'\n' => {}
                        b'$' | b'`' | b'"' | b'\\' => self.keep(at + 1, at + 2),
                        0 => {
                            return Err(self.error(
                                "unterminated_quote",
                                open,
                                "this quote has no end",
                            ));
                        }
                        // The next character may have several bytes: it is read as any other.
                        _ => {
                            self.keep(at, at + 1);
                            self.at += 1;
                            continue;
                        }
                    }
                    self.at += 2;
                }
                b'$' => {
                    if let Some(end) = variable_end(self.bytes, at) {
                        flags |= match self.is_number(at) {
                            true => PATTERN,
                            false => PATTERN | VARIABLE,
                        };
                        if next == b'@' || self.peek_at(at + 2) == b'@' {
                            flags |= SPLIT | WILD;
                        } else if flags & VARIABLE != 0 && self.script.buffer.len() == start {
                            flags |= WILD;
                        }
                        self.at = end;
                    } else if matches!(next, b'"' | b' ' | b'\\' | b'|' | b')' | b'/') {
                        self.at += 1;
                    } else {
                        return Err(self.expansion(at, next));
                    }
                    self.keep(at, self.at);
                }
                b'!' => {
                    if !matches!(next, b'"' | b' ' | b'\t' | b'\n' | b'=') {
                        return Err(self.error(
                            "history",
                            at,
                            "a history expansion in an interactive shell",
                        ));
                    }
                    self.keep(at, at + 1);
                    self.at += 1;
                }
                b'`' => return Err(self.expansion(at, b'(')),
                _ => return Err(self.error("unterminated_quote", open, "this quote has no end")),
            }
        }
    }

    /// The variable at an offset always has a number: `$?`, `$#`, `$$`.
    fn is_number(&self, at: usize) -> bool {
        let first = self.peek_at(at + 1);
        let name = if first == b'{' {
            self.peek_at(at + 2)
        } else {
            first
        };
        matches!(name, b'?' | b'#' | b'$')
    }

    /// A comma or two dots follow the brace in the same word. Quotes inside are not looked at: they can only make it less.
    fn may_expand_brace(&self) -> bool {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        if rest.get(1) == Some(&b'}') && rest.get(2).copied().is_none_or(ends_word) {
            return false;
        }
        let (mut quote, mut escaped, mut before) = (0, false, 0);
        for &byte in rest {
            if byte == b',' || (byte == b'.' && before == b'.') {
                return true;
            }
            if escaped {
                escaped = false;
            } else if byte == b'\\' && quote != b'\'' {
                escaped = true;
            } else if quote != 0 {
                quote = if byte == quote { 0 } else { quote };
            } else if matches!(byte, b'\'' | b'"') {
                quote = byte;
            } else if ends_word(byte) {
                return false;
            }
            before = byte;
        }
        false
    }

    fn tilde(&self, begin: usize) -> Result<u8, Undecidable> {
        if self.at > begin {
            let before = self.peek_at(self.at - 1);
            return Ok(if matches!(before, b'=' | b':') {
                TILDE
            } else {
                0
            });
        }
        let next = self.peek_at(begin + 1);
        if next == b'/' || next == b'_' || next.is_ascii_alphabetic() || ends_word(next) {
            Ok(TILDE)
        } else {
            Err(self.error("expansion", begin, "a tilde in front of no name"))
        }
    }

    fn expansion(&self, at: usize, next: u8) -> Undecidable {
        let (code, detail) = match next {
            b'(' => ("substitution", "the output of a command"),
            b'\'' | b'"' => ("ansi_quote", "a quote of bash, not of every shell"),
            b'[' => ("expansion", "arithmetic"),
            _ => ("expansion", "the value of a variable"),
        };
        self.error(code, at, detail)
    }

    /// Copies a span of the text to the buffer.
    pub(super) fn keep(&mut self, from: usize, to: usize) {
        self.script
            .buffer
            .push_str(self.text.get(from..to).unwrap_or_default());
    }
}

/// The end of the variable that begins with the `$` at an offset: `$NAME`, `${NAME}`, `$1`, `$@`, `$*`, `$#`, `$?`, `$$`, `$!`.
///
/// All other forms can run programs, or some shell reads them in another way: `${NAME:-$(rm)}`, `$NAME[...]`.
pub(super) fn variable_end(bytes: &[u8], at: usize) -> Option<usize> {
    let byte = |index: usize| bytes.get(index).copied().unwrap_or(0);
    let name_end = |from: usize| {
        let rest = bytes.get(from..).unwrap_or_default();
        let length = rest
            .iter()
            .take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'_')
            .count();
        (!byte(from).is_ascii_digit() && length > 0).then_some(from + length)
    };
    let special = |index: usize| {
        byte(index).is_ascii_digit()
            || matches!(byte(index), b'@' | b'*' | b'#' | b'?' | b'$' | b'!')
    };
    let first = at + 1;
    let end = if byte(first) == b'{' {
        let inside = first + 1;
        let end = name_end(inside).or_else(|| special(inside).then_some(inside + 1))?;
        (byte(end) == b'}').then_some(end + 1)?
    } else if special(first) {
        // `$12` is `$1` and a `2` to POSIX, `$#name` a length to zsh.
        let next = byte(first + 1);
        if next.is_ascii_alphanumeric() || matches!(next, b'_' | b'{' | b'$') {
            return None;
        }
        first + 1
    } else {
        name_end(first)?
    };
    // `$NAME[...]` is an element to zsh.
    (!matches!(byte(end), b'[' | b'(')).then_some(end)
}

/// Offsets fit: a command line has at most [`crate::limits::MAX_SHELL_BYTES`] bytes.
pub(super) fn to_u32(offset: usize) -> u32 {
    u32::try_from(offset).unwrap_or(u32::MAX)
}
