//! The answer: faster, slower, same, cannot tell, or not the same training.

use super::document::{Answer, Cause, Change, Check, More};
use super::environment::different_machines;
use super::ratio::{LEVEL, Ratio};
use super::run::{ComparedRun, Side};
use super::series::FEWEST_STEPS;
use super::training::is_same;
use crate::statistics::t_width;

/// Half-widths an answer is planned with, in standard errors, and how close to a decision counts as one.
const PLANNED: f64 = 1.96;
const CLEARLY: f64 = 0.8;
/// More runs or steps than this are nothing to ask for.
const MOST_RUNS: u64 = 100;

/// The answer and what goes with it.
pub(super) struct Judged {
    pub(super) answer: Answer,
    pub(super) because: Option<Cause>,
    pub(super) more: Option<More>,
}

impl Judged {
    fn plain(answer: Answer) -> Self {
        Self { answer, because: None, more: None }
    }

    fn unclear(because: Cause, more: Option<More>) -> Self {
        Self { answer: Answer::CannotTell, because: Some(because), more }
    }
}

/// Judges. Times of different trainings are no answer to who is faster, and neither are those of different machines.
pub(super) fn answer(
    a: &Side<'_>,
    b: &Side<'_>,
    ratio: Option<&Ratio>,
    training: &[Check],
    environment: &[Change],
    same_within: f64,
) -> Judged {
    if is_same(training) == Some(false) {
        return Judged::plain(Answer::NotSameTraining);
    }
    if different_machines(environment).is_some() {
        return Judged::unclear(Cause::DifferentMachines, None);
    }
    let Some(ratio) = ratio else { return Judged::unclear(Cause::NothingInCommon, None) };
    let Some(half) = ratio.half_width() else { return without_interval(a, b) };
    let margin = same_within.ln_1p();
    match ratio.log {
        log if log.abs() + half <= margin => Judged::plain(Answer::Same),
        log if log + half < 0.0 => Judged::plain(Answer::Faster),
        log if log - half > 0.0 => Judged::plain(Answer::Slower),
        _ => Judged::unclear(Cause::Noise, more(a, b, ratio, margin)),
    }
}

fn without_interval(a: &Side<'_>, b: &Side<'_>) -> Judged {
    let steps = |run: &ComparedRun| run.fits.iter().map(|fit| fit.steady_steps()).sum::<u64>();
    let fewest = a.runs.iter().chain(b.runs).map(steps).min().unwrap_or(0);
    if fewest == 0 {
        return Judged::unclear(Cause::OneRunASide, Some(More::Runs(2)));
    }
    // Twice the fewest: with those there is an interval, but hardly a useful one.
    Judged::unclear(Cause::TooFewSteps, Some(More::Steps((2 * FEWEST_STEPS).saturating_sub(fewest))))
}

/// What would make the interval narrow enough to be on one side of 1, or within the margin.
fn more(a: &Side<'_>, b: &Side<'_>, ratio: &Ratio, margin: f64) -> Option<More> {
    let error = ratio.error?;
    let needed = (CLEARLY * ratio.log.abs()).max(CLEARLY * (margin - ratio.log.abs()));
    let drift = (error.error.powi(2) - error.by_steps.powi(2)).max(0.0);
    let by_steps = (needed / PLANNED).powi(2) - drift;
    if !ratio.between_runs && by_steps > drift {
        let steps = |run: &ComparedRun| run.fits.iter().map(|fit| fit.steady_steps()).sum::<u64>();
        let seen = a.runs.iter().chain(b.runs).map(steps).min()? as f64;
        let times = error.by_steps.powi(2) / by_steps;
        return Some(More::Steps(rounded_up((seen * (times - 1.0)).max(1.0))));
    }
    let has = a.runs.len().min(b.runs.len()) as u64;
    let enough = |runs: u64| {
        let runs = runs as f64;
        t_width(LEVEL, 2.0 * runs - 2.0) * error.of_a_run * (2.0 / runs).sqrt() <= needed
    };
    // Runs are counted by doubling and then one by one, since each look costs a quantile.
    let mut most = (has + 1).max(2);
    while !enough(most) {
        most *= 2;
        if most > MOST_RUNS {
            return None;
        }
    }
    let least = (most / 2).max(has + 1).max(2);
    let runs = (least..=most).find(|runs| enough(*runs)).unwrap_or(most);
    Some(More::Runs(runs - has))
}

/// A number of steps that nobody takes for exact.
fn rounded_up(steps: f64) -> u64 {
    let size = 10_f64.powf(steps.log10().floor());
    ((steps / size).ceil() * size) as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn steps_to_go_are_round_numbers() {
        assert_eq!((rounded_up(1.0), rounded_up(37.2), rounded_up(4_123.0)), (1, 40, 5_000));
    }
}
