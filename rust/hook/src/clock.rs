//! The time of the call, as a request writes it.

use std::time::{SystemTime, UNIX_EPOCH};

use bobcat_core::value::Civil;

/// The reason why there is no time.
pub(crate) const INVALID: &str = "the clock of this machine has no valid time";

/// The current time in RFC 3339, to the microsecond; `None` for a clock before 1970 or out of range.
pub(crate) fn now() -> Option<String> {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).ok()?;
    Some(rfc3339(i64::try_from(since.as_micros()).ok()?))
}

fn rfc3339(micros: i64) -> String {
    let Civil {
        year,
        month,
        day,
        hour,
        minute,
        second,
        microsecond,
        offset: _,
    } = Civil::utc(micros);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{microsecond:06}Z")
}

#[cfg(test)]
mod tests {
    use super::rfc3339;

    #[test]
    fn a_time_is_written_in_rfc_3339() {
        assert_eq!(
            rfc3339(1_700_000_000_000_001),
            "2023-11-14T22:13:20.000001Z"
        );
    }
}
