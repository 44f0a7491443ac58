//! Instants: the operations of a function on a `datetime`.

use std::cmp::Ordering;

use super::value::{Budget, Run, Val};
use crate::num::bigint::{BigInt, ratio};
use crate::pyfn::exception::{Exception, Failure};
use crate::value::{Civil, Value};

/// A datetime of the request.
#[derive(Clone, Debug)]
pub(in crate::pyfn) struct DateTime<V> {
    civil: Civil,
    /// The value that it was read from.
    pub(in crate::pyfn) value: Option<V>,
}

impl<V: Value> DateTime<V> {
    /// A value as a datetime, if it is one.
    pub(in crate::pyfn) fn of(value: V) -> Option<Self> {
        let civil = value.civil()?;
        let value = Some(value);
        Some(Self { civil, value })
    }

    /// A datetime of the program.
    pub(in crate::pyfn) fn constant(civil: Civil) -> Self {
        Self { civil, value: None }
    }

    /// The value of an attribute.
    pub(in crate::pyfn) fn attribute<'p>(&self, name: &str) -> Run<Val<'p, V>> {
        let civil = &self.civil;
        Ok(Val::Int(match name {
            "year" => i64::from(civil.year),
            "month" => i64::from(civil.month),
            "day" => i64::from(civil.day),
            "hour" => i64::from(civil.hour),
            "minute" => i64::from(civil.minute),
            "second" => i64::from(civil.second),
            "microsecond" => i64::from(civil.microsecond),
            "tzinfo" | "fold" | "min" | "max" | "resolution" => return Err(Failure::UNSUPPORTED),
            _ => return Err(Exception::ATTRIBUTE.into()),
        }))
    }

    /// `weekday()`: 0 is a Monday.
    pub(in crate::pyfn) fn weekday(&self) -> i64 {
        (self.civil.days() + 3).rem_euclid(7)
    }

    /// `timestamp()`.
    pub(in crate::pyfn) fn timestamp<'p>(&self) -> Run<Val<'p, V>> {
        // A naive one is in the zone of the interpreter.
        let micros = self.civil.micros().ok_or(Failure::UNSUPPORTED)?;
        let seconds = ratio(&BigInt::from(micros), &BigInt::from(1_000_000));
        seconds.map(Val::Float).ok_or(Failure::UNSUPPORTED)
    }

    /// `isoformat()`.
    pub(in crate::pyfn) fn isoformat<'p>(&self, budget: &mut Budget) -> Run<Val<'p, V>> {
        let text = self.written('T').ok_or(Failure::UNSUPPORTED)?;
        Val::made(&text, budget)
    }

    /// `str(datetime)`.
    pub(in crate::pyfn) fn text(&self) -> Option<String> {
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
    pub(in crate::pyfn) fn equals(&self, other: &Self) -> bool {
        match (self.civil.micros(), other.civil.micros()) {
            (Some(left), Some(right)) => left == right,
            (None, None) => self.civil.clock() == other.civil.clock(),
            _ => false,
        }
    }

    /// The order to another; `TypeError` for one that is aware and one that is not.
    pub(in crate::pyfn) fn compare(&self, other: &Self) -> Run<Ordering> {
        match (self.civil.micros(), other.civil.micros()) {
            (Some(left), Some(right)) => Ok(left.cmp(&right)),
            (None, None) => Ok(self.civil.clock().cmp(&other.civil.clock())),
            _ => Err(Exception::TYPE.into()),
        }
    }
}
