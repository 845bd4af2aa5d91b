//! Runs with a planted fault, for the tests of rules.

use laptime_core::{FitFacts, Machine, RunMeta, StageId};

use super::document::Item;
use super::{Advice, advise};
use crate::Digest;
use crate::compare::ComparedRun;
use crate::passes::{BatchLoading, CpuUse};
use crate::script::Script;

/// Steps of an epoch, and epochs.
pub(super) const STEPS: u32 = 50;
pub(super) const EPOCHS: u32 = 4;

const MS: u64 = 1_000_000;

/// A training of torch on two CPUs whose steps have these stages, milliseconds, by their number from 0.
pub(super) fn made(facts: FitFacts, stages: impl Fn(u32) -> Vec<(StageId, f64)>) -> ComparedRun {
    let batch = u32::try_from(facts.batch.unwrap_or(32)).unwrap_or(32);
    let facts = FitFacts {
        framework: Some("torch".into()),
        device: Some("cpu".into()),
        batch: Some(batch.into()),
        steps_per_epoch: Some(STEPS.into()),
        ..facts
    };
    let mut script = Script::new();
    script.pass(MS).fit(facts);
    for epoch in 0..EPOCHS {
        script.epoch();
        for step in 0..STEPS {
            let stages: Vec<(StageId, u64)> = stages(epoch * STEPS + step)
                .iter()
                .map(|(stage, ms)| (*stage, (ms * MS as f64) as u64))
                .collect();
            script.step(&stages, batch);
        }
        script.end_epoch();
    }
    script.end_fit().close();
    let machine = Machine { cpus: 2, ..Machine::default() };
    let meta = RunMeta { device: Some("cpu".into()), ranks: 1, machine, ..RunMeta::default() };
    let mut digest = Digest::new(meta);
    script.records.iter().for_each(|record| digest.take(record));
    let mut run = digest.compared_run();
    let busy = CpuUse { seconds: run.report.wall_s, cpu_s: Some(run.report.wall_s), queue_s: Some(0.0) };
    (run.passes.own, run.passes.tree) = (busy, busy);
    run
}

/// Computing of so many milliseconds.
pub(super) fn computing(ms: f64) -> Vec<(StageId, f64)> {
    vec![(StageId::FORWARD, ms * 0.3), (StageId::BACKWARD, ms * 0.6), (StageId::OPTIMIZER, ms * 0.1)]
}

/// Computing after a wait for data.
pub(super) fn waiting(wait: f64, ms: f64) -> Vec<(StageId, f64)> {
    [(StageId::DATA_WAIT, wait)].into_iter().chain(computing(ms)).collect()
}

/// Loading of a batch, milliseconds: on a CPU, waiting, and to collate.
pub(super) fn loading(cpu: f64, waits: f64, collate: f64) -> Option<BatchLoading> {
    let seconds = (cpu + waits) * 1e-3;
    Some(BatchLoading { seconds, cpu_s: cpu * 1e-3, queue_s: 0.0, collate_s: collate * 1e-3 })
}

/// A fit whose batches so many workers load.
pub(super) fn workers(workers: u64) -> FitFacts {
    FitFacts { workers: Some(workers), ..FitFacts::default() }
}

/// The advice of a rule, where it has any.
pub(super) fn item(run: &ComparedRun, id: &str) -> Option<Item> {
    advised(run).items.into_iter().find(|item| item.id == id)
}

/// All advice on a run.
pub(super) fn advised(run: &ComparedRun) -> Advice {
    advise(run, Vec::new())
}

/// Whether a speed-up is within what was expected, and what was expected is at most 25 % either way.
pub(super) fn holds(item: &Item, speedup: f64) -> bool {
    let expected = item.speedup;
    let narrow = expected.high / expected.low <= 1.25 * 1.25 + 1e-9;
    (expected.typical || narrow) && (expected.low..=expected.high).contains(&speedup)
}
