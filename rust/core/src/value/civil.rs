//! Dates and times of the proleptic Gregorian calendar.

/// The clock and calendar fields of a datetime.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "the names are those of Python")]
pub struct Civil {
    pub year: i32,
    pub month: u8,
    pub day: u8,
    pub hour: u8,
    pub minute: u8,
    pub second: u8,
    pub microsecond: u32,
    /// Microseconds ahead of UTC; `None` where it is naive.
    pub offset: Option<i64>,
}

impl Civil {
    /// Returns the UTC date and time `micros` microseconds after 1970-01-01T00:00:00Z.
    #[must_use]
    pub fn utc(micros: i64) -> Self {
        const DAY: i64 = 86_400_000_000;
        let (days, rest) = (micros.div_euclid(DAY), micros.rem_euclid(DAY));
        // Days since 0000-03-01 in the proleptic Gregorian calendar, so that leap days end a year.
        let days = days + 719_468;
        let (era, day_of_era) = (days.div_euclid(146_097), days.rem_euclid(146_097));
        let year_of_era =
            (day_of_era - day_of_era / 1460 + day_of_era / 36_524 - day_of_era / 146_096) / 365;
        let day_of_year = day_of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
        let shifted = (5 * day_of_year + 2) / 153;
        let month = if shifted < 10 {
            shifted + 3
        } else {
            shifted - 9
        };
        let seconds = rest / 1_000_000;
        Self {
            year: (year_of_era + era * 400 + i64::from(month <= 2)) as i32,
            month: month as u8,
            day: (day_of_year - (153 * shifted + 2) / 5 + 1) as u8,
            hour: (seconds / 3600) as u8,
            minute: (seconds / 60 % 60) as u8,
            second: (seconds % 60) as u8,
            microsecond: (rest % 1_000_000) as u32,
            offset: Some(0),
        }
    }

    /// Parses an RFC 3339 text.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let number = |tens: u8, ones: u8| {
            let (tens, ones) = (tens.wrapping_sub(b'0'), ones.wrapping_sub(b'0'));
            (tens <= 9 && ones <= 9).then(|| i64::from(tens) * 10 + i64::from(ones))
        };
        let (clock, mut rest) = text.as_bytes().split_first_chunk()?;
        #[rustfmt::skip]
        let [
            y, e, a, r, b'-', m, o, b'-', d, t, b'T' | b't', h, u, b':', i, n, b':', s, c,
        ] = *clock else {
            return None;
        };
        let (year, month, day) = (
            number(y, e)? * 100 + number(a, r)?,
            number(m, o)?,
            number(d, t)?,
        );
        let (hour, minute, second) = (number(h, u)?, number(i, n)?, number(s, c)?);
        let mut micros = 0;
        if let [b'.', fraction @ ..] = rest {
            rest = fraction;
            let mut unit = 100_000;
            while let [digit @ b'0'..=b'9', after @ ..] = rest {
                if unit == 0 && *digit != b'0' {
                    return None;
                }
                micros += unit * i64::from(digit - b'0');
                unit /= 10;
                rest = after;
            }
            if rest.len() == fraction.len() {
                return None;
            }
        }
        let offset = match *rest {
            [b'Z' | b'z'] => 0,
            [sign @ (b'+' | b'-'), h, u, b':', i, n] => {
                let (hours, minutes) = (number(h, u)?, number(i, n)?);
                if hours > 23 || minutes > 59 {
                    return None;
                }
                (hours * 60 + minutes) * if sign == b'+' { 1 } else { -1 }
            }
            _ => return None,
        };
        let leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
        let length = match month {
            4 | 6 | 9 | 11 => 30,
            2 => 28 + i64::from(leap),
            _ => 31,
        };
        let real = year >= 1
            && (1..=12).contains(&month)
            && (1..=length).contains(&day)
            && hour <= 23
            && minute <= 59
            && second <= 59;
        if !real {
            return None;
        }
        Some(Self {
            year: year as i32,
            month: month as u8,
            day: day as u8,
            hour: hour as u8,
            minute: minute as u8,
            second: second as u8,
            microsecond: micros as u32,
            offset: Some(offset * 60_000_000),
        })
    }

    /// Days since 1970-01-01.
    #[must_use]
    pub fn days(&self) -> i64 {
        let (month, day) = (i64::from(self.month), i64::from(self.day));
        // Years that begin in March, so that leap days end them.
        let year = i64::from(self.year) - i64::from(month <= 2);
        let (era, year_of_era) = (year.div_euclid(400), year.rem_euclid(400));
        let day_of_year = (153 * ((month + 9) % 12) + 2) / 5 + day - 1;
        let day_of_era = year_of_era * 365 + year_of_era / 4 - year_of_era / 100 + day_of_year;
        era * 146_097 + day_of_era - 719_468
    }

    /// Microseconds since 1970-01-01T00:00:00 on its own clock.
    #[must_use]
    pub fn clock(&self) -> i64 {
        let seconds =
            i64::from(self.hour) * 3600 + i64::from(self.minute) * 60 + i64::from(self.second);
        (self.days() * 86_400 + seconds) * 1_000_000 + i64::from(self.microsecond)
    }

    /// Microseconds since 1970-01-01T00:00:00Z; `None` where it is naive.
    #[must_use]
    pub fn micros(&self) -> Option<i64> {
        self.offset.map(|offset| self.clock() - offset)
    }
}
