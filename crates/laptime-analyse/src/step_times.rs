//! Step times: how they are spread, how they went, and where their level moved.

use laptime_core::{Ticks, Timebase};

use crate::change_points::change_points;
use crate::fit::Fit;
use crate::histogram::Bin;
use crate::step_series::{Block, StepSeries, joined};

/// Bins of a spread: enough to see two humps, few enough to draw.
const MOST_BINS: usize = 48;
/// Groups of neighbouring steps along a run.
const MOST_GROUPS: usize = 240;

/// The times of the steps of one fit.
#[derive(Clone, Debug, PartialEq)]
pub struct StepTimes {
    /// The fit.
    pub fit: u32,
    /// How they are spread, the shortest first; every step counts.
    pub spread: Vec<StepBin>,
    /// How they went: neighbouring steps together, in time order.
    pub trend: Vec<StepGroup>,
    /// Where their level moved and stayed.
    pub changes: Vec<StepChange>,
}

/// Steps that took about as long.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StepBin {
    /// The shortest, seconds.
    pub low_s: f64,
    /// Where the next bin begins, seconds.
    pub high_s: f64,
    /// How many.
    pub count: u64,
}

/// Neighbouring steps.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StepGroup {
    /// Steps of the fit before them.
    pub first_step: u64,
    /// How many they are.
    pub steps: u64,
    /// Their mean time, seconds.
    pub mean_s: f64,
    /// The part of it that waited for data or made it ready, seconds.
    pub wait_s: f64,
}

/// A move of the level.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct StepChange {
    /// Steps of the fit before it.
    pub step: u64,
    /// The mean time of a step since the move before it, seconds.
    pub before_s: f64,
    /// The mean time of a step until the next move, seconds.
    pub after_s: f64,
}

impl StepTimes {
    /// Of a fit; `None` where no step ended.
    pub(crate) fn of(number: u32, fit: &Fit, timebase: &Timebase) -> Option<Self> {
        let series = &fit.steps;
        let seconds = |ticks: f64| ticks * timebase.seconds(Ticks(1));
        let bin = |bin: Bin| StepBin { low_s: seconds(bin.low), high_s: seconds(bin.high), count: bin.count };
        let spread: Vec<StepBin> = series.histogram.bins(MOST_BINS).into_iter().map(bin).collect();
        let trend = trend(series, seconds);
        let changes = changes(&trend);
        (!spread.is_empty()).then_some(Self { fit: number, spread, trend, changes })
    }
}

fn trend(series: &StepSeries, seconds: impl Fn(f64) -> f64) -> Vec<StepGroup> {
    let mut first_step = 0;
    let group = |block: Block| {
        let mean_s = seconds(block.mean_ticks());
        let wait_s = seconds(block.wait as f64 / block.steps.max(1) as f64);
        let group = StepGroup { first_step, steps: block.steps, mean_s, wait_s };
        first_step += block.steps;
        group
    };
    joined(series.blocks(), MOST_GROUPS).into_iter().map(group).collect()
}

fn changes(trend: &[StepGroup]) -> Vec<StepChange> {
    let means: Vec<f64> = trend.iter().map(|group| group.mean_s).collect();
    let found = change_points(&means);
    let ends: Vec<usize> = std::iter::once(0).chain(found).chain([trend.len()]).collect();
    let level = |from: usize, until: usize| {
        let steps: u64 = trend[from..until].iter().map(|group| group.steps).sum();
        let time: f64 = trend[from..until].iter().map(|group| group.mean_s * group.steps as f64).sum();
        time / steps.max(1) as f64
    };
    let change = |ends: &[usize]| StepChange {
        step: trend[ends[1]].first_step,
        before_s: level(ends[0], ends[1]),
        after_s: level(ends[1], ends[2]),
    };
    ends.windows(3).map(change).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tally::Step;

    #[test]
    fn every_step_is_in_the_spread_and_a_slower_half_is_a_change() {
        let mut fit = Fit::default();
        let step = |time| Step { time: Ticks(time), ..Step::default() };
        for at in 0..1_000_u64 {
            let level = if at < 500 { 10_000_000 } else { 15_000_000 };
            fit.steps.push(&step(level + 10_000 * (at % 7)));
        }
        let times = StepTimes::of(0, &fit, &Timebase::NANOSECONDS).unwrap();
        assert_eq!(times.spread.iter().map(|bin| bin.count).sum::<u64>(), 1_000);
        assert!(times.trend.len() <= MOST_GROUPS);
        let [change] = times.changes[..] else { panic!("{:?}", times.changes) };
        assert!(change.step.abs_diff(500) <= 5, "{change:?}");
        assert!((change.after_s / change.before_s - 1.5).abs() < 0.01, "{change:?}");
    }

    #[test]
    fn a_fit_without_steps_has_no_times() {
        assert_eq!(StepTimes::of(0, &Fit::default(), &Timebase::NANOSECONDS), None);
    }
}
