//! The parts of a snapshot as bytes.

use crate::memory::measures::{Tally, Window};
use crate::memory::{Broken, Open, State, Tracked};
use crate::num::exact::Exact;
use crate::num::number::Number;
use crate::value::stored::Stored;

/// Bytes being written.
#[derive(Default)]
pub(in crate::memory) struct Out(pub(in crate::memory) Vec<u8>);

impl Out {
    pub(in crate::memory) fn byte(&mut self, byte: u8) {
        self.0.push(byte);
    }

    pub(in crate::memory) fn flag(&mut self, flag: bool) {
        self.byte(flag.into());
    }

    pub(in crate::memory) fn unsigned(&mut self, value: u64) {
        self.wide(value.into());
    }

    pub(in crate::memory) fn wide(&mut self, mut value: u128) {
        while value >= 0x80 {
            self.byte(value as u8 | 0x80);
            value >>= 7;
        }
        self.byte(value as u8);
    }

    pub(in crate::memory) fn signed(&mut self, value: i64) {
        self.signed_wide(value.into());
    }

    pub(in crate::memory) fn signed_wide(&mut self, value: i128) {
        self.wide((value << 1 ^ value >> 127) as u128);
    }

    pub(in crate::memory) fn bytes(&mut self, bytes: &[u8]) {
        self.unsigned(bytes.len() as u64);
        self.0.extend(bytes);
    }

    pub(in crate::memory) fn text(&mut self, text: &str) {
        self.bytes(text.as_bytes());
    }

    pub(in crate::memory) fn option<T>(
        &mut self,
        value: Option<&T>,
        write: impl FnOnce(&mut Self, &T),
    ) {
        self.flag(value.is_some());
        if let Some(value) = value {
            write(self, value);
        }
    }

    pub(in crate::memory) fn list<T>(&mut self, items: &[T], mut write: impl FnMut(&mut Self, &T)) {
        self.unsigned(items.len() as u64);
        items.iter().for_each(|item| write(self, item));
    }

    pub(in crate::memory) fn exact(&mut self, value: &Exact) {
        self.signed_wide(value.mantissa);
        self.unsigned(value.shift.into());
    }

    pub(in crate::memory) fn number(&mut self, number: &Number) {
        match number {
            Number::Int(value) => {
                self.byte(0);
                self.signed(*value);
            }
            Number::Big(value) => {
                self.byte(1);
                self.bytes(&value.to_signed_bytes_le());
            }
            Number::Float(value) => {
                self.byte(2);
                self.0.extend(value.to_bits().to_le_bytes());
            }
        }
    }

    /// All of a state that does not grow with its calls; `tracked` writes the values of definitions.
    pub(in crate::memory) fn front(&mut self, state: &State, tracked: fn(&mut Self, &Tracked)) {
        self.option(state.task().as_ref(), |out, task| out.text(task));
        self.option(state.last.as_ref(), |out, last| out.signed(*last));
        self.unsigned(state.next);
        self.flag(state.full);
        self.list(&state.trackers, |out, tracker| {
            out.byte(match tracker.broken {
                None => 0,
                Some(Broken::Bad) => 1,
                Some(Broken::Limit) => 2,
                Some(Broken::Full) => 3,
            });
            tracked(out, &tracker.kind);
        });
    }

    /// The calls of a window that are in memory.
    fn window(&mut self, window: &Window) {
        self.unsigned(window.calls.len() as u64);
        for call in &window.calls {
            self.signed(call.at);
            self.unsigned(call.call);
            self.exact(&call.sum);
            self.exact(&call.amount);
        }
    }

    pub(in crate::memory) fn tracked(&mut self, kind: &Tracked) {
        match kind {
            Tracked::Source => {}
            Tracked::Measure(Tally::Total(total)) => self.exact(total),
            Tracked::Measure(Tally::Shared(value)) => self.option(value.as_ref(), Self::number),
            Tracked::Measure(Tally::Window(window)) => self.window(window),
            Tracked::Formula(cells) => {
                for cell in cells {
                    self.byte(u8::from(cell.now) | u8::from(cell.was) << 1);
                    self.option(cell.since.as_ref(), |out, since| out.signed(*since));
                }
            }
        }
    }

    pub(in crate::memory) fn open(&mut self, open: &Open) {
        self.unsigned(open.call);
        self.list(&open.amounts, |out, (number, amount)| {
            out.unsigned((*number).into());
            out.exact(amount);
        });
        self.unsigned(open.sources);
        self.option(open.names.as_ref(), |out, (tool, key)| {
            out.text(tool);
            out.text(key);
        });
        self.option(open.kept.as_ref(), |out, kept| {
            out.list(kept, |out, (field, value)| {
                out.byte(*field as u8);
                out.option(value.as_ref(), Self::stored);
            });
        });
    }

    pub(in crate::memory) fn stored(&mut self, value: &Stored) {
        match value {
            Stored::Null => self.byte(0),
            Stored::Bool(value) => {
                self.byte(1);
                self.flag(*value);
            }
            Stored::Int(value) => {
                self.byte(2);
                self.signed(*value);
            }
            Stored::BigInt(value) => {
                self.byte(3);
                self.bytes(&value.to_signed_bytes_le());
            }
            Stored::HugeInt => self.byte(4),
            Stored::Float(value) => {
                self.byte(5);
                self.0.extend(value.to_bits().to_le_bytes());
            }
            Stored::Str(text) => {
                self.byte(6);
                self.text(text);
            }
            Stored::BadStr => self.byte(7),
            Stored::List(items) => {
                self.byte(8);
                self.list(items, Self::stored);
            }
            Stored::Map(entries) => {
                self.byte(9);
                self.list(entries, |out, (key, value)| {
                    out.text(key);
                    out.stored(value);
                });
            }
            Stored::Timestamp(micros) => {
                self.byte(10);
                self.signed(*micros);
            }
            Stored::Opaque => self.byte(11),
        }
    }
}
