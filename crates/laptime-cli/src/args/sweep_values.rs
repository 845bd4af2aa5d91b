//! The values of a sweep's options: lengths of time, shares, numbers of repeats, targets.

use std::time::Duration;

use laptime_analyse::sweep::{Target, TargetMetric};

/// More repeats of one point than anybody waits for.
const MOST_REPEATS: u32 = 10_000;

/// How often to measure a point: at least and at most.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RepeatRange {
    pub(crate) fewest: u32,
    pub(crate) most: u32,
}

/// Reads `5` or `3..10`.
pub(super) fn parse_repeats(text: &str) -> Result<RepeatRange, String> {
    let count = |text: &str| text.parse().ok().filter(|count| (1..=MOST_REPEATS).contains(count));
    let (fewest, most) = match text.split_once("..") {
        Some((fewest, most)) => (count(fewest), count(most)),
        None => (count(text), count(text)),
    };
    match (fewest, most) {
        (Some(fewest), Some(most)) if fewest <= most => Ok(RepeatRange { fewest, most }),
        _ => Err("expected a count such as 5, or a range such as 3..10".to_owned()),
    }
}

/// Reads `3%` or `0.03`.
pub(super) fn parse_precision(text: &str) -> Result<f64, String> {
    let (number, scale) = text.strip_suffix('%').map_or((text, 1.0), |number| (number, 100.0));
    let share = number.trim().parse::<f64>().ok().map(|number| number / scale);
    share
        .filter(|share| *share > 0.0 && *share < 1.0)
        .ok_or_else(|| "expected a share between 0 and 1, such as 3% or 0.03".to_owned())
}

/// Reads `90s`, `5m`, `1h30m`, `500ms`, or seconds.
pub(super) fn parse_time(text: &str) -> Result<Duration, String> {
    let expected = || "expected a time such as 90s, 5m, 1h30m or 500ms".to_owned();
    let (mut seconds, mut rest) = (0.0, text.trim());
    while !rest.is_empty() {
        let digits =
            rest.find(|letter: char| !(letter.is_ascii_digit() || letter == '.')).unwrap_or(rest.len());
        let number: f64 = rest[..digits].parse().map_err(|_| expected())?;
        let unit_end = rest[digits..].find(|letter: char| !letter.is_ascii_alphabetic());
        let (unit, after) = rest[digits..].split_at(unit_end.unwrap_or(rest.len() - digits));
        seconds += number
            * match unit {
                "ms" => 1e-3,
                "s" | "" => 1.0,
                "m" | "min" => 60.0,
                "h" => 3600.0,
                "d" => 86_400.0,
                _ => return Err(expected()),
            };
        rest = after;
    }
    Duration::try_from_secs_f64(seconds).ok().filter(|time| !time.is_zero()).ok_or_else(expected)
}

/// Reads `loss=0.1` or `accuracy=95%`.
pub(super) fn parse_target(text: &str) -> Result<Target, String> {
    let expected = || "expected loss=VALUE or accuracy=VALUE, such as loss=0.1 or accuracy=0.95".to_owned();
    let (metric, value) = text.split_once('=').ok_or_else(expected)?;
    let (value, scale) = value.strip_suffix('%').map_or((value, 1.0), |value| (value, 100.0));
    let value = value.parse::<f64>().ok().filter(|value| value.is_finite()).ok_or_else(expected)? / scale;
    match metric {
        "loss" => Ok(Target { metric: TargetMetric::Loss, value }),
        "accuracy" if (0.0..=1.0).contains(&value) => Ok(Target { metric: TargetMetric::Accuracy, value }),
        _ => Err(expected()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_are_read_as_people_write_them() {
        let seconds = |text| parse_time(text).map(|time| time.as_secs_f64());
        for (text, expected) in
            [("90s", 90.0), ("5m", 300.0), ("1h30m", 5400.0), ("500ms", 0.5), ("2.5", 2.5), ("1m30", 90.0)]
        {
            assert_eq!(seconds(text), Ok(expected), "{text}");
        }
        for text in ["", "m", "5x", "-1s", "0", "1..2s", "1e99d", "5 m"] {
            assert!(seconds(text).is_err(), "{text}");
        }
    }

    #[test]
    fn repeats_precision_and_targets_have_their_forms() {
        assert_eq!(parse_repeats("5"), Ok(RepeatRange { fewest: 5, most: 5 }));
        assert_eq!(parse_repeats("3..10"), Ok(RepeatRange { fewest: 3, most: 10 }));
        for text in ["0", "10..3", "x", "3..", "-1"] {
            assert!(parse_repeats(text).is_err(), "{text}");
        }
        assert_eq!((parse_precision("3%"), parse_precision("0.03")), (Ok(0.03), Ok(0.03)));
        assert!(parse_precision("0").is_err() && parse_precision("100%").is_err());
        let loss = Target { metric: TargetMetric::Loss, value: 0.1 };
        assert_eq!(parse_target("loss=0.1"), Ok(loss));
        assert_eq!(parse_target("accuracy=95%").map(|target| target.value), Ok(0.95));
        for text in ["loss", "loss=x", "accuracy=95", "speed=1"] {
            assert!(parse_target(text).is_err(), "{text}");
        }
    }
}
