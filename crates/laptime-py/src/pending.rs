//! Collectives that are issued and not known to be done, with what says when they are.

#![expect(unsafe_code, reason = "only the count of references says whether a script still has its `Work`")]

use std::collections::HashMap;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Duration;

use laptime_record::{CollectiveId, collective_end, guarded};
use pyo3::prelude::*;
use pyo3::{ffi, intern};

/// How long the end waits for threads that report.
const PATIENCE: u32 = 100;
const LOOK: Duration = Duration::from_millis(1);

/// By the address of their `Work`. Locked only by who has the interpreter's lock, so that a fork finds it free.
static PENDING: Mutex<Option<HashMap<usize, Pending>>> = Mutex::new(None);
/// How many there are.
static COUNT: AtomicUsize = AtomicUsize::new(0);
/// How many of them say nothing when they are done.
static SILENT: AtomicUsize = AtomicUsize::new(0);
/// Futures that are to call us.
static LISTENING: AtomicUsize = AtomicUsize::new(0);

/// One of them. It keeps its `Work`, so that whoever waits for it has the same object.
pub(crate) struct Pending {
    work: Py<PyAny>,
    collective: CollectiveId,
    is_silent: bool,
}

impl Pending {
    pub(crate) fn new(work: Py<PyAny>, collective: CollectiveId, is_silent: bool) -> Self {
        Self { work, collective, is_silent }
    }
}

fn pending() -> MutexGuard<'static, Option<HashMap<usize, Pending>>> {
    PENDING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Keeps one until it is done; gives its address.
pub(crate) fn keep(one: Pending) -> usize {
    let address = one.work.as_ptr().addr();
    COUNT.fetch_add(1, Ordering::Relaxed);
    SILENT.fetch_add(usize::from(one.is_silent), Ordering::Relaxed);
    let replaced = pending().get_or_insert_default().insert(address, one);
    replaced.into_iter().for_each(end);
    address
}

/// The one with this `Work` is done, if it is still pending.
pub(crate) fn finish(address: usize) {
    finish_where(|at, _| at == address);
}

/// Nobody has the `Work` of these any more, so nobody will wait for them.
pub(crate) fn finish_abandoned() {
    if SILENT.load(Ordering::Relaxed) > 0 {
        // SAFETY: the object is alive as long as it is kept here, and the interpreter's lock is held.
        let is_ours_alone = |one: &Pending| unsafe { ffi::Py_REFCNT(one.work.as_ptr()) } == 1;
        finish_where(|_, one| one.is_silent && is_ours_alone(one));
    }
}

/// Those that are done by now: their futures may not have come to say so.
pub(crate) fn finish_completed(py: Python<'_>) {
    if COUNT.load(Ordering::Relaxed) == 0 {
        return;
    }
    let works: Vec<Py<PyAny>> =
        pending().iter().flat_map(HashMap::values).map(|one| one.work.clone_ref(py)).collect();
    for work in works {
        let is_completed = work.bind(py).call_method0(intern!(py, "is_completed"));
        if is_completed.and_then(|is| is.is_truthy()).unwrap_or(false) {
            finish(work.as_ptr().addr());
        }
    }
}

/// Waits for futures of what is done to call us, without the interpreter's lock, which they need.
pub(crate) fn finish_all(py: Python<'_>) {
    for _ in 0..PATIENCE {
        finish_completed(py);
        let open = COUNT.load(Ordering::Relaxed) - SILENT.load(Ordering::Relaxed);
        if LISTENING.load(Ordering::Relaxed) <= open {
            return;
        }
        py.detach(|| thread::sleep(LOOK));
    }
}

fn finish_where(mut is_done: impl FnMut(usize, &Pending) -> bool) {
    let done: Vec<Pending> = match pending().as_mut() {
        Some(pending) => pending.extract_if(|at, one| is_done(*at, one)).map(|(_, one)| one).collect(),
        None => Vec::new(),
    };
    done.into_iter().for_each(end);
}

/// Ends one, and lets go of its `Work` where nothing is locked: that may run code of the script.
fn end(one: Pending) {
    COUNT.fetch_sub(1, Ordering::Relaxed);
    SILENT.fetch_sub(usize::from(one.is_silent), Ordering::Relaxed);
    collective_end(one.collective);
}

/// Has a pending one end with its future; says whether it has one. Without, it is silent from here on.
pub(crate) fn listen(work: &Bound<'_, PyAny>, address: usize, collective: CollectiveId) -> bool {
    let py = work.py();
    let call_us = || -> PyResult<()> {
        let future = work.call_method0(intern!(py, "get_future"))?;
        let done = Bound::new(py, CollectiveDone { address, collective })?;
        LISTENING.fetch_add(1, Ordering::Relaxed);
        future.call_method1(intern!(py, "add_done_callback"), (done,)).map(drop).inspect_err(|_| {
            LISTENING.fetch_sub(1, Ordering::Relaxed);
        })
    };
    let speaks = call_us().is_ok();
    if !speaks && let Some(one) = pending().as_mut().and_then(|pending| pending.get_mut(&address)) {
        one.is_silent = true;
        SILENT.fetch_add(1, Ordering::Relaxed);
    }
    speaks
}

/// What the future of a collective calls, on a thread of the group.
#[pyclass(module = "laptime._native", frozen)]
struct CollectiveDone {
    address: usize,
    collective: CollectiveId,
}

#[pymethods]
impl CollectiveDone {
    fn __call__(&self, _future: &Bound<'_, PyAny>) {
        guarded((), || {
            LISTENING.fetch_sub(1, Ordering::Relaxed);
            // Another `Work` may have the address by now.
            finish_where(|at, one| at == self.address && one.collective == self.collective);
        });
    }
}
