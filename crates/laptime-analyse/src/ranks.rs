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
    let timebase = run.process.timebase();
    let (wall_s, ledger) = run.ledger();
    let steps = summary::steps(run.process, &timebase);
    let laps = summary::trainings(run.process, &timebase, None).laps;
    RankSummary {
        rank,
        status: run.status(),
        wall_s,
        ledger,
        steps: steps.map_or(0, |steps| steps.count),
        samples_per_s: steps.and_then(|steps| steps.samples_per_s),
        work_s: work_s(&laps),
    }
}

/// Mean time of a step in the passes, without communication.
fn work_s(epochs: &[EpochSummary]) -> Option<f64> {
    let steps: u64 = epochs.iter().map(|epoch| epoch.steps).sum();
    let stages = epochs.iter().flat_map(|epoch| &epoch.stages);
    let work: f64 = stages.filter(|(stage, _)| *stage != "communication").map(|(_, seconds)| seconds).sum();
    (steps > 0).then(|| work / steps as f64)
}
