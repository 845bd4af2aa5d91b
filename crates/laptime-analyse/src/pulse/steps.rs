//! How long steps take, as a histogram with a few bars.

use serde::Serialize;

use super::log::LogPulse;
use crate::histogram::Histogram;

/// Bars of the histogram.
const BARS: usize = 24;
/// What lies outside these shares of the steps is counted in the first and the last bar.
const ENDS: (f64, f64) = (0.005, 0.995);
/// From this ratio of the ends on, bars grow by a factor instead of a difference.
const WIDE: f64 = 6.0;

/// How many steps took how long.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct StepHistogram {
    /// Where the bars begin, and the last one ends; seconds.
    pub edges_s: Vec<f64>,
    /// Steps of each bar; the first has all that are shorter too, the last all that are longer.
    pub counts: Vec<u64>,
}

/// The steps of all logs, by the clock of the first that has any.
pub(super) fn histogram<'a>(logs: impl Iterator<Item = &'a LogPulse>) -> Option<StepHistogram> {
    let mut logs = logs.filter(|log| log.steps.quantile(0.5).is_some());
    let first = logs.next()?;
    let mut all = first.steps.clone();
    // Clocks of one machine tick alike; those of another one differ by less than a bar.
    logs.for_each(|log| all.merge(&log.steps));
    of(&all, first.ns_per_tick * 1e-9)
}

fn of(steps: &Histogram, seconds_per_tick: f64) -> Option<StepHistogram> {
    let (low, high) = (steps.quantile(ENDS.0)?.max(1.0), steps.quantile(ENDS.1)?);
    let high = high.max(low * 1.02);
    let edge = |at: usize| {
        let share = at as f64 / BARS as f64;
        if high / low > WIDE { low * (high / low).powf(share) } else { low + (high - low) * share }
    };
    let edges: Vec<f64> = (0..=BARS).map(edge).collect();
    let mut counts = vec![0; BARS];
    steps.for_each(&mut |ticks, count| {
        let bar = edges.partition_point(|edge| *edge <= ticks).clamp(1, BARS) - 1;
        counts[bar] += count;
    });
    Some(StepHistogram { edges_s: edges.iter().map(|edge| edge * seconds_per_tick).collect(), counts })
}
