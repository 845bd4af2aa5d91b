//! Steps that are reported after they ended, by hooks of frameworks that compute asynchronously.

use laptime_core::Ticks;
use laptime_record::{self as record, guarded};
use pyo3::prelude::*;

/// Puts a step on record that has ended before, by the recorder's clock.
#[pyfunction]
pub(crate) fn late_step(start: u64, end: u64, samples: u64) {
    let samples = u32::try_from(samples).unwrap_or(u32::MAX);
    guarded((), || record::step(Ticks(start), Ticks(end), samples, None));
}
