//! What a search found: `--json` prints it as `laptime.loader/1`.

use serde::Serialize;

use super::choice::Choice;
use super::point::{Point, points};
use super::{Host, Search, Trial};
use crate::report::Report;

/// The version of [`LoaderReport`]; fields may be added to it, none changes meaning.
pub const LOADER_SCHEMA: &str = "laptime.loader/1";

/// A loader, measured with several settings.
#[derive(Clone, Debug, Serialize)]
pub struct LoaderReport {
    /// Always [`LOADER_SCHEMA`].
    pub schema: &'static str,
    /// The function that makes the loader, as it was typed.
    pub loader: String,
    /// What the model needs; absent where that is unknown.
    pub needs: Option<Need>,
    /// What the loader may use.
    pub host: Host,
    /// Batches of a pass, where known.
    pub batches_per_pass: Option<u64>,
    /// Every setting that was measured, in order.
    pub points: Vec<Point>,
    /// Every trial, in order.
    pub trials: Vec<Trial>,
    /// The setting to use; absent where nothing could be measured.
    pub choice: Option<Choice>,
    /// Settings there are to choose from.
    pub settings: usize,
    /// Seconds that it all took, imports included.
    pub seconds: f64,
    /// Whether it was ended before it was done.
    pub interrupted: bool,
    /// Whether its budget ended it.
    pub out_of_time: bool,
}

/// What a model needs.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Need {
    /// Samples a second.
    pub samples_per_s: f64,
    /// The run that shows it; absent where somebody said so.
    pub run: Option<String>,
}

impl LoaderReport {
    /// What a search has found so far.
    #[must_use]
    pub fn of(search: &Search, trials: &[Trial]) -> Self {
        Self {
            schema: LOADER_SCHEMA,
            loader: String::new(),
            needs: None,
            host: search.host,
            batches_per_pass: search.batches_per_pass,
            points: points(trials),
            trials: trials.to_vec(),
            choice: search.choice(trials),
            settings: search.grid(trials),
            seconds: 0.0,
            interrupted: false,
            out_of_time: false,
        }
    }

    /// Whether the first trial read from disk what later ones found in memory.
    #[must_use]
    pub fn was_cold_first(&self) -> Option<u64> {
        let first = self.trials.first().filter(|trial| trial.is_cold())?;
        self.trials.iter().skip(1).any(|trial| !trial.is_cold()).then_some(first.disk_bytes)
    }
}

/// Samples a second that the model of a run takes when it never waits for data; `None` where no step shows it.
#[must_use]
pub fn needed_rate(report: &Report) -> Option<f64> {
    // A model that waited nearly all the time says too little of itself.
    let waits = report.step_share("data_wait").filter(|share| *share < 0.99)?;
    let fit = report.fits.iter().max_by_key(|fit| fit.steady_steps.map_or(0, |steps| steps.count))?;
    fit.steady_steps?.samples_per_s.map(|rate| rate / (1.0 - waits))
}
