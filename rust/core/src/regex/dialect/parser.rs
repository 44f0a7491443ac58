//! The walk over a pattern that both dialects share. Each has its own rules for the parts.

use regex_syntax::hir::{ClassUnicode, Look};

use super::class::negated;
use super::cursor::{Cursor, unclosed};
use super::stack::{Build, MAX_COST, Piece, Stack};
use crate::regex::PatternError;

/// The result of reading a part of a pattern.
pub(in crate::regex) type Parsed<T> = Result<T, PatternError>;

/// The rules of a dialect; `F` is its flags.
pub(in crate::regex) trait Rules<F, B: Build> {
    /// The look of `$`, outside of the mode in which it is before every line feed.
    const DOLLAR: Look;

    fn cursor(&mut self) -> &mut Cursor;
    fn stack(&mut self) -> &mut Stack<F, B>;
    /// Returns true if `^` and `$` are about lines, and true if `.` is also a line feed.
    fn modes(&self) -> (bool, bool);

    /// Reads white space or a comment that is not part of the pattern, if it comes next.
    fn skip(&mut self, next: char) -> Parsed<bool> {
        let _ = next;
        Ok(false)
    }
    /// Reads the parenthesis here, and its flags or name.
    fn open(&mut self) -> Parsed<()>;
    /// A group was closed: `flags` are those outside of it.
    fn closed(&mut self, flags: F);
    /// Reads the counts of a repetition; `None` when the brace here is text.
    fn braces(&mut self) -> Parsed<Option<(u32, Option<u32>)>>;
    /// Repeats the last item. The operator, which began at `start`, has been read but for its suffix.
    fn repeat(&mut self, start: usize, min: u32, max: Option<u32>) -> Parsed<()>;
    /// Reads the escape here.
    fn escape(&mut self) -> Parsed<()>;
    /// Adds a character, which began at `start` and has been read.
    fn literal(&mut self, point: u32, start: usize) -> Parsed<()>;
    /// Reads a character or a range in a bracketed class, which began at `open`.
    fn class_item(&mut self, open: usize) -> Parsed<ClassUnicode>;

    /// The error of the text from `start` to here.
    fn fail<T>(
        &mut self,
        code: &'static str,
        start: usize,
        message: impl Into<String>,
    ) -> Parsed<T> {
        Err(self.cursor().error(code, start, message))
    }

    /// The error of the text from `start` to here, with this text in front of the message.
    fn fail_quoting<T>(&mut self, code: &'static str, start: usize, message: &str) -> Parsed<T> {
        Err(self.cursor().error_quoting(code, start, message))
    }

    /// Reads the whole pattern.
    fn run(&mut self) -> Parsed<()> {
        while let Some(next) = self.cursor().peek() {
            let start = self.cursor().at();
            if self.skip(next)? {
                continue;
            }
            match next {
                '(' => self.open()?,
                '[' => {
                    let class = self.class()?;
                    self.stack().push(Piece::class(class));
                }
                '\\' => self.escape()?,
                '{' => match self.braces()? {
                    Some((min, max)) => self.repeat(start, min, max)?,
                    None => {
                        self.cursor().seek(start + 1);
                        self.literal(u32::from('{'), start)?;
                    }
                },
                _ => {
                    self.cursor().next();
                    self.plain(next, start)?;
                }
            }
        }
        match self.stack().open_at() {
            Some(start) => Err(unclosed(start, "group")),
            None => Ok(()),
        }
    }

    /// A character that stands for itself.
    fn plain(&mut self, next: char, start: usize) -> Parsed<()> {
        let (lines, dot_all) = self.modes();
        let piece = match next {
            ')' => match self.stack().close() {
                Some(flags) => {
                    self.closed(flags);
                    return Ok(());
                }
                None => {
                    let message = "this parenthesis closes no group";
                    return self.fail("unbalanced", start, message);
                }
            },
            '|' => {
                self.stack().alternate();
                return Ok(());
            }
            '*' => return self.repeat(start, 0, None),
            '+' => return self.repeat(start, 1, None),
            '?' => return self.repeat(start, 0, Some(1)),
            '^' if lines => Piece::look(Look::StartLF),
            '^' => Piece::look(Look::Start),
            '$' if lines => Piece::look(Look::EndLF),
            '$' => Piece::look(Self::DOLLAR),
            '.' => Piece::any(dot_all),
            other => return self.literal(u32::from(other), start),
        };
        self.stack().push(piece);
        Ok(())
    }

    /// Pushes a repetition, within the cap on its cost.
    fn push_repeated(&mut self, piece: Piece<B>, start: usize) -> Parsed<()> {
        if piece.cost > MAX_COST {
            let message = "with its repetitions written out the pattern is too large";
            return self.fail("too_large", start, message);
        }
        self.stack().push(piece);
        Ok(())
    }

    /// Reads a bracketed class.
    fn class(&mut self) -> Parsed<ClassUnicode> {
        let start = self.cursor().at();
        self.cursor().next();
        let negative = self.cursor().eat('^');
        let mut found = ClassUnicode::empty();
        let mut first = true;
        loop {
            match self.cursor().peek() {
                None => return Err(unclosed(start, "class")),
                Some(']') if !first => break,
                Some(_) => found.union(&self.class_item(start)?),
            }
            first = false;
        }
        self.cursor().next();
        Ok(if negative { negated(found) } else { found })
    }
}

/// The character of an escape of one letter.
pub(in crate::regex) fn control(letter: char) -> Option<u32> {
    Some(match letter {
        'a' => 7,
        't' => 9,
        'n' => 10,
        'v' => 11,
        'f' => 12,
        'r' => 13,
        _ => return None,
    })
}
