//! What hooks report of a fit whose framework runs the loop itself; see [`laptime_record::Training`].

use laptime_core::Ticks;
use laptime_record::Training;
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::facts::fit_facts;
use crate::training::{saturated, with_training};

/// A framework begins a fit and runs its loop itself; one that is open already gets the facts and the steps.
#[pyfunction]
pub(crate) fn begin_framework_fit(facts: &Bound<'_, PyDict>) {
    let facts = fit_facts(facts);
    with_training((), |training| training.begin_framework_fit(facts));
}

/// Adds what is now known of the framework's fit.
#[pyfunction]
pub(crate) fn update_framework_fit(facts: &Bound<'_, PyDict>) {
    let facts = fit_facts(facts);
    with_training((), |training| training.update_framework_fit(facts));
}

/// The framework's fit has ended, or failed.
#[pyfunction]
pub(crate) fn end_framework_fit() {
    with_training((), Training::end_framework_fit);
}

/// A pass over the data begins; late steps end when they are reported as computed.
#[pyfunction]
pub(crate) fn begin_framework_epoch(is_late: bool) {
    with_training((), |training| training.begin_framework_epoch(is_late));
}

/// The pass over the data has ended, if one is open.
#[pyfunction]
pub(crate) fn end_framework_epoch() {
    with_training((), Training::end_framework_epoch);
}

/// The next batch is requested: the step before ends, and the wait begins.
#[pyfunction]
pub(crate) fn request_batch() {
    with_training((), Training::request_batch);
}

/// The loop turns: the step before ends, and the next begins without a wait.
#[pyfunction]
pub(crate) fn next_step() {
    with_training((), Training::next_step);
}

/// The wait for the batch of the step under way begins.
#[pyfunction]
pub(crate) fn wait_for_batch() {
    with_training((), Training::wait_for_batch);
}

/// The batch is here, or what will bring it.
#[pyfunction]
pub(crate) fn batch_arrived(sample_count: u64) {
    with_training((), |training| training.batch_arrived(saturated(sample_count)));
}

/// The step under way is so many in one, with this many samples in all.
#[pyfunction]
pub(crate) fn count_step(sample_count: u64, step_count: u64) {
    with_training((), |training| training.count_step(saturated(sample_count), saturated(step_count)));
}

/// There is no further batch: what was requested is no step.
#[pyfunction]
pub(crate) fn data_exhausted() {
    with_training((), Training::data_exhausted);
}

/// The step was submitted to be computed; its last batch has this number.
#[pyfunction]
pub(crate) fn step_submitted(number: u64) {
    with_training((), |training| training.step_submitted(number));
}

/// The step whose last batch has this number was computed at that time, by the recorder's clock.
#[pyfunction]
pub(crate) fn step_computed(number: u64, at: u64) {
    with_training((), |training| training.step_computed(number, Ticks(at)));
}
