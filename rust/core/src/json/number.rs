//! Numbers of a JSON text.

use super::lexer::{Lexer, Read};
use crate::limits::MAX_INT_DIGITS;

/// Digits of an integer, at most, that is read without a check of its size.
const SHORT: usize = 18;

/// A number, as far as it fits.
pub(super) enum Number<'a> {
    /// An integer of at most 64 bits.
    Int(i64),
    /// A larger integer, as written.
    Large(&'a str),
    /// Written with `.` or `e`; infinite when out of range.
    Float(f64),
}

impl<'a> Lexer<'a> {
    fn digits(&mut self) -> Read<()> {
        let start = self.rest.len();
        while let [b'0'..=b'9', rest @ ..] = self.rest {
            self.rest = rest;
        }
        if self.rest.len() == start {
            Err(self.syntax("expected a digit"))
        } else {
            Ok(())
        }
    }

    /// Reads the number here. PERF: a short integer in one pass.
    #[inline]
    pub(super) fn number(&mut self) -> Read<Number<'a>> {
        let (negative, digits) = match self.rest {
            [b'-', rest @ ..] => (true, rest),
            rest => (false, rest),
        };
        let (mut value, mut rest) = (0, digits);
        while let [digit @ b'0'..=b'9', after @ ..] = rest
            && digits.len() - rest.len() < SHORT
        {
            value = value * 10 + i64::from(digit - b'0');
            rest = after;
        }
        let length = digits.len() - rest.len();
        let padded = length > 1 && digits.first() == Some(&b'0');
        if length == 0 || padded || matches!(rest, [b'.' | b'e' | b'E' | b'0'..=b'9', ..]) {
            return self.any_number();
        }
        self.rest = rest;
        Ok(Number::Int(if negative { -value } else { value }))
    }

    #[inline(never)]
    fn any_number(&mut self) -> Read<Number<'a>> {
        let start = self.at();
        self.eat(b'-');
        if !self.eat(b'0') {
            self.digits()?;
        }
        let integral = !matches!(self.peek(), Some(b'.' | b'e' | b'E'));
        if self.eat(b'.') {
            self.digits()?;
        }
        if self.eat(b'e') || self.eat(b'E') {
            if !self.eat(b'-') {
                self.eat(b'+');
            }
            self.digits()?;
        }
        let text = self.slice(start, self.at())?;
        if integral {
            return match text.parse() {
                Ok(number) => Ok(Number::Int(number)),
                Err(_) if text.trim_start_matches('-').len() > MAX_INT_DIGITS => {
                    Err(self.limit(format!("an integer of more than {MAX_INT_DIGITS} digits")))
                }
                Err(_) => Ok(Number::Large(text)),
            };
        }
        text.parse()
            .map(Number::Float)
            .map_err(|_| self.syntax("no number"))
    }
}
