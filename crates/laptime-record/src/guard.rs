//! The guard around everything of ours: a panic turns recording off, and never reaches the program.

use std::any::Any;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};

use laptime_core::{Record, Trouble};

use crate::active::{active, stop_taking_records};

static BROKEN: AtomicBool = AtomicBool::new(false);

/// Whether a panic has turned recording off.
pub(crate) fn is_broken() -> bool {
    BROKEN.load(Ordering::Relaxed)
}

/// Runs `body`; a panic in it turns recording off for good, and the report says so.
#[inline]
pub fn guarded<T>(otherwise: T, body: impl FnOnce() -> T) -> T {
    match catch_unwind(AssertUnwindSafe(body)) {
        Ok(value) => value,
        Err(panic) => {
            // The report of the panic must not panic either.
            let _ = catch_unwind(AssertUnwindSafe(|| break_off(panic.as_ref())));
            otherwise
        }
    }
}

#[cold]
pub(crate) fn break_off(panic: &(dyn Any + Send)) {
    BROKEN.store(true, Ordering::Relaxed);
    stop_taking_records();
    let because = panic
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("a panic without words");
    if let Some(recorder) = active() {
        recorder.note(Record::Trouble(Trouble::RecorderBroke { because: because.to_owned() }));
    }
}
