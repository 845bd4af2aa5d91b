//! The recorder that runs inside a training process.

use laptime_core::{Counter, FitFacts, Metric};

/// Stub.
pub struct StageGuard;
/// Times a stage from here to the end of the guard's scope: `let _forward = stage!("forward");`.
#[macro_export]
macro_rules! stage {
    ($name:literal) => {
        $crate::StageGuard
    };
}
/// Counts an amount on this thread; does nothing without a recorder.
pub fn count(_counter: Counter, _amount: u64) {}
/// Tells how well the model does; does nothing without a recorder.
pub fn measured(_metric: Metric, _value: f64) {}
/// Stub.
pub struct Recorder;
/// Stub.
pub struct Fit;
/// Stub.
pub struct Epoch;
impl Recorder {
    /// Begins a fit on this thread; it ends when the guard is dropped.
    pub fn fit(&self, _facts: FitFacts) -> Fit {
        Fit
    }
}
impl Fit {
    /// Begins the next epoch; the pass ends when the guard is dropped.
    pub fn epoch(&mut self) -> Epoch {
        Epoch
    }
}
impl Epoch {
    /// Iterates batches, timing each wait as `data_wait` and each turn of the loop as a step.
    pub fn batches<I: Iterator>(
        &self,
        batches: I,
        _samples: impl Fn(&I::Item) -> u32,
    ) -> impl Iterator<Item = I::Item> {
        batches
    }
    /// Tells the loss of the step that is under way.
    pub fn loss(&self, _loss: f64) {}
}
