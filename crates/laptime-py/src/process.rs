//! Which of several processes this is: a rank, or a loader's worker.

use laptime_record::{self as record, guarded};
use pyo3::prelude::*;

/// Says that this process is a loader's worker with this number; before its first record.
#[pyfunction]
pub(crate) fn be_worker(number: u32) {
    guarded((), || record::be_worker(number));
}

/// The rank of this process as its launcher tells; 0 when it is alone.
#[pyfunction]
pub(crate) fn rank() -> u32 {
    record::rank_from_environment().0
}
