//! Bytes over time: the rate once it is steady, and the time that was lost until then.

use crate::survey::Amount;

/// Bytes that had arrived after so many seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Mark {
    pub(super) seconds: f64,
    pub(super) bytes: f64,
}

/// What the bytes over time amount to.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Curve {
    /// The slope once it is steady.
    pub(super) bytes_per_s: Amount,
    /// How much later everything is than with that slope from the beginning: connecting, waiting, starting slowly.
    pub(super) lead_s: f64,
    /// Whether the slope still rose at the end.
    pub(super) ramping: bool,
    /// The seconds in which it was steady.
    pub(super) steady_s: f64,
}

/// Windows that the time from the first byte to the last is cut into.
const WINDOWS: usize = 20;

/// What the last third must be above the third before for the slope to count as rising.
const RISING: f64 = 1.15;

/// A rate is never known better than this share of it: links change from minute to minute.
const LEAST_REACH: f64 = 0.1;

/// Student's factor at 95 % for about five blocks.
const FACTOR: f64 = 2.6;

/// The curve through these marks; `None` where nothing arrived.
pub(super) fn curve(marks: &[Mark]) -> Option<Curve> {
    let first = marks.iter().rposition(|mark| mark.bytes <= 0.0).map_or(0, |before| before);
    let (start, end) = (marks.get(first)?, marks.last()?);
    let span = end.seconds - start.seconds;
    if end.bytes <= 0.0 || span <= 0.0 {
        return None;
    }
    let at = |index: usize| start.seconds + span * index as f64 / WINDOWS as f64;
    let bytes: Vec<f64> = (0..=WINDOWS).map(|index| bytes_at(marks, at(index))).collect();
    let rate = |from: usize, to: usize| (bytes[to] - bytes[from]) / (at(to) - at(from));
    let ramping = rate(14, 20) > RISING * rate(8, 14) && rate(17, 20) > rate(14, 17) * 0.95;
    // The last half is steady unless it is rising; before it, what is not slower belongs to it too.
    let tail = if ramping { rate(16, WINDOWS) } else { rate(10, WINDOWS) };
    let mut steady = if ramping { 16 } else { 10 };
    while steady > 1 && rate(steady - 1, steady) > 0.85 * tail && rate(steady - 1, steady) < 1.2 * tail {
        steady -= 1;
    }
    let mean = rate(steady, WINDOWS);
    let blocks = 5.min(WINDOWS - steady);
    let block = |index: usize| steady + (WINDOWS - steady) * index / blocks;
    let rates: Vec<f64> = (0..blocks).map(|index| rate(block(index), block(index + 1))).collect();
    let reach = (FACTOR * standard_error(&rates)).max(LEAST_REACH * mean);
    // What still rises will be faster, nobody knows how much.
    let high = if ramping { 4.0 * mean } else { mean + reach };
    let bytes_per_s = Amount::between((mean - reach).max(mean / 10.0), mean, high);
    let lead_s = (end.seconds - end.bytes / mean).max(0.0);
    Some(Curve { bytes_per_s, lead_s, ramping, steady_s: at(WINDOWS) - at(steady) })
}

/// Whether the rate is known well enough to stop.
pub(super) fn is_steady(marks: &[Mark]) -> bool {
    curve(marks).is_some_and(|curve| {
        let reach = (curve.bytes_per_s.high - curve.bytes_per_s.mean) / curve.bytes_per_s.mean;
        let span = marks.last().map_or(0.0, |mark| mark.seconds);
        !curve.ramping && reach < 0.15 && curve.steady_s > span / 3.0
    })
}

fn standard_error(rates: &[f64]) -> f64 {
    let count = rates.len() as f64;
    if count < 2.0 {
        return 0.0;
    }
    let mean = rates.iter().sum::<f64>() / count;
    let variance = rates.iter().map(|rate| (rate - mean).powi(2)).sum::<f64>() / (count - 1.0);
    (variance / count).sqrt()
}

/// The bytes at a time, between the marks around it.
fn bytes_at(marks: &[Mark], seconds: f64) -> f64 {
    let after = marks.partition_point(|mark| mark.seconds < seconds);
    let (Some(b), Some(a)) = (marks.get(after), marks.get(after.saturating_sub(1))) else {
        return marks.last().map_or(0.0, |mark| mark.bytes);
    };
    let width = b.seconds - a.seconds;
    if width <= 0.0 { b.bytes } else { a.bytes + (b.bytes - a.bytes) * (seconds - a.seconds) / width }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn marks(bytes: impl Fn(f64) -> f64, seconds: f64) -> Vec<Mark> {
        let times = (0..=400).map(|index| f64::from(index) * seconds / 400.0);
        times.map(|seconds| Mark { seconds, bytes: bytes(seconds) }).collect()
    }

    #[test]
    fn the_slope_counts_and_not_the_ratio() {
        // 0.3 s until the first byte, then 1 MB/s: after 1.3 s the ratio would say 0.77 MB/s.
        let curve = curve(&marks(|t| (t - 0.3).max(0.0) * 1e6, 1.3)).unwrap();
        assert!((curve.bytes_per_s.mean / 1e6 - 1.0).abs() < 0.02, "{curve:?}");
        assert!((curve.lead_s - 0.3).abs() < 0.02 && !curve.ramping, "{curve:?}");
    }

    #[test]
    fn a_slow_start_costs_time_and_not_rate() {
        // The rate doubles every 0.1 s until 10 MB/s is reached.
        let rate = |t: f64| (0.1 * 2_f64.powf(t / 0.1)).min(10.0);
        let bytes = |t: f64| (0..1000).map(|i| rate(t * f64::from(i) / 1000.0) * t / 1000.0).sum::<f64>();
        let curve = curve(&marks(bytes, 3.0)).unwrap();
        assert!((curve.bytes_per_s.mean - 10.0).abs() < 0.3 && !curve.ramping, "{curve:?}");
        assert!((0.4..0.7).contains(&curve.lead_s), "{curve:?}");
    }

    #[test]
    fn a_rate_that_still_doubles_at_the_end_is_said_to() {
        let curve = curve(&marks(|t| 2_f64.powf(t / 0.1) - 1.0, 1.0)).unwrap();
        assert!(curve.ramping && curve.bytes_per_s.high > 2.0 * curve.bytes_per_s.mean, "{curve:?}");
    }

    #[test]
    fn a_burst_at_the_beginning_is_not_the_rate() {
        let curve = curve(&marks(|t| if t < 0.1 { t * 50e6 } else { 5e6 + (t - 0.1) * 1e6 }, 2.0)).unwrap();
        assert!((curve.bytes_per_s.mean / 1e6 - 1.0).abs() < 0.02, "{curve:?}");
    }

    #[test]
    fn nothing_that_arrived_is_no_curve() {
        assert_eq!(curve(&[]), None);
        assert_eq!(curve(&marks(|_| 0.0, 1.0)), None);
        let all_at_once = [Mark { seconds: 0.0, bytes: 5.0 }];
        assert_eq!(curve(&all_at_once), None);
    }
}
