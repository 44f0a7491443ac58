//! The parts of a snapshot from bytes, which may come from anywhere.

use std::sync::Arc;

use crate::ir::memory::Definition;
use crate::lang::path::Field;
use crate::limits::{MAX_RUN_CALLS, MAX_RUN_VALUES, MAX_WINDOW_CALLS};
use crate::memory::measures::{Counted, Tally, Window};
use crate::memory::monitor::Cell;
use crate::memory::records::{DEPTH, Kept};
use crate::memory::table::{Call, END, Entry};
use crate::memory::task::Task;
use crate::memory::{Broken, Known, Open, State, Tracked};
use crate::num::bigint::BigInt;
use crate::num::exact::Exact;
use crate::num::number::Number;
use crate::program::Program;
use crate::value::stored::Stored;

/// Bytes being read.
pub(in crate::memory) struct In<'b>(pub(in crate::memory) &'b [u8]);

impl<'b> In<'b> {
    fn take(&mut self, count: usize) -> Option<&'b [u8]> {
        let (taken, rest) = self.0.split_at_checked(count)?;
        self.0 = rest;
        Some(taken)
    }

    pub(in crate::memory) fn array<const N: usize>(&mut self) -> Option<[u8; N]> {
        self.take(N)?.try_into().ok()
    }

    fn byte(&mut self) -> Option<u8> {
        self.array().map(|[byte]| byte)
    }

    pub(in crate::memory) fn flag(&mut self) -> Option<bool> {
        match self.byte()? {
            0 => Some(false),
            1 => Some(true),
            _ => None,
        }
    }

    fn wide(&mut self) -> Option<u128> {
        let (mut value, mut shift) = (0_u128, 0);
        loop {
            let byte = self.byte()?;
            let part = u128::from(byte & 0x7f);
            if shift > 126 || (shift == 126 && part > 3) {
                return None;
            }
            value |= part << shift;
            if byte < 0x80 {
                return Some(value);
            }
            shift += 7;
        }
    }

    pub(in crate::memory) fn unsigned<T: TryFrom<u128>>(&mut self) -> Option<T> {
        self.wide()?.try_into().ok()
    }

    fn signed_wide(&mut self) -> Option<i128> {
        let value = self.wide()?;
        Some((value >> 1) as i128 ^ -((value & 1) as i128))
    }

    pub(in crate::memory) fn signed(&mut self) -> Option<i64> {
        self.signed_wide()?.try_into().ok()
    }

    pub(in crate::memory) fn bytes(&mut self) -> Option<&'b [u8]> {
        let length = self.unsigned()?;
        self.take(length)
    }

    pub(in crate::memory) fn text(&mut self) -> Option<&'b str> {
        std::str::from_utf8(self.bytes()?).ok()
    }

    pub(in crate::memory) fn option<T>(
        &mut self,
        read: impl FnOnce(&mut Self) -> Option<T>,
    ) -> Option<Option<T>> {
        if self.flag()? {
            read(self).map(Some)
        } else {
            Some(None)
        }
    }

    /// A list of at most `most` items, each of at least one byte.
    pub(in crate::memory) fn list<T>(
        &mut self,
        most: usize,
        mut read: impl FnMut(&mut Self) -> Option<T>,
    ) -> Option<Vec<T>> {
        let count: usize = self.unsigned()?;
        if count > most || count > self.0.len() {
            return None;
        }
        (0..count).map(|_| read(self)).collect()
    }

    fn exact(&mut self) -> Option<Exact> {
        let (mantissa, shift) = (self.signed_wide()?, self.unsigned()?);
        let read = Exact::new(mantissa, shift)?;
        (read == Exact { mantissa, shift }).then_some(read)
    }

    fn float(&mut self) -> Option<f64> {
        self.array().map(u64::from_le_bytes).map(f64::from_bits)
    }

    fn big(&mut self) -> Option<BigInt> {
        self.bytes().map(BigInt::from_signed_bytes_le)
    }

    fn number(&mut self) -> Option<Number> {
        match self.byte()? {
            0 => self.signed().map(Number::Int),
            1 => self.big().map(Number::Big),
            2 => self.float().map(Number::Float),
            _ => None,
        }
    }

    /// A number of four bytes.
    pub(in crate::memory) fn word(&mut self) -> Option<u32> {
        self.array().map(u32::from_le_bytes)
    }

    /// A number in a form of a fixed length.
    pub(in crate::memory) fn fixed_exact(&mut self) -> Option<Exact> {
        let mantissa = self.array().map(i128::from_le_bytes)?;
        let shift = self.array().map(u16::from_le_bytes)?;
        let read = Exact::new(mantissa, shift)?;
        (read == Exact { mantissa, shift }).then_some(read)
    }

    /// All of a state that does not grow with its calls; `tracked` reads the values of definitions.
    pub(in crate::memory) fn front(
        &mut self,
        state: &mut State,
        tracked: fn(&mut Self, &mut Tracked) -> Option<()>,
    ) -> Option<()> {
        state.task = self.option(|read| read.text().map(|task| Arc::new(Task::new(task))))?;
        state.last = self.option(Self::signed)?;
        state.next = self.unsigned()?;
        state.full = self.flag()?;
        let count: usize = self.unsigned()?;
        if count != state.trackers.len() {
            return None;
        }
        for tracker in &mut state.trackers {
            tracker.broken = match self.byte()? {
                0 => None,
                1 => Some(Broken::Bad),
                2 => Some(Broken::Limit),
                3 => Some(Broken::Full),
                _ => return None,
            };
            tracked(self, &mut tracker.kind)?;
        }
        Some(())
    }

    pub(super) fn state(&mut self, program: &Program, state: &mut State) -> Option<()> {
        self.front(state, Self::tracked)?;
        let trackers = state.trackers.len();
        let calls = self.list(MAX_RUN_CALLS, |read| {
            let key = read.array()?;
            let known = match read.byte()? {
                0 => Known::Ended,
                1 => Known::Open(Box::new(read.open(trackers)?)),
                _ => return None,
            };
            Some((key, known))
        })?;
        state.calls = calls.into_iter().collect();
        state.known = state.calls.len();
        if !is_ordered(state) {
            return None;
        }
        self.table(program, state)
    }

    fn table(&mut self, program: &Program, state: &mut State) -> Option<()> {
        let memory = program.memory();
        let fields = |source: u16| {
            let memory = memory?;
            let number = memory.sources.get(source as usize)?;
            match memory.items.get(*number as usize)? {
                Definition::Source(source) => Some(source.fields.len()),
                _ => None,
            }
        };
        let table = &mut state.table;
        table.calls = self.list(MAX_RUN_CALLS, |read| {
            let (tool, key) = (read.text()?.into(), read.text()?.into());
            Some(Call { tool, key })
        })?;
        let mut at = 0_u32;
        table.entries = self.list(MAX_RUN_VALUES, |read| {
            let next: u32 = read.unsigned()?;
            let entry = Entry {
                // INVARIANT: chains end, as each entry leads to one before it.
                next: if next == 0 { END } else { next - 1 },
                call: read.unsigned()?,
                source: read.unsigned()?,
                field: read.unsigned()?,
            };
            let sound = next <= at
                && (entry.call as usize) < table.calls.len()
                && fields(entry.source).is_some_and(|fields| (entry.field as usize) < fields);
            at += 1;
            sound.then_some(entry)
        })?;
        let entries = table.entries.len() as u32;
        let heads = self.list(MAX_RUN_VALUES, |read| {
            let (value, head) = (read.array()?, read.unsigned::<u32>()?);
            (head < entries).then_some((value, head))
        })?;
        table.heads = heads.into_iter().collect();
        table.visible = self.unsigned()?;
        (table.visible <= entries).then_some(())
    }

    pub(in crate::memory) fn tracked(&mut self, kind: &mut Tracked) -> Option<()> {
        match kind {
            Tracked::Source => {}
            Tracked::Measure(Tally::Total(total)) => *total = self.exact()?,
            Tracked::Measure(Tally::Shared(value)) => *value = self.option(Self::number)?,
            Tracked::Measure(Tally::Window(window)) => {
                let read = self.list(MAX_WINDOW_CALLS, |read| {
                    Some(Counted {
                        at: read.signed()?,
                        call: read.unsigned()?,
                        sum: read.exact()?,
                        amount: read.exact()?,
                    })
                })?;
                if !read.is_sorted_by(|one, next| one.call < next.call && one.at <= next.at) {
                    return None;
                }
                *window = Window::of(read.into());
            }
            Tracked::Formula(cells) => {
                for cell in cells {
                    let flags = self.byte().filter(|flags| *flags < 4)?;
                    *cell = Cell {
                        now: flags & 1 != 0,
                        was: flags & 2 != 0,
                        since: self.option(Self::signed)?,
                    };
                }
            }
        }
        Some(())
    }

    pub(in crate::memory) fn open(&mut self, trackers: usize) -> Option<Open> {
        Some(Open {
            call: self.unsigned()?,
            amounts: self.list(trackers, |read| {
                let (number, amount) = (read.unsigned()?, read.exact()?);
                Some((number, amount))
            })?,
            sources: self.unsigned()?,
            names: self.option(|read| Some((read.text()?.into(), read.text()?.into())))?,
            kept: self.option(Self::kept)?,
        })
    }

    fn kept(&mut self) -> Option<Kept> {
        self.list(Field::ALL.len(), |read| {
            let field = *Field::ALL.get(usize::from(read.byte()?))?;
            let value = read.option(|read| read.stored(DEPTH))?;
            Some((field, value))
        })
    }

    fn stored(&mut self, depth: usize) -> Option<Stored> {
        Some(match self.byte()? {
            0 => Stored::Null,
            1 => Stored::Bool(self.flag()?),
            2 => Stored::Int(self.signed()?),
            3 => Stored::BigInt(self.big()?),
            4 => Stored::HugeInt,
            5 => Stored::Float(self.float()?),
            6 => Stored::Str(self.text()?.into()),
            7 => Stored::BadStr,
            8 => {
                let inner = depth.checked_sub(1)?;
                Stored::List(self.list(usize::MAX, |read| read.stored(inner))?)
            }
            9 => {
                let inner = depth.checked_sub(1)?;
                let entry = |read: &mut Self| Some((read.text()?.into(), read.stored(inner)?));
                Stored::Map(self.list(usize::MAX, entry)?)
            }
            10 => Stored::Timestamp(self.signed()?),
            11 => Stored::Opaque,
            _ => return None,
        })
    }
}

/// Returns true if the next call comes after all that the state holds: windows are in the order of calls.
fn is_ordered(state: &State) -> bool {
    let before = |call: u64| call < state.next;
    let tracked = state.trackers.iter().all(|tracker| match &tracker.kind {
        Tracked::Measure(Tally::Window(window)) => window
            .calls
            .back()
            .is_none_or(|last| before(last.call) && Some(last.at) <= state.last),
        Tracked::Measure(_) | Tracked::Formula(_) | Tracked::Source => true,
    });
    let known = state.calls.values().all(|known| match known {
        Known::Open(open) => before(open.call),
        Known::Ended => true,
    });
    tracked && known && state.next <= i64::MAX as u64
}
