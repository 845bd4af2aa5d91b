//! The engine behind a pass: a loader of Rust, which one pass at a time has for itself.

use std::ffi::CString;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::PathBuf;
use std::process;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use laptime_load::loader::{LoadedBatch, Loader, LoaderError, LoaderOptions, Poll};
use pyo3::exceptions::PyRuntimeWarning;
use pyo3::prelude::*;

use super::fault::{exception, panicked};

/// How long a wait goes on before signals are looked after.
const PATIENCE: Duration = Duration::from_millis(100);

/// A loader of Rust, in the process that opened it.
pub(super) struct Engine {
    loader: Mutex<Loader>,
    process: u32,
}

impl Engine {
    pub(super) fn over(loader: Loader) -> Arc<Self> {
        Arc::new(Self { loader: Mutex::new(loader), process: process::id() })
    }

    /// Whether it was opened before a fork: its threads are in the parent, and its locks may be held for ever.
    pub(super) fn is_foreign(&self) -> bool {
        self.process != process::id()
    }

    /// Goes to a batch of an epoch, unless it is there.
    pub(super) fn seek(&self, py: Python<'_>, epoch: u64, batch: u64) -> PyResult<()> {
        py.detach(|| {
            unpanicked(|| {
                lock(&self.loader).seek(epoch, batch);
                Ok(())
            })
        })
    }

    /// The next batch; `None` ends the epoch. Other threads of Python run while it waits, and Ctrl-C ends the wait.
    pub(super) fn next(&self, py: Python<'_>) -> PyResult<Option<LoadedBatch>> {
        let mut warned = false;
        let mut polled = self.poll_at_once(py)?;
        loop {
            match polled {
                Poll::Batch(batch) => return Ok(Some(batch)),
                Poll::Waiting { busy, late } => {
                    py.check_signals()?;
                    if late && !warned {
                        warned = true;
                        warn(py, busy)?;
                    }
                }
                _ => return Ok(None),
            }
            polled = py.detach(|| unpanicked(|| lock(&self.loader).poll(PATIENCE)))?;
        }
    }

    /// What is there already, or made in less time than the interpreter's lock takes to change hands.
    fn poll_at_once(&self, py: Python<'_>) -> PyResult<Poll> {
        if let Ok(mut loader) = self.loader.try_lock()
            && (loader.is_cheap() || loader.threads() > 0)
        {
            return unpanicked(|| loader.poll(Duration::ZERO));
        }
        py.detach(|| unpanicked(|| lock(&self.loader).poll(PATIENCE)))
    }
}

/// Opens a pack.
pub(super) fn open(py: Python<'_>, path: PathBuf, options: LoaderOptions) -> PyResult<Loader> {
    py.detach(|| unpanicked(|| Loader::open(path, options)))
}

fn warn(py: Python<'_>, busy: Duration) -> PyResult<()> {
    let text =
        format!("laptime.Loader has waited {} s for a batch: is the disk it is on slow?", busy.as_secs());
    PyErr::warn(py, &py.get_type::<PyRuntimeWarning>(), &CString::new(text)?, 1)
}

/// A panic while it was locked was one clear error then, and changes nothing now.
pub(super) fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Runs what the engine does; a panic in it is an exception like any other.
fn unpanicked<T>(body: impl FnOnce() -> Result<T, LoaderError>) -> PyResult<T> {
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(result) => result.map_err(|error| exception(&error)),
        Err(panic) => Err(panicked(panic.as_ref())),
    }
}
