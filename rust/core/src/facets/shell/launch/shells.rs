//! `sh -c TEXT`, `sh FILE`, and builtins that change the shell itself.

use super::super::super::Undecidable;
use super::super::script::{PATTERN, REPLACED, TILDE, VARIABLE, WILD};
use super::super::{builtin, variables};
use super::Launch;

/// Letters of options that change no program. `-i`, `-l` and `-s` are not among them: the shell runs other files first, or its input.
const LETTERS: &str = "ceuxvfhmp";
const LONG: [&str; 3] = ["--norc", "--noprofile", "--posix"];
const NAMED: [&str; 7] = [
    "errexit", "nounset", "xtrace", "pipefail", "noglob", "verbose", "posix",
];

/// Operators of `test` whose operand is a text or the name of a file.
const TESTS: [&str; 12] = [
    "-n", "-z", "-e", "-f", "-d", "-r", "-w", "-x", "-s", "-L", "-h", "-p",
];

impl Launch<'_> {
    pub(super) fn shell(&mut self, first: usize) -> Result<(), Undecidable> {
        let (mut at, end, mut has_text) = (first, self.row.end as usize, false);
        while at < end {
            let text = self.script.text(at);
            self.literal(at)?;
            if text == "--" {
                at += 1;
                break;
            }
            if !text.starts_with(['-', '+']) {
                break;
            }
            if LONG.contains(&text) {
                at += 1;
                continue;
            }
            let letters = text.get(1..).unwrap_or_default();
            if letters.is_empty() || (text.starts_with('+') && letters.contains('c')) {
                return Err(self.unknown_shell_option(at));
            }
            for letter in letters.chars() {
                if letter == 'o' {
                    at += 1;
                    if at >= end || !NAMED.contains(&self.script.text(at)) {
                        return Err(self.unknown_shell_option(at));
                    }
                } else if !LETTERS.contains(letter) {
                    return Err(self.unknown_shell_option(at));
                }
                has_text |= letter == 'c';
            }
            at += 1;
        }
        if at >= end {
            return Err(self.error(
                first - 1,
                "shell_input",
                "a shell reads its commands from its input",
            ));
        }
        if has_text {
            self.literal(at)?;
            return self.start_word_text(at);
        }
        self.start_file(at, end)
    }

    /// The file that a shell reads is a program of its own: `sh run.sh` starts `./run.sh`.
    fn start_file(&mut self, file: usize, end: usize) -> Result<(), Undecidable> {
        self.literal(file)?;
        if self.script.text(file).contains('/') {
            return self.start(file, file, end, self.row.open);
        }
        let path = format!("./{}", self.script.text(file));
        let program = self.add_word(&path, file);
        for index in file + 1..end {
            let word = self.script.word(index);
            self.script.words.push(word);
        }
        let end = self.script.words.len();
        self.start(program, program, end, self.row.open)
    }

    fn literal(&self, index: usize) -> Result<(), Undecidable> {
        if self.script.word(index).flags & (PATTERN | REPLACED | TILDE) == 0 {
            return Ok(());
        }
        Err(self.error(
            index,
            "launcher_argument",
            "an expansion in the arguments of a shell",
        ))
    }

    fn unknown_shell_option(&self, at: usize) -> Undecidable {
        self.error(
            at,
            "launcher_option",
            "an option that changes what the shell runs, or an unknown one",
        )
    }

    /// A builtin of the shell that starts nothing, if its arguments are no arithmetic.
    pub(super) fn builtin(&self, first: usize) -> Result<(), Undecidable> {
        if self.row.open {
            return Ok(());
        }
        for index in first..self.row.end as usize {
            let (text, flags) = (self.script.text(index), self.script.word(index).flags);
            if flags & VARIABLE != 0 && !self.is_only_read(first, index) {
                return Err(self.error(index, "builtin", "some shells expand the value"));
            }
            if builtin::may_expand(text) {
                return Err(self.error(index, "builtin", "some shells expand this argument"));
            }
            if self
                .launcher
                .flags
                .iter()
                .any(|(flag, _)| text.starts_with(flag))
            {
                return Err(self.error(index, "builtin", "this option sets or expands a variable"));
            }
        }
        Ok(())
    }

    /// The value at `index` is tested as a text or as the name of a file: `[ -n "$A" ]`, `[ "$A" = b ]`; or `printf %s` prints it.
    fn is_only_read(&self, first: usize, index: usize) -> bool {
        let script = &self.script;
        let program = script.span(self.row.name.0, self.row.name.1);
        if program == "kill" {
            return true;
        }
        if program == "printf" {
            let format = script.text(first).replace("%s", "").replace("\\n", "");
            return index > first
                && script.word(first).flags & PATTERN == 0
                && !format.contains(['%', '\\'])
                && !format.starts_with('-');
        }
        let end = self.row.end as usize - usize::from(program == "[");
        // A value that is split can become an operator.
        if !script.word(index).is_one_variable() {
            return false;
        }
        let operator = |at| script.word(at).flags & PATTERN == 0 && index != at;
        match end.saturating_sub(first) {
            2 => operator(first) && TESTS.contains(&script.text(first)),
            3 if operator(first + 1) => match script.text(first + 1) {
                "=" | "!=" => true,
                unary => operator(first) && script.text(first) == "!" && TESTS.contains(&unary),
            },
            _ => false,
        }
    }

    /// `export NAME=value`.
    pub(super) fn declare(&mut self, first: usize) -> Result<(), Undecidable> {
        for index in first..self.row.end as usize {
            let word = self.script.word(index);
            if !word.is_one_variable() || word.flags & WILD != 0 {
                self.certain(index)?;
            }
            let text = self.script.text(index);
            let name = text.split('=').next().unwrap_or_default();
            if !variables::is_name(name.as_bytes()) {
                return Err(self.error(index, "builtin", "the name of no variable"));
            }
            if variables::is_special(name) {
                return Err(self.error(
                    index,
                    "special_variable",
                    "this variable chooses or changes programs",
                ));
            }
            if !variables::is_harmless(name) {
                self.script.assigns = true;
            }
        }
        Ok(())
    }

    /// `set -e` and its like.
    pub(super) fn set(&self, first: usize) -> Result<(), Undecidable> {
        let (mut at, end) = (first, self.row.end as usize);
        while at < end {
            let text = self.script.text(at);
            self.literal(at)?;
            let letters = text.strip_prefix(['-', '+']).unwrap_or_default();
            if letters.is_empty() {
                return Err(self.error(at, "builtin", "it changes the arguments of the shell"));
            }
            for letter in letters.chars() {
                if letter == 'o' {
                    at += 1;
                    if at >= end || !NAMED.contains(&self.script.text(at)) {
                        return Err(self.error(at, "builtin", "an unknown option"));
                    }
                } else if !"euxfv".contains(letter) {
                    return Err(self.error(
                        at,
                        "builtin",
                        "an option that changes what the shell runs",
                    ));
                }
            }
            at += 1;
        }
        Ok(())
    }
}
