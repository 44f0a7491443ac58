//! Objects whose keys are known, read without building a mapping of them.

use super::lexer::Lexer;
use super::{Caps, Json, Reader};

/// A text that is read in this way. `None` from a function: the text is something else or not JSON; another
/// reader reports it.
pub(crate) struct Known<'a> {
    lexer: Lexer<'a>,
    reader: Reader<'a>,
}

impl<'a> Known<'a> {
    pub(crate) fn new(bytes: &'a [u8], caps: Caps) -> Option<Self> {
        Some(Self {
            lexer: Lexer::new(bytes, caps).ok()?,
            reader: Reader::default(),
        })
    }

    /// Reads an object: `each` reads the value of each key, given by its place in `keys`.
    #[inline]
    pub(crate) fn object<const N: usize>(
        &mut self,
        depth: usize,
        keys: &[&str; N],
        mut each: impl FnMut(&mut Self, usize) -> Option<()>,
    ) -> Option<()> {
        self.lexer.begin(depth).ok()?;
        if self.lexer.peek() != Some(b'{') {
            return None;
        }
        let (mut seen, mut next) = (0_u32, 0);
        let mut more = self.lexer.open(b'}');
        while more {
            self.lexer.before_key().ok()?;
            // PERF: most are written in this order.
            let at = match keys.get(next) {
                Some(known) if self.lexer.string_is(known) => next,
                _ => {
                    let (start, end) = self.lexer.plain_string()?;
                    let key = self.lexer.slice(start, end).ok()?;
                    keys.iter().position(|known| *known == key)?
                }
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

    /// Reads any value into `slot`.
    pub(crate) fn value<'s>(
        &mut self,
        depth: usize,
        slot: &'s mut Option<Json<'a>>,
    ) -> Option<&'s Json<'a>> {
        let value = slot.insert(Json::Null);
        self.reader.value(&mut self.lexer, depth, value).ok()?;
        Some(value)
    }

    /// Checks that the text ends here.
    pub(crate) fn end(&mut self) -> Option<()> {
        self.lexer.end().ok()
    }
}
