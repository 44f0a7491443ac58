//! Instants: what a function may ask of a `datetime`.

use std::cmp::Ordering;

use super::exception::{Exception, Trouble};
use super::value::{Budget, Run, Val};
use crate::value::bigint::BigInt;
use crate::value::{Civil, Value};

/// A datetime of the request.
#[derive(Clone, Debug)]
pub(super) struct Moment<V> {
    civil: Civil,
    /// What it was read from.
    pub(super) value: Option<V>,
}

impl<V: Value> Moment<V> {
    /// A value as a datetime, if it is one.
    pub(super) fn of(value: V) -> Option<Self> {
        let civil = value.civil()?;
        let value = Some(value);
        Some(Self { civil, value })
    }

    /// A datetime of the program.
    pub(super) fn fixed(civil: Civil) -> Self {
        Self { civil, value: None }
    }

    /// The value of an attribute.
    pub(super) fn attribute<'p>(&self, name: &str) -> Run<Val<'p, V>> {
        let civil = &self.civil;
        Ok(Val::Int(match name {
            "year" => i64::from(civil.year),
            "month" => i64::from(civil.month),
            "day" => i64::from(civil.day),
            "hour" => i64::from(civil.hour),
            "minute" => i64::from(civil.minute),
            "second" => i64::from(civil.second),
            "microsecond" => i64::from(civil.microsecond),
            "tzinfo" | "fold" | "min" | "max" | "resolution" => return Err(Trouble::UNSUPPORTED),
            _ => return Err(Exception::ATTRIBUTE.into()),
        }))
    }

    /// `weekday()`: 0 is a Monday.
    pub(super) fn weekday(&self) -> i64 {
        (self.civil.days() + 3).rem_euclid(7)
    }

    /// `timestamp()`.
    pub(super) fn timestamp<'p>(&self) -> Run<Val<'p, V>> {
        // A naive one is in the zone of the machine.
        let micros = self.civil.micros().ok_or(Trouble::UNSUPPORTED)?;
        let seconds = BigInt::from(micros).ratio(&BigInt::from(1_000_000));
        seconds.map(Val::Float).ok_or(Trouble::UNSUPPORTED)
    }

    /// `isoformat()`.
    pub(super) fn isoformat<'p>(&self, budget: &mut Budget) -> Run<Val<'p, V>> {
        let text = self.written('T').ok_or(Trouble::UNSUPPORTED)?;
        Val::made(&text, budget)
    }

    /// `str(moment)`.
    pub(super) fn text(&self) -> Option<String> {
        self.written(' ')
    }

    fn written(&self, separator: char) -> Option<String> {
        let civil = &self.civil;
        let mut text = format!(
            "{:04}-{:02}-{:02}{separator}{:02}:{:02}:{:02}",
            civil.year, civil.month, civil.day, civil.hour, civil.minute, civil.second
        );
        if civil.microsecond != 0 {
            text.push_str(&format!(".{:06}", civil.microsecond));
        }
        if let Some(offset) = civil.offset {
            let minutes = offset.checked_div(60_000_000)?;
            // Offsets of seconds exist, and are of no use.
            (offset % 60_000_000 == 0).then_some(())?;
            let sign = if minutes < 0 { '-' } else { '+' };
            let minutes = minutes.unsigned_abs();
            text.push_str(&format!("{sign}{:02}:{:02}", minutes / 60, minutes % 60));
        }
        Some(text)
    }

    /// `self == other`.
    pub(super) fn equals(&self, other: &Self) -> bool {
        match (self.civil.micros(), other.civil.micros()) {
            (Some(left), Some(right)) => left == right,
            (None, None) => self.civil.clock() == other.civil.clock(),
            _ => false,
        }
    }

    /// The order to another; `TypeError` for one that is aware and one that is not.
    pub(super) fn compare(&self, other: &Self) -> Run<Ordering> {
        match (self.civil.micros(), other.civil.micros()) {
            (Some(left), Some(right)) => Ok(left.cmp(&right)),
            (None, None) => Ok(self.civil.clock().cmp(&other.civil.clock())),
            _ => Err(Exception::TYPE.into()),
        }
    }
}
