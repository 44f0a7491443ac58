//! The `python` dialect: `re.search` of `CPython` 3.11 on `str`, where linear time allows.
//!
//! What needs backtracking (look-around, back-references, conditions, atomic groups, possessive repetitions) and the few
//! constructs that need tables we do not carry have the code `unsupported`: `re` may well accept them. Every other code
//! means that `re` rejects the pattern too, the `too_...` codes apart.

use regex_syntax::hir::{ClassUnicode, Look};

use super::cursor::{BACKSLASH, Cursor, unclosed};
use super::parser::{Parsed, Rules, control};
use super::python_class::{Case, category, span};
use super::stack::{Build, Piece, Shape, Stack};
use crate::regex::PatternError;

/// Looks of this dialect that no engine has, as looks that no pattern has otherwise: the end or before a last line feed,
pub(in crate::regex) const DOLLAR: Look = Look::EndCRLF;

/// a boundary of Python words, and its negation.
pub(in crate::regex) const WORD: Look = Look::WordUnicode;

pub(in crate::regex) const WORD_NEGATE: Look = Look::WordUnicodeNegate;

/// The inline flags that are set.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Flags {
    ascii: bool,
    unicode: bool,
    fold: bool,
    lines: bool,
    dot_all: bool,
    verbose: bool,
}

impl Flags {
    fn set(&mut self, letter: char, on: bool) -> bool {
        match letter {
            'a' => self.ascii = on,
            'u' => self.unicode = on,
            'i' => self.fold = on,
            'm' => self.lines = on,
            's' => self.dot_all = on,
            'x' => self.verbose = on,
            _ => return false,
        }
        true
    }

    fn case(self) -> Case {
        match (self.fold, self.ascii) {
            (false, _) => Case::Exact,
            (true, true) => Case::Ascii,
            (true, false) => Case::Unicode,
        }
    }
}

pub(in crate::regex) fn parse<B: Build>(text: &str) -> Result<Piece<B>, PatternError> {
    parse_named(text).map(|(piece, _)| piece)
}

/// A pattern, and the names of its groups, the first of which is group 1.
pub(in crate::regex) fn parse_named<B: Build>(
    text: &str,
) -> Result<(Piece<B>, Vec<Option<String>>), PatternError> {
    let mut parser = Parser {
        cursor: Cursor::new(text),
        stack: Stack::new(Flags::default()),
        flags: Flags::default(),
        names: Vec::new(),
        groups: Vec::new(),
        open: Vec::new(),
    };
    parser.run()?;
    Ok((parser.stack.finish(), parser.groups))
}

struct Parser<B> {
    cursor: Cursor,
    stack: Stack<Flags, B>,
    flags: Flags,
    names: Vec<String>,
    /// The names of the groups that capture, in order.
    groups: Vec<Option<String>>,
    /// By open group: its index among them, if it captures.
    open: Vec<Option<u32>>,
}

impl<B: Build> Rules<Flags, B> for Parser<B> {
    const DOLLAR: Look = DOLLAR;

    fn cursor(&mut self) -> &mut Cursor {
        &mut self.cursor
    }

    fn stack(&mut self) -> &mut Stack<Flags, B> {
        &mut self.stack
    }

    fn modes(&self) -> (bool, bool) {
        (self.flags.lines, self.flags.dot_all)
    }

    /// Reads white space or a comment of `(?x)`.
    fn skip(&mut self, next: char) -> Parsed<bool> {
        match next {
            _ if !self.flags.verbose => Ok(false),
            ' ' | '\t' | '\n' | '\r' | '\x0b' | '\x0c' => {
                self.cursor.next();
                Ok(true)
            }
            '#' => {
                while let Some(next) = self.token()? {
                    if next == '\n' {
                        break;
                    }
                }
                Ok(true)
            }
            _ => Ok(false),
        }
    }

    fn open(&mut self) -> Parsed<()> {
        let start = self.cursor.at();
        self.cursor.next();
        if !self.cursor.eat('?') {
            self.capture(None);
            return self.stack.open(start, self.flags);
        }
        let Some(kind) = self.token()? else {
            return self.fail("unbalanced", start, "this group is not closed");
        };
        match kind {
            ':' => {
                self.open.push(None);
                self.stack.open(start, self.flags)
            }
            'P' if self.cursor.eat('<') => {
                let name = self.cursor.take_until('>').unwrap_or_default();
                self.name(name.clone(), start)?;
                self.capture(Some(name));
                self.stack.open(start, self.flags)
            }
            'P' if self.cursor.eat('=') => Err(self.unsupported(start, "a back-reference")),
            '#' => self.comment(start),
            '=' | '!' => Err(self.unsupported(start, "look-ahead")),
            '<' if matches!(self.cursor.peek(), Some('=' | '!')) => {
                self.cursor.next();
                Err(self.unsupported(start, "look-behind"))
            }
            '(' => Err(self.unsupported(start, "a condition")),
            '>' => Err(self.unsupported(start, "an atomic group")),
            'a' | 'i' | 'L' | 'm' | 's' | 't' | 'u' | 'x' | '-' => self.group_flags(start, kind),
            _ => self.fail_quoting("bad_group", start, "is no group this dialect has"),
        }
    }

    fn closed(&mut self, flags: Flags) {
        self.flags = flags;
        if let Some(Some(index)) = self.open.pop()
            && let Some(group) = self.stack.pop()
        {
            self.stack.push(group.captured(index));
        }
    }

    /// Reads `{2}`, `{2,}`, `{,3}` or `{2,3}`; `None` when the brace is text.
    fn braces(&mut self) -> Parsed<Option<(u32, Option<u32>)>> {
        let start = self.cursor.at();
        self.cursor.next();
        if self.cursor.peek() == Some('}') {
            return Ok(None);
        }
        let digits = self
            .cursor
            .take_while(usize::MAX, |next| next.is_ascii_digit());
        let (min, max) = if self.cursor.eat(',') {
            (
                digits,
                self.cursor
                    .take_while(usize::MAX, |next| next.is_ascii_digit()),
            )
        } else {
            (digits.clone(), digits)
        };
        if !self.cursor.eat('}') {
            return Ok(None);
        }
        let mut count = |digits: &str| match digits.parse() {
            Ok(u32::MAX) | Err(_) if !digits.is_empty() => {
                self.fail("too_large", start, "the repetition counts too far")
            }
            Ok(count) => Ok(Some(count)),
            Err(_) => Ok(None),
        };
        Ok(Some((count(&min)?.unwrap_or(0), count(&max)?)))
    }

    fn repeat(&mut self, start: usize, min: u32, max: Option<u32>) -> Parsed<()> {
        if max.is_some_and(|max| max < min) {
            return self.fail("bad_repeat", start, "the repetition ends before it begins");
        }
        let piece = match self.stack.last() {
            Some(Shape::Atom) => self.stack.pop(),
            Some(Shape::Repeat) => {
                return self.fail_quoting("bad_repeat", start, "repeats a repetition");
            }
            Some(Shape::Look) | None => None,
        };
        let Some(piece) = piece else {
            let message = format!(
                "there is nothing to repeat before `{}`",
                self.cursor.since(start)
            );
            return self.fail("bad_repeat", start, message);
        };
        if self.cursor.eat('+') {
            return Err(self.unsupported(start, "a possessive repetition"));
        }
        let piece = if self.cursor.eat('?') {
            piece.lazily_repeated(min, max)
        } else {
            piece.repeated(min, max)
        };
        self.push_repeated(piece, start)
    }

    fn escape(&mut self) -> Parsed<()> {
        let start = self.cursor.at();
        self.cursor.next();
        let Some(letter) = self.cursor.next() else {
            return self.fail("bad_escape", start, BACKSLASH);
        };
        let ascii = self.flags.ascii;
        let look = match letter {
            'A' => Some(Look::Start),
            'Z' => Some(Look::End),
            'b' => Some(if ascii { Look::WordAscii } else { WORD }),
            'B' => Some(if ascii {
                Look::WordAsciiNegate
            } else {
                WORD_NEGATE
            }),
            _ => None,
        };
        if let Some(look) = look {
            self.stack.push(Piece::look(look));
        } else if let Some(class) = category(letter, ascii) {
            self.stack.push(Piece::class(class));
        } else if ('1'..='9').contains(&letter) {
            let point = self.octal_or_reference(letter, start)?;
            self.literal(point, start)?;
        } else {
            let point = self.character(letter, start)?;
            self.literal(point, start)?;
        }
        Ok(())
    }

    fn literal(&mut self, point: u32, start: usize) -> Parsed<()> {
        match (self.flags.case(), char::from_u32(point)) {
            (Case::Exact, Some(found)) => self.stack.push_char(found),
            (Case::Exact, None) => self.stack.push(Piece::point(point)),
            (Case::Ascii | Case::Unicode, _) => {
                let class = self.span(point, point, start)?;
                self.stack.push(Piece::class(class));
            }
        }
        Ok(())
    }

    fn class_item(&mut self, open: usize) -> Parsed<ClassUnicode> {
        let start = self.cursor.at();
        let lo = self.class_member(open)?;
        if self.cursor.peek() != Some('-') || self.cursor.peek_at(1) == Some(']') {
            return match lo {
                Member::Point(point) => self.span(point, point, start),
                Member::Class(class) => Ok(class),
            };
        }
        self.cursor.next();
        let hi = self.class_member(open)?;
        match (lo, hi) {
            (Member::Point(lo), Member::Point(hi)) if lo <= hi => self.span(lo, hi, start),
            (Member::Point(_) | Member::Class(_), Member::Point(_) | Member::Class(_)) => {
                self.fail_quoting("bad_class", start, "is no range")
            }
        }
    }
}

impl<B: Build> Parser<B> {
    /// Reads a code point, an escaped one as one with its backslash: `re` reads so even in comments.
    fn token(&mut self) -> Parsed<Option<char>> {
        let start = self.cursor.at();
        let next = self.cursor.next();
        if next == Some('\\') && self.cursor.next().is_none() {
            return self.fail("bad_escape", start, BACKSLASH);
        }
        Ok(next)
    }

    fn span(&self, lo: u32, hi: u32, start: usize) -> Parsed<ClassUnicode> {
        span(lo, hi, self.flags.case())
            .ok_or_else(|| self.unsupported(start, "ignoring case beyond U+FFFF"))
    }

    fn unsupported(&self, start: usize, what: &str) -> PatternError {
        self.cursor
            .error("unsupported", start, format!("{what} is not supported"))
    }

    fn capture(&mut self, name: Option<String>) {
        self.groups.push(name);
        self.open.push(Some(self.groups.len() as u32));
    }

    fn comment(&mut self, start: usize) -> Parsed<()> {
        loop {
            match self.token()? {
                Some(')') => return Ok(()),
                Some(_) => {}
                None => {
                    return self.fail("unbalanced", start, "this comment is not closed");
                }
            }
        }
    }

    fn name(&mut self, name: String, start: usize) -> Parsed<()> {
        if !name.is_ascii() {
            return Err(self.unsupported(start, "a group name beyond ASCII"));
        }
        let word = name
            .chars()
            .all(|found| found == '_' || found.is_ascii_alphanumeric());
        if !word || name.is_empty() || name.starts_with(|first: char| first.is_ascii_digit()) {
            return self.fail("bad_name", start, "the name of this group is not a name");
        }
        if self.names.contains(&name) {
            return self.fail(
                "bad_name",
                start,
                format!("there are two groups named `{name}`"),
            );
        }
        self.names.push(name);
        Ok(())
    }

    /// Reads `i)`, `i-s:` and the like; `first` has been read.
    fn group_flags(&mut self, start: usize, first: char) -> Parsed<()> {
        let (mut on, mut off) = (Flags::default(), Flags::default());
        let mut letter = Some(first);
        while let Some(flag) = letter.filter(|next| !matches!(next, '-' | ')' | ':')) {
            if flag == 't' {
                return Err(self.unsupported(start, "the flag `t`"));
            }
            if !on.set(flag, true) || (on.ascii && on.unicode) {
                return Err(self.bad_flag(start));
            }
            letter = self.token()?;
        }
        if letter == Some(')') {
            return self.global_flags(start, on);
        }
        if letter == Some('-') {
            letter = self.token()?;
            while let Some(flag) = letter.filter(|next| *next != ':') {
                if matches!(flag, 'a' | 'u') || !off.set(flag, true) {
                    return Err(self.bad_flag(start));
                }
                letter = self.token()?;
            }
            if off == Flags::default() {
                return Err(self.bad_flag(start));
            }
        }
        if letter.is_none() {
            return self.fail("unbalanced", start, "this group is not closed");
        }
        let both = [
            (on.fold, off.fold),
            (on.lines, off.lines),
            (on.dot_all, off.dot_all),
            (on.verbose, off.verbose),
        ];
        if both.contains(&(true, true)) {
            return Err(self.bad_flag(start));
        }
        if (on.ascii && !self.flags.ascii) || (on.unicode && self.flags.ascii) {
            // `re` looks for the first character with the flags outside the group: `(?a:\W)` is not found in `é`.
            return Err(
                self.unsupported(start, "`(?a:...)` or `(?u:...)` for a part of the pattern")
            );
        }
        self.open.push(None);
        self.stack.open(start, self.flags)?;
        let now = &mut self.flags;
        now.fold = (now.fold || on.fold) && !off.fold;
        now.lines = (now.lines || on.lines) && !off.lines;
        now.dot_all = (now.dot_all || on.dot_all) && !off.dot_all;
        now.verbose = (now.verbose || on.verbose) && !off.verbose;
        Ok(())
    }

    fn bad_flag(&self, start: usize) -> PatternError {
        self.cursor
            .error_quoting("bad_group", start, "sets flags this dialect does not have")
    }

    fn global_flags(&mut self, start: usize, on: Flags) -> Parsed<()> {
        if !self.stack.at_start() {
            return self.fail(
                "bad_group",
                start,
                "flags for the whole pattern stand at its start",
            );
        }
        let now = &mut self.flags;
        *now = Flags {
            ascii: now.ascii || on.ascii,
            unicode: now.unicode || on.unicode,
            fold: now.fold || on.fold,
            lines: now.lines || on.lines,
            dot_all: now.dot_all || on.dot_all,
            verbose: now.verbose || on.verbose,
        };
        if now.ascii && now.unicode {
            Err(self.bad_flag(start))
        } else {
            Ok(())
        }
    }

    /// `\123` is a character, `\1` and `\12` refer to a group.
    fn octal_or_reference(&mut self, first: char, start: usize) -> Parsed<u32> {
        let octal = |found: Option<char>| found.and_then(|found| found.to_digit(8));
        let digits = (
            octal(Some(first)),
            octal(self.cursor.peek()),
            octal(self.cursor.peek_at(1)),
        );
        let (Some(first), Some(second), Some(third)) = digits else {
            return Err(self.unsupported(start, "a back-reference"));
        };
        self.cursor.seek(start + 4);
        self.byte((first * 8 + second) * 8 + third, start)
    }

    fn byte(&self, point: u32, start: usize) -> Parsed<u32> {
        if point > 0o377 {
            Err(self.bad_escape(start))
        } else {
            Ok(point)
        }
    }

    fn bad_escape(&self, start: usize) -> PatternError {
        self.cursor
            .error_quoting("bad_escape", start, "is no escape this dialect has")
    }

    /// The code point that an escape denotes; its letter has been read.
    fn character(&mut self, letter: char, start: usize) -> Parsed<u32> {
        let hexadecimal = |cursor: &mut Cursor, length: usize| {
            let digits = cursor.take_while(length, |next| next.is_ascii_hexdigit());
            let point = u32::from_str_radix(&digits, 16).ok()?;
            (digits.len() == length && point <= u32::from(char::MAX)).then_some(point)
        };
        let point = match letter {
            'x' => hexadecimal(&mut self.cursor, 2),
            'u' => hexadecimal(&mut self.cursor, 4),
            'U' => hexadecimal(&mut self.cursor, 8),
            '0' => {
                let digits = self
                    .cursor
                    .take_while(2, |next| ('0'..='7').contains(&next));
                Some(u32::from_str_radix(&digits, 8).unwrap_or(0))
            }
            'N' => return Err(self.unsupported(start, "a character by its name")),
            other if other.is_ascii_alphanumeric() => control(other),
            other => Some(u32::from(other)),
        };
        point.ok_or_else(|| self.bad_escape(start))
    }

    fn class_member(&mut self, open: usize) -> Parsed<Member> {
        let start = self.cursor.at();
        match self.cursor.next() {
            Some('\\') => {}
            Some(other) => return Ok(Member::Point(u32::from(other))),
            None => {
                return Err(unclosed(open, "class"));
            }
        }
        let Some(letter) = self.cursor.next() else {
            return self.fail("bad_escape", start, BACKSLASH);
        };
        if let Some(class) = category(letter, self.flags.ascii) {
            return Ok(Member::Class(class));
        }
        let point = match letter {
            'b' => 8,
            '0'..='7' => {
                let rest = self
                    .cursor
                    .take_while(2, |next| ('0'..='7').contains(&next));
                let digits = format!("{letter}{rest}");
                self.byte(u32::from_str_radix(&digits, 8).unwrap_or(u32::MAX), start)?
            }
            other => self.character(other, start)?,
        };
        Ok(Member::Point(point))
    }
}

/// A member of a bracketed class.
enum Member {
    Point(u32),
    Class(ClassUnicode),
}
