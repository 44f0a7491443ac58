//! `find`: predicates, and the commands that it starts for each file.

use super::super::super::Undecidable;
use super::super::script::{REPLACED, WILD};
use super::super::table::Takes;
use super::Launch;

impl Launch<'_> {
    pub(super) fn find(&mut self, first: usize) -> Result<(), Undecidable> {
        if self.row.open {
            return Err(self.error(
                first - 1,
                "launcher_input",
                "arguments that are not in the text can become predicates",
            ));
        }
        let (mut at, end) = (first, self.row.end as usize);
        while at < end {
            let (text, flags) = (self.script.text(at), self.script.word(at).flags);
            if flags & WILD != 0 || (flags & REPLACED != 0 && text.starts_with('{')) {
                return Err(self.error(
                    at,
                    "launcher_argument",
                    "an expansion that can become a predicate",
                ));
            }
            if !text.starts_with('-') || text == "-" {
                at += 1;
                continue;
            }
            match self.launcher.flags.get(text) {
                Some((_, Takes::Command)) => at = self.find_command(at)?,
                Some((_, takes)) if takes.wants_value() => {
                    let value = at + 1;
                    let word = self.script.word(value);
                    if value >= end || (word.flags & WILD != 0 && !word.is_one_variable()) {
                        return Err(self.error(
                            at,
                            "launcher_argument",
                            "the value of a predicate is missing or an expansion",
                        ));
                    }
                    at += 2;
                }
                Some(_) => at += 1,
                None => return Err(self.error(at, "launcher_option", "no known predicate")),
            }
        }
        Ok(())
    }

    /// `-exec PROGRAM ... ;` and `-exec PROGRAM ... {} +`. Returns the next predicate.
    fn find_command(&mut self, predicate: usize) -> Result<usize, Undecidable> {
        let (from, end) = (predicate + 1, self.row.end as usize);
        let ends = |index: usize| match self.script.text(index) {
            ";" => true,
            "+" => index > from && self.script.text(index - 1) == "{}",
            _ => false,
        };
        let Some(stop) = (from..end).find(|index| ends(*index)) else {
            return Err(self.error(
                predicate,
                "launcher_argument",
                "a started command without its end",
            ));
        };
        let outside = self.script.text(predicate).ends_with("dir");
        for index in from..stop {
            let has_file = self.script.text(index).contains("{}");
            // BSD's find gives a bare name to -execdir, which can begin with a dash.
            let wild = outside && self.script.text(index).starts_with("{}");
            if let Some(word) = self.script.words.get_mut(index).filter(|_| has_file) {
                word.flags |= REPLACED | if wild { WILD } else { 0 };
            }
        }
        self.start(from, from, stop, false)?;
        Ok(stop + 1)
    }
}
