//! UTC: an instant since 1970 as RFC 3339 text, the one place that knows the calendar.

const NS_PER_S: u64 = 1_000_000_000;
const S_PER_DAY: u64 = 86_400;

/// An instant as RFC 3339 text in UTC, to the millisecond.
#[must_use]
pub fn rfc3339(real_ns: u64) -> String {
    let (seconds, ns) = (real_ns / NS_PER_S, real_ns % NS_PER_S);
    let (year, month, day) = civil_from_days(seconds / S_PER_DAY);
    let of_day = seconds % S_PER_DAY;
    let (hour, minute, second) = (of_day / 3_600, of_day / 60 % 60, of_day % 60);
    format!("{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{:03}Z", ns / 1_000_000)
}

/// Year, month and day of a day counted from 1970-01-01, after Howard Hinnant's `civil_from_days`.
fn civil_from_days(days: u64) -> (u64, u64, u64) {
    // Counting years from March puts the leap day at the year's end, where it disturbs no month.
    let days = days + 719_468;
    let (era, of_era) = (days / 146_097, days % 146_097);
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let from_march = (5 * of_year + 2) / 153;
    let day = of_year - (153 * from_march + 2) / 5 + 1;
    let month = if from_march < 10 { from_march + 3 } else { from_march - 9 };
    (era * 400 + year_of_era + u64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_instants_read_as_the_calendar_says() {
        assert_eq!(rfc3339(0), "1970-01-01T00:00:00.000Z");
        assert_eq!(rfc3339(951_782_400 * NS_PER_S), "2000-02-29T00:00:00.000Z");
        assert_eq!(rfc3339(1_709_251_199 * NS_PER_S + 999_999_999), "2024-02-29T23:59:59.999Z");
        assert_eq!(rfc3339(1_735_689_600 * NS_PER_S), "2025-01-01T00:00:00.000Z");
        assert_eq!(rfc3339(4_107_542_400 * NS_PER_S), "2100-03-01T00:00:00.000Z");
        assert_eq!(rfc3339(u64::MAX), "2554-07-21T23:34:33.709Z");
    }
}
