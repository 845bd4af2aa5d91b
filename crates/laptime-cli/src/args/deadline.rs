//! A deadline as people write it.

use super::sweep_values::parse_time;
use crate::due::Deadline;

/// Reads `55m`, `2h30m` or `06:00`.
pub(super) fn parse_deadline(text: &str) -> Result<Deadline, String> {
    let expected = || "expected a time from now such as 55m or 2h, or a time of day such as 06:00".to_owned();
    let Some((hour, minute)) = text.split_once(':') else {
        return parse_time(text).map(Deadline::After).map_err(|_| expected());
    };
    let number = |text: &str, below: u32| {
        let digits = (1..=2).contains(&text.len()) && text.bytes().all(|byte| byte.is_ascii_digit());
        text.parse().ok().filter(|number| digits && *number < below)
    };
    match (number(hour, 24), number(minute, 60)) {
        (Some(hour), Some(minute)) if text.ends_with(&format!(":{minute:02}")) => {
            Ok(Deadline::At { hour, minute })
        }
        _ => Err(expected()),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn deadlines_are_lengths_of_time_or_times_of_day() {
        let after = |seconds| Ok(Deadline::After(Duration::from_secs(seconds)));
        assert_eq!((parse_deadline("55m"), parse_deadline("2h")), (after(3300), after(7200)));
        assert_eq!(parse_deadline("06:00"), Ok(Deadline::At { hour: 6, minute: 0 }));
        assert_eq!(parse_deadline("6:05"), Ok(Deadline::At { hour: 6, minute: 5 }));
        for text in ["", "24:00", "6:60", "6:5", ":30", "006:00", "+6:00", "soon", "0"] {
            assert!(parse_deadline(text).is_err(), "{text}");
        }
    }
}
