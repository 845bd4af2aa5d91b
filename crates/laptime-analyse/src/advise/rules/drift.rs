//! Steps that get slower and slower: something grows with them.

use laptime_core::display_name;
use laptime_core::units::{bytes, duration};

use super::super::document::Speedup;
use super::super::evidence::Evidence;
use super::super::rule::{Advised, Outcome, Rule};
use crate::report::EpochSummary;
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
/// The rest grows at most this part of what the stage that grows does: a machine that gets slower slows all of them.
const OF_THE_REST: f64 = 0.5;
/// How far the stage's time at the begin may be off, as a part of that in the first lap; and the whole prediction.
const BEGIN_OFF: f64 = 0.3;
const UNCERTAIN: f64 = 0.15;
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
    let grown = Grown::of(evidence).filter(|_| line.growth() >= GROWTH && line.explains >= STEADY);
    let Some(grown) = grown else { return Outcome::Fine };
    Outcome::advice(Advised {
        title: "stop what grows with every step".to_owned(),
        because: format!(
            "a step takes {} at the begin and {} at the end; what grows is {}{}",
            duration(line.first),
            duration(line.last),
            display_name(&grown.stage),
            memory(evidence)
        ),
        change: "keep numbers, not tensors: losses.append(loss.item()); no list that every step goes through"
            .to_owned(),
        speedup: grown.speedup(evidence),
        injects: Vec::new(),
    })
}

/// A straight line through the stretches.
struct Line {
    /// Seconds a step at the begin and at the end.
    first: f64,
    last: f64,
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
        // A bent line may begin below nothing.
        let first = first.max(0.0);
        (spread > 0.0).then(|| Self { first, last, explains: slope * across / spread })
    }

    fn growth(&self) -> f64 {
        self.last / self.first.max(f64::MIN_POSITIVE)
    }
}

/// The stage that has most of the growth, in seconds a step.
struct Grown {
    stage: String,
    /// In the first lap.
    early: f64,
    /// In the mean of the training.
    mean: f64,
    /// Before the first step, on the line through the laps.
    begin: f64,
}

impl Grown {
    fn of(evidence: &Evidence<'_>) -> Option<Self> {
        let laps = evidence.report.epochs.iter().filter(|lap| lap.fit == evidence.fit.index && lap.steps > 0);
        let laps: Vec<&EpochSummary> = laps.collect();
        let (first, last) = (laps.first()?, laps.last().filter(|_| laps.len() > 1)?);
        let of = |lap: &EpochSummary, stage: &str| {
            lap.stages.get(stage).copied().unwrap_or(0.0) / lap.steps as f64
        };
        let grown = |stage: &str| of(last, stage) - of(first, stage);
        let stage = last.stages.keys().max_by(|a, b| grown(a).total_cmp(&grown(b)))?;
        let rest = |lap: &EpochSummary| lap.stages.values().sum::<f64>() / lap.steps as f64 - of(lap, stage);
        let growth = |early: f64, late: f64| late / early.max(f64::MIN_POSITIVE) - 1.0;
        let own = growth(of(first, stage), of(last, stage));
        let times: Vec<f64> = laps.iter().map(|lap| of(lap, stage)).collect();
        let training = &evidence.training;
        let grown = Self {
            stage: stage.clone(),
            early: times[0],
            mean: training.stage_s(stage) / training.steps as f64,
            begin: Line::through(&times)?.first,
        };
        (own > 0.0 && growth(rest(first), rest(last)) < OF_THE_REST * own).then_some(grown)
    }

    /// What the training gains when the stage stays as it begins, which is known to a part of its first lap.
    fn speedup(&self, evidence: &Evidence<'_>) -> Speedup {
        let gain = |begin: f64| {
            let grown = (self.mean - begin.clamp(0.0, self.early)).max(0.0);
            evidence.without(grown * evidence.training.steps as f64)
        };
        let off = self.early * BEGIN_OFF;
        Speedup::between(gain(self.begin + off), gain(self.begin - off), (UNCERTAIN, UNCERTAIN)).not_slower()
    }
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
