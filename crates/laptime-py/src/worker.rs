//! Loader workers: processes that load data for the one that trains.

use laptime_record::{self as record, guarded};
use pyo3::prelude::*;

/// Says that this process is a loader's worker with this number; before its first record.
#[pyfunction]
pub(crate) fn be_worker(number: u32) {
    guarded((), || record::be_worker(number));
}
