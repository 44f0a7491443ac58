//! Options in front of a started program, by the flags that the table knows.

use super::super::super::Undecidable;
use super::super::scan::to_u32;
use super::super::script::{PATTERN, REPLACED, WILD};
use super::super::table::Takes;
use super::{Launch, Launcher};

/// Values of options: the word, and the span in the buffer.
pub(super) type Values = Vec<(usize, u32, u32)>;

#[derive(Debug, Default)]
pub(super) struct Found {
    /// The first word that is no option.
    pub(super) operand: usize,
    /// Command lines that options start.
    pub(super) commands: Values,
    /// Values of options that are [`Takes::Noted`]; an absent one is `0..0`.
    pub(super) noted: Values,
}

/// Reads options from `first` on. With `permute` they may stand after operands.
pub(super) fn scan(
    launch: &Launch<'_>,
    table: &'static Launcher,
    first: usize,
    permute: bool,
) -> Result<Found, Undecidable> {
    Scan {
        launch,
        table,
        at: first,
        found: Found::default(),
    }
    .run(first, permute)
}

/// The word is the option, an abbreviation of it, or has its letter.
pub(super) fn has_flag(text: &str, flag: &str) -> bool {
    let name = text.split('=').next().unwrap_or_default();
    if flag.starts_with("--") {
        return name.len() > 2 && name.starts_with("--") && flag.starts_with(name);
    }
    !text.starts_with("--")
        && text.starts_with('-')
        && flag
            .chars()
            .nth(1)
            .is_some_and(|letter| text.contains(letter))
}

struct Scan<'l, 's> {
    launch: &'l Launch<'s>,
    table: &'static Launcher,
    at: usize,
    found: Found,
}

impl Scan<'_, '_> {
    fn run(mut self, first: usize, permute: bool) -> Result<Found, Undecidable> {
        let (script, end) = (&*self.launch.script, self.launch.row.end as usize);
        let mut operand = None;
        let mut ended = false;
        if self.table.old_style && first < end && !script.text(first).starts_with('-') {
            self.old_style(first)?;
            operand = Some(self.at);
        }
        while self.at < end {
            let (text, flags) = (script.text(self.at), script.word(self.at).flags);
            let uncertain = flags & WILD != 0
                || (flags & (PATTERN | REPLACED) != 0 && (!permute || text.starts_with('-')));
            if uncertain {
                return Err(self.error(
                    "launcher_argument",
                    "an expansion that can become an option",
                ));
            }
            if text == "--" {
                self.at += 1;
                ended = true;
                break;
            }
            if text.starts_with("--") {
                self.long(text)?;
            } else if text.starts_with(['-', '+'])
                && (text.len() > 1 || self.table.flags.get("-").is_some())
            {
                self.short(text)?;
            } else if permute {
                operand.get_or_insert(self.at);
                self.at += 1;
            } else {
                break;
            }
        }
        if permute && !ended && self.launch.row.open {
            return Err(self.error(
                "launcher_input",
                "arguments that are not in the text can become options",
            ));
        }
        self.found.operand = operand.unwrap_or(self.at);
        Ok(self.found)
    }

    fn long(&mut self, text: &str) -> Result<(), Undecidable> {
        let (name, value) = text
            .split_once('=')
            .map_or((text, None), |(name, value)| (name, Some(value)));
        let Some((_, takes)) = self.table.flags.get(name) else {
            return Err(self.unknown(text));
        };
        match (takes, value) {
            (Takes::Nothing, Some(_)) => Err(self.unknown(text)),
            (Takes::Nothing | Takes::Optional, _) => {
                self.at += 1;
                Ok(())
            }
            (_, Some(value)) => self.value(takes, text.len() - value.len()),
            (_, None) => self.next_value(takes),
        }
    }

    fn short(&mut self, text: &str) -> Result<(), Undecidable> {
        if let Some((_, takes)) = self.table.flags.get(text) {
            if takes.wants_value() {
                return self.next_value(takes);
            }
            self.at += 1;
            return Ok(());
        }
        let digits = text.get(1..).unwrap_or_default();
        if self.table.flags.get("-#").is_some() && digits.bytes().all(|byte| byte.is_ascii_digit())
        {
            self.at += 1;
            return Ok(());
        }
        if text.starts_with('+') {
            return Err(self.unknown(text));
        }
        for (index, letter) in text.char_indices().skip(1) {
            let Some((_, takes)) = self.table.flags.letter(letter) else {
                return Err(self.unknown(text));
            };
            let rest = index + letter.len_utf8();
            match takes {
                Takes::Nothing => {}
                Takes::Optional => break,
                _ if rest < text.len() => return self.value(takes, rest),
                _ => return self.next_value(takes),
            }
        }
        self.at += 1;
        Ok(())
    }

    /// `tar xzf FILE`: letters without a dash, their values behind.
    fn old_style(&mut self, first: usize) -> Result<(), Undecidable> {
        let text = self.launch.script.text(first);
        if self.launch.script.word(first).flags & (PATTERN | REPLACED | WILD) != 0 {
            return Err(self.error("launcher_argument", "an expansion in the place of options"));
        }
        let mut next = first + 1;
        for letter in text.chars() {
            match self.table.flags.letter(letter) {
                Some((_, Takes::Nothing | Takes::Optional)) => {}
                Some((_, takes)) => {
                    self.at = next - 1;
                    self.next_value(takes)?;
                    next = self.at;
                }
                None => return Err(self.unknown(text)),
            }
        }
        self.at = next;
        Ok(())
    }

    /// The value is the next word.
    fn next_value(&mut self, takes: Takes) -> Result<(), Undecidable> {
        self.at += 1;
        if self.at >= self.launch.row.end as usize {
            return Err(self.error("launcher_option", "an option without its value"));
        }
        self.value(takes, 0)
    }

    /// The value begins at a byte of the current word.
    fn value(&mut self, takes: Takes, from: usize) -> Result<(), Undecidable> {
        let script = &self.launch.script;
        let word = script.word(self.at);
        let any = takes == Takes::Value && from == 0 && word.is_one_variable();
        if word.flags & (PATTERN | WILD | REPLACED) != 0 && !any {
            return Err(self.error(
                "launcher_argument",
                "an expansion as the value of an option",
            ));
        }
        let value = (self.at, word.start + to_u32(from), word.end);
        match takes {
            Takes::Command => self.found.commands.push(value),
            Takes::Noted => self.found.noted.push(value),
            Takes::Only(words)
                if words
                    .split(',')
                    .all(|only| only != script.span(value.1, value.2)) =>
            {
                return Err(self.error("launcher_option", "a value that may start a program"));
            }
            Takes::Without(characters)
                if script
                    .span(value.1, value.2)
                    .contains(|found| characters.contains(found)) =>
            {
                return Err(self.error("launcher_option", "a value that may start a program"));
            }
            _ => {}
        }
        self.at += 1;
        Ok(())
    }

    fn unknown(&self, text: &str) -> Undecidable {
        self.error("launcher_option", &format!("no known option `{text}`"))
    }

    fn error(&self, code: &'static str, detail: &str) -> Undecidable {
        self.launch.error(self.at, code, detail)
    }
}
