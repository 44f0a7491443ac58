//! `sed`: scripts of known commands. `e`, and the flag `e` of `s`, start programs; `w` and `r` use files.

use super::super::super::Undecidable;
use super::super::script::{PATTERN, REPLACED, TILDE};
use super::Launch;
use super::options::scan;

impl Launch<'_> {
    pub(super) fn sed(&mut self, first: usize) -> Result<(), Undecidable> {
        let found = scan(self, self.launcher, first, true)?;
        let end = self.row.end as usize;
        if found.noted.is_empty() {
            if found.operand >= end {
                return self.started_nothing(first);
            }
            let empty = usize::from(self.script.text(found.operand).is_empty());
            let script = found.operand + empty;
            if script < end {
                self.sed_script(script, self.script.word(script).start)?;
            }
        }
        for (word, start, _) in found.noted {
            self.sed_script(word, start)?;
        }
        Ok(())
    }

    fn sed_script(&self, word: usize, start: u32) -> Result<(), Undecidable> {
        let row = self.script.word(word);
        let text = self.script.span(start, row.end);
        if row.flags & (PATTERN | REPLACED | TILDE) != 0
            || Reader(text.as_bytes()).script().is_none()
        {
            return Err(self.error(
                word,
                "launcher_argument",
                "a script that is not known to start no program",
            ));
        }
        Ok(())
    }
}

struct Reader<'t>(&'t [u8]);

impl Reader<'_> {
    /// Every command of the script is known; `None` otherwise.
    fn script(&mut self) -> Option<()> {
        loop {
            self.skip(|byte| matches!(byte, b' ' | b'\t' | b'\n' | b';' | b'{' | b'}'));
            if self.0.is_empty() {
                return Some(());
            }
            self.addresses()?;
            match self.take()? {
                b'p' | b'd' | b'D' | b'P' | b'=' | b'h' | b'H' | b'g' | b'G' | b'x' | b'n'
                | b'N' => {}
                b'{' => continue,
                b'q' | b'Q' | b'l' => {
                    self.skip(|byte| byte == b' ' || byte.is_ascii_digit());
                }
                b's' => {
                    self.delimited(2)?;
                    self.skip(|byte| {
                        matches!(byte, b'g' | b'p' | b'i' | b'I' | b'm' | b'M')
                            || byte.is_ascii_digit()
                    });
                }
                b'y' => self.delimited(2)?,
                b'a' | b'i' | b'c' => {
                    self.skip(|byte| byte != b'\n' && byte != b'\\');
                    if !matches!(self.0.first(), None | Some(b'\n')) {
                        return None;
                    }
                }
                _ => return None,
            }
            self.skip(|byte| matches!(byte, b' ' | b'\t'));
            if !matches!(self.0.first(), None | Some(b'\n' | b';' | b'}')) {
                return None;
            }
        }
    }

    fn addresses(&mut self) -> Option<()> {
        self.address()?;
        if self.0.first() == Some(&b',') {
            self.take()?;
            self.skip(|byte| matches!(byte, b' ' | b'+' | b'~'));
            self.address()?;
        }
        self.skip(|byte| matches!(byte, b' ' | b'!'));
        Some(())
    }

    fn address(&mut self) -> Option<()> {
        match self.0.first() {
            Some(b'$') => {
                self.take()?;
            }
            Some(b'/') => {
                self.delimited(1)?;
                self.skip(|byte| byte == b'I');
            }
            Some(byte) if byte.is_ascii_digit() => {
                self.skip(|byte| byte.is_ascii_digit() || byte == b'~');
            }
            _ => {}
        }
        Some(())
    }

    /// `/.../` or `/.../.../`. A bracket or a newline inside ends what is certain about the delimiter.
    fn delimited(&mut self, parts: usize) -> Option<()> {
        let delimiter = self
            .take()
            .filter(|byte| byte.is_ascii_punctuation() && *byte != b'\\')?;
        for part in 0..parts {
            let mut in_class = false;
            loop {
                match self.take()? {
                    b'\\' => {
                        self.take().filter(|byte| *byte != b'\n')?;
                    }
                    b'\n' => return None,
                    // Inside of a bracket expression some versions end at the delimiter, and some do not.
                    byte if byte == delimiter && in_class => return None,
                    byte if byte == delimiter => break,
                    b'[' if part == 0 => in_class = true,
                    b']' => in_class = false,
                    _ => {}
                }
            }
        }
        Some(())
    }

    fn take(&mut self) -> Option<u8> {
        let (first, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(*first)
    }

    fn skip(&mut self, known: impl Fn(u8) -> bool) {
        while self.0.first().is_some_and(|byte| known(*byte)) {
            self.0 = self.0.get(1..).unwrap_or_default();
        }
    }
}
