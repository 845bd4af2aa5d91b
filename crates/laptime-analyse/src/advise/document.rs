//! Advice: what text shows, and what `--json` prints as `laptime.advice/1`.

use laptime_core::{Change, Estimate, command_line};
use serde::{Deserialize, Serialize};

use super::rule::{Advised, Rule};
use crate::compare::ComparedRun;

/// The version of [`Advice`]; fields may be added to it, none changes meaning.
pub const ADVICE_SCHEMA: &str = "laptime.advice/1";

/// What to change of the training of one run.
#[derive(Clone, Debug, Serialize)]
pub struct Advice {
    /// Always [`ADVICE_SCHEMA`].
    pub schema: &'static str,
    /// The run's id.
    pub run: String,
    /// What the user calls it.
    pub name: String,
    /// Its command line.
    pub command: Vec<String>,
    /// Seconds a step, everything between steps included; absent where no step is known.
    pub step_s: Option<f64>,
    /// What to change, the largest gain first. Gains do not multiply: several may come from the same seconds.
    pub items: Vec<Item>,
    /// What was looked at and is fine.
    pub fine: Vec<&'static str>,
    /// What could not be told, and why.
    pub unknown: Vec<(&'static str, String)>,
    /// Proofs of advice that were made before, newest last.
    pub proofs: Vec<Proof>,
}

/// One thing to change.
#[derive(Clone, Debug, Serialize)]
pub struct Item {
    /// Its place, from 1.
    pub number: u32,
    /// The rule's name.
    pub id: &'static str,
    /// What the rule looks at.
    #[serde(skip)]
    pub subject: &'static str,
    /// The change in a few words.
    pub title: String,
    /// The evidence.
    pub because: String,
    /// What to type or edit.
    pub change: String,
    /// The expected gain.
    pub speedup: Speedup,
    /// How laptime makes the change by itself, `name=value` separated by commas; absent where the script has to be
    /// edited.
    pub injects: Option<String>,
    /// What to type to prove it.
    pub prove_command: String,
}

/// How many times faster; 1 is no change.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct Speedup {
    /// At least.
    pub low: f64,
    /// At most.
    pub high: f64,
    /// Whether it is what such a change usually brings, rather than what the run's own times predict.
    pub typical: bool,
}

/// A proof that was made: what was predicted, and what was measured.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Proof {
    /// The rule's name.
    pub item: String,
    /// What was changed, in words.
    pub title: String,
    /// Id of the run that the advice was given for.
    pub run: String,
    /// What was expected.
    pub predicted: Speedup,
    /// What was measured, as a speed-up.
    pub measured: MeasuredSpeedup,
    /// Pairs of executions behind it.
    pub pairs: u64,
    /// Whether the mean that was measured is within what was expected.
    pub holds: bool,
    /// Whether both sides trained the same; absent where too little is known.
    pub same_training: Option<bool>,
}

/// A measured speed-up with its interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct MeasuredSpeedup {
    /// The expected value.
    pub mean: f64,
    /// The interval's lower end.
    pub low: f64,
    /// The interval's upper end.
    pub high: f64,
    /// The share of such intervals that hold the truth.
    pub level: f64,
}

impl MeasuredSpeedup {
    /// The speed-up by a ratio of times, changed over unchanged.
    #[must_use]
    pub fn of_ratio(ratio: Estimate) -> Self {
        Self { mean: 1.0 / ratio.mean, low: 1.0 / ratio.high, high: 1.0 / ratio.low, level: ratio.level }
    }
}

impl Speedup {
    /// What the run's own times predict, between these.
    #[must_use]
    pub fn predicted(low: f64, high: f64) -> Self {
        Self { low, high, typical: false }
    }

    /// What such a change usually brings.
    #[must_use]
    pub fn typical(low: f64, high: f64) -> Self {
        Self { low, high, typical: true }
    }

    /// What the run's own times predict, which may be off by this share below and above.
    #[must_use]
    pub fn around(speedup: f64, uncertain: f64) -> Self {
        Self::between(speedup, speedup, (uncertain, uncertain))
    }

    /// What the run's own times predict between two gains, which may be off by these shares below the one and above
    /// the other. It is so for what halves the time; of a small gain less is at stake, and less unknown.
    #[must_use]
    pub fn between(low: f64, high: f64, uncertain: (f64, f64)) -> Self {
        let weight = |gain: f64| (gain - 1.0).clamp(0.0, 1.0).sqrt();
        Self::predicted(low / (1.0 + uncertain.0 * weight(low)), high * (1.0 + uncertain.1 * weight(high)))
    }

    /// The same of a change that cannot make anything slower.
    #[must_use]
    pub fn not_slower(self) -> Self {
        Self { low: self.low.max(1.0), high: self.high.max(1.0), ..self }
    }

    /// What items are ranked by: the middle of what is predicted, the least of what is only typical.
    #[must_use]
    pub(super) fn sure(&self) -> f64 {
        if self.typical { self.low } else { self.middle() }
    }

    /// The middle by ratio.
    #[must_use]
    pub fn middle(&self) -> f64 {
        (self.low * self.high).sqrt()
    }
}

impl Advice {
    /// No advice yet.
    pub(super) fn of(run: &ComparedRun, proofs: Vec<Proof>) -> Self {
        let report = &run.report;
        Self {
            schema: ADVICE_SCHEMA,
            run: report.run.id.clone(),
            name: report.run.name.clone(),
            command: report.run.command.clone(),
            step_s: None,
            items: Vec::new(),
            fine: Vec::new(),
            unknown: Vec::new(),
            proofs,
        }
    }
}

impl Item {
    /// What a rule advises on the training of a command, at no place yet.
    pub(super) fn of(rule: &Rule, advised: Advised, command: &[String]) -> Self {
        let Advised { title, because, change, speedup, injects } = advised;
        let injects = (!injects.is_empty())
            .then(|| injects.iter().map(Change::to_string).collect::<Vec<_>>().join(","));
        let changed = if injects.is_some() { "" } else { " --changed 'COMMAND AFTER THE CHANGE'" };
        let prove_command =
            format!("laptime advise --prove {}{changed} -- {}", rule.id, command_line::join(command));
        let (id, subject) = (rule.id, rule.subject);
        Self { number: 0, id, subject, title, because, change, speedup, injects, prove_command }
    }
}
