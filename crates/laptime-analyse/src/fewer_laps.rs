//! Fewer laps: neighbours added up, so that a chart has room for all of them.

use std::collections::BTreeMap;

use crate::report::{EpochSummary, LapKind};

/// The laps, of each fit by itself, as at most about so many rows; rates and losses are those of the last one.
#[must_use]
pub fn fewer_laps(laps: &[EpochSummary], most: usize) -> Vec<EpochSummary> {
    let together = laps.len().div_ceil(most.max(1)).max(1);
    let fits = laps.chunk_by(|a, b| a.fit == b.fit);
    fits.flat_map(|fit| fit.chunks(together)).filter_map(one).collect()
}

fn one(laps: &[EpochSummary]) -> Option<EpochSummary> {
    let (first, rest) = laps.split_first()?;
    let mut sum = first.clone();
    for lap in rest {
        sum.kind = if sum.kind == LapKind::Window { LapKind::Window } else { LapKind::Folded };
        sum.count += lap.count;
        sum.complete &= lap.complete;
        sum.wall_s += lap.wall_s;
        sum.steps += lap.steps;
        sum.evaluate_s += lap.evaluate_s;
        sum.checkpoint_s += lap.checkpoint_s;
        add(&mut sum.stages, &lap.stages);
        (sum.ended_s, sum.ended_unix_s, sum.settled) = (lap.ended_s, lap.ended_unix_s, lap.settled);
        (sum.loss, sum.time_left) = (lap.loss.or(sum.loss), lap.time_left);
        sum.samples = sum.samples.zip(lap.samples).map(|(a, b)| a + b);
        sum.tokens = sum.tokens.zip(lap.tokens).map(|(a, b)| a + b);
        sum.metrics.extend(lap.metrics.clone());
    }
    sum.samples_per_s = sum.samples.filter(|_| sum.wall_s > 0.0).map(|all| all as f64 / sum.wall_s);
    sum.tokens_per_s = sum.tokens.filter(|_| sum.wall_s > 0.0).map(|all| all as f64 / sum.wall_s);
    Some(sum)
}

fn add(stages: &mut BTreeMap<String, f64>, more: &BTreeMap<String, f64>) {
    for (stage, seconds) in more {
        *stages.entry(stage.clone()).or_default() += seconds;
    }
}

#[cfg(test)]
mod tests {
    use laptime_core::{FitFacts, StageId};

    use super::*;
    use crate::script::Script;

    #[test]
    fn fewer_laps_have_all_time_and_all_steps() {
        let mut script = Script::new();
        script.fit(FitFacts::default());
        for _ in 0..10 {
            script.epoch().pass(7).step(&[(StageId::FORWARD, 5)], 1).end_epoch();
        }
        let laps = script.end_fit().close().report().epochs;
        let fewer = fewer_laps(&laps, 4);
        assert_eq!(fewer.iter().map(|lap| lap.count).collect::<Vec<_>>(), [3, 3, 3, 1]);
        let wall = |laps: &[EpochSummary]| laps.iter().map(|lap| lap.wall_s).sum::<f64>();
        assert!((wall(&fewer) - wall(&laps)).abs() < 1e-12);
        let inside = |lap: &EpochSummary| lap.stages.values().sum::<f64>();
        assert!(fewer.iter().all(|lap| (inside(lap) - lap.wall_s).abs() < 1e-12));
        assert_eq!(fewer_laps(&laps, 100).len(), 10);
    }
}
