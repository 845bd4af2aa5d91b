//! Python's garbage collector as a stage.

#![expect(unsafe_code, reason = "called at every collection, which may be thousands in a second")]

use std::cell::Cell;
use std::ffi::c_long;

use laptime_record::{StageId, enter_if_recording, exit, guarded};
use pyo3::ffi::{self, PyObject};

thread_local! {
    /// Whether the collection under way on this thread is on record.
    static ON_RECORD: Cell<bool> = const { Cell::new(false) };
}

/// What `gc.callbacks` calls with `"start"` or `"stop"` and what is known of the collection.
///
/// A collection can come anywhere, so this only enters and leaves a lane: it takes no lock, borrows nothing and
/// makes no object. Collections of the youngest generation take microseconds and are left alone.
pub(crate) unsafe extern "C" fn collected(
    _: *mut PyObject,
    arguments: *mut *mut PyObject,
    count: ffi::Py_ssize_t,
) -> *mut PyObject {
    if count == 2 {
        // SAFETY: Python passes as many living arguments as it says: a text and a dict.
        let (begins, is_old) = unsafe { (is_start(*arguments), generation(*arguments.add(1)) > 0) };
        guarded((), || book(begins, is_old));
    }
    // SAFETY: `None` always exists, and Python holds its lock while it calls us.
    unsafe { ffi::Py_NewRef(ffi::Py_None()) }
}

fn book(begins: bool, is_old: bool) {
    if begins && is_old {
        ON_RECORD.set(enter_if_recording(StageId::GARBAGE_COLLECTION));
    } else if !begins && ON_RECORD.take() {
        exit(StageId::GARBAGE_COLLECTION);
    }
}

/// # Safety
/// Python must be calling with a living object.
unsafe fn is_start(phase: *mut PyObject) -> bool {
    // SAFETY: the comparison of a text with ASCII makes no object and cannot fail.
    unsafe {
        ffi::PyUnicode_Check(phase) != 0
            && ffi::PyUnicode_CompareWithASCIIString(phase, c"start".as_ptr()) == 0
    }
}

/// # Safety
/// As above.
unsafe fn generation(info: *mut PyObject) -> c_long {
    // SAFETY: a borrowed reference out of a living dict; what is no number leaves an error that is cleared.
    unsafe {
        if ffi::PyDict_Check(info) == 0 {
            return 0;
        }
        let number = ffi::PyDict_GetItemString(info, c"generation".as_ptr());
        if number.is_null() {
            return 0;
        }
        let generation = ffi::PyLong_AsLong(number);
        if generation < 0 {
            ffi::PyErr_Clear();
        }
        generation
    }
}
