//! What a pass puts on record: waits, batches and their bytes, without a Python frame.

use laptime_core::Counter;
use laptime_load::loader::LoadedBatch;
use laptime_record::{self as record, Address, Request, guarded};
use pyo3::prelude::*;

use crate::training::{saturated, with_training};

/// How a pass is put on record, in the hands of hooks that a framework has attached.
pub(super) struct Recording {
    /// What ends the pass when it is dropped.
    ticket: Py<PyAny>,
    /// Called with the ticket when the data has ended.
    exhaust: Py<PyAny>,
    /// Called when a batch is requested while another pass trains.
    interrupt: Py<PyAny>,
}

impl Recording {
    pub(super) fn new(ticket: Py<PyAny>, exhaust: Py<PyAny>, interrupt: Py<PyAny>) -> Self {
        Self { ticket, exhaust, interrupt }
    }

    /// A batch is requested by the iterator at this address: the wait begins.
    pub(super) fn request(&self, py: Python<'_>, iterator: Address) {
        let request = with_training(Request::Noted, |training| {
            if training.is_capturing() { Request::Noted } else { training.request(iterator) }
        });
        if request == Request::Interrupts {
            // A hook that fails says so on record, and the training must not notice.
            let _ = self.interrupt.bind(py).call0();
        }
    }

    /// The batch is there.
    pub(super) fn arrived(&self, iterator: Address, batch: &LoadedBatch) {
        let samples = batch.arrays.first().and_then(|array| array.shape.first()).copied().unwrap_or(0);
        let bytes: usize = batch.arrays.iter().map(|array| array.bytes()).sum();
        with_training((), |training| {
            if !training.is_capturing() && !training.take_batch(iterator) {
                training.count_samples(iterator, saturated(samples as u64));
            }
        });
        guarded((), || record::count(Counter::BatchBytes, bytes as u64));
    }

    /// There is no batch: the data has ended, or could not be loaded.
    pub(super) fn ended(&self, py: Python<'_>, is_end: bool) {
        with_training((), |training| {
            if !training.is_capturing() {
                training.end_wait();
            }
        });
        if is_end {
            let _ = self.exhaust.bind(py).call1((&self.ticket,));
        }
    }
}
