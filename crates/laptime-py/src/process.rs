//! What a process says of itself: which of several it is, what it imported, and which hooks do not work in it.

use laptime_record::{self as record, guarded};
use pyo3::prelude::*;

/// Says that this process is a loader's worker with this number; before its first record.
#[pyfunction]
pub(crate) fn be_worker(number: u32) {
    guarded((), || record::be_worker(number));
}

/// The rank of this process as its launcher says; 0 when it is alone.
#[pyfunction]
pub(crate) fn rank() -> u32 {
    record::rank_from_environment().0
}

/// Puts a hook that does not work on record.
#[pyfunction]
pub(crate) fn trouble(hook: &str, because: &str) {
    guarded((), || record::hook_off(hook, because));
}

/// An import begins that is not inside another one.
#[pyfunction]
pub(crate) fn import_begins() {
    guarded((), record::import_begins);
}

/// An import has ended, by `time.perf_counter_ns`; says whether more are wanted.
#[pyfunction]
pub(crate) fn imported(name: String, start_ns: u64, end_ns: u64) -> bool {
    guarded(false, || record::imported(name, start_ns, end_ns))
}
