//! Trainers: processes of one rank that train side by side, each with its own ledger.

use laptime_core::{Role, Status, Ticks};

use crate::death::counts;
use crate::process::Process;
use crate::ranks::Laps;
use crate::report::{Together, TrainerSummary};
use crate::summary::known;
use crate::supervised::Supervised;

/// Trainings count as side by side when they share at least this part of the shorter one.
const SHARED: f64 = 0.5;

/// All processes of the ranks in which several train; `None` where every training is alone.
pub(crate) fn trainers(run: &Supervised<'_>, processes: &[Process]) -> Option<Vec<TrainerSummary>> {
    let all = processes.iter().filter(|one| one.facts.role == Role::Trainer && one.trains());
    let of_rank = |rank: u32| all.clone().filter(|one| one.facts.rank == rank).count();
    let mut side: Vec<&Process> = all.clone().filter(|one| of_rank(one.facts.rank) > 1).collect();
    side.sort_by_key(|one| (one.facts.rank, one.facts.started, one.facts.pid));
    let summaries: Vec<TrainerSummary> = side.iter().map(|one| summary(one, run)).collect();
    (!summaries.is_empty()).then_some(summaries)
}

/// What the trainers side by side come to; `None` where one trained after another.
pub(crate) fn trainers_together(trainers: &[TrainerSummary]) -> Option<Together> {
    let side = || trainers.iter().filter(|one| one.side_by_side);
    let together = Together {
        trainers: side().count() as u64,
        samples_per_s: side().map(|one| one.samples_per_s).sum(),
        tokens_per_s: side().map(|one| one.tokens_per_s).sum(),
    };
    (together.trainers > 1).then_some(together)
}

fn summary(process: &Process, run: &Supervised<'_>) -> TrainerSummary {
    let reported = run.process;
    let alone = Supervised::alone(process);
    let (wall_s, ledger) = alone.ledger();
    let laps = Laps::of(process);
    TrainerSummary {
        pid: process.facts.pid,
        rank: process.facts.rank,
        status: status(process, run.status()),
        wall_s,
        ledger,
        steps: laps.steps,
        samples: known(laps.samples),
        samples_per_s: laps.samples_per_s(),
        tokens_per_s: laps.tokens_per_s(),
        work_s: laps.work_s(),
        side_by_side: process.facts.rank == reported.facts.rank && is_beside(process, reported),
    }
}

/// How it ended: children often leave without a word, which is no death where the command ended well.
fn status(process: &Process, of_run: Status) -> Status {
    let is_silent = process.status() == Status::Killed && process.closed.is_none();
    if is_silent && !counts(process, of_run) { of_run } else { process.status() }
}

/// Whether two processes trained at the same time, for most of the shorter training.
fn is_beside(one: &Process, other: &Process) -> bool {
    let ((one_began, one_ended), (began, ended)) = (training(one), training(other));
    let shared = one_ended.min(ended).since(one_began.max(began));
    let shorter = one_ended.since(one_began).min(ended.since(began));
    std::ptr::eq(one, other) || shared.0 as f64 >= SHARED * shorter.0 as f64 && shared > Ticks(0)
}

/// From the begin of its first fit to the end of its last.
fn training(process: &Process) -> (Ticks, Ticks) {
    let fits = process.fits.values().filter_map(|fit| Some((fit.began?, fit)));
    let end = process.extent().end;
    let began = fits.clone().map(|(began, _)| began).min().unwrap_or(end);
    (began, fits.map(|(_, fit)| fit.ended.unwrap_or(end)).max().unwrap_or(end))
}
