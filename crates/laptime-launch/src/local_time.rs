//! The wall clock where the user is: instants since 1970 as the local calendar has them, and back.

#![expect(unsafe_code, reason = "the system's calendar")]

use std::time::{SystemTime, UNIX_EPOCH};

const DAYS: [&str; 7] = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"];
const MONTHS: [&str; 12] =
    ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"];
/// A week, seconds: within it a weekday names a day.
const WEEK_S: i64 = 7 * 86_400;

/// Seconds since 1970, now.
#[must_use]
pub fn now_s() -> f64 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_secs_f64()
}

/// An instant as a person says it: `14:20` today, `Tue 14:20` within a week, else `24 Nov 14:20`.
#[must_use]
pub fn clock_time(at_s: f64, now_s: f64) -> String {
    let (Some(at), Some(now)) = (calendar(at_s), calendar(now_s)) else { return "–".to_owned() };
    let time = format!("{:02}:{:02}", at.tm_hour, at.tm_min);
    let name = |names: &[&'static str], at: i32| {
        usize::try_from(at).ok().and_then(|at| names.get(at).copied()).unwrap_or("–")
    };
    if (at.tm_year, at.tm_yday) == (now.tm_year, now.tm_yday) {
        return time;
    }
    // One day less, since the same weekday in a week would read as today's.
    if (at_s - now_s).abs() < (WEEK_S - 86_400) as f64 {
        return format!("{} {time}", name(&DAYS, at.tm_wday));
    }
    let year = if at.tm_year == now.tm_year { String::new() } else { format!(" {}", at.tm_year + 1900) };
    format!("{} {}{year} {time}", at.tm_mday, name(&MONTHS, at.tm_mon))
}

/// The next instant after `now_s` at which clocks show this time.
#[must_use]
pub fn next_at(hour: u32, minute: u32, now_s: f64) -> Option<f64> {
    let day = |later: i32| {
        let mut at = calendar(now_s)?;
        at.tm_mday += later;
        (at.tm_hour, at.tm_min, at.tm_sec) = (hour.try_into().ok()?, minute.try_into().ok()?, 0);
        // Whether summer time is in force then is for the system to say.
        at.tm_isdst = -1;
        // SAFETY: a live pointer to a whole structure.
        let seconds = unsafe { libc::mktime(&raw mut at) };
        (seconds != -1).then_some(seconds as f64)
    };
    [day(0), day(1)].into_iter().flatten().find(|at| *at > now_s)
}

fn calendar(at_s: f64) -> Option<libc::tm> {
    // SAFETY: zeroed fields are valid, and both pointers are live.
    unsafe {
        let (seconds, mut fields): (libc::time_t, libc::tm) = (at_s as libc::time_t, std::mem::zeroed());
        (!libc::localtime_r(&raw const seconds, &raw mut fields).is_null()).then_some(fields)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_time_of_day_is_within_a_day_and_reads_as_it_was_asked_for() {
        let now = 1_790_000_000.0;
        for (hour, minute) in [(0, 0), (6, 0), (13, 59), (23, 59)] {
            let at = next_at(hour, minute, now).unwrap();
            assert!(at > now && at - now <= 25.0 * 3600.0, "{at}");
            assert!(clock_time(at, now).ends_with(&format!("{hour:02}:{minute:02}")), "{at}");
        }
    }

    #[test]
    fn the_day_is_said_where_it_is_not_today() {
        let now = next_at(12, 0, 1_790_000_000.0).unwrap();
        assert_eq!(clock_time(now + 3600.0, now), "13:00");
        assert_eq!(clock_time(now + 86_400.0, now).len(), "Tue 12:00".len());
        assert!(clock_time(now + 30.0 * 86_400.0, now).contains(' '));
        assert!(clock_time(now + 400.0 * 86_400.0, now).contains(" 202"), "another year is said");
    }
}
