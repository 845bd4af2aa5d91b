//! What a process says of itself: which of several it is, what it imported, and which hooks do not work in it.

use laptime_record::{self as record, LayerFacts, guarded};
use pyo3::prelude::*;

/// Says that this process is a loader's worker with this number; before its first record.
#[pyfunction]
pub(crate) fn be_worker(number: u32) {
    guarded((), || record::be_worker(number));
}

/// Says which of how many ranks this process is, where no launcher did; before its first record.
#[pyfunction]
pub(crate) fn be_rank(rank: u32, ranks: u32) {
    guarded((), || record::be_rank(rank, ranks));
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

/// Puts a module of this thread's model on record: its name, class and parameters, then what the sampled steps so
/// far add up to: operations, steps, calls, and seconds of forward and backward on the host and on the device.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "the fields of a record, in their order")]
pub(crate) fn record_layer(
    name: String,
    class_name: String,
    parameters: u64,
    flops: Option<u64>,
    steps: u64,
    calls: u64,
    forward_s: f64,
    backward_s: Option<f64>,
    device_forward_s: Option<f64>,
    device_backward_s: Option<f64>,
) {
    let facts = LayerFacts {
        name,
        kind: class_name,
        parameters,
        flops,
        steps,
        calls,
        forward_s,
        backward_s,
        device_forward_s,
        device_backward_s,
    };
    guarded((), || record::record_layer(facts));
}

/// Puts on record why there are no times of layers.
#[pyfunction]
pub(crate) fn layers_off(because: &str) {
    guarded((), || record::layers_off(because));
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
