//! Runs with a planted course, for the tests of forecasts.

use laptime_core::{FitFacts, Machine, RunMeta, StageId, Status};

use super::{CannotForecast, Forecast, Known, Plan, Score, WhatIf, forecast};
use crate::Digest;
use crate::compare::ComparedRun;
use crate::script::Script;

/// One epoch: its steps, and what follows it.
#[derive(Clone, Debug, Default)]
pub(super) struct Pass {
    /// Seconds of each step.
    pub(super) steps: Vec<f64>,
    /// Evaluation after it, seconds; `None` where the epoch has not ended.
    pub(super) evaluate: Option<f64>,
}

impl Pass {
    /// An epoch of steps that are all alike, with an evaluation.
    pub(super) fn even(steps: usize, step: f64, evaluate: f64) -> Self {
        Self { steps: vec![step; steps], evaluate: Some(evaluate) }
    }

    /// The same that has not ended.
    pub(super) fn open(steps: usize, step: f64) -> Self {
        Self { steps: vec![step; steps], evaluate: None }
    }
}

/// How a planted run stands.
pub(super) fn made(facts: FitFacts, start_s: f64, passes: &[Pass], status: Status) -> ComparedRun {
    let samples = facts.batch.and_then(|batch| u32::try_from(batch).ok()).unwrap_or(1);
    let mut script = Script::new();
    script.pass(ticks(start_s)).fit(facts);
    for pass in passes {
        script.epoch();
        for step in &pass.steps {
            // A fifth of each step waits for data.
            let (wait, compute) = (ticks(0.2 * step), ticks(0.8 * step));
            script.step(&[(StageId::DATA_WAIT, wait), (StageId::FORWARD, compute)], samples);
        }
        let Some(evaluate) = pass.evaluate else { break };
        script.end_epoch().stage(StageId::EVALUATE, ticks(evaluate));
    }
    match status {
        Status::Finished => script.end_fit().close(),
        status => script.cut(status),
    };
    of(&script)
}

/// A run without epochs.
pub(super) fn made_of_steps(facts: FitFacts, steps: &[f64], status: Status) -> ComparedRun {
    let mut script = Script::new();
    script.fit_of_steps(facts);
    for step in steps {
        script.step(&[(StageId::FORWARD, ticks(*step))], 1).between_steps();
    }
    of(script.cut(status))
}

fn of(script: &Script) -> ComparedRun {
    let machine = Machine { cpus: 2, memory_bytes: Some(8 << 30), ..Machine::default() };
    let meta = RunMeta { device: Some("cpu".into()), ranks: 1, machine, ..RunMeta::default() };
    let mut digest = Digest::new(meta);
    script.records.iter().for_each(|record| digest.take(record));
    digest.compared_run()
}

fn ticks(seconds: f64) -> u64 {
    (seconds * 1e9).round() as u64
}

/// A fit of so many epochs of so many steps.
pub(super) fn planned(epochs: u64, steps: u64) -> FitFacts {
    FitFacts { epochs: Some(epochs), steps_per_epoch: Some(steps), ..FitFacts::default() }
}

/// The forecast of a run as it plans itself.
pub(super) fn of_run(run: &ComparedRun, scores: &[Score]) -> Result<Forecast, CannotForecast> {
    forecast(&Known { run, earlier: &[], scores }, &Plan::default(), &WhatIf::default())
}

/// The forecast of a run with a change.
pub(super) fn changed(run: &ComparedRun, what_if: WhatIf) -> Result<Forecast, CannotForecast> {
    forecast(&Known { run, earlier: &[], scores: &[] }, &Plan::default(), &what_if)
}
