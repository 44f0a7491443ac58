//! `git`: configuration on the command line, and options of its verbs that start programs.

use super::super::super::Undecidable;
use super::super::script::{VARIABLE, WILD};
use super::options::{has_flag, scan};
use super::{Kind, Launch, data};

impl Launch<'_> {
    pub(super) fn git(&mut self, first: usize) -> Result<(), Undecidable> {
        let found = scan(self, self.launcher, first, false)?;
        let Some(settings) = data::find("git -c") else {
            return Err(self.error(first, "launcher_option", "no known option `-c`"));
        };
        for &(word, start, end) in &found.noted {
            let key = self
                .script
                .span(start, end)
                .split('=')
                .next()
                .unwrap_or_default();
            let key = key.to_ascii_lowercase();
            if settings.flags.get(&key).is_none() {
                return Err(self.error(
                    word,
                    "launcher_option",
                    "a setting that may start a program",
                ));
            }
        }
        let (verb, end) = (found.operand, self.row.end as usize);
        if verb >= end {
            return if self.row.open {
                Err(self.error(first - 1, "launcher_input", "the verb is not in the text"))
            } else {
                Ok(())
            };
        }
        self.certain(verb)?;
        let text = self.script.text(verb);
        let two = format!("git {text} {}", self.script.text(verb + 1));
        let Some(entry) = data::find(&two).or_else(|| data::find(&format!("git {text}"))) else {
            return Err(self.error(verb, "launcher_verb", "an alias, or another program"));
        };
        // Options may stand in front of `foreach` and the like.
        let runs = |index| {
            let two = format!("git {text} {}", self.script.text(index));
            data::find(&two).is_some_and(|entry| entry.kind == Kind::Refuse)
        };
        if entry.kind == Kind::Refuse
            || (matches!(text, "bisect" | "submodule") && (verb + 1..end).any(runs))
        {
            return Err(self.error(verb, "launcher", "it runs commands that are not known here"));
        }
        let mut ended = false;
        for index in verb + 1..end {
            let (text, flags) = (self.script.text(index), self.script.word(index).flags);
            // After `-m` it is the text of a message.
            let any = flags & VARIABLE != 0
                && flags & WILD != 0
                && !matches!(self.script.text(index - 1), "-m" | "-am");
            if text.contains("ext::") || any {
                return Err(self.error(
                    index,
                    "launcher_argument",
                    "a transport that starts a program",
                ));
            }
            if ended || entry.flags.is_empty() {
                continue;
            }
            ended = text == "--";
            if flags & WILD != 0 {
                return Err(self.error(
                    index,
                    "launcher_argument",
                    "an expansion that can become an option",
                ));
            }
            if !ended && entry.flags.iter().any(|(flag, _)| has_flag(text, flag)) {
                return Err(self.error(
                    index,
                    "launcher_option",
                    "an option that starts a program",
                ));
            }
        }
        if self.row.open && !ended && !entry.flags.is_empty() {
            return Err(self.error(
                verb,
                "launcher_input",
                "arguments that are not in the text can become options",
            ));
        }
        Ok(())
    }
}
