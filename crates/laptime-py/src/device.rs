//! What hooks report of a device: that there is one, copies to it, waiting for it, and captured graphs.

use laptime_record::{self as record, Before, StageId, device, guarded};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;

use crate::training::with_training;

/// PyTorch's function that gives the stream in use on a device.
static CURRENT_STREAM: PyOnceLock<Py<PyAny>> = PyOnceLock::new();

/// Times of a device are taken from here on, which it says; `current_stream` gives the stream in use on one.
#[pyfunction]
pub(crate) fn begin_device(device_index: u32, current_stream: &Bound<'_, PyAny>) -> bool {
    let _ = CURRENT_STREAM.set(current_stream.py(), current_stream.clone().unbind());
    guarded(false, || {
        record::streams_from(stream_in_use);
        device::begin(device_index);
        device::is_on()
    })
}

/// The stream in use on this thread's device. Hooks that ask hold the interpreter's lock.
fn stream_in_use() -> Option<usize> {
    let index = device::current()?;
    Python::try_attach(|py| {
        let stream = CURRENT_STREAM.get(py)?.bind(py).call1((index,)).and_then(|stream| stream.extract());
        stream.inspect_err(|_| drop(PyErr::take(py))).ok()
    })?
}

/// Something is copied to a device or waited for, as this stage; gives what `end_device_work` needs.
#[pyfunction]
pub(crate) fn begin_device_work(stage_id: u16) -> u16 {
    with_training(0, |training| training.begin_device_work(StageId(stage_id)).0.0)
}

/// The copy or the wait has ended.
#[pyfunction]
pub(crate) fn end_device_work(stage_id: u16, before: u16) {
    with_training((), |training| {
        training.end_device_work(StageId(stage_id), Before(StageId(before)));
    });
}

/// What follows is captured into a graph instead of being computed.
#[pyfunction]
pub(crate) fn begin_capture() {
    with_training((), laptime_record::Training::begin_capture);
}

/// The graph is captured.
#[pyfunction]
pub(crate) fn end_capture() {
    with_training((), laptime_record::Training::end_capture);
}
