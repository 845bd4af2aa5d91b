//! `laptime.lap("name")`: books the time since the last lap.

#![expect(unsafe_code, reason = "names are compared by address alone")]

use std::cell::Cell;
use std::ptr::null_mut;

use laptime_record::{self as record, StageId, guarded};
use pyo3::ffi::{self, PyObject};
use pyo3::prelude::*;

/// Names seen last, by address; a power of two.
const PLACES: usize = 64;

thread_local! {
    /// A name and its stage. The name is never released, so no other object can have its address.
    static SEEN: [Cell<(*mut PyObject, StageId)>; PLACES] =
        const { [const { Cell::new((null_mut(), StageId::OTHER)) }; PLACES] };
}

unsafe extern "C" fn lap(_: *mut PyObject, name: *mut PyObject) -> *mut PyObject {
    guarded((), || {
        // SAFETY: Python keeps the argument alive while it calls us.
        if let Some(stage) = unsafe { stage_of(name) } {
            record::lap(stage);
        }
    });
    // SAFETY: `None` always exists.
    unsafe { ffi::Py_NewRef(ffi::Py_None()) }
}

/// The stage of a name; `None` for what is no text.
#[inline]
unsafe fn stage_of(name: *mut PyObject) -> Option<StageId> {
    SEEN.with(|seen| {
        let place = &seen[(name as usize >> 4) % PLACES];
        let (known, stage) = place.get();
        // SAFETY: the caller promises that the name is alive.
        if known == name { Some(stage) } else { unsafe { look_up(name, place) } }
    })
}

#[cold]
unsafe fn look_up(name: *mut PyObject, place: &Cell<(*mut PyObject, StageId)>) -> Option<StageId> {
    // SAFETY: the caller promises that the name is alive, and Python holds its lock.
    let text = unsafe { Borrowed::from_ptr(Python::assume_attached(), name) };
    let stage = record::stage_id(&text.extract::<String>().ok()?);
    if place.get().0.is_null() {
        // SAFETY: as above. At most one name for each place and thread is kept for good.
        unsafe { ffi::Py_INCREF(name) };
        place.set((name, stage));
    }
    Some(stage)
}

/// The function, for the module.
pub(crate) fn function<'py>(module: &Bound<'py, PyModule>) -> PyResult<Bound<'py, PyAny>> {
    let method = ffi::PyMethodDef {
        ml_name: c"lap".as_ptr(),
        ml_meth: ffi::PyMethodDefPointer { PyCFunction: lap },
        ml_flags: ffi::METH_O,
        ml_doc: c"lap($module, name, /)\n--\n\nBooks the time since the last lap on the stage with this name, or since the stage, epoch or\nbatch around it began.".as_ptr(),
    };
    let method = Box::leak(Box::new(method));
    // SAFETY: the definition lives for ever and its function has the form its flags say.
    unsafe {
        let function = ffi::PyCFunction_NewEx(method, module.as_ptr(), null_mut());
        Bound::from_owned_ptr_or_err(module.py(), function)
    }
}
