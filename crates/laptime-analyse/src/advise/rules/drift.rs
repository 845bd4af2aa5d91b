//! Steps that get slower and slower: something grows with them.

use laptime_core::display_name;
use laptime_core::units::{bytes, duration};

use super::super::document::Speedup;
use super::super::evidence::Evidence;
use super::super::rule::{Advised, Outcome, Rule};
use crate::statistics::mean;

pub(super) const RULE: Rule = Rule { id: "drift", subject: "drift", look };

/// Stretches in which the steps are looked at.
const STRETCHES: usize = 20;
/// Steps in a stretch, at least.
const FEWEST_STEPS: u64 = 5;
/// The last stretch takes this many times the first, at least.
const GROWTH: f64 = 1.25;
/// Share of the variance that a steady growth explains, at least: load that comes and goes explains none.
const STEADY: f64 = 0.6;
/// The part of the growth that one stage has, at least: a machine that gets slower slows all of them.
const OF_ONE_STAGE: f64 = 0.5;
/// How far the prediction may be off.
const UNCERTAIN: f64 = 0.2;
/// Memory that grows with the steps is worth a word from this on, bytes.
const MUCH_MEMORY: u64 = 16 << 20;

fn look(evidence: &Evidence<'_>) -> Outcome {
    if evidence.fit.steps < STRETCHES as u64 * FEWEST_STEPS {
        return Outcome::DoesNotApply;
    }
    let Some(line) = evidence.run.stretches(evidence.fit.index, STRETCHES).and_then(|s| Line::through(&s))
    else {
        return Outcome::DoesNotApply;
    };
    let stage = growing_stage(evidence);
    let Some(stage) = stage.filter(|_| line.growth() >= GROWTH && line.explains >= STEADY) else {
        return Outcome::Fine;
    };
    Outcome::advice(Advised {
        title: "stop what grows with every step".to_owned(),
        because: format!(
            "a step takes {} at the begin and {} at the end; most of it is {}{}",
            duration(line.first),
            duration(line.last),
            display_name(&stage),
            memory(evidence)
        ),
        change: "keep numbers, not tensors: losses.append(loss.item()); no list that every step goes through"
            .to_owned(),
        speedup: Speedup::around(line.mean / line.first, UNCERTAIN),
        injects: Vec::new(),
    })
}

/// A straight line through the stretches.
struct Line {
    /// Seconds a step at the begin and at the end, and in the mean.
    first: f64,
    last: f64,
    mean: f64,
    /// Share of the variance that it explains.
    explains: f64,
}

impl Line {
    fn through(stretches: &[f64]) -> Option<Self> {
        let (count, mean) = (stretches.len() as f64, mean(stretches)?);
        let middle = (count - 1.0) / 2.0;
        let points = || stretches.iter().enumerate().map(|(at, value)| (at as f64 - middle, value - mean));
        let (across, along): (f64, f64) =
            points().fold((0.0, 0.0), |(xy, xx), (x, y)| (xy + x * y, xx + x * x));
        let spread: f64 = points().map(|(_, y)| y * y).sum();
        let slope = across / along;
        let (first, last) = (mean - slope * count / 2.0, mean + slope * count / 2.0);
        // A line that begins below the fastest stretch is bent: that one is the begin.
        let first = first.max(stretches.iter().copied().fold(f64::INFINITY, f64::min) * 0.8);
        (spread > 0.0).then(|| Self { first, last, mean, explains: slope * across / spread })
    }

    fn growth(&self) -> f64 {
        self.last / self.first
    }
}

/// The stage that has most of the growth from the first laps to the last.
fn growing_stage(evidence: &Evidence<'_>) -> Option<String> {
    let laps: Vec<_> = evidence.report.epochs.iter().filter(|lap| lap.fit == evidence.fit.index).collect();
    let (first, last) = (laps.first()?, laps.last().filter(|_| laps.len() > 1)?);
    let grown = last.stages.iter().map(|(stage, seconds)| {
        let before = first.stages.get(stage).copied().unwrap_or(0.0) / first.steps.max(1) as f64;
        (stage, seconds / last.steps.max(1) as f64 - before)
    });
    let grown: Vec<(&String, f64)> = grown.filter(|(_, grown)| *grown > 0.0).collect();
    let all: f64 = grown.iter().map(|(_, grown)| grown).sum();
    let (stage, most) = grown.into_iter().max_by(|a, b| a.1.total_cmp(&b.1))?;
    (most >= OF_ONE_STAGE * all).then(|| stage.clone())
}

/// `; memory grows from 310 MB to 1.2 GB`.
fn memory(evidence: &Evidence<'_>) -> String {
    match evidence.run.passes.resident {
        Some((first, last)) if last > first.saturating_add(MUCH_MEMORY) => {
            format!("; memory grows from {} to {}", bytes(first), bytes(last))
        }
        _ => String::new(),
    }
}
