//! The ratio of two sides' mean times, with its interval.

use laptime_core::Estimate;

use super::document::{FitRatio, Timed};
use super::run::{ComparedRun, FitSteps, Side};
use super::series::{Mean, MeanError, mean_step};
use crate::statistics::{mean, t_width};

/// The share of intervals that hold the truth.
pub(super) const LEVEL: f64 = 0.95;
/// What a run may be slowed by where others want the CPUs all the time and did not during the other run, standard
/// deviation.
const CONTENTION: f64 = 0.5;
/// What a run is off by where others want the CPUs all the time during both: equal runs on a busy machine of 2 CPUs
/// differed by a quarter.
const BUSY: f64 = 0.2;
/// Runs that agree better than this do so by luck.
const BEST_REPEAT: f64 = 1e-3;

/// How the times of two sides compare.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Ratio {
    /// Mean of the first side, seconds.
    pub(super) a_s: f64,
    /// Mean of the second, seconds.
    pub(super) b_s: f64,
    /// Logarithm of the second's over the first's.
    pub(super) log: f64,
    /// How wrong that may be; absent where it is not known.
    pub(super) error: Option<RatioError>,
    /// Whether runs of a side could be compared with each other.
    pub(super) between_runs: bool,
}

/// How wrong the logarithm of a ratio may be.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct RatioError {
    /// Standard error.
    pub(super) error: f64,
    /// Degrees of freedom.
    pub(super) degrees: f64,
    /// Of that, what more steps would make smaller.
    pub(super) by_steps: f64,
    /// Standard deviation of one run from another.
    pub(super) of_a_run: f64,
}

impl Ratio {
    /// Steps where all runs have them, else trainings, else whole runs; `None` where the sides have nothing in common.
    pub(super) fn of_sides(a: &Side<'_>, b: &Side<'_>) -> Option<(Timed, Self)> {
        let common = common_fits(a, b);
        let step = |run: &ComparedRun| mean_of_fits(run, &common);
        let fit = |run: &ComparedRun| whole(run.report.fits.iter().map(|fit| fit.wall_s).sum());
        let run = |run: &ComparedRun| whole(run.report.wall_s);
        let all = || a.runs.iter().chain(b.runs);
        if all().any(|run| !run.fits.is_empty()) {
            return Self::of(a, b, step).map(|ratio| (Timed::Step, ratio));
        }
        if all().any(|run| !run.report.fits.is_empty()) {
            return Self::of(a, b, fit).map(|ratio| (Timed::Fit, ratio));
        }
        Self::of(a, b, run).map(|ratio| (Timed::Run, ratio))
    }

    fn of(a: &Side<'_>, b: &Side<'_>, time: impl Fn(&ComparedRun) -> Option<Mean>) -> Option<Self> {
        let means = |side: &Side<'_>| side.runs.iter().map(&time).collect::<Option<Vec<Mean>>>();
        Self::of_disturbed(&means(a)?, &means(b)?, disturbance(a, b))
    }

    /// The ratio of means of runs; `None` where a side has none.
    pub(super) fn of_means(a: &[Mean], b: &[Mean]) -> Option<Self> {
        Self::of_disturbed(a, b, 0.0)
    }

    /// The same where one run of a side may have been disturbed more than that of the other.
    fn of_disturbed(a: &[Mean], b: &[Mean], disturbance: f64) -> Option<Self> {
        let logs = |side: &[Mean]| side.iter().map(|mean| mean.seconds.ln()).collect::<Vec<f64>>();
        let (a_logs, b_logs) = (logs(a), logs(b));
        let (a_log, b_log) = (mean(&a_logs)?, mean(&b_logs)?);
        let log = b_log - a_log;
        let degrees = (a.len() + b.len()) as f64 - 2.0;
        let error = if degrees > 0.0 {
            Some(between((a, &a_logs), (b, &b_logs)))
        } else {
            within(&a[0], &b[0], disturbance)
        };
        log.is_finite().then(|| Self {
            a_s: a_log.exp(),
            b_s: b_log.exp(),
            log,
            error,
            between_runs: degrees > 0.0,
        })
    }

    /// Half the width of the interval of its logarithm.
    pub(super) fn half_width(&self) -> Option<f64> {
        self.error.map(|error| t_width(LEVEL, error.degrees) * error.error)
    }

    /// The ratio with its interval.
    pub(super) fn estimate(&self) -> Option<Estimate> {
        let half = self.half_width()?;
        let at = |log: f64| log.exp();
        Some(Estimate {
            mean: at(self.log),
            low: at(self.log - half),
            high: at(self.log + half),
            level: LEVEL,
        })
    }
}

/// By how the runs of a side differ. Sides are taken to vary alike: few runs say too little of each.
fn between(a: (&[Mean], &[f64]), b: (&[Mean], &[f64])) -> RatioError {
    let squares = |logs: &[f64]| {
        let mean = mean(logs).unwrap_or(0.0);
        logs.iter().map(|log| (log - mean).powi(2)).sum::<f64>()
    };
    let (first, second) = (a.0.len() as f64, b.0.len() as f64);
    let degrees = first + second - 2.0;
    let errors = a.0.iter().chain(b.0).filter_map(|mean| mean.error);
    let seen: Vec<f64> = errors.map(|error| error.relative.powi(2)).collect();
    let by_steps = mean(&seen).unwrap_or(0.0);
    // Runs cannot differ less than the noise within each makes them.
    let of_a_run = ((squares(a.1) + squares(b.1)) / degrees).max(by_steps).max(BEST_REPEAT.powi(2));
    let share = 1.0 / first + 1.0 / second;
    RatioError {
        error: (of_a_run * share).sqrt(),
        degrees,
        by_steps: (by_steps * share).sqrt(),
        of_a_run: of_a_run.sqrt(),
    }
}

/// By the noise within each run, and an allowance for what changed between the two.
fn within(a: &Mean, b: &Mean, disturbance: f64) -> Option<RatioError> {
    let (a, b): (MeanError, MeanError) = (a.error?, b.error?);
    let by_steps = a.relative.powi(2) + b.relative.powi(2);
    let drift = [a, b].map(|run| run.wander.powi(2));
    let error = by_steps + drift[0] + drift[1] + disturbance.powi(2);
    let shares = a.relative.powi(4) / a.degrees + b.relative.powi(4) / b.degrees;
    Some(RatioError {
        error: error.sqrt(),
        degrees: (error * error / shares.max(1e-30)).min(1e6),
        by_steps: by_steps.sqrt(),
        of_a_run: (error / 2.0).sqrt(),
    })
}

/// What other programs may have changed between the runs, standard deviation.
fn disturbance(a: &Side<'_>, b: &Side<'_>) -> f64 {
    let of =
        |side: &Side<'_>| mean(&side.runs.iter().filter_map(ComparedRun::contention).collect::<Vec<_>>());
    let by = |(a, b): (f64, f64)| (CONTENTION * (b - a)).hypot(BUSY * a.hypot(b));
    of(a).zip(of(b)).map_or(0.0, by)
}

/// One value a run, of which the noise is not known.
fn whole(seconds: f64) -> Option<Mean> {
    (seconds > 0.0).then_some(Mean { seconds, error: None })
}

/// The fits whose steps all runs have, and the fewest steps that any has of each.
pub(super) fn common_fits(a: &Side<'_>, b: &Side<'_>) -> Vec<(u32, f64)> {
    let all = || a.runs.iter().chain(b.runs);
    let steps = |run: &ComparedRun, fit: u32| fit_of(run, fit).map(FitSteps::steady_steps);
    let first = all().next().into_iter().flat_map(|run| &run.fits);
    let common = first.filter_map(|fit| {
        let fewest = all().map(|run| steps(run, fit.fit)).collect::<Option<Vec<u64>>>()?.into_iter().min()?;
        Some((fit.fit, fewest.max(1) as f64))
    });
    common.collect()
}

fn fit_of(run: &ComparedRun, fit: u32) -> Option<&FitSteps> {
    run.fits.iter().find(|steps| steps.fit == fit)
}

/// Mean step of a run over the same steps of all fits as the other runs.
fn mean_of_fits(run: &ComparedRun, common: &[(u32, f64)]) -> Option<Mean> {
    let means: Vec<(Mean, f64)> = common
        .iter()
        .map(|(fit, steps)| Some((mean_step(fit_of(run, *fit)?)?, *steps)))
        .collect::<Option<_>>()?;
    let steps: f64 = means.iter().map(|(_, steps)| steps).sum();
    let seconds = means.iter().map(|(mean, steps)| mean.seconds * steps).sum::<f64>() / steps;
    let errors: Option<Vec<(MeanError, f64)>> =
        means.iter().map(|(mean, of)| Some((mean.error?, mean.seconds * of / (steps * seconds)))).collect();
    let error = errors.map(|errors| {
        let sum = |of: &dyn Fn(&MeanError) -> f64, power: i32| -> f64 {
            errors.iter().map(|(error, share)| of(error) * share.powi(power)).sum()
        };
        let variance = sum(&|error| error.relative.powi(2), 2);
        let shares = sum(&|error| error.relative.powi(4) / error.degrees, 4);
        MeanError {
            relative: variance.sqrt(),
            degrees: (variance * variance / shares.max(1e-30)).min(1e6),
            wander: sum(&|error| error.wander, 1),
        }
    });
    seconds.is_finite().then_some(Mean { seconds, error })
}

/// Each fit by itself, where there are several in common.
pub(super) fn fits(a: &Side<'_>, b: &Side<'_>) -> Vec<FitRatio> {
    let common = common_fits(a, b);
    let one = |(index, steps): &(u32, f64)| {
        let ratio = Ratio::of(a, b, |run| mean_of_fits(run, &[(*index, *steps)]))?;
        let fits = b.runs.first().map(|run| run.report.fits.as_slice()).unwrap_or_default();
        let label = fits.iter().find(|fit| fit.index == *index).map(|fit| fit.label.clone());
        Some(FitRatio {
            index: *index,
            label: label.unwrap_or_default(),
            a_s: ratio.a_s,
            b_s: ratio.b_s,
            ratio: ratio.estimate(),
        })
    };
    if common.len() > 1 { common.iter().filter_map(one).collect() } else { Vec::new() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time_left::unseen;

    fn seen(seconds: f64, relative: f64) -> Mean {
        Mean { seconds, error: Some(MeanError { relative, degrees: 20.0, wander: unseen(60.0) }) }
    }

    fn half(a: &[Mean], b: &[Mean]) -> f64 {
        Ratio::of_means(a, b).unwrap().half_width().unwrap()
    }

    #[test]
    fn one_run_a_side_is_never_more_certain_than_a_quiet_machine_allows() {
        let half = half(&[seen(1.0, 1e-6)], &[seen(1.0, 1e-6)]);
        assert!(half > 0.014 && half < 0.016, "{half}");
    }

    #[test]
    fn a_machine_that_wanders_within_a_run_widens_the_interval_between_two() {
        let wanders = Mean {
            error: Some(MeanError { relative: 0.001, degrees: 20.0, wander: 0.03 }),
            ..seen(1.0, 0.001)
        };
        assert!(half(&[wanders], &[wanders]) > 4.0 * half(&[seen(1.0, 0.001)], &[seen(1.0, 0.001)]));
    }

    #[test]
    fn with_several_runs_a_side_their_differences_decide() {
        let a = [1.0, 1.1, 0.9].map(|seconds| seen(seconds, 1e-4));
        let b = [1.05, 0.95, 1.0].map(|seconds| seen(seconds, 1e-4));
        assert!(half(&a, &b) > 0.1);
        let close = [1.0, 1.001, 0.999].map(|seconds| seen(seconds, 1e-4));
        assert!(half(&close, &close) < 0.005);
    }

    #[test]
    fn runs_of_a_side_that_agree_by_luck_do_not_hide_the_noise_within_them() {
        let lucky = [seen(1.0, 0.02), seen(1.0, 0.02)];
        assert!(half(&lucky, &lucky) > 0.05);
    }

    #[test]
    fn whole_runs_need_more_than_one_a_side() {
        let one = Mean { seconds: 1.0, error: None };
        let two = Mean { seconds: 2.0, error: None };
        assert_eq!(Ratio::of_means(&[one], &[two]).unwrap().estimate(), None);
        let ratio = Ratio::of_means(&[one, one], &[two, two]).unwrap().estimate().unwrap();
        assert!(ratio.low > 1.9 && ratio.high < 2.1, "{ratio:?}");
        assert_eq!(Ratio::of_means(&[], &[two]), None);
    }
}
