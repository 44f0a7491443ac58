//! Lists, pipelines, groups and simple commands. Anything else is undecidable.

use super::super::Undecidable;
use super::launch;
use super::program;
use super::redirect::PendingBody;
use super::scan::{ends_word, to_u32};
use super::script::{CommandRow, QUOTED, Script, WordRow};
use super::variables;
use crate::limits::{MAX_GROUP_REDIRECTIONS, MAX_SHELL_COMMANDS, MAX_SHELL_GROUPS};

/// The launcher whose argument is the text.
#[derive(Clone, Copy, Debug)]
pub(super) struct Origin {
    pub(super) command: u32,
    pub(super) depth: u8,
    /// The byte offset of the argument in the command line.
    pub(super) at: u32,
    /// The launcher appends arguments to the last command.
    pub(super) open: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// A command may follow.
    Begin,
    /// A command must follow.
    Need,
    /// Within a command.
    Command,
    /// After a group or subshell.
    Closed,
}

#[derive(Clone, Copy, Debug)]
struct Group {
    close: u8,
    at: usize,
    /// The first command inside.
    command: usize,
    redirections: usize,
}

pub(super) struct Parser<'t, 's> {
    pub(super) text: &'t str,
    pub(super) bytes: &'t [u8],
    pub(super) at: usize,
    pub(super) script: &'s mut Script,
    pub(super) bodies: Vec<PendingBody>,
    origin: Option<Origin>,
    groups: Vec<Group>,
    closed: Option<Group>,
    state: State,
    /// The first word of the current command, its program, the first character, and the first redirection.
    first: usize,
    program: Option<usize>,
    begin: usize,
    redirections: usize,
}

impl<'t, 's> Parser<'t, 's> {
    pub(super) fn new(
        text: &'t str,
        script: &'s mut Script,
        origin: Option<Origin>,
    ) -> Result<Self, Undecidable> {
        let bytes = text.as_bytes();
        let control =
            |byte: &u8| (*byte < b' ' && *byte != b'\n' && *byte != b'\t') || *byte == 0x7f;
        if let Some(at) = bytes.iter().position(control) {
            let at = origin.map_or(at, |origin| origin.at as usize);
            return Err(Undecidable::new(
                "control_character",
                at,
                "a control character",
            ));
        }
        Ok(Self {
            text,
            bytes,
            at: 0,
            script,
            bodies: Vec::new(),
            origin,
            groups: Vec::new(),
            closed: None,
            state: State::Begin,
            first: 0,
            program: None,
            begin: 0,
            redirections: 0,
        })
    }

    /// Adds the commands of the text to the script.
    pub(super) fn run(&mut self) -> Result<(), Undecidable> {
        loop {
            self.skip_blanks();
            let (at, byte, next) = (self.at, self.peek(), self.peek_at(self.at + 1));
            match byte {
                0 => return self.finish(),
                b'\n' => {
                    self.at += 1;
                    self.end_command()?;
                    self.read_bodies()?;
                    if self.state != State::Need {
                        self.state = State::Begin;
                    }
                }
                b'#' => {
                    let rest = self.bytes.get(at..).unwrap_or_default();
                    self.at += memchr::memchr(b'\n', rest).unwrap_or(rest.len());
                }
                b'&' if next == b'>' => self.write_both()?,
                b';' | b'&' | b'|' => self.separator(byte, next)?,
                b'(' => self.open_subshell()?,
                b')' => self.close_group(b')', at)?,
                b'<' | b'>' => self.redirect()?,
                b'0'..=b'9' if self.is_descriptor()? => self.redirect()?,
                _ => self.take_word()?,
            }
        }
    }

    fn finish(&mut self) -> Result<(), Undecidable> {
        if self.at < self.bytes.len() {
            return Err(self.error("control_character", self.at, "a control character"));
        }
        self.end_command()?;
        if let Some(group) = self.groups.last() {
            return Err(self.error("syntax", group.at, "this group has no end"));
        }
        if !self.bodies.is_empty() || self.state == State::Need {
            return Err(self.error("syntax", self.at, "the command line ends too early"));
        }
        Ok(())
    }

    fn separator(&mut self, byte: u8, next: u8) -> Result<(), Undecidable> {
        let at = self.at;
        if matches!(self.state, State::Begin | State::Need) {
            return Err(self.error("syntax", at, "an operator without a command in front"));
        }
        self.end_command()?;
        let (length, state) = match (byte, next) {
            (b'&', b'&') | (b'|', b'|' | b'&') => (2, State::Need),
            (b'|', _) => (1, State::Need),
            (b';', b';' | b'&' | b'|') => {
                return Err(self.error("syntax", at, "an operator of `case`"));
            }
            _ => (1, State::Begin),
        };
        self.at += length;
        self.state = state;
        Ok(())
    }

    fn open_subshell(&mut self) -> Result<(), Undecidable> {
        let at = self.at;
        if matches!(self.state, State::Command | State::Closed) {
            return Err(self.error(
                "function",
                at,
                "a function, an array or an extended pattern",
            ));
        }
        self.at += 1;
        self.skip_blanks();
        if self.peek() == b'(' {
            return Err(self.error("expansion", at, "arithmetic"));
        }
        self.open_group(b')', at)
    }

    fn open_group(&mut self, close: u8, at: usize) -> Result<(), Undecidable> {
        if self.groups.len() >= MAX_SHELL_GROUPS {
            return Err(self.error("too_deep", at, "too many groups inside one another"));
        }
        self.groups.push(Group {
            close,
            at,
            command: self.script.commands.len(),
            redirections: 0,
        });
        self.state = State::Begin;
        Ok(())
    }

    fn close_group(&mut self, close: u8, at: usize) -> Result<(), Undecidable> {
        self.end_command()?;
        let group = self.groups.pop();
        match group {
            Some(group)
                if group.close == close
                    && self.state != State::Need
                    && self.bodies.is_empty()
                    && self.script.commands.len() > group.command =>
            {
                self.at = at + 1;
                self.closed = Some(group);
                self.state = State::Closed;
                Ok(())
            }
            _ => Err(self.error("syntax", at, "the end of no group")),
        }
    }

    /// `&>` is one operator for bash, and `&` with `>` for dash: certain only at the end of a command.
    fn write_both(&mut self) -> Result<(), Undecidable> {
        let at = self.at;
        if self.state != State::Command || self.program.is_none() {
            return Err(self.error("redirection", at, "shells differ on this operator"));
        }
        self.redirect()?;
        self.skip_blanks();
        if !matches!(self.peek(), 0 | b'\n' | b';' | b'&' | b'|' | b')')
            || self.peek_at(self.at + 1) == b'>'
        {
            return Err(self.error(
                "redirection",
                at,
                "shells differ on this operator in front of other words",
            ));
        }
        Ok(())
    }

    fn redirect(&mut self) -> Result<(), Undecidable> {
        if self.state == State::Closed {
            return self.redirect_group();
        }
        self.begin_command();
        let command = to_u32(self.script.commands.len());
        self.redirection(command)
    }

    /// The commands of a group inherit its redirections.
    fn redirect_group(&mut self) -> Result<(), Undecidable> {
        let at = self.at;
        let Some(group) = self.closed.as_mut() else {
            return Err(self.error("syntax", at, "a redirection of no group"));
        };
        group.redirections += 1;
        if group.redirections > MAX_GROUP_REDIRECTIONS {
            return Err(self.error("too_many", at, "too many redirections of one group"));
        }
        let first = group.command;
        self.redirection(to_u32(first))?;
        let Some(row) = self.script.redirections.last().copied() else {
            return Ok(());
        };
        let parent = self.origin.map(|origin| origin.command);
        for index in first + 1..self.script.commands.len() {
            if self
                .script
                .commands
                .get(index)
                .is_some_and(|command| command.parent == parent)
            {
                self.script
                    .redirections
                    .push(super::script::RedirectionRow {
                        command: to_u32(index),
                        ..row
                    });
            }
        }
        Ok(())
    }

    /// A digit in front of a redirection. Shells differ on several digits.
    fn is_descriptor(&self) -> Result<bool, Undecidable> {
        let rest = self.bytes.get(self.at..).unwrap_or_default();
        let digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        if !matches!(self.peek_at(self.at + digits), b'<' | b'>') {
            return Ok(false);
        }
        if digits > 1 {
            return Err(self.error(
                "redirection",
                self.at,
                "shells differ on a descriptor of several digits",
            ));
        }
        Ok(true)
    }

    fn take_word(&mut self) -> Result<(), Undecidable> {
        let at = self.at;
        if self.state == State::Closed && self.peek() != b'}' {
            return Err(self.error("syntax", at, "a word after a group"));
        }
        let mark = self.script.buffer.len();
        let word = self.word()?;
        let text = self.script.span(word.start, word.end);
        let bare = word.flags & QUOTED == 0 && text.len() == 1;
        if bare && matches!(text, "{" | "}" | "!") {
            let reserved = text.as_bytes().first().copied().unwrap_or_default();
            self.script.buffer.truncate(mark);
            return self.reserved(reserved, at);
        }
        if self.state == State::Closed {
            return Err(self.error("syntax", at, "a word after a group"));
        }
        if matches!(self.peek(), b'<' | b'>') && text.starts_with('{') {
            return Err(self.error("redirection", at, "shells differ on a named descriptor"));
        }
        self.begin_command();
        if self.program.is_none() && !self.is_assignment(at)? {
            self.program = Some(self.script.words.len());
        }
        self.script.words.push(word);
        Ok(())
    }

    fn reserved(&mut self, byte: u8, at: usize) -> Result<(), Undecidable> {
        let begins = matches!(self.state, State::Begin | State::Need);
        let blank = matches!(self.peek(), b' ' | b'\t' | b'\n');
        match byte {
            b'{' if begins && blank => self.open_group(b'}', at),
            b'}' if begins || self.state == State::Closed => {
                if self.state == State::Closed || !ends_word(self.peek()) {
                    return Err(self.error("syntax", at, "a brace after a group"));
                }
                self.close_group(b'}', at)
            }
            // A second `!` would need another rule; a newline after it is an error to some shells.
            b'!' if begins && matches!(self.peek(), b' ' | b'\t') => {
                self.skip_blanks();
                if ends_word(self.peek()) || self.peek() == b'!' || self.peek() == b'#' {
                    return Err(self.error("syntax", at, "`!` without a command"));
                }
                self.state = State::Need;
                Ok(())
            }
            // As an argument it means itself to a POSIX shell, and ends a group to others.
            b'!' if self.state == State::Command && self.program.is_some() => {
                let start = to_u32(self.script.buffer.len());
                self.script.buffer.push('!');
                self.script.words.push(WordRow {
                    start,
                    end: start + 1,
                    at: self.offset(at),
                    flags: 0,
                });
                Ok(())
            }
            _ => Err(self.error("syntax", at, "a reserved word in the place of an argument")),
        }
    }

    /// `NAME=value` in front of a program.
    fn is_assignment(&mut self, at: usize) -> Result<bool, Undecidable> {
        let raw = self.bytes.get(at..self.at).unwrap_or_default();
        let Some(equals) = memchr::memchr(b'=', raw) else {
            return Ok(false);
        };
        let name = raw.get(..equals).unwrap_or_default();
        if name.ends_with(b"+") {
            return Err(self.error("assignment", at, "shells differ on `+=`"));
        }
        if !variables::is_name(name) {
            return Ok(false);
        }
        let name = std::str::from_utf8(name).unwrap_or_default();
        if variables::is_special(name) {
            return Err(self.error(
                "special_variable",
                at,
                "this variable chooses or changes programs",
            ));
        }
        if !variables::is_harmless(name) {
            self.script.assigns = true;
        }
        Ok(true)
    }

    fn begin_command(&mut self) {
        if self.state != State::Command {
            self.state = State::Command;
            self.first = self.script.words.len();
            self.program = None;
            self.begin = self.at;
            self.redirections = self.script.redirections.len();
        }
    }

    fn end_command(&mut self) -> Result<(), Undecidable> {
        if self.state != State::Command {
            return Ok(());
        }
        self.state = State::Closed;
        self.closed = None;
        let end = self.script.words.len();
        let program = self.program.unwrap_or(end);
        let name = match self.program {
            Some(index) => program::name_of(self.script, index)?,
            None => (0, 0),
        };
        self.push_command(program, end, name)
    }

    fn push_command(
        &mut self,
        program: usize,
        end: usize,
        name: (u32, u32),
    ) -> Result<(), Undecidable> {
        let index = self.script.commands.len();
        if index >= MAX_SHELL_COMMANDS {
            return Err(self.error("too_many", self.begin, "too many commands"));
        }
        let (parent, depth, open) = self.origin.map_or((None, 0, false), |origin| {
            (Some(origin.command), origin.depth, origin.open)
        });
        self.script.commands.push(CommandRow {
            first: to_u32(self.first),
            program: to_u32(program),
            end: to_u32(end),
            name,
            parent,
            depth,
            open,
        });
        launch::expand(self.script, index)
    }

    /// Blanks, and backslashes at the end of a line.
    fn skip_blanks(&mut self) {
        loop {
            match self.peek() {
                b' ' | b'\t' => self.at += 1,
                b'\\' if self.peek_at(self.at + 1) == b'\n' => self.at += 2,
                _ => return,
            }
        }
    }

    /// The byte here; 0 at the end, and only there.
    pub(super) fn peek(&self) -> u8 {
        self.peek_at(self.at)
    }

    pub(super) fn peek_at(&self, at: usize) -> u8 {
        self.bytes.get(at).copied().unwrap_or(0)
    }

    pub(super) fn offset(&self, at: usize) -> u32 {
        self.origin.map_or(to_u32(at), |origin| origin.at)
    }

    pub(super) fn error(&self, code: &'static str, at: usize, detail: &str) -> Undecidable {
        Undecidable::new(code, self.offset(at) as usize, detail)
    }
}
