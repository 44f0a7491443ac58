//! The `re2` dialect: the patterns that google-re2 accepts with default options, without those of another meaning here.
//!
//! The parser follows RE2's rules one by one (which brace is a literal, which operator may follow which) and builds what
//! they mean; `docs/adr/` says why it is not a pass over another engine's syntax tree. google-re2 itself stands behind it
//! as a second gate when a policy is compiled.

use regex_syntax::hir::{ClassUnicode, Look};

use super::class;
use super::cursor::{BACKSLASH, Cursor};
use super::parser::{Parsed, Rules, control};
use super::re2_class::{folded, perl, posix, span, unicode};
use super::stack::{Build, Piece, Stack};
use crate::regex::PatternError;

/// Largest count in a repetition, and largest product of counts around one another: RE2's own.
const MAX_REPEAT: u32 = 1_000;

/// `(?imsU)`; `U` changes the captures, never the presence of a match, so it is read and dropped.
#[derive(Clone, Copy, Debug, Default)]
struct Flags {
    fold: bool,
    lines: bool,
    dot_all: bool,
}

pub(in crate::regex) fn parse<B: Build>(text: &str) -> Result<Piece<B>, PatternError> {
    let mut parser = Parser {
        cursor: Cursor::new(text),
        stack: Stack::new(Flags::default()),
        flags: Flags::default(),
        operator: None,
    };
    parser.run()?;
    Ok(parser.stack.finish())
}

struct Parser<B> {
    cursor: Cursor,
    stack: Stack<Flags, B>,
    flags: Flags,
    /// Where the last operator starts and ends: another one may not follow at once.
    operator: Option<(usize, usize)>,
}

impl<B: Build> Rules<Flags, B> for Parser<B> {
    const DOLLAR: Look = Look::End;

    fn cursor(&mut self) -> &mut Cursor {
        &mut self.cursor
    }

    fn stack(&mut self) -> &mut Stack<Flags, B> {
        &mut self.stack
    }

    fn modes(&self) -> (bool, bool) {
        (self.flags.lines, self.flags.dot_all)
    }

    fn open(&mut self) -> Parsed<()> {
        let start = self.cursor.at();
        self.cursor.next();
        if !self.cursor.eat('?') {
            return self.stack.open(start, self.flags);
        }
        for look in ["=", "!", "<=", "<!"] {
            if self.cursor.eat_str(look) {
                return self.fail("look_around", start, "look-around is not supported");
            }
        }
        if self.cursor.eat_str("P<") || self.cursor.eat('<') {
            let named = self.cursor.take_until('>');
            if !named.is_some_and(|name| !name.is_empty() && name.chars().all(is_name)) {
                return self.fail("bad_name", start, "the name of this group is not a name");
            }
            return self.stack.open(start, self.flags);
        }
        self.group_flags(start)
    }

    fn closed(&mut self, flags: Flags) {
        self.flags = flags;
    }

    /// Reads `{2}`, `{2,}` or `{2,3}`; anything else that starts with a brace is text.
    fn braces(&mut self) -> Parsed<Option<(u32, Option<u32>)>> {
        let start = self.cursor.at();
        let found = self.braces_inner();
        if found.is_none() {
            self.cursor.seek(start);
            self.refuse_open_count()?;
        }
        Ok(found)
    }

    fn repeat(&mut self, start: usize, min: u32, max: Option<u32>) -> Parsed<()> {
        self.cursor.eat('?');
        let (first, end) = self
            .operator
            .replace((start, self.cursor.at()))
            .unwrap_or_default();
        if end == start && first < end {
            let message = "is two repetitions in a row";
            return self.fail_quoting("bad_repeat", first, message);
        }
        let refuse =
            |cursor: &Cursor, message: String| Err(cursor.error("bad_repeat", start, message));
        if max.is_some_and(|max| max < min) {
            return refuse(
                &self.cursor,
                "the repetition ends before it begins".to_owned(),
            );
        }
        if min > MAX_REPEAT || max.is_some_and(|max| max > MAX_REPEAT) {
            return refuse(
                &self.cursor,
                format!("a repetition counts to {MAX_REPEAT} at most"),
            );
        }
        let Some(piece) = self.stack.pop() else {
            return refuse(
                &self.cursor,
                format!(
                    "there is nothing to repeat before `{}`",
                    self.cursor.since(start)
                ),
            );
        };
        let piece = piece.repeated(min, max);
        if piece.copies > MAX_REPEAT && (min >= 2 || max.is_some_and(|max| max >= 2)) {
            return refuse(
                &self.cursor,
                format!("repetitions inside one another multiply to more than {MAX_REPEAT}"),
            );
        }
        self.push_repeated(piece, start)
    }

    fn escape(&mut self) -> Parsed<()> {
        let start = self.cursor.at();
        let letter = self.cursor.peek_at(1);
        let look = match letter {
            Some('b') => Some(Look::WordAscii),
            Some('B') => Some(Look::WordAsciiNegate),
            Some('A') => Some(Look::Start),
            Some('z') => Some(Look::End),
            Some(_) | None => None,
        };
        if let Some(look) = look {
            self.cursor.seek(start + 2);
            self.stack.push(Piece::look(look));
            return Ok(());
        }
        match letter {
            Some('C') => {
                self.cursor.seek(start + 2);
                self.fail("any_byte", start, "`\\C` would match a part of a character")
            }
            Some('Q') => {
                self.cursor.seek(start + 2);
                while !self.cursor.eat_str(r"\E") {
                    match self.cursor.next() {
                        Some(next) => self.literal(u32::from(next), start)?,
                        None => break,
                    }
                }
                Ok(())
            }
            Some(letter) => {
                if let Some(class) = self.class_escape(letter)? {
                    self.stack.push(Piece::class(class));
                } else {
                    let point = self.character_escape()?;
                    self.literal(point, start)?;
                }
                Ok(())
            }
            None => {
                self.cursor.next();
                self.fail("bad_escape", start, BACKSLASH)
            }
        }
    }

    fn literal(&mut self, point: u32, _: usize) -> Parsed<()> {
        let piece = match char::from_u32(point) {
            // PERF: the partners of an ASCII letter are known; to look them up takes 2 us.
            Some(found) if self.flags.fold && found.is_ascii_alphabetic() => {
                let beyond = match found.to_ascii_lowercase() {
                    'k' => Some('\u{212a}'),
                    's' => Some('\u{17f}'),
                    _ => None,
                };
                Piece::class_of((2, usize::from(beyond.is_some())), || {
                    let cases = [found.to_ascii_uppercase(), found.to_ascii_lowercase()];
                    let cases = cases.into_iter().chain(beyond).map(|found| (found, found));
                    class::from_ranges(&cases.collect::<Vec<(char, char)>>())
                })
            }
            Some(found) if self.flags.fold && !found.is_ascii() => {
                Piece::class(folded(class::from_ranges(&[(found, found)])))
            }
            Some(found) => {
                self.stack.push_char(found);
                return Ok(());
            }
            None => Piece::point(point),
        };
        self.stack.push(piece);
        Ok(())
    }

    fn class_item(&mut self, _: usize) -> Parsed<ClassUnicode> {
        let start = self.cursor.at();
        if let Some(class) = self.posix_class()? {
            return Ok(class);
        }
        if self.cursor.peek() == Some('\\')
            && let Some(letter) = self.cursor.peek_at(1)
            && let Some(class) = self.class_escape(letter)?
        {
            return Ok(class);
        }
        let lo = self.class_character()?;
        let mut hi = lo;
        if self.cursor.peek() == Some('-') && self.cursor.peek_at(1).is_some_and(|next| next != ']')
        {
            self.cursor.next();
            hi = self.class_character()?;
        }
        if hi < lo {
            let message = format!(
                "the range `{}` ends before it begins",
                self.cursor.since(start)
            );
            return self.fail("bad_class", start, message);
        }
        Ok(span(lo, hi, self.flags.fold))
    }
}

impl<B: Build> Parser<B> {
    /// Refuses `{,3}`: other dialects count to three there, this one would search for five characters.
    fn refuse_open_count(&mut self) -> Parsed<()> {
        let start = self.cursor.at();
        if self.cursor.eat_str("{,")
            && !self
                .cursor
                .take_while(usize::MAX, |next| next.is_ascii_digit())
                .is_empty()
            && self.cursor.eat('}')
        {
            return self.fail_quoting("brace_text", start, "would be text in this dialect");
        }
        self.cursor.seek(start);
        Ok(())
    }

    fn braces_inner(&mut self) -> Option<(u32, Option<u32>)> {
        self.cursor.next();
        let min = self.count()?;
        let max = if self.cursor.eat(',') {
            if self.cursor.peek() == Some('}') {
                None
            } else {
                Some(self.count()?)
            }
        } else {
            Some(min)
        };
        self.cursor.eat('}').then_some((min, max))
    }

    /// A count without leading zeros that RE2 reads as a number.
    fn count(&mut self) -> Option<u32> {
        let digits = self.cursor.take_while(9, |next| next.is_ascii_digit());
        let bad = digits.len() > 1 && digits.starts_with('0');
        if bad || self.cursor.peek().is_some_and(|next| next.is_ascii_digit()) {
            None
        } else {
            digits.parse().ok()
        }
    }

    fn group_flags(&mut self, start: usize) -> Parsed<()> {
        let mut flags = self.flags;
        let (mut negative, mut needs_flag) = (false, false);
        loop {
            let next = self.cursor.next();
            match next {
                Some('i') => flags.fold = !negative,
                Some('m') => flags.lines = !negative,
                Some('s') => flags.dot_all = !negative,
                Some('U') => {}
                Some('-') if !negative => {
                    (negative, needs_flag) = (true, true);
                    continue;
                }
                Some(':') if !needs_flag => {
                    self.stack.open(start, self.flags)?;
                    break;
                }
                Some(')') if !needs_flag => break,
                Some(_) => {
                    return self.fail_quoting("bad_group", start, "is no group this dialect has");
                }
                None => {
                    return self.fail("unbalanced", start, "this group is not closed");
                }
            }
            needs_flag = false;
        }
        self.flags = flags;
        Ok(())
    }

    /// Reads `\d` and its like, or `\pN`; reads nothing when another escape comes.
    fn class_escape(&mut self, letter: char) -> Parsed<Option<ClassUnicode>> {
        let start = self.cursor.at();
        if let Some(class) = perl(letter, self.flags.fold) {
            self.cursor.seek(start + 2);
            return Ok(Some(class));
        }
        if !matches!(letter, 'p' | 'P') {
            return Ok(None);
        }
        self.cursor.seek(start + 2);
        let name = if self.cursor.eat('{') {
            self.cursor.take_until('}')
        } else {
            self.cursor.next().map(String::from)
        };
        let name = name.unwrap_or_default();
        let (negative, bare) = match name.strip_prefix('^') {
            Some(bare) => (letter == 'p', bare),
            None => (letter == 'P', name.as_str()),
        };
        match unicode(bare, negative, self.flags.fold) {
            Some(class) => Ok(Some(class)),
            None => self.fail_quoting("bad_class", start, "is no Unicode class this dialect has"),
        }
    }

    fn character_escape(&mut self) -> Parsed<u32> {
        let start = self.cursor.at();
        self.cursor.next();
        let Some(letter) = self.cursor.next() else {
            return self.fail("bad_escape", start, BACKSLASH);
        };
        let point = match letter {
            '0' => Some(self.octal(0)),
            '1'..='7'
                if self
                    .cursor
                    .peek()
                    .is_some_and(|next| ('0'..='7').contains(&next)) =>
            {
                Some(self.octal(u32::from(letter) - u32::from('0')))
            }
            '1'..='9' => {
                return self.fail("back_reference", start, "back-references are not supported");
            }
            'x' => self.hexadecimal(),
            _ if letter.is_ascii() && !letter.is_ascii_alphanumeric() => Some(u32::from(letter)),
            _ => control(letter),
        };
        point.ok_or_else(|| {
            self.cursor
                .error_quoting("bad_escape", start, "is no escape this dialect has")
        })
    }

    fn octal(&mut self, first: u32) -> u32 {
        let digits = self
            .cursor
            .take_while(2, |next| ('0'..='7').contains(&next));
        digits
            .chars()
            .filter_map(|digit| digit.to_digit(8))
            .fold(first, |sum, digit| sum * 8 + digit)
    }

    fn hexadecimal(&mut self) -> Option<u32> {
        let digits = if self.cursor.eat('{') {
            let digits = self
                .cursor
                .take_while(usize::MAX, |next| next.is_ascii_hexdigit());
            self.cursor.eat('}').then_some(digits)?
        } else {
            let digits = self.cursor.take_while(2, |next| next.is_ascii_hexdigit());
            (digits.len() == 2).then_some(digits)?
        };
        let significant = digits.trim_start_matches('0');
        let point = if significant.is_empty() && !digits.is_empty() {
            0
        } else {
            u32::from_str_radix(significant, 16).ok()?
        };
        (point <= u32::from(char::MAX)).then_some(point)
    }

    fn class_character(&mut self) -> Parsed<u32> {
        match self.cursor.peek() {
            Some('\\') => self.character_escape(),
            Some(next) => {
                self.cursor.next();
                Ok(u32::from(next))
            }
            None => self.fail("unbalanced", self.cursor.at(), "this class is not closed"),
        }
    }

    /// Reads `[:alpha:]`; reads nothing when there is no such thing.
    fn posix_class(&mut self) -> Parsed<Option<ClassUnicode>> {
        let start = self.cursor.at();
        if !self.cursor.eat_str("[:") {
            return Ok(None);
        }
        let mut name = String::new();
        while !self.cursor.eat_str(":]") {
            match self.cursor.next() {
                Some(next) => name.push(next),
                None => {
                    self.cursor.seek(start);
                    return Ok(None);
                }
            }
        }
        let (negative, bare) = name
            .strip_prefix('^')
            .map_or((false, name.as_str()), |bare| (true, bare));
        match posix(bare, negative, self.flags.fold) {
            Some(class) => Ok(Some(class)),
            None => self.fail_quoting("bad_class", start, "is no class this dialect has"),
        }
    }
}

/// Returns true if a character may be part of the name of a group. google-re2 settles the cases that its documentation
/// leaves open.
fn is_name(found: char) -> bool {
    found == '_' || found.is_ascii_alphanumeric() || !found.is_ascii()
}

#[cfg(test)]
mod tests {
    use regex_syntax::hir::{Class, Hir};

    use super::parse;
    use crate::regex::dialect::class::from_ranges;
    use crate::regex::dialect::re2_class::folded;
    use crate::regex::dialect::stack::Built;

    #[test]
    fn the_case_partners_of_letters_are_those_of_the_tables() {
        for letter in ('a'..='z').chain('A'..='Z') {
            let piece = parse::<Built<false>>(&format!("(?i){letter}")).expect("a pattern");
            let class = folded(from_ranges(&[(letter, letter)]));
            assert_eq!(piece.built.0, Hir::class(Class::Unicode(class)), "{letter}");
        }
    }
}
