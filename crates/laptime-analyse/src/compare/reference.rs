//! How two machines compare by laptime's reference models, which are the same everywhere.

use laptime_core::{Estimate, Machine};

use super::document::{Answer, Cause, Comparison, Reference};
use super::environment::SAME_MEMORY;
use super::in_turns::by_ratio;
use super::ratio::{LEVEL, Ratio};
use super::run::{ComparedRun, Side};
use crate::report::FitSummary;
use crate::statistics::{mean, t_width, variance};

/// What reference models are recorded as.
const FRAMEWORK: &str = "laptime";

/// Puts the ratio of the machines beside that of the sides, where the sides ran on different ones and `kept` has the
/// same reference models of both; only then is one called faster.
pub fn compare_machines(
    comparison: &mut Comparison,
    a: &[ComparedRun],
    b: &[ComparedRun],
    kept: &[ComparedRun],
) {
    if comparison.because != Some(Cause::DifferentMachines) {
        return;
    }
    let Some(ratio) = comparison.ratio else { return };
    let Some((machines, models)) = ratio_of_machines(a, b, kept) else { return };
    let beyond = over(&ratio, &machines);
    if let Some(gate) = &mut comparison.gate {
        gate.warns = beyond.mean > 1.0 + gate.fail_if_slower && beyond.low > 1.0;
    }
    comparison.reference = Some(Reference { ratio: machines, models, beyond });
    comparison.verdict = by_ratio(&ratio, comparison.same_within);
    comparison.because = (comparison.verdict == Answer::CannotTell).then_some(Cause::Noise);
}

/// The fit of a run of a reference model.
fn model(run: &ComparedRun) -> Option<&FitSummary> {
    let [fit] = run.report.fits.as_slice() else { return None };
    (fit.framework.as_deref() == Some(FRAMEWORK)).then_some(fit)
}

fn ratio_of_machines(
    a: &[ComparedRun],
    b: &[ComparedRun],
    kept: &[ComparedRun],
) -> Option<(Estimate, Vec<String>)> {
    // They train on the CPU, and say nothing of another device.
    let on_cpu = |run: &ComparedRun| run.report.devices.as_ref().is_none_or(Vec::is_empty);
    if !a.iter().chain(b).all(on_cpu) {
        return None;
    }
    let compared = |run: &ComparedRun| a.iter().chain(b).any(|own| own.report.run.id == run.report.run.id);
    let of = |side: &[ComparedRun]| -> Vec<&ComparedRun> {
        let here = |run: &&ComparedRun| side.iter().all(|own| is_same_machine(&own.machine, &run.machine));
        kept.iter().filter(|run| model(run).is_some() && !compared(run)).filter(here).collect()
    };
    let (first, second) = (of(a), of(b));
    let mut ratios: Vec<(String, Estimate)> = Vec::new();
    let mut left = first.as_slice();
    while let Some((run, rest)) = left.split_first() {
        let seen = first[..first.len() - left.len()].iter().any(|earlier| is_same_model(earlier, run));
        ratios.extend(if seen { None } else { ratio_of_model(run, &first, &second) });
        left = rest;
    }
    let estimates: Vec<Estimate> = ratios.iter().map(|(_, ratio)| *ratio).collect();
    let mut models: Vec<String> = ratios.into_iter().map(|(label, _)| label).collect();
    models.dedup();
    Some((together(&estimates)?, models))
}

/// The ratio of one model's steps on both machines.
fn ratio_of_model(
    like: &ComparedRun,
    first: &[&ComparedRun],
    second: &[&ComparedRun],
) -> Option<(String, Estimate)> {
    let of = |runs: &[&ComparedRun]| -> Vec<ComparedRun> {
        runs.iter().filter(|run| is_same_model(like, run)).map(|run| (*run).clone()).collect()
    };
    let (a, b) = (of(first), of(second));
    if b.is_empty() {
        return None;
    }
    let (_, ratio) = Ratio::of_sides(&Side::new("", &a), &Side::new("", &b))?;
    Some((model(like)?.label.clone(), ratio.estimate()?))
}

fn is_same_model(one: &ComparedRun, other: &ComparedRun) -> bool {
    let (Some(first), Some(second)) = (model(one), model(other)) else { return false };
    first.label == second.label
        && first.parameters == second.parameters
        && first.batch == second.batch
        && first.choices == second.choices
        && one.report.run.threads == other.report.run.threads
}

/// Whether both are the same, as far as is known: what says nothing is no machine.
fn is_same_machine(one: &Machine, other: &Machine) -> bool {
    let memory = match (one.memory_bytes, other.memory_bytes) {
        (Some(one), Some(other)) => one.max(other) as f64 <= one.min(other) as f64 * (1.0 + SAME_MEMORY),
        (one, other) => one == other,
    };
    one.cpu_model.is_some() && one.cpu_model == other.cpu_model && one.cpus == other.cpus && memory
}

/// The mean of several models' ratios. Models need different things of a machine, so how their ratios differ counts.
fn together(ratios: &[Estimate]) -> Option<Estimate> {
    let logs: Vec<f64> = ratios.iter().map(|ratio| ratio.mean.ln()).collect();
    let middle = mean(&logs)?;
    let count = logs.len() as f64;
    let halves: f64 = ratios.iter().map(|ratio| half(ratio).powi(2)).sum();
    let between = variance(&logs).map_or(0.0, |spread| t_width(LEVEL, count - 1.0) * (spread / count).sqrt());
    Some(around(middle, (halves.sqrt() / count).max(between)))
}

fn over(ratio: &Estimate, machines: &Estimate) -> Estimate {
    around((ratio.mean / machines.mean).ln(), half(ratio).hypot(half(machines)))
}

fn half(ratio: &Estimate) -> f64 {
    0.5 * (ratio.high / ratio.low).ln()
}

fn around(log: f64, half: f64) -> Estimate {
    Estimate { mean: log.exp(), low: (log - half).exp(), high: (log + half).exp(), level: LEVEL }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn estimate(mean: f64, low: f64, high: f64) -> Estimate {
        Estimate { mean, low, high, level: LEVEL }
    }

    #[test]
    fn one_model_is_as_certain_as_its_own_ratio() {
        let one = together(&[estimate(0.55, 0.53, 0.57)]).unwrap();
        assert!((one.mean - 0.55).abs() < 1e-9 && (one.high / one.low - 0.57 / 0.53).abs() < 1e-9, "{one:?}");
        assert_eq!(together(&[]), None);
    }

    #[test]
    fn models_that_disagree_widen_the_interval() {
        let agree = together(&[estimate(0.5, 0.49, 0.51), estimate(0.5, 0.49, 0.51)]).unwrap();
        let differ = together(&[estimate(0.4, 0.39, 0.41), estimate(0.6, 0.59, 0.61)]).unwrap();
        assert!(agree.high / agree.low < 1.05 && differ.high / differ.low > 2.0, "{agree:?} {differ:?}");
    }

    #[test]
    fn what_is_beyond_the_machines_is_as_uncertain_as_both() {
        let beyond = over(&estimate(0.56, 0.54, 0.58), &estimate(0.55, 0.53, 0.57));
        assert!((beyond.mean - 0.56 / 0.55).abs() < 1e-9);
        assert!(beyond.low < 1.0 && beyond.high > 1.0, "{beyond:?}");
    }

    #[test]
    fn machines_are_told_apart_by_cpu_number_of_them_and_memory() {
        let one = Machine { cpus: 2, cpu_model: Some("x".into()), memory_bytes: Some(1000), kernel: None };
        assert!(is_same_machine(
            &one,
            &Machine { memory_bytes: Some(1010), kernel: Some("6".into()), ..one.clone() }
        ));
        assert!(!is_same_machine(&one, &Machine { memory_bytes: Some(2000), ..one.clone() }));
        assert!(!is_same_machine(&one, &Machine { cpus: 4, ..one.clone() }));
        assert!(!is_same_machine(&Machine::default(), &Machine::default()));
    }
}
