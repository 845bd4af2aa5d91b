//! Cadence: what is done every so many steps, and what doing it less often gains.

use laptime_core::units::count;

use super::document::Speedup;
use super::evidence::Evidence;

/// Done so much less often that what is left of it costs at most this share of the rest.
const LEFT: f64 = 0.05;
/// How far a prediction may be off, below and above: what is left out also slowed the steps after it, whose caches it
/// left cold and beside which the disk still wrote.
const UNCERTAIN: (f64, f64) = (0.08, 0.2);
/// Round numbers by which something is done less often.
const LESS_OFTEN: [f64; 9] = [10.0, 20.0, 50.0, 100.0, 200.0, 500.0, 1_000.0, 2_000.0, 5_000.0];

/// Something that a training does again and again between its steps.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Cadence {
    /// Steps from one time to the next.
    pub(super) every: f64,
    /// Seconds of one time.
    pub(super) each_s: f64,
    /// Times less often it should be done.
    pub(super) less_often: f64,
    /// What that gains.
    pub(super) speedup: Speedup,
}

impl Cadence {
    /// The same for something that should be done so many times less often.
    pub(super) fn by(evidence: &Evidence<'_>, spent: f64, times: u64, less_often: f64) -> Self {
        let gain = evidence.without(spent * (1.0 - 1.0 / less_often));
        let speedup = Speedup::between(gain, gain, UNCERTAIN).not_slower();
        Self { less_often, speedup, ..Self::of(evidence, spent, times) }
    }

    /// Of stages that together take so many seconds of the training, done so many times in the fit.
    pub(super) fn of(evidence: &Evidence<'_>, spent: f64, times: u64) -> Self {
        let training = &evidence.training;
        let every = evidence.fit.steps as f64 / times.max(1) as f64;
        let times_seen = training.steps as f64 / every;
        let rest = (training.seconds - spent).max(training.seconds * 1e-3);
        let enough = LESS_OFTEN.into_iter().find(|factor| spent / factor <= LEFT * rest);
        let less_often = enough.unwrap_or(LESS_OFTEN[LESS_OFTEN.len() - 1]);
        let (low, high) = (training.seconds / (rest + spent / less_often), training.seconds / rest);
        let speedup = Speedup::between(low, high, UNCERTAIN).not_slower();
        Self { every, each_s: spent / times_seen.max(1.0), less_often, speedup }
    }

    /// `every 12 steps`, `every step`.
    pub(super) fn every_text(&self) -> String {
        match self.every.round() {
            every if every <= 1.0 => "every step".to_owned(),
            every => format!("every {} steps", count(every as u64)),
        }
    }

    /// How often it should be done.
    pub(super) fn advised_text(&self) -> String {
        format!("every {} steps", count((self.every * self.less_often).max(1.0).round() as u64))
    }
}
