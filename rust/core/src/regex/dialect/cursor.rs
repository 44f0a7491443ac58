//! A position in the code points of a pattern.

use crate::regex::PatternError;

/// Code points of a pattern and how far they have been read. Offsets count code points.
#[derive(Debug)]
pub(in crate::regex) struct Cursor {
    chars: Vec<char>,
    at: usize,
}

impl Cursor {
    pub(in crate::regex) fn new(text: &str) -> Self {
        Self {
            chars: text.chars().collect(),
            at: 0,
        }
    }

    /// The offset of the next code point.
    pub(in crate::regex) fn at(&self) -> usize {
        self.at
    }

    /// The next code point.
    pub(in crate::regex) fn peek(&self) -> Option<char> {
        self.peek_at(0)
    }

    /// The code point `ahead` places after the next one.
    pub(in crate::regex) fn peek_at(&self, ahead: usize) -> Option<char> {
        self.chars.get(self.at + ahead).copied()
    }

    /// Reads one code point.
    pub(in crate::regex) fn next(&mut self) -> Option<char> {
        let found = self.peek();
        if found.is_some() {
            self.at += 1;
        }
        found
    }

    /// Reads `wanted` if it comes next.
    pub(in crate::regex) fn eat(&mut self, wanted: char) -> bool {
        let found = self.peek() == Some(wanted);
        if found {
            self.at += 1;
        }
        found
    }

    /// Reads `wanted` if it comes next, code point by code point.
    pub(in crate::regex) fn eat_str(&mut self, wanted: &str) -> bool {
        let found = wanted
            .chars()
            .enumerate()
            .all(|(ahead, wanted)| self.peek_at(ahead) == Some(wanted));
        if found {
            self.at += wanted.chars().count();
        }
        found
    }

    /// Reads at most `most` code points that satisfy `wanted`.
    pub(in crate::regex) fn take_while(
        &mut self,
        most: usize,
        wanted: impl Fn(char) -> bool,
    ) -> String {
        let mut taken = String::new();
        for _ in 0..most {
            match self.peek().filter(|next| wanted(*next)) {
                Some(next) => taken.push(next),
                None => break,
            }
            self.at += 1;
        }
        taken
    }

    /// Reads up to `end` and over it; `None`, reading nothing, without one.
    pub(in crate::regex) fn take_until(&mut self, end: char) -> Option<String> {
        let rest = self.chars.get(self.at..)?;
        let length = rest.iter().position(|found| *found == end)?;
        let taken = rest.iter().take(length).collect();
        self.at += length + 1;
        Some(taken)
    }

    /// Goes back, or forward, to an offset that [`Self::at`] gave.
    pub(in crate::regex) fn seek(&mut self, at: usize) {
        self.at = at.min(self.chars.len());
    }

    /// The text from `start` to here.
    pub(in crate::regex) fn since(&self, start: usize) -> String {
        self.chars
            .iter()
            .skip(start)
            .take(self.at.saturating_sub(start))
            .collect()
    }

    /// An error about the text from `start` to here.
    pub(in crate::regex) fn error(
        &self,
        code: &'static str,
        start: usize,
        message: impl Into<String>,
    ) -> PatternError {
        PatternError::new(code, start, self.at, message)
    }

    /// [`Self::error`] with the text in front of the message.
    pub(in crate::regex) fn error_quoting(
        &self,
        code: &'static str,
        start: usize,
        message: &str,
    ) -> PatternError {
        self.error(code, start, format!("`{}` {message}", self.since(start)))
    }
}

/// The error of a pattern that ends in a backslash.
pub(in crate::regex) const BACKSLASH: &str = "the pattern ends in a backslash";

/// The error of a group or a class that is not closed.
pub(in crate::regex) fn unclosed(start: usize, what: &str) -> PatternError {
    let message = format!("this {what} is not closed");
    PatternError::new("unbalanced", start, start + 1, message)
}
