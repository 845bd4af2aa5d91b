//! The form of a rule.

use laptime_core::Change;

use super::document::Speedup;
use super::evidence::Evidence;

/// One rule.
pub(super) struct Rule {
    /// Its name for programs: `workers`.
    pub(super) id: &'static str,
    /// What it looks at, as in "checked and fine: pinned memory".
    pub(super) subject: &'static str,
    /// What it finds.
    pub(super) look: fn(&Evidence<'_>) -> Outcome,
}

/// What a rule finds.
pub(super) enum Outcome {
    /// Something to change.
    Advice(Box<Advised>),
    /// Nothing to gain here.
    Fine,
    /// It may be worth a change, and the run does not tell; why not.
    Unknown(String),
    /// Not about this training at all.
    DoesNotApply,
}

/// What a rule advises.
pub(super) struct Advised {
    /// The change in a few words, at most 40 letters: `load with 4 workers`.
    pub(super) title: String,
    /// Why here: the evidence, with numbers.
    pub(super) because: String,
    /// What to type or edit: the line or the flag.
    pub(super) change: String,
    /// The expected gain.
    pub(super) speedup: Speedup,
    /// How laptime can make the change by itself, for a proof; empty where the script has to be edited.
    pub(super) injects: Vec<Change>,
}

impl Outcome {
    /// Something to change.
    pub(super) fn advice(advised: Advised) -> Self {
        Self::Advice(Box::new(advised))
    }
}
