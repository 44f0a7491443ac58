//! Redirections and here-documents.

use super::super::Undecidable;
use super::grammar::Parser;
use super::scan::{to_u32, variable_end};
use super::script::{NO_FD, PATTERN, QUOTED, RedirectionKind, RedirectionRow, VARIABLE, WordRow};

/// A here-document whose body begins after the next newline.
#[derive(Clone, Debug)]
pub(super) struct PendingBody {
    delimiter: String,
    is_literal: bool,
    strips_tabs: bool,
    at: usize,
    /// Index of the redirection.
    row: usize,
}

impl Parser<'_, '_> {
    /// Reads the redirection that begins here, for the command at `command`.
    pub(super) fn redirection(&mut self, command: u32) -> Result<(), Undecidable> {
        let begin = self.at;
        let mut fd = NO_FD;
        if self.peek().is_ascii_digit() {
            fd = self.peek() - b'0';
            self.at += 1;
        }
        let kind = self.operator()?;
        let documents = kind == RedirectionKind::HereDocument;
        let strips_tabs = documents && self.peek() == b'-';
        self.at += usize::from(strips_tabs);
        while matches!(self.peek(), b' ' | b'\t') {
            self.at += 1;
        }
        let at = self.at;
        if self.peek() == b'#'
            || self.peek() == b'!'
            || self.peek() == b'\\' && self.peek_at(at + 1) == b'\n'
        {
            return Err(self.error("redirection", at, "shells differ on this target"));
        }
        if matches!(self.peek(), b'(') {
            return Err(self.error("substitution", begin, "a process substitution"));
        }
        let target = self.word()?;
        if self.at == at {
            return Err(self.error("syntax", at, "a redirection without a target"));
        }
        let file = matches!(
            kind,
            RedirectionKind::Read
                | RedirectionKind::Write
                | RedirectionKind::Append
                | RedirectionKind::Clobber
                | RedirectionKind::HereString
        );
        if target.flags & PATTERN != 0 && (target.flags & VARIABLE == 0 || !file) {
            return Err(self.error(
                "redirection",
                at,
                "an expansion as the target of a redirection",
            ));
        }
        if matches!(self.peek(), b'<' | b'>') {
            return Err(self.error(
                "redirection",
                at,
                "shells differ on redirections without a blank between",
            ));
        }
        let kind = self.duplicates(kind, fd, target, at)?;
        let row = self.script.redirections.len();
        self.script.redirections.push(RedirectionRow {
            command,
            fd,
            kind,
            target,
        });
        if documents {
            let delimiter = self.script.span(target.start, target.end).to_owned();
            if delimiter.is_empty()
                || !delimiter
                    .bytes()
                    .all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
            {
                return Err(self.error("here_document", at, "the delimiter is not a name"));
            }
            self.bodies.push(PendingBody {
                delimiter,
                is_literal: target.flags & QUOTED != 0,
                strips_tabs,
                at,
                row,
            });
        }
        Ok(())
    }

    fn operator(&mut self) -> Result<RedirectionKind, Undecidable> {
        use RedirectionKind as Kind;
        let at = self.at;
        let three = [self.peek(), self.peek_at(at + 1), self.peek_at(at + 2)];
        let (length, kind) = match three {
            [b'<', b'<', b'<'] => (3, Kind::HereString),
            [b'<', b'<', _] => (2, Kind::HereDocument),
            [b'<', b'>', _] => (2, Kind::ReadWrite),
            [b'<' | b'>', b'&', _] => (2, Kind::Duplicate),
            [b'<', b'(', _] | [b'>', b'(', _] => {
                return Err(self.error("substitution", at, "a process substitution"));
            }
            [b'<', ..] => (1, Kind::Read),
            [b'>', b'>', _] => (2, Kind::Append),
            [b'>', b'|', _] => (2, Kind::Clobber),
            [b'>', ..] => (1, Kind::Write),
            [b'&', b'>', b'>'] => (3, Kind::AppendBoth),
            _ => (2, Kind::WriteBoth),
        };
        self.at += length;
        Ok(kind)
    }

    /// `>&FILE` writes a file, `>&2` and `>&-` do not.
    fn duplicates(
        &self,
        kind: RedirectionKind,
        fd: u8,
        target: WordRow,
        at: usize,
    ) -> Result<RedirectionKind, Undecidable> {
        if kind != RedirectionKind::Duplicate {
            return Ok(kind);
        }
        let text = self.script.span(target.start, target.end);
        if text == "-" || (text.len() == 1 && text.bytes().all(|byte| byte.is_ascii_digit())) {
            return Ok(kind);
        }
        let odd = text.starts_with(|first: char| first.is_ascii_digit())
            || text.starts_with('-')
            || text.ends_with('-');
        let reads = self.peek_before(at) == b'<';
        if odd || reads || fd != NO_FD {
            return Err(self.error("redirection", at, "shells differ on this target"));
        }
        Ok(RedirectionKind::WriteBoth)
    }

    /// The operator character in front of a target.
    fn peek_before(&self, at: usize) -> u8 {
        let before = self.bytes.get(..at).unwrap_or_default();
        let found = before.iter().rev().find(|byte| matches!(byte, b'<' | b'>'));
        found.copied().unwrap_or_default()
    }

    /// Reads the bodies of here-documents after a newline.
    pub(super) fn read_bodies(&mut self) -> Result<(), Undecidable> {
        let newline = self.at.saturating_sub(1);
        for body in std::mem::take(&mut self.bodies) {
            let line = self.bytes.get(body.at..newline).unwrap_or_default();
            if memchr::memchr(b'\n', line).is_some() {
                return Err(self.error("here_document", body.at, "its line continues on the next"));
            }
            let start = self.script.buffer.len();
            loop {
                let rest = self.bytes.get(self.at..).unwrap_or_default();
                if rest.is_empty() {
                    return Err(self.error(
                        "here_document",
                        body.at,
                        "this here-document has no end",
                    ));
                }
                let length = memchr::memchr(b'\n', rest).unwrap_or(rest.len());
                let tabs = if body.strips_tabs {
                    rest.iter().take_while(|byte| **byte == b'\t').count()
                } else {
                    0
                };
                let line = rest.get(tabs..length).unwrap_or_default();
                let from = self.at + tabs;
                self.at += (length + 1).min(rest.len());
                if line == body.delimiter.as_bytes() {
                    break;
                }
                if !body.is_literal
                    && let Some(found) = (0..line.len()).find(|index| match line.get(*index) {
                        Some(b'$') => variable_end(line, *index).is_none(),
                        other => matches!(other, Some(b'`' | b'\\')),
                    })
                {
                    return Err(self.error(
                        "here_document",
                        from + found,
                        "an expansion in a here-document",
                    ));
                }
                self.keep(from, self.at);
            }
            let end = to_u32(self.script.buffer.len());
            let target = WordRow {
                start: to_u32(start),
                end,
                at: self.offset(body.at),
                flags: QUOTED,
            };
            if let Some(row) = self.script.redirections.get_mut(body.row) {
                row.target = target;
            }
        }
        Ok(())
    }
}
