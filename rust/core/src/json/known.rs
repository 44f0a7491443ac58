//! Objects whose keys are known, read without building a mapping of them.

use super::keys::Keys;
use super::lexer::Lexer;
use super::reader::Reader;
use super::{Caps, Json};

/// A text that is read in this way. `None` from a function: the text is something else or not JSON; another
/// reader reports it.
pub(crate) struct Known<'r, 'a> {
    lexer: Lexer<'a>,
    reader: &'r mut Reader<'a>,
}

impl<'r, 'a> Known<'r, 'a> {
    pub(crate) fn new(bytes: &'a [u8], caps: Caps, reader: &'r mut Reader<'a>) -> Option<Self> {
        let mut lexer = Lexer::new(bytes, caps).ok()?;
        lexer.space();
        Some(Self { lexer, reader })
    }

    /// Reads the object here: `each` reads the value of each key, given by its place in `keys`.
    #[inline]
    pub(crate) fn object<const N: usize>(
        &mut self,
        depth: usize,
        keys: &Keys<N>,
        mut each: impl FnMut(&mut Self, usize) -> Option<()>,
    ) -> Option<()> {
        self.lexer.enter(depth).ok()?;
        if self.lexer.peek() != Some(b'{') {
            return None;
        }
        let (mut seen, mut next) = (0_u32, 0);
        let mut more = self.lexer.open(b'}');
        while more {
            self.lexer.before_key().ok()?;
            // PERF: most are written in this order.
            let at = match keys.quoted.get(next) {
                Some(known) if self.lexer.string_is(known) => next,
                _ => self.key(keys)?,
            };
            self.lexer.colon().ok()?;
            let bit = 1_u32.checked_shl(at as u32)?;
            if seen & bit != 0 {
                return None;
            }
            seen |= bit;
            next = at + 1;
            each(self, at)?;
            more = self.lexer.more(b'}').ok()?;
        }
        Some(())
    }

    /// Reads a key, and returns its place in `keys`.
    fn key<const N: usize>(&mut self, keys: &Keys<N>) -> Option<usize> {
        if let Some(at) = keys.quoted.iter().position(|key| self.lexer.string_is(key)) {
            return Some(at);
        }
        let (start, end) = self.lexer.plain_string()?;
        let key = self.lexer.slice(start, end).ok()?;
        keys.names.iter().position(|known| *known == key)
    }

    /// Reads any value here into `place`, which owns nothing.
    #[inline]
    pub(crate) fn value(&mut self, depth: usize, place: &mut Json<'a>) -> Option<()> {
        self.reader.value(&mut self.lexer, depth, place).ok()
    }

    /// Checks that the text ends here.
    pub(crate) fn end(&mut self) -> Option<()> {
        self.lexer.end().ok()
    }
}
