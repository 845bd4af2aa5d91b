//! A function that is timed: called by vectorcall, bound as a method, and otherwise like what it wraps.

#![expect(unsafe_code, reason = "vectorcall needs a type laid out by hand")]

use std::ffi::{c_int, c_uint, c_void};
use std::mem::{offset_of, size_of};
use std::ptr::{addr_of_mut, null_mut};

use laptime_record::{self as record, StageId, guarded};
use pyo3::ffi::{self, PyObject};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;

/// Stable since 3.8, in the limited API since 3.12; the same bit in every version.
const HAVE_VECTORCALL: c_uint = 1 << 11;
/// `obj.method()` then passes `obj` as the first argument without making a bound method.
const METHOD_DESCRIPTOR: c_uint = 1 << 17;

type Vectorcall =
    unsafe extern "C" fn(*mut PyObject, *const *mut PyObject, usize, *mut PyObject) -> *mut PyObject;

unsafe extern "C" {
    // Exported by every CPython since 3.9, declared in the limited API since 3.12.
    fn PyObject_Vectorcall(
        callable: *mut PyObject,
        arguments: *const *mut PyObject,
        count: usize,
        names: *mut PyObject,
    ) -> *mut PyObject;
    fn PyVectorcall_Call(callable: *mut PyObject, tuple: *mut PyObject, dict: *mut PyObject)
    -> *mut PyObject;
}

#[repr(C)]
struct Timed {
    head: PyObject,
    vectorcall: Option<Vectorcall>,
    function: *mut PyObject,
    dict: *mut PyObject,
    weak_references: *mut PyObject,
    stage: StageId,
}

/// The function, timed as this stage.
pub(crate) fn timed<'py>(stage: StageId, function: &Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
    static TYPE: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let py = function.py();
    let kind = TYPE.get_or_try_init(py, || make_type(py))?;
    // SAFETY: the type was made with the size of `Timed`, so the memory of a new object fits one; it is
    // zeroed, and every field is set before Python sees the object.
    let made = unsafe {
        let object = ffi::PyType_GenericAlloc(kind.as_ptr().cast(), 0);
        let timed = object.cast::<Timed>();
        if !timed.is_null() {
            addr_of_mut!((*timed).vectorcall).write(Some(call));
            addr_of_mut!((*timed).function).write(function.clone().into_ptr());
            addr_of_mut!((*timed).stage).write(stage);
        }
        Bound::from_owned_ptr_or_err(py, object)?
    };
    // Name, signature and documentation are those of the function.
    py.import("functools")?.getattr("update_wrapper")?.call1((&made, function))?;
    Ok(made)
}

fn make_type(py: Python<'_>) -> PyResult<Py<PyAny>> {
    let offset = |name: &'static std::ffi::CStr, offset: usize| ffi::PyMemberDef {
        name: name.as_ptr(),
        type_code: ffi::Py_T_PYSSIZET,
        offset: offset as ffi::Py_ssize_t,
        flags: ffi::Py_READONLY,
        doc: std::ptr::null(),
    };
    // SAFETY: all-null is how a list of members or attributes ends.
    let (last_member, last_attribute) = unsafe { (std::mem::zeroed(), std::mem::zeroed()) };
    let members = Box::leak(Box::new([
        offset(c"__vectorcalloffset__", offset_of!(Timed, vectorcall)),
        offset(c"__dictoffset__", offset_of!(Timed, dict)),
        offset(c"__weaklistoffset__", offset_of!(Timed, weak_references)),
        last_member,
    ]));
    let dict = ffi::PyGetSetDef {
        name: c"__dict__".as_ptr(),
        get: Some(ffi::PyObject_GenericGetDict),
        set: Some(ffi::PyObject_GenericSetDict),
        doc: std::ptr::null(),
        closure: null_mut(),
    };
    let attributes = Box::leak(Box::new([dict, last_attribute]));
    let reduce = ffi::PyMethodDef {
        ml_name: c"__reduce__".as_ptr(),
        ml_meth: ffi::PyMethodDefPointer { PyCFunction: reduce },
        ml_flags: ffi::METH_NOARGS,
        ml_doc: std::ptr::null(),
    };
    let methods = Box::leak(Box::new([reduce, ffi::PyMethodDef::zeroed()]));
    let slot = |slot: c_int, pfunc: *mut c_void| ffi::PyType_Slot { slot, pfunc };
    let mut slots = [
        slot(ffi::Py_tp_dealloc, dealloc as *mut c_void),
        slot(ffi::Py_tp_traverse, traverse as *mut c_void),
        slot(ffi::Py_tp_clear, clear as *mut c_void),
        slot(ffi::Py_tp_call, PyVectorcall_Call as *mut c_void),
        slot(ffi::Py_tp_descr_get, bind as *mut c_void),
        slot(ffi::Py_tp_repr, repr as *mut c_void),
        slot(ffi::Py_tp_members, members.as_mut_ptr().cast()),
        slot(ffi::Py_tp_getset, attributes.as_mut_ptr().cast()),
        slot(ffi::Py_tp_methods, methods.as_mut_ptr().cast()),
        slot(0, null_mut()),
    ];
    let mut spec = ffi::PyType_Spec {
        name: c"laptime._native.TimedFunction".as_ptr(),
        basicsize: size_of::<Timed>() as c_int,
        itemsize: 0,
        flags: ffi::Py_TPFLAGS_DEFAULT as c_uint
            | ffi::Py_TPFLAGS_HAVE_GC as c_uint
            | HAVE_VECTORCALL
            | METHOD_DESCRIPTOR,
        slots: slots.as_mut_ptr(),
    };
    // SAFETY: the slots hold functions of the forms Python expects, the lists live for ever.
    unsafe { Bound::from_owned_ptr_or_err(py, ffi::PyType_FromSpec(&raw mut spec)).map(Bound::unbind) }
}

unsafe extern "C" fn call(
    object: *mut PyObject,
    arguments: *const *mut PyObject,
    count: usize,
    names: *mut PyObject,
) -> *mut PyObject {
    // SAFETY: Python calls this with an object of our type, which the caller keeps alive.
    let (stage, function) = unsafe {
        let timed = object.cast::<Timed>();
        ((*timed).stage, (*timed).function)
    };
    guarded((), || record::enter(stage));
    // SAFETY: the arguments are passed on as they came.
    let result = unsafe { PyObject_Vectorcall(function, arguments, count, names) };
    guarded((), || record::exit(stage));
    result
}

unsafe extern "C" fn bind(function: *mut PyObject, object: *mut PyObject, _: *mut PyObject) -> *mut PyObject {
    // SAFETY: called by Python with the lock held; `object` is null when looked up on the class.
    unsafe {
        if object.is_null() || object == ffi::Py_None() {
            return ffi::Py_NewRef(function);
        }
        let py = Python::assume_attached();
        let (function, object) = (Borrowed::from_ptr(py, function), Borrowed::from_ptr(py, object));
        match bound_method(py, &function, &object) {
            Ok(method) => method.into_ptr(),
            Err(error) => {
                error.restore(py);
                null_mut()
            }
        }
    }
}

fn bound_method<'py>(
    py: Python<'py>,
    function: &Bound<'py, PyAny>,
    object: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyAny>> {
    static METHOD_TYPE: PyOnceLock<Py<PyAny>> = PyOnceLock::new();
    let find = || py.import("types")?.getattr("MethodType").map(Bound::unbind);
    METHOD_TYPE.get_or_try_init(py, find)?.bind(py).call1((function, object))
}

/// Timed functions are pickled by their name, like functions.
unsafe extern "C" fn reduce(object: *mut PyObject, _: *mut PyObject) -> *mut PyObject {
    // SAFETY: called by Python with an object that is alive.
    unsafe { ffi::PyObject_GetAttrString(object, c"__qualname__".as_ptr()) }
}

unsafe extern "C" fn repr(object: *mut PyObject) -> *mut PyObject {
    // SAFETY: the object is one of ours and alive.
    unsafe { ffi::PyUnicode_FromFormat(c"<timed %R>".as_ptr(), (*object.cast::<Timed>()).function) }
}

unsafe extern "C" fn traverse(object: *mut PyObject, visit: ffi::visitproc, argument: *mut c_void) -> c_int {
    // SAFETY: the object is one of ours; its fields are null or references it owns, and so is its type.
    unsafe {
        let timed = object.cast::<Timed>();
        for held in [(*timed).function, (*timed).dict, ffi::Py_TYPE(object).cast()] {
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

unsafe extern "C" fn clear(object: *mut PyObject) -> c_int {
    // SAFETY: as above; each reference is taken out before it is dropped. The function stays: a call may
    // be under way, and without the dict no cycle is left.
    unsafe {
        let dict = std::mem::replace(&mut (*object.cast::<Timed>()).dict, null_mut());
        ffi::Py_XDECREF(dict);
    }
    0
}

unsafe extern "C" fn dealloc(object: *mut PyObject) {
    // SAFETY: nobody holds the object any more; its references are dropped once, its memory last, and
    // with it the reference every instance holds to a type made at run time.
    unsafe {
        ffi::PyObject_GC_UnTrack(object.cast());
        let timed = object.cast::<Timed>();
        if !(*timed).weak_references.is_null() {
            ffi::PyObject_ClearWeakRefs(object);
        }
        ffi::Py_XDECREF((*timed).dict);
        ffi::Py_XDECREF((*timed).function);
        let kind = ffi::Py_TYPE(object);
        ffi::PyObject_GC_Del(object.cast());
        ffi::Py_DECREF(kind.cast());
    }
}
