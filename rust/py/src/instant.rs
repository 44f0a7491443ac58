//! Instants of datetimes, read from their storage.
//!
//! PERF: to subtract the epoch and to ask for the parts of the difference takes 0.3 µs, reading the storage 10 ns.

use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyType;

use bobcat_core::value::Civil;

/// The bytes in which a datetime keeps its date and time.
const PACKED: usize = 10;

/// Where the storage begins.
const START: usize = size_of::<ffi::PyObject>();

const WORD: usize = size_of::<*mut ffi::PyObject>();

type Parts = (u16, u8, u8, u8, u8, u8, u32);

/// Dates and times whose bytes tell their places.
const SAMPLES: [Parts; 3] = [
    (2026, 11, 29, 17, 43, 58, 987_654),
    (1971, 2, 3, 4, 5, 6, 70_809),
    (9999, 12, 31, 23, 59, 1, 1),
];

/// Where instances of exactly `datetime.datetime` keep what they are.
pub(crate) struct InstantStorage {
    datetime: Py<PyType>,
    /// `datetime.UTC`
    utc: Py<PyAny>,
    /// The offset of the byte that is 1 with a time zone, and 0 without one.
    aware: usize,
    /// The offset of the date and time.
    packed: usize,
    /// The offset of the reference to the time zone. Instances without one may end before it.
    zone: usize,
}

impl InstantStorage {
    /// Finds where Python puts known dates, times and time zones; `None` if that is not certain.
    ///
    /// # Errors
    /// The class makes no datetime.
    pub(crate) fn find(
        datetime: &Bound<'_, PyType>,
        utc: &Bound<'_, PyAny>,
    ) -> PyResult<Option<Self>> {
        let size: usize = datetime.getattr("__basicsize__")?.extract()?;
        let mut samples = Vec::new();
        for parts in SAMPLES {
            let (year, month, day, hour, minute, second, micros) = parts;
            let naive = datetime.call1((year, month, day, hour, minute, second, micros))?;
            let aware = datetime.call1((year, month, day, hour, minute, second, micros, utc))?;
            if [&naive, &aware].map(|made| made.get_type_ptr().cast())
                != [datetime.as_ptr(), datetime.as_ptr()]
            {
                return Ok(None);
            }
            let [high, low] = year.to_be_bytes();
            let [_, first, middle, last] = micros.to_be_bytes();
            let bytes: [u8; PACKED] = [
                high, low, month, day, hour, minute, second, first, middle, last,
            ];
            samples.push((naive, aware, bytes));
        }
        let packed = only((START..=size.saturating_sub(PACKED)).filter(|offset| {
            samples.iter().all(|(_, aware, bytes)| {
                // SAFETY: an aware datetime has at least `__basicsize__` bytes.
                let found = unsafe { bytes_at::<PACKED>(aware, *offset) };
                found == *bytes
            })
        }));
        let words = (START..=size.saturating_sub(WORD)).step_by(WORD);
        let zone = only(words.filter(|offset| {
            samples.iter().all(|(_, aware, _)| {
                // SAFETY: as above; the word is compared and not followed.
                let found = unsafe { bytes_at::<WORD>(aware, *offset) };
                usize::from_ne_bytes(found) == utc.as_ptr() as usize
            })
        }));
        let (Some(packed), Some(zone)) = (packed, zone) else {
            return Ok(None);
        };
        let aware = only((START..packed).filter(|offset| {
            samples.iter().all(|(naive, aware, _)| {
                // SAFETY: a naive datetime ends behind its date and time, an aware one later.
                let found = [naive, aware].map(|made| unsafe { bytes_at::<1>(made, *offset) });
                found == [[0], [1]]
            })
        }));
        Ok(aware.map(|aware| Self {
            datetime: datetime.clone().unbind(),
            utc: utc.clone().unbind(),
            aware,
            packed,
            zone,
        }))
    }
    /// Microseconds since the epoch of a datetime whose time zone is UTC; `None` for any other object.
    #[inline]
    pub(crate) fn micros(&self, object: &Bound<'_, PyAny>) -> Option<i64> {
        if object.get_type_ptr().cast() != self.datetime.as_ptr() {
            return None;
        }
        // SAFETY: `object` is an instance of the very type whose instances have these bytes at these offsets, and a time zone
        // behind them if the first byte says so; none of them ever changes.
        let packed: [u8; PACKED] = unsafe {
            if bytes_at::<1>(object, self.aware) != [1] {
                return None;
            }
            let zone = usize::from_ne_bytes(bytes_at::<WORD>(object, self.zone));
            if zone != self.utc.as_ptr() as usize {
                return None;
            }
            bytes_at(object, self.packed)
        };
        let [
            high,
            low,
            month,
            day,
            hour,
            minute,
            second,
            first,
            middle,
            last,
        ] = packed;
        let civil = Civil {
            year: i32::from(u16::from_be_bytes([high, low])),
            month,
            day,
            hour,
            minute,
            second,
            microsecond: u32::from_be_bytes([0, first, middle, last]),
            offset: Some(0),
        };
        civil.micros()
    }
}

/// Bytes of an object.
///
/// # Safety
/// The object has them.
#[inline]
unsafe fn bytes_at<const COUNT: usize>(object: &Bound<'_, PyAny>, offset: usize) -> [u8; COUNT] {
    // SAFETY: by the contract of this function; bytes need no alignment.
    unsafe {
        object
            .as_ptr()
            .byte_add(offset)
            .cast::<[u8; COUNT]>()
            .read()
    }
}

/// The one item.
fn only(mut items: impl Iterator<Item = usize>) -> Option<usize> {
    let first = items.next();
    first.filter(|_| items.next().is_none())
}
