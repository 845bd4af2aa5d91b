//! A pass over a pack: the iterator that a `for` loop calls without going through Python.

use std::sync::{Arc, Mutex, OnceLock};

use laptime_load::loader::LoadedBatch;
use laptime_record::Address;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use super::engine::{Engine, lock};
use super::output::Output;
use super::pack_loader::{Position, Source};
use super::recording::Recording;

/// The batches of one epoch.
#[pyclass(module = "laptime._native", frozen)]
pub(crate) struct PackBatches {
    source: Arc<Source>,
    /// `None` when the epoch has ended, so that the next one may use it.
    engine: Mutex<Option<Arc<Engine>>>,
    output: Arc<Output>,
    position: Arc<Position>,
    recording: OnceLock<Recording>,
}

impl PackBatches {
    pub(super) fn new(
        source: Arc<Source>,
        engine: Arc<Engine>,
        output: Arc<Output>,
        position: Arc<Position>,
    ) -> Self {
        Self { source, engine: Mutex::new(Some(engine)), output, position, recording: OnceLock::new() }
    }

    fn load(&self, py: Python<'_>) -> PyResult<Option<LoadedBatch>> {
        let Some(engine) = self.engine(py)? else { return Ok(None) };
        let loaded = engine.next(py)?;
        match loaded {
            Some(_) => self.position.advance(),
            None => {
                self.position.end_epoch();
                *lock(&self.engine) = None;
            }
        }
        Ok(loaded)
    }

    fn engine(&self, py: Python<'_>) -> PyResult<Option<Arc<Engine>>> {
        let engine = lock(&self.engine).clone();
        match engine {
            Some(engine) if engine.is_foreign() => self.open_again(py).map(Some),
            engine => Ok(engine),
        }
    }

    /// In the child of a fork the pass goes on with an engine of its own, from the same batch on.
    #[cold]
    fn open_again(&self, py: Python<'_>) -> PyResult<Arc<Engine>> {
        let opened = self.source.engine();
        let (epoch, batch) = self.position.get();
        opened.seek(py, epoch, batch)?;
        let foreign = lock(&self.engine).replace(opened.clone());
        // Its threads cannot be ended here: they are the parent's.
        std::mem::forget(foreign);
        Ok(opened)
    }
}

#[pymethods]
impl PackBatches {
    fn __iter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    fn __next__<'py>(slf: &Bound<'py, Self>) -> PyResult<Option<Bound<'py, PyTuple>>> {
        let (py, this) = (slf.py(), slf.get());
        let loaded = match this.recording.get() {
            None => this.load(py)?,
            Some(recording) => {
                let address = Address(slf.as_ptr().addr());
                recording.request(py, address);
                let loaded = this.load(py);
                match &loaded {
                    Ok(Some(batch)) => recording.arrived(address, batch),
                    Ok(None) => recording.ended(py, true),
                    Err(_) => recording.ended(py, false),
                }
                loaded?
            }
        };
        loaded.map(|batch| this.output.tuple(py, batch)).transpose()
    }

    /// Puts the waits and batches of this pass on record from here on.
    fn record(&self, ticket: Py<PyAny>, exhaust: Py<PyAny>, interrupt: Py<PyAny>) {
        // A second call is of the same pass.
        let _ = self.recording.set(Recording::new(ticket, exhaust, interrupt));
    }
}
