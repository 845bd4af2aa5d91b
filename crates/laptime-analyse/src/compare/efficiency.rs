//! Efficiency: what more ranks gave.

use super::document::RanksGain;
use super::run::{ComparedRun, Side};
use crate::statistics::mean;

/// What the ranks of one side do beside those of the other; `None` where both have as many, or a rate is unknown.
pub(super) fn gain(a: &Side<'_>, b: &Side<'_>) -> Option<RanksGain> {
    let (of_a, of_b) = (Rate::of(a)?, Rate::of(b)?);
    let (ranks, speedup) =
        (f64::from(of_b.ranks) / f64::from(of_a.ranks), of_b.samples_per_s / of_a.samples_per_s);
    (of_a.ranks != of_b.ranks).then(|| RanksGain {
        a_ranks: of_a.ranks,
        b_ranks: of_b.ranks,
        a_samples_per_s: of_a.samples_per_s,
        b_samples_per_s: of_b.samples_per_s,
        speedup,
        efficiency: speedup / ranks,
    })
}

/// What a side does.
struct Rate {
    ranks: u32,
    samples_per_s: f64,
}

impl Rate {
    fn of(side: &Side<'_>) -> Option<Self> {
        let ranks = side.runs.first()?.report.run.ranks;
        let alike = side.runs.iter().all(|run| run.report.run.ranks == ranks);
        let rates: Option<Vec<f64>> = side.runs.iter().map(samples_per_s).collect();
        let samples_per_s = mean(&rates?).filter(|rate| *rate > 0.0)?;
        alike.then_some(Self { ranks, samples_per_s })
    }
}

/// Samples a second of all ranks.
fn samples_per_s(run: &ComparedRun) -> Option<f64> {
    let alone = run.report.steps.and_then(|steps| steps.samples_per_s);
    run.report.together.map_or(alone, |together| together.samples_per_s)
}
