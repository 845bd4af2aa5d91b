//! Ranks: every process that trains in a run that several share, each with its own ledger.

use std::collections::{BTreeMap, BTreeSet};

use laptime_core::units::duration;
use laptime_core::{Role, Ticks};

use crate::between_ranks::{Beside, Between};
use crate::process::Process;
use crate::report::{EpochSummary, Finding, RankCommunication, RankSummary, Together, Warning};
use crate::statistics::{mean, variance};
use crate::summary::{self, Asked};
use crate::supervised::Supervised;
use crate::wording::how_often;

/// Ranks that differ by more than this in their work on a step are worth a word.
const UNEVEN: f64 = 1.1;
/// A difference between ranks that nobody would act on, as a share of the work.
const MATERIAL: f64 = 0.02;
/// What the work of ranks may differ by where there are too few epochs.
const UNKNOWN_NOISE: f64 = 0.05;

/// Every rank that recorded, by the process that trains for it.
pub(crate) fn known_ranks(processes: &[Process]) -> Vec<(u32, Supervised<'_>)> {
    let trainers = processes.iter().filter(|process| process.facts.role == Role::Trainer);
    let numbers: BTreeSet<u32> = trainers.map(|process| process.facts.rank).collect();
    let known = |rank: u32| Some((rank, Supervised::of_rank(rank, processes)?));
    numbers.into_iter().filter_map(known).collect()
}

/// Ranks that left nothing on record, once any has trained; at first some are only slower to start.
pub(crate) fn missing(known: &[(u32, Supervised<'_>)], world: u32) -> Option<Warning> {
    let trained = known.iter().any(|(_, run)| run.process.trains());
    let recorded: BTreeSet<u32> = known.iter().map(|(rank, _)| *rank).collect();
    let ranks: Vec<u32> = (0..world).filter(|rank| !recorded.contains(rank)).collect();
    (trained && !ranks.is_empty()).then_some(Warning::RanksMissing { ranks, world })
}

/// That a launcher had started the ranks before: that was another run of the same launch.
pub(crate) fn restarted(known: &[(u32, Supervised<'_>)]) -> Option<Finding> {
    let restarts =
        known.iter().map(|(_, run)| run.process.facts.restart).max().filter(|restarts| *restarts > 0)?;
    let text = format!(
        "the launcher had started the ranks {} before, after a rank failed: `laptime runs` lists what they did then",
        how_often(u64::from(restarts))
    );
    Some(Finding::new("restarted", text))
}

/// What each rank did; `None` when there is only one.
pub(crate) fn ranks(known: &[(u32, Supervised<'_>)], between: Option<&Between>) -> Option<Vec<RankSummary>> {
    let beside =
        |rank: &u32| between.and_then(|between| between.ranks.get(rank)).copied().unwrap_or_default();
    let summary = |(rank, run): &(u32, Supervised<'_>)| rank_summary(*rank, run, beside(rank));
    (known.len() > 1).then(|| known.iter().map(summary).collect())
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

fn rank_summary(rank: u32, run: &Supervised<'_>, beside: Beside) -> RankSummary {
    let (wall_s, ledger) = run.ledger();
    let laps = Laps::of(run.process);
    let communication = of_steps(run.process, &laps, beside);
    let in_backward_s = communication.map_or(0.0, |_| in_backward_s(run.process));
    RankSummary {
        rank,
        status: run.status(),
        wall_s,
        ledger,
        steps: laps.steps,
        samples: summary::known(laps.samples),
        samples_per_s: laps.samples_per_s(),
        work_s: laps.work_s().map(|work| (work - in_backward_s).max(0.0)),
        work_error_s: laps.work_error_s(),
        host: run.process.facts.host.clone(),
        communication,
        clock: beside.clock,
    }
}

/// What a rank stood still in the backward pass of a step, seconds.
fn in_backward_s(process: &Process) -> f64 {
    let Some(fold) = process.communication.as_deref().filter(|fold| fold.steps > 0) else { return 0.0 };
    process.timebase().seconds(Ticks(fold.exposure.in_backward)) / fold.steps as f64
}

/// What a rank did in a step, with what it exchanged; `None` where no collective was seen.
fn of_steps(process: &Process, laps: &Laps, beside: Beside) -> Option<RankCommunication> {
    let fold = process.communication.as_deref().filter(|fold| fold.steps > 0 && laps.steps > 0)?;
    let (steps, exposure) = (fold.steps as f64, fold.exposure);
    let seconds = |ticks| process.timebase().seconds(Ticks(ticks)) / steps;
    let exposed_s = seconds(exposure.exposed);
    let waiting_s = beside.waiting.map(|share| share * exposed_s);
    Some(RankCommunication {
        step_s: laps.wall_s / laps.steps as f64,
        data_s: laps.stages_s(&["data_wait", "prepare"]),
        compute_s: (laps.stages_s(&["forward", "loss", "backward", "optimizer"]) - in_backward_s(process))
            .max(0.0),
        hidden_s: seconds(exposure.busy - exposure.exposed),
        exposed_s,
        transfer_s: waiting_s.map(|waiting| exposed_s - waiting),
        waiting_s,
        late: beside.late,
        bytes: fold.step_bytes() as f64 / steps,
    })
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
    /// All stages, seconds.
    stages: BTreeMap<String, f64>,
}

impl Laps {
    /// Adds up the laps of a process.
    pub(crate) fn of(process: &Process) -> Self {
        let laps = summary::trainings(process, &process.timebase(), Asked::default()).laps;
        let mut stages: BTreeMap<String, f64> = BTreeMap::new();
        for (stage, seconds) in laps.iter().flat_map(|lap| &lap.stages) {
            *stages.entry(stage.clone()).or_default() += seconds;
        }
        let sum = |of: fn(&EpochSummary) -> u64| laps.iter().map(of).fold(0, u64::saturating_add);
        Self {
            steps: sum(|lap| lap.steps),
            samples: sum(|lap| lap.samples.unwrap_or(0)),
            tokens: sum(|lap| lap.tokens.unwrap_or(0)),
            wall_s: laps.iter().map(|lap| lap.wall_s).sum(),
            communication_s: stages.get("communication").copied().unwrap_or(0.0),
            works: laps.iter().filter_map(work_of).collect(),
            stages,
        }
    }

    /// Some stages together in a step, seconds.
    fn stages_s(&self, names: &[&str]) -> f64 {
        let seconds = names.iter().filter_map(|name| self.stages.get(*name));
        seconds.fold(0.0, |sum, seconds| sum + seconds) / self.steps.max(1) as f64
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
            host: None,
            communication: None,
            clock: None,
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
