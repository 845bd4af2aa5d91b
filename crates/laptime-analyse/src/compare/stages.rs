//! Which stages of a step changed.

use std::collections::{BTreeMap, BTreeSet};

use super::document::StageChange;
use super::ratio::{Ratio, common_fits};
use super::run::{ComparedRun, Side};
use super::series::{Mean, mean_of_laps};
use crate::report::EpochSummary;
use crate::statistics::mean;

/// Whose stages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Track {
    /// Those of the thread that takes the steps.
    Host,
    /// Those of the device.
    Device,
}

/// The stages of a step in one run: the mean of each by lap.
struct RunStages {
    /// Seconds a step, over all fits that the runs have in common.
    seconds: BTreeMap<String, f64>,
    /// The same of each lap, where there is one fit.
    laps: Vec<BTreeMap<String, f64>>,
}

/// The stages of both sides, most changed first; `None` unless all runs have them. `noise` is the share of a step below
/// which nothing is called changed.
pub(super) fn stage_changes(
    a: &Side<'_>,
    b: &Side<'_>,
    track: Track,
    noise: f64,
) -> Option<Vec<StageChange>> {
    let common = common_fits(a, b);
    let of = |side: &Side<'_>| {
        side.runs.iter().map(|run| run_stages(run, &common, track)).collect::<Option<Vec<RunStages>>>()
    };
    let (first, second) = (of(a)?, of(b)?);
    let names: BTreeSet<&String> = first.iter().chain(&second).flat_map(|run| run.seconds.keys()).collect();
    let seconds = |runs: &[RunStages], stage: &str| {
        let values: Vec<f64> = runs.iter().map(|run| run.of(stage)).collect();
        mean(&values).unwrap_or(0.0)
    };
    let total = |runs: &[RunStages]| names.iter().map(|stage| seconds(runs, stage)).sum::<f64>();
    let (a_total, b_total) = (total(&first), total(&second));
    let share = |part: f64, whole: f64| if whole > 0.0 { (part / whole).clamp(0.0, 1.0) } else { 0.0 };
    let one = |stage: &&String| {
        let (a_s, b_s) = (seconds(&first, stage), seconds(&second, stage));
        let ratio = ratio(&first, &second, stage);
        let beyond = ratio.is_none_or(|ratio| ratio.low > 1.0 || ratio.high < 1.0);
        StageChange {
            stage: (*stage).clone(),
            a_s,
            b_s,
            a_share: share(a_s, a_total),
            b_share: share(b_s, b_total),
            ratio,
            changed: beyond && (b_s - a_s).abs() > noise * a_total.min(b_total),
        }
    };
    let mut changes: Vec<StageChange> = names.iter().map(one).filter(|row| row.a_s + row.b_s > 0.0).collect();
    changes.sort_by(|one, other| (other.b_s - other.a_s).abs().total_cmp(&(one.b_s - one.a_s).abs()));
    Some(changes)
}

impl RunStages {
    fn of(&self, stage: &str) -> f64 {
        self.seconds.get(stage).copied().unwrap_or(0.0)
    }

    fn mean(&self, stage: &str) -> Option<Mean> {
        let laps: Vec<f64> = self.laps.iter().map(|lap| lap.get(stage).copied().unwrap_or(0.0)).collect();
        let error = mean_of_laps(&laps).and_then(|mean| mean.error);
        Some(Mean { seconds: Some(self.of(stage)).filter(|seconds| *seconds > 0.0)?, error })
    }
}

fn ratio(a: &[RunStages], b: &[RunStages], stage: &str) -> Option<laptime_core::Estimate> {
    let means = |runs: &[RunStages]| runs.iter().map(|run| run.mean(stage)).collect::<Option<Vec<Mean>>>();
    Ratio::of_means(&means(a)?, &means(b)?)?.estimate()
}

fn run_stages(run: &ComparedRun, common: &[(u32, f64)], track: Track) -> Option<RunStages> {
    let all: f64 = common.iter().map(|(_, steps)| steps).sum();
    let mut stages = RunStages { seconds: BTreeMap::new(), laps: Vec::new() };
    for (fit, weight) in common {
        let laps = steady_laps(run, *fit);
        let steps: u64 = laps.iter().map(|lap| lap.steps).sum();
        for lap in &laps {
            for (stage, seconds) in rows(lap, track)? {
                let of_step = seconds / steps.max(1) as f64 * weight / all;
                *stages.seconds.entry(stage.clone()).or_default() += of_step;
            }
        }
        let by_step = |lap: &&EpochSummary| {
            let of = |(stage, seconds): (&String, &f64)| (stage.clone(), seconds / lap.steps as f64);
            rows(lap, track).map(|rows| rows.iter().map(of).collect())
        };
        if common.len() == 1 {
            stages.laps = laps.iter().filter_map(by_step).collect();
        }
    }
    (!stages.seconds.is_empty()).then_some(stages)
}

fn rows(lap: &EpochSummary, track: Track) -> Option<&BTreeMap<String, f64>> {
    if track == Track::Host { Some(&lap.stages) } else { lap.device_stages.as_ref() }
}

/// The laps of a fit that began after its warm-up, and not its first epoch where it has others.
fn steady_laps(run: &ComparedRun, fit: u32) -> Vec<&EpochSummary> {
    let warm_up = run.fits.iter().find(|steps| steps.fit == fit).map_or(0, |steps| steps.warm_up_steps());
    let all: Vec<&EpochSummary> =
        run.report.epochs.iter().filter(|lap| lap.fit == fit && lap.steps > 0).collect();
    let steady = |lap: &&EpochSummary| lap.complete && lap.first_step >= warm_up.max(1);
    let steady: Vec<&EpochSummary> = all.iter().copied().filter(steady).collect();
    if steady.is_empty() { all } else { steady }
}
