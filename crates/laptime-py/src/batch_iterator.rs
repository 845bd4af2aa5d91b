//! The iterator of `laptime.batches`: a `for` loop calls it without going through Python.

#![expect(unsafe_code, reason = "the floor needs an iterator laid out by hand")]

use std::ffi::{c_int, c_uint, c_void};
use std::mem::size_of;
use std::ptr::{addr_of_mut, null_mut};

use laptime_record::{BatchLog, guarded};
use pyo3::ffi::{self, PyObject};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::PyIterator;

use crate::sample_count::SampleCount;

#[repr(C)]
struct BatchIterator {
    head: PyObject,
    batches: *mut PyObject,
    /// What gives the next batch: the iterator's own function, without the detour over the interpreter.
    next: ffi::iternextfunc,
    log: BatchLog,
    samples: SampleCount,
}

/// An iterator over the batches of another one, which puts waits and steps on record.
///
/// `samples` says how many samples a batch has: a number, a function of the batch, or nothing.
#[pyfunction]
#[pyo3(signature = (iterable, samples=None))]
pub(crate) fn batch_iterator<'py>(
    iterable: &Bound<'py, PyAny>,
    samples: Option<Bound<'py, PyAny>>,
) -> PyResult<Bound<'py, PyAny>> {
    static TYPE: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let py = iterable.py();
    let kind = TYPE.get_or_try_init(py, || make_type(py))?;
    let (batches, samples) = (iterable.try_iter()?, SampleCount::new(samples));
    let next = next_of(&batches);
    // SAFETY: the type was made with the size of `BatchIterator`, so the memory of a new object fits one;
    // every field is written before Python sees the object.
    unsafe {
        let object = ffi::PyType_GenericAlloc(kind.as_ptr().cast(), 0);
        let iterator = object.cast::<BatchIterator>();
        if !iterator.is_null() {
            addr_of_mut!((*iterator).batches).write(batches.into_ptr());
            addr_of_mut!((*iterator).next).write(next);
            addr_of_mut!((*iterator).log).write(BatchLog::default());
            addr_of_mut!((*iterator).samples).write(samples);
        }
        Bound::from_owned_ptr_or_err(py, object)
    }
}

/// The function that gives an iterator's next item, or null at its end, with or without `StopIteration`.
fn next_of(iterator: &Bound<'_, PyIterator>) -> ffi::iternextfunc {
    // SAFETY: every iterator's type has this slot, and what it holds is such a function.
    unsafe {
        let slot = ffi::PyType_GetSlot(ffi::Py_TYPE(iterator.as_ptr()), ffi::Py_tp_iternext);
        std::mem::transmute::<*mut c_void, Option<ffi::iternextfunc>>(slot).unwrap_or(ffi::PyIter_Next)
    }
}

fn make_type(py: Python<'_>) -> PyResult<Py<PyAny>> {
    let close = ffi::PyMethodDef {
        ml_name: c"close".as_ptr(),
        ml_meth: ffi::PyMethodDefPointer { PyCFunction: close },
        ml_flags: ffi::METH_NOARGS,
        ml_doc: c"Ends the loop over the batches.".as_ptr(),
    };
    let methods = Box::leak(Box::new([close, ffi::PyMethodDef::zeroed()]));
    let slot = |slot: c_int, pfunc: *mut c_void| ffi::PyType_Slot { slot, pfunc };
    let mut slots = [
        slot(ffi::Py_tp_dealloc, dealloc as *mut c_void),
        slot(ffi::Py_tp_traverse, traverse as *mut c_void),
        slot(ffi::Py_tp_iter, ffi::PyObject_SelfIter as *mut c_void),
        slot(ffi::Py_tp_iternext, next as *mut c_void),
        slot(ffi::Py_tp_methods, methods.as_mut_ptr().cast()),
        slot(0, null_mut()),
    ];
    let mut spec = ffi::PyType_Spec {
        name: c"laptime._native.BatchIterator".as_ptr(),
        basicsize: size_of::<BatchIterator>() as c_int,
        itemsize: 0,
        flags: ffi::Py_TPFLAGS_DEFAULT as c_uint | ffi::Py_TPFLAGS_HAVE_GC as c_uint,
        slots: slots.as_mut_ptr(),
    };
    // SAFETY: the slots hold functions of the forms Python expects, the lists live for ever.
    unsafe { Bound::from_owned_ptr_or_err(py, ffi::PyType_FromSpec(&raw mut spec)).map(Bound::unbind) }
}

unsafe extern "C" fn next(object: *mut PyObject) -> *mut PyObject {
    let iterator = object.cast::<BatchIterator>();
    let mut fetched = None;
    guarded((), || {
        // SAFETY: Python calls this with an object of our type that is alive. No reference into it outlives
        // the statement it is used in: getting the batch may run any code, this function too.
        unsafe {
            (*iterator).log.request();
            let batch = ((*iterator).next)((*iterator).batches);
            fetched = Some(batch);
            if batch.is_null() {
                (*iterator).log.ran_out();
            } else {
                let samples = (*iterator).samples.of(batch);
                (*iterator).log.arrived(samples);
            }
        }
    });
    // SAFETY: as above. A recorder that failed before the batch was requested must not cost the batch.
    fetched.unwrap_or_else(|| unsafe { ((*iterator).next)((*iterator).batches) })
}

unsafe extern "C" fn close(object: *mut PyObject, _: *mut PyObject) -> *mut PyObject {
    // SAFETY: as above.
    unsafe {
        guarded((), || (*object.cast::<BatchIterator>()).log.end());
        ffi::Py_NewRef(ffi::Py_None())
    }
}

unsafe extern "C" fn traverse(object: *mut PyObject, visit: ffi::visitproc, argument: *mut c_void) -> c_int {
    // SAFETY: the object is one of ours; what it holds are references it owns, and so is its type.
    unsafe {
        let iterator = object.cast::<BatchIterator>();
        for held in [(*iterator).batches, (*iterator).samples.held(), ffi::Py_TYPE(object).cast()] {
            if !held.is_null() {
                let stop = visit(held, argument);
                if stop != 0 {
                    return stop;
                }
            }
        }
    }
    0
}

unsafe extern "C" fn dealloc(object: *mut PyObject) {
    // SAFETY: nobody holds the object any more; its fields are dropped once, its memory last, and with it
    // the reference every instance holds to a type made at run time.
    unsafe {
        ffi::PyObject_GC_UnTrack(object.cast());
        let iterator = object.cast::<BatchIterator>();
        // A loop that is left early ends its step here.
        guarded((), || (*iterator).log.end());
        std::ptr::drop_in_place(addr_of_mut!((*iterator).samples));
        ffi::Py_XDECREF((*iterator).batches);
        let kind = ffi::Py_TYPE(object);
        ffi::PyObject_GC_Del(object.cast());
        ffi::Py_DECREF(kind.cast());
    }
}
