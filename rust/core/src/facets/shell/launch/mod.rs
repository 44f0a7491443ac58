//! Launchers: programs that start programs which their arguments name. Each started program becomes a command.

mod awk;
mod data;
mod find;
mod git;
mod options;
mod sed;
mod shells;

use super::super::Undecidable;
use super::grammar::{Origin, Parser};
use super::program;
use super::scan::to_u32;
use super::script::{CommandRow, PATTERN, REPLACED, Script, WILD, WordRow};
use crate::limits::{MAX_LAUNCHERS, MAX_SHELL_COMMANDS};
pub(super) use awk::effects as effects_of_awk;
pub(super) use data::{Kind, Launcher, find as launcher};
use options::scan;

/// Adds the programs that the command at `index` starts.
pub(super) fn expand(script: &mut Script, index: usize) -> Result<(), Undecidable> {
    let Some(row) = script.commands.get(index).copied() else {
        return Ok(());
    };
    if row.program == row.end {
        return Ok(());
    }
    let program = script.span(row.name.0, row.name.1);
    let name = program.rsplit('/').next().unwrap_or(program);
    let Some(launcher) = data::find(name) else {
        return Ok(());
    };
    Launch {
        script,
        row,
        index,
        launcher,
    }
    .run()
}

/// One launcher at work.
pub(super) struct Launch<'s> {
    script: &'s mut Script,
    row: CommandRow,
    index: usize,
    launcher: &'static Launcher,
}

impl Launch<'_> {
    fn run(&mut self) -> Result<(), Undecidable> {
        let first = self.row.program as usize + 1;
        if self.is_question(first) {
            return Ok(());
        }
        match self.launcher.kind {
            Kind::Prefix => self.prefix(first),
            Kind::Xargs => self.xargs(first),
            Kind::Shell => self.shell(first),
            Kind::Text => self.text_after_operands(first),
            Kind::Closed => self.closed(first),
            Kind::Verbs => self.verbs(first),
            Kind::Find => self.find(first),
            Kind::Git => self.git(first),
            Kind::Sed => self.sed(first),
            Kind::Awk => self.awk(first),
            Kind::Builtin => self.builtin(first),
            Kind::Declare => self.declare(first),
            Kind::Set => self.set(first),
            Kind::Query => Ok(()),
            Kind::Except => self.except(first),
            Kind::Refuse => Err(self.error(
                first - 1,
                "launcher",
                "it runs commands that are not in its arguments",
            )),
        }
    }

    /// `command -v PROGRAM` and `env --version` start nothing.
    fn is_question(&self, first: usize) -> bool {
        let alone = first + 1 == self.row.end as usize
            && !self.row.open
            && self.launcher.kind != Kind::Refuse;
        let text = self.script.text(first);
        (alone && matches!(text, "--version" | "--help"))
            || self
                .launcher
                .questions
                .split(',')
                .any(|flag| flag == text && !flag.is_empty())
    }

    /// Options, operands, assignments, and the program with all further words.
    fn prefix(&mut self, first: usize) -> Result<(), Undecidable> {
        let found = scan(self, self.launcher, first, false)?;
        self.start_values(found.commands, true)?;
        self.start_operand(found.operand)
    }

    fn start_operand(&mut self, operand: usize) -> Result<(), Undecidable> {
        let (mut at, end) = (operand, self.row.end as usize);
        for _ in 0..self.launcher.operands {
            if at < end {
                self.certain(at)?;
                at += 1;
            }
        }
        if self.launcher.dashes
            && self.launcher.operands > 0
            && self.script.text(at).starts_with("-")
        {
            // Options may follow the operand. Behind `--` is the program.
            let found = scan(self, self.launcher, at, false)?;
            self.start_values(found.commands, true)?;
            at = found.operand;
        } else if self.launcher.dashes && self.script.text(at) == "--" {
            at += 1;
        }
        let first = at;
        if self.launcher.assignments {
            while at < end && self.script.text(at).contains('=') {
                self.certain_assignment(at)?;
                at += 1;
            }
        }
        if at < end && self.launcher.has_text && matches!(self.script.text(at), "-c" | "--command")
        {
            if at + 2 != end {
                return Err(self.error(at, "launcher", "one text must follow this option"));
            }
            return self.start_word_text(at + 1);
        }
        if at >= end {
            return self.started_nothing(at);
        }
        self.start(first, at, end, self.row.open)
    }

    /// Without a program the launcher starts none, or one that is not in the text.
    fn started_nothing(&self, at: usize) -> Result<(), Undecidable> {
        if self.row.open || self.launcher.needs_program {
            return Err(self.error(
                at.max(1) - 1,
                "launcher_input",
                "the started program is not in the text",
            ));
        }
        Ok(())
    }

    fn closed(&mut self, first: usize) -> Result<(), Undecidable> {
        let found = scan(self, self.launcher, first, true)?;
        if self.launcher.needs_program && found.commands.is_empty() {
            return self.started_nothing(first);
        }
        self.start_values(found.commands, self.launcher.opens)
    }

    /// Any words but the options of the table, which start programs.
    fn except(&self, first: usize) -> Result<(), Undecidable> {
        let flags = &self.launcher.flags;
        for index in first..self.row.end as usize {
            let (text, word) = (self.script.text(index), self.script.word(index));
            if text == "--" && word.flags & WILD == 0 {
                return Ok(());
            }
            if word.flags & WILD != 0 {
                return Err(self.error(
                    index,
                    "launcher_argument",
                    "an expansion that can become an option",
                ));
            }
            if flags.iter().any(|(flag, _)| options::has_flag(text, flag)) {
                return Err(self.error(
                    index,
                    "launcher_option",
                    "an option that starts a program",
                ));
            }
        }
        if self.row.open {
            return Err(self.error(
                first - 1,
                "launcher_input",
                "arguments that are not in the text can become options",
            ));
        }
        Ok(())
    }

    /// Starts the command lines that are values of options.
    fn start_values(&mut self, values: options::Values, open: bool) -> Result<(), Undecidable> {
        for (word, start, end) in values {
            self.certain(word)?;
            let text = self.script.span(start, end).to_owned();
            self.start_text(&text, word, open)?;
        }
        Ok(())
    }

    /// Options, then one or two verbs with an entry of their own.
    fn verbs(&mut self, first: usize) -> Result<(), Undecidable> {
        let found = scan(self, self.launcher, first, false)?;
        let (verb, end) = (found.operand, self.row.end as usize);
        if verb >= end {
            return if self.row.open {
                self.started_nothing(verb)
            } else {
                Ok(())
            };
        }
        self.certain(verb)?;
        let name = self.launcher.name;
        let one = format!("{name} {}", self.script.text(verb));
        let two = format!("{one} {}", self.script.text(verb + 1));
        let (entry, after) = match (data::find(&two), data::find(&one)) {
            (Some(entry), _) if verb + 1 < end => (entry, verb + 2),
            (_, Some(entry)) => (entry, verb + 1),
            _ => return Ok(()),
        };
        let (script, row, index) = (&mut *self.script, self.row, self.index);
        Launch {
            script,
            row,
            index,
            launcher: entry,
        }
        .verb(after)
    }

    fn verb(&mut self, first: usize) -> Result<(), Undecidable> {
        match self.launcher.kind {
            Kind::Prefix => self.prefix(first),
            Kind::Closed => self.closed(first),
            Kind::Text => self.text_after_operands(first),
            Kind::Verbs => self.verbs(first),
            Kind::Query => Ok(()),
            Kind::Except => self.except(first),
            _ => Err(self.error(
                first - 1,
                "launcher",
                "it runs commands that are not in its arguments",
            )),
        }
    }

    /// Options, operands, and words that make a command line together.
    fn text_after_operands(&mut self, first: usize) -> Result<(), Undecidable> {
        let found = scan(self, self.launcher, first, false)?;
        let (from, end) = (
            found.operand + usize::from(self.launcher.operands),
            self.row.end as usize,
        );
        for word in found.operand..end {
            self.certain(word)?;
        }
        if from >= end {
            return self.started_nothing(first);
        }
        if self.row.open {
            return Err(self.error(
                from,
                "launcher_input",
                "arguments that are not in the text become a command line",
            ));
        }
        let words: Vec<&str> = (from..end).map(|word| self.script.text(word)).collect();
        let text = words.join(" ");
        self.start_text(&text, from, false)
    }

    /// The words after the options; standard input appends further ones.
    fn xargs(&mut self, first: usize) -> Result<(), Undecidable> {
        let found = scan(self, self.launcher, first, false)?;
        let end = self.row.end as usize;
        let replaced = match found.noted.last() {
            Some(&(_, 0, 0)) => Some("{}".to_owned()),
            Some(&(_, start, stop)) => Some(self.script.span(start, stop).to_owned()),
            None => None,
        };
        if let Some(text) = &replaced {
            if text.is_empty() {
                return Err(self.error(first, "launcher", "an empty placeholder"));
            }
            self.mark_replaced(found.operand, end, text);
        }
        if found.operand >= end {
            return self.start_named("echo", first - 1);
        }
        self.start(found.operand, found.operand, end, replaced.is_none())
    }

    fn mark_replaced(&mut self, from: usize, to: usize, placeholder: &str) {
        for index in from..to {
            if self.script.text(index).contains(placeholder)
                && let Some(word) = self.script.words.get_mut(index)
            {
                // The text that takes its place may begin an option.
                word.flags |= REPLACED | WILD;
            }
        }
    }

    /// A program that the launcher starts without a word for it.
    fn start_named(&mut self, name: &str, at: usize) -> Result<(), Undecidable> {
        let word = self.add_word(name, at);
        self.start(word, word, word + 1, true)
    }

    fn add_word(&mut self, text: &str, at: usize) -> usize {
        let start = to_u32(self.script.buffer.len());
        self.script.buffer.push_str(text);
        let index = self.script.words.len();
        self.script.words.push(WordRow {
            start,
            end: to_u32(self.script.buffer.len()),
            at: self.script.word(at).at,
            flags: 0,
        });
        index
    }

    /// Adds the command `program..end` behind this launcher.
    fn start(
        &mut self,
        first: usize,
        program: usize,
        end: usize,
        open: bool,
    ) -> Result<(), Undecidable> {
        let name = program::name_of(self.script, program)?;
        let depth = self.deeper(program)?;
        let index = self.script.commands.len();
        self.script.commands.push(CommandRow {
            first: to_u32(first),
            program: to_u32(program),
            end: to_u32(end),
            name,
            parent: Some(to_u32(self.index)),
            depth,
            open,
        });
        expand(self.script, index)
    }

    fn deeper(&self, word: usize) -> Result<u8, Undecidable> {
        if self.row.depth >= MAX_LAUNCHERS || self.script.commands.len() >= MAX_SHELL_COMMANDS {
            return Err(self.error(
                word,
                "too_deep",
                "too many launchers in front of one another",
            ));
        }
        Ok(self.row.depth + 1)
    }

    fn start_word_text(&mut self, word: usize) -> Result<(), Undecidable> {
        self.certain(word)?;
        let text = self.script.text(word).to_owned();
        self.start_text(&text, word, false)
    }

    /// Parses a text that is given to a shell.
    fn start_text(&mut self, text: &str, word: usize, open: bool) -> Result<(), Undecidable> {
        let origin = Origin {
            command: to_u32(self.index),
            depth: self.deeper(word)?,
            at: self.script.word(word).at,
            open,
        };
        Parser::new(text, self.script, Some(origin))?.run()
    }

    /// The word is what is written.
    fn certain(&self, index: usize) -> Result<(), Undecidable> {
        if self.script.word(index).flags & (PATTERN | REPLACED) == 0 {
            return Ok(());
        }
        Err(self.error(
            index,
            "launcher_argument",
            "an expansion in front of a started program",
        ))
    }

    fn certain_assignment(&mut self, index: usize) -> Result<(), Undecidable> {
        self.certain(index)?;
        let name = self
            .script
            .text(index)
            .split('=')
            .next()
            .unwrap_or_default();
        if !super::variables::is_name(name.as_bytes()) {
            return Err(self.error(index, "assignment", "the name of no variable"));
        }
        if super::variables::is_special(name) {
            return Err(self.error(
                index,
                "special_variable",
                "this variable chooses or changes programs",
            ));
        }
        if !super::variables::is_harmless(name) {
            self.script.assigns = true;
        }
        Ok(())
    }

    fn error(&self, word: usize, code: &'static str, detail: &str) -> Undecidable {
        let program = self.script.span(self.row.name.0, self.row.name.1);
        let at = self
            .script
            .word(word.min(self.script.words.len().max(1) - 1))
            .at as usize;
        Undecidable::new(code, at, format!("`{program}`: {detail}"))
    }
}
