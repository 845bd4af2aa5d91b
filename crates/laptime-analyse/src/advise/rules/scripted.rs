//! Runs made up for the tests of rules.

use laptime_core::{FitFacts, Machine, RunMeta, StageId, Ticks};

use super::super::document::Advice;
use crate::compare::ComparedRun;
use crate::report::Report;
use crate::script::Script;
use crate::{Digest, advise};

pub(super) const MS: u64 = 1_000_000;
pub(super) const FORWARD: StageId = StageId::FORWARD;
pub(super) const BACKWARD: StageId = StageId::BACKWARD;
pub(super) const OPTIMIZER: StageId = StageId::OPTIMIZER;
pub(super) const DATA_WAIT: StageId = StageId::DATA_WAIT;

const EPOCHS: u32 = 3;
const STEPS: u32 = 120;

/// A training on a CPU whose steps have these stages, each with its ticks.
pub(super) fn on_cpu(framework: &str, stages: &[(StageId, u64)]) -> ComparedRun {
    let mut script = Script::new();
    script.pass(MS).fit(facts(framework, "cpu"));
    for _ in 0..EPOCHS {
        script.epoch();
        for _ in 0..STEPS {
            script.step(stages, 32);
        }
        script.end_epoch();
    }
    script.end_fit();
    run(&mut script)
}

/// A training on a GPU whose steps have these stages, each with what it takes on the host and gives the GPU to do.
pub(super) fn on_gpu(stages: &[(StageId, u64, u64)], after_step: impl Fn(&mut Script)) -> ComparedRun {
    let mut script = Script::new();
    script.pass(MS).on_device();
    script.boundary(StageId::BETWEEN_EPOCHS).fit(facts("torch", "cuda:0"));
    for _ in 0..EPOCHS {
        script.boundary(StageId::UNACCOUNTED).epoch();
        for _ in 0..STEPS {
            let start = Ticks(script.now);
            stages.iter().for_each(|(stage, host, work)| {
                script.launch(0, *stage, *host, *work);
            });
            after_step(&mut script);
            script.end_step(start, 32, None).state();
        }
        script.boundary(StageId::BETWEEN_EPOCHS).end_epoch().state();
    }
    script.wait_for_device(StageId::BETWEEN_EPOCHS);
    script.boundary(StageId::TEAR_DOWN).end_fit();
    run(&mut script)
}

/// A GPU that computes all the time: the host is held back where its queue is full.
pub(super) fn busy_gpu() -> ComparedRun {
    let stages = [(FORWARD, 2 * MS, 14 * MS), (BACKWARD, 3 * MS, 30 * MS), (OPTIMIZER, MS, MS)];
    on_gpu(&stages, |script| {
        let ahead = script.device_free(0) - script.now;
        script.launch(0, OPTIMIZER, ahead.saturating_sub(200 * MS), 0);
    })
}

/// A GPU that waits for the host's launches.
pub(super) fn waiting_gpu() -> ComparedRun {
    on_gpu(&[(FORWARD, 5 * MS, MS), (BACKWARD, 9 * MS, 2 * MS), (OPTIMIZER, 5 * MS, MS)], |_| ())
}

/// A run whose fit has these settings.
pub(super) fn with(mut run: ComparedRun, settings: &[(&str, &str)]) -> ComparedRun {
    let settings = settings.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned()));
    run.report.fits[0].settings.extend(settings);
    run
}

/// A run with a report that is changed.
pub(super) fn changed(mut run: ComparedRun, change: impl Fn(&mut Report)) -> ComparedRun {
    change(&mut run.report);
    run
}

/// What is advised, by name with the least and the most that it gains.
pub(super) fn gains(run: &ComparedRun) -> Vec<(&'static str, f64, f64)> {
    let rounded = |value: f64| (value * 100.0).round() / 100.0;
    let items = advice(run).items;
    items.iter().map(|item| (item.id, rounded(item.speedup.low), rounded(item.speedup.high))).collect()
}

/// Whether something is advised.
pub(super) fn advises(run: &ComparedRun, id: &str) -> bool {
    advice(run).items.iter().any(|item| item.id == id)
}

/// Why something is advised.
pub(super) fn because(run: &ComparedRun, id: &str) -> String {
    let items = advice(run).items;
    items.into_iter().find(|item| item.id == id).map(|item| item.because).unwrap_or_default()
}

pub(super) fn advice(run: &ComparedRun) -> Advice {
    advise::advise(run, Vec::new())
}

fn facts(framework: &str, device: &str) -> FitFacts {
    let (framework, device) = (Some(framework.to_owned()), Some(device.to_owned()));
    FitFacts { framework, device, ..FitFacts::default() }
}

fn run(script: &mut Script) -> ComparedRun {
    script.pass(MS).close();
    let machine = Machine { cpus: 4, ..Machine::default() };
    let mut digest = Digest::new(RunMeta { machine, ranks: 1, ..RunMeta::default() });
    script.records.iter().for_each(|record| digest.take(record));
    digest.compared_run()
}
