//! Ranks: every process that trains in a run that several share, each with its own ledger.

use std::collections::BTreeSet;

use laptime_core::Role;
use laptime_core::units::duration;

use crate::process::Process;
use crate::report::{EpochSummary, Finding, RankSummary};
use crate::summary;
use crate::supervised::Supervised;

/// Ranks that differ by more than this in their work on a step are worth a word.
const UNEVEN: f64 = 1.1;

/// All ranks that recorded; `None` when there is only one.
pub(crate) fn ranks(processes: &[Process]) -> Option<Vec<RankSummary>> {
    let trainers = processes.iter().filter(|process| process.facts.role == Role::Trainer);
    let numbers: BTreeSet<u32> = trainers.map(|process| process.facts.rank).collect();
    let summary = |rank: &u32| Some(rank_summary(*rank, &Supervised::of_rank(*rank, processes)?));
    let summaries: Vec<RankSummary> = numbers.iter().filter_map(summary).collect();
    (summaries.len() > 1).then_some(summaries)
}

/// The rank that works longest on a step; `None` where that is not known of two.
pub(crate) fn slowest(ranks: &[RankSummary]) -> Option<u32> {
    let known: Vec<(f64, u32)> = ranks.iter().filter_map(|rank| Some((rank.work_s?, rank.rank))).collect();
    let slowest = known.iter().max_by(|a, b| a.0.total_cmp(&b.0))?;
    (known.len() > 1).then_some(slowest.1)
}

/// What stands out when one rank works longer than another: the others wait for it.
pub(crate) fn uneven(ranks: &[RankSummary]) -> Option<Finding> {
    let work = |rank: u32| ranks.iter().find(|known| known.rank == rank)?.work_s;
    let slowest = slowest(ranks)?;
    let known = ranks.iter().filter_map(|rank| Some((rank.work_s?, rank.rank)));
    let (least, fastest) = known.min_by(|a, b| a.0.total_cmp(&b.0))?;
    let most = work(slowest)?;
    let text = || {
        let (most, least) = (duration(most), duration(least));
        format!(
            "rank {slowest} is the slowest, and every step waits for it: it works {most} on a step, rank \
             {fastest} {least}; give every rank the same work on a machine of its own"
        )
    };
    (most > UNEVEN * least).then(|| Finding { id: "uneven_ranks", text: text() })
}

fn rank_summary(rank: u32, run: &Supervised<'_>) -> RankSummary {
    let (wall_s, ledger) = run.ledger();
    let laps = Laps::of(run.process);
    RankSummary {
        rank,
        status: run.status(),
        wall_s,
        ledger,
        steps: laps.steps,
        samples: laps.samples,
        samples_per_s: laps.samples_per_s(),
        work_s: laps.work_s(),
    }
}

/// What all laps of a process come to: the same steps and samples that its table of laps has.
pub(crate) struct Laps {
    pub(crate) steps: u64,
    pub(crate) samples: u64,
    tokens: u64,
    wall_s: f64,
    communication_s: f64,
}

impl Laps {
    /// Adds up the laps of a process.
    pub(crate) fn of(process: &Process) -> Self {
        let laps = summary::trainings(process, &process.timebase(), None).laps;
        let sum = |of: fn(&EpochSummary) -> u64| laps.iter().map(of).fold(0, u64::saturating_add);
        Self {
            steps: sum(|lap| lap.steps),
            samples: sum(|lap| lap.samples),
            tokens: sum(|lap| lap.tokens.unwrap_or(0)),
            wall_s: laps.iter().map(|lap| lap.wall_s).sum(),
            communication_s: laps.iter().filter_map(|lap| lap.stages.get("communication")).sum(),
        }
    }

    /// Samples a second of the laps.
    pub(crate) fn samples_per_s(&self) -> Option<f64> {
        summary::rate(self.samples, self.wall_s)
    }

    /// Tokens a second of the laps.
    pub(crate) fn tokens_per_s(&self) -> Option<f64> {
        summary::rate(self.tokens, self.wall_s)
    }

    /// Mean time of a step, without communication.
    pub(crate) fn work_s(&self) -> Option<f64> {
        (self.steps > 0).then(|| (self.wall_s - self.communication_s) / self.steps as f64)
    }
}
