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
    /// What calls us when it is done; without, nothing says so.
    future: Option<Py<PyAny>>,
    collective: CollectiveId,
}

impl Pending {
    fn is_silent(&self) -> bool {
        self.future.is_none()
    }
}

fn pending() -> MutexGuard<'static, Option<HashMap<usize, Pending>>> {
    PENDING.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Keeps one until it is done, and has its future say so unless it is known to have none; says whether it has.
pub(crate) fn keep(work: Bound<'_, PyAny>, collective: CollectiveId, has_future: bool) -> bool {
    let py = work.py();
    let address = work.as_ptr().addr();
    let get_future = || work.call_method0(intern!(py, "get_future")).ok().map(Bound::unbind);
    let future = has_future.then(get_future).flatten();
    let listened_to = future.as_ref().map(|future| future.clone_ref(py));
    let one = Pending { work: work.unbind(), future, collective };
    COUNT.fetch_add(1, Ordering::Relaxed);
    SILENT.fetch_add(usize::from(one.is_silent()), Ordering::Relaxed);
    let replaced = pending().get_or_insert_default().insert(address, one);
    replaced.into_iter().for_each(end);
    listened_to.is_some_and(|future| listen(future.bind(py), address, collective))
}

/// Has a future call us; where it cannot, waiting for the `Work` is what ends it.
fn listen(future: &Bound<'_, PyAny>, address: usize, collective: CollectiveId) -> bool {
    let py = future.py();
    let Ok(done) = Bound::new(py, CollectiveDone { address, collective }) else { return false };
    LISTENING.fetch_add(1, Ordering::Relaxed);
    // A future that is done calls us at once.
    let listens = future.call_method1(intern!(py, "add_done_callback"), (done,)).is_ok();
    if !listens {
        LISTENING.fetch_sub(1, Ordering::Relaxed);
    }
    listens
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
        finish_where(|_, one| one.is_silent() && is_ours_alone(one));
    }
}

/// Those that are done by now: their futures may not have come to say so.
pub(crate) fn finish_completed(py: Python<'_>) {
    if COUNT.load(Ordering::Relaxed) == 0 {
        return;
    }
    // A future is done before its `Work` is, and calls us in between.
    let asked = |one: &Pending| match &one.future {
        Some(future) => (one.work.as_ptr().addr(), future.clone_ref(py), intern!(py, "done")),
        None => (one.work.as_ptr().addr(), one.work.clone_ref(py), intern!(py, "is_completed")),
    };
    let asked: Vec<_> = pending().iter().flat_map(HashMap::values).map(asked).collect();
    for (address, whom, what) in asked {
        let is_done = whom.bind(py).call_method0(what).and_then(|is_done| is_done.is_truthy());
        if is_done.unwrap_or(false) {
            finish(address);
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
    SILENT.fetch_sub(usize::from(one.is_silent()), Ordering::Relaxed);
    collective_end(one.collective);
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
