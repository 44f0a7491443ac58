//! `sh -c TEXT`, `sh FILE`, and builtins that change the shell itself.

use super::super::super::Undecidable;
use super::super::script::{PATTERN, REPLACED, TILDE};
use super::super::{builtin, variables};
use super::Launch;

/// Letters of options that change no program. `-i` and `-s` are not among them.
const LETTERS: &str = "celuxvfhmp";
const LONG: [&str; 4] = ["--norc", "--noprofile", "--login", "--posix"];
const NAMED: [&str; 7] = [
    "errexit", "nounset", "xtrace", "pipefail", "noglob", "verbose", "posix",
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
            let text = self.script.text(index);
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

    /// `export NAME=value`.
    pub(super) fn declare(&mut self, first: usize) -> Result<(), Undecidable> {
        for index in first..self.row.end as usize {
            self.certain(index)?;
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
