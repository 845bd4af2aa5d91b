//! Ranks: every process that trains in a run that several share, each with its own ledger.

use std::collections::BTreeSet;

use laptime_core::Role;
use laptime_core::units::duration;

use crate::process::Process;
use crate::report::{EpochSummary, Finding, RankSummary, Together};
use crate::statistics::{mean, variance};
use crate::summary::{self, Asked};
use crate::supervised::Supervised;

/// Ranks that differ by more than this in their work on a step are worth a word.
const UNEVEN: f64 = 1.1;
/// A difference between ranks that nobody would act on, as a share of the work.
const MATERIAL: f64 = 0.02;
/// What the work of ranks may differ by where there are too few epochs.
const UNKNOWN_NOISE: f64 = 0.05;

/// All ranks that recorded; `None` when there is only one.
pub(crate) fn ranks(processes: &[Process]) -> Option<Vec<RankSummary>> {
    let trainers = processes.iter().filter(|process| process.facts.role == Role::Trainer);
    let numbers: BTreeSet<u32> = trainers.map(|process| process.facts.rank).collect();
    let summary = |rank: &u32| Some(rank_summary(*rank, &Supervised::of_rank(*rank, processes)?));
    let summaries: Vec<RankSummary> = numbers.iter().filter_map(summary).collect();
    (summaries.len() > 1).then_some(summaries)
}

/// The rank that works longest on a step, and what the others take; `None` where that is not known of two, or
/// where it works no longer than the others beyond what their work varies by itself.
pub(crate) fn slowest(ranks: &[RankSummary]) -> Option<(u32, f64)> {
    let known: Vec<(f64, &RankSummary)> =
        ranks.iter().filter_map(|rank| Some((rank.work_s?, rank))).collect();
    let (most, slowest) = *known.iter().max_by(|a, b| a.0.total_cmp(&b.0))?;
    let others: Vec<_> = known.iter().filter(|(_, rank)| rank.rank != slowest.rank).collect();
    let mean = mean(&others.iter().map(|(work, _)| *work).collect::<Vec<_>>())?;
    let errors = others.iter().map(|(_, rank)| rank.work_error_s).chain([slowest.work_error_s]);
    // Where no error is known the smallest difference anybody would act on stands for it.
    let noise =
        errors.sum::<Option<f64>>().map_or(UNKNOWN_NOISE * mean, |sum| 2.0 * sum / known.len() as f64);
    (most - mean > noise.max(MATERIAL * mean)).then_some((slowest.rank, mean))
}

/// What the ranks come to.
pub(crate) fn ranks_together(ranks: &[RankSummary]) -> Together {
    Together {
        trainers: ranks.len() as u64,
        samples_per_s: ranks.iter().map(|rank| rank.samples_per_s).sum(),
        tokens_per_s: None,
    }
}

/// What stands out when one rank works longer than another: the others wait for it.
pub(crate) fn uneven(ranks: &[RankSummary]) -> Option<Finding> {
    let work = |rank: u32| ranks.iter().find(|known| known.rank == rank)?.work_s;
    let (slowest, _) = slowest(ranks)?;
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
    (most > UNEVEN * least).then(|| Finding::new("uneven_ranks", text()))
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
        samples: summary::known(laps.samples),
        samples_per_s: laps.samples_per_s(),
        work_s: laps.work_s(),
        work_error_s: laps.work_error_s(),
    }
}

/// What all laps of a process come to: the same steps and samples that its table of laps has.
pub(crate) struct Laps {
    pub(crate) steps: u64,
    pub(crate) samples: u64,
    tokens: u64,
    wall_s: f64,
    communication_s: f64,
    /// Mean time of a step in each lap, without communication.
    works: Vec<f64>,
}

impl Laps {
    /// Adds up the laps of a process.
    pub(crate) fn of(process: &Process) -> Self {
        let laps = summary::trainings(process, &process.timebase(), Asked::default()).laps;
        let sum = |of: fn(&EpochSummary) -> u64| laps.iter().map(of).fold(0, u64::saturating_add);
        Self {
            steps: sum(|lap| lap.steps),
            samples: sum(|lap| lap.samples.unwrap_or(0)),
            tokens: sum(|lap| lap.tokens.unwrap_or(0)),
            wall_s: laps.iter().map(|lap| lap.wall_s).sum(),
            communication_s: laps.iter().filter_map(|lap| lap.stages.get("communication")).sum(),
            works: laps.iter().filter_map(work_of).collect(),
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

    /// The standard error of the mean time of a step, by how it varies between laps.
    fn work_error_s(&self) -> Option<f64> {
        let error = variance(&self.works)? / self.works.len() as f64;
        (self.works.len() > 2).then(|| error.sqrt())
    }

    /// Mean time of a step, without communication.
    pub(crate) fn work_s(&self) -> Option<f64> {
        (self.steps > 0).then(|| (self.wall_s - self.communication_s) / self.steps as f64)
    }
}

/// Mean time of a step of one lap, without communication.
fn work_of(lap: &EpochSummary) -> Option<f64> {
    let communication = lap.stages.get("communication").copied().unwrap_or(0.0);
    (lap.steps > 0).then(|| (lap.wall_s - communication) / lap.steps as f64)
}

#[cfg(test)]
mod tests {
    use laptime_core::Status;

    use super::*;

    fn rank(rank: u32, work_ms: f64, error_ms: Option<f64>) -> RankSummary {
        RankSummary {
            rank,
            status: Status::Finished,
            wall_s: 1.0,
            ledger: Vec::new(),
            steps: 20,
            samples: None,
            samples_per_s: None,
            work_s: Some(work_ms * 1e-3),
            work_error_s: error_ms.map(|error| error * 1e-3),
        }
    }

    fn slowest_of(ranks: &[RankSummary]) -> Option<u32> {
        slowest(ranks).map(|(rank, _)| rank)
    }

    #[test]
    fn a_rank_is_the_slowest_only_beyond_the_noise() {
        assert_eq!(slowest_of(&[rank(0, 24.54, Some(0.1)), rank(1, 24.51, Some(0.1))]), None);
        assert_eq!(slowest_of(&[rank(0, 24.5, None), rank(1, 25.4, None)]), None);
        assert_eq!(slowest_of(&[rank(0, 24.5, Some(0.9)), rank(1, 25.9, Some(0.9))]), None);
        assert_eq!(slowest_of(&[rank(0, 24.5, Some(0.1)), rank(1, 25.9, Some(0.1))]), Some(1));
        assert_eq!(slowest_of(&[rank(0, 24.5, None), rank(1, 29.0, None), rank(2, 24.4, None)]), Some(1));
        assert_eq!(slowest_of(&[rank(0, 24.5, None)]), None);
    }
}
