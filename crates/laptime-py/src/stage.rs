//! A stage as Python holds it: context manager and decorator in one.
//!
//! `with` looks `__enter__` and `__exit__` up on the type and binds them, which costs two allocations. A
//! built-in function has no `__get__`, so it is used as it is: every stage therefore has a type of its own,
//! in whose dict both stand already bound to the stage. That halves the cost of a `with`.

#![expect(unsafe_code, reason = "the floor needs functions that CPython calls directly")]

use laptime_record::{self as record, Owner, StageId, guarded};
use pyo3::exceptions::PyTypeError;
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyTuple, PyType};

use crate::timed;

/// A named kind of work: `with stage:` times a block, `@stage` a function.
#[pyclass(frozen, subclass, module = "laptime._native")]
pub(crate) struct Stage {
    /// What the user calls it.
    #[pyo3(get)]
    name: String,
    id: StageId,
}

#[pymethods]
impl Stage {
    #[new]
    fn new(name: String) -> Self {
        let id = guarded(StageId::OTHER, || record::stage_id(&name));
        Self { name, id }
    }

    /// The stage's number in this process.
    #[getter]
    fn id(&self) -> u16 {
        self.id.0
    }

    /// The function, timed.
    fn __call__<'py>(slf: &Bound<'py, Self>, function: Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        if !function.is_callable() {
            return Err(PyTypeError::new_err("a stage decorates a function; use `with stage:` for a block"));
        }
        if runs_in_pieces(&function) {
            return slf.py().import("laptime._timed")?.getattr("timed")?.call1((slf, function));
        }
        timed::timed(slf.get().id, &function)
    }

    fn __enter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        guarded((), || begin(slf.get().id));
        slf
    }

    #[pyo3(signature = (*_error))]
    fn __exit__(&self, _error: &Bound<'_, PyTuple>) -> bool {
        guarded((), || end(self.id));
        false
    }

    fn __repr__(&self) -> String {
        format!("laptime.stage({:?})", self.name)
    }

    /// Stages travel to other processes by their name.
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, (String,))> {
        Ok((py.import("laptime")?.getattr("stage")?, (self.name.clone(),)))
    }
}

/// Whether calling a function only makes a generator or a coroutine, which does the work later.
fn runs_in_pieces(function: &Bound<'_, PyAny>) -> bool {
    /// `CO_GENERATOR | CO_COROUTINE | CO_ASYNC_GENERATOR`
    const PIECES: u32 = 0x20 | 0x80 | 0x200;
    let flags = function.getattr("__code__").and_then(|code| code.getattr("co_flags")?.extract::<u32>());
    flags.is_ok_and(|flags| flags & PIECES != 0)
}

/// A stage of a type of its own, with the bound functions in the type's dict.
#[pyfunction]
pub(crate) fn new_stage<'py>(py: Python<'py>, name: &str) -> PyResult<Bound<'py, PyAny>> {
    let base = py.get_type::<Stage>();
    let names = PyDict::new(py);
    names.set_item("__slots__", PyTuple::empty(py))?;
    names.set_item("__module__", "laptime")?;
    names.set_item("__doc__", base.getattr("__doc__")?)?;
    let kind = py.get_type::<PyType>().call1(("Stage", (base,), names))?;
    let stage = kind.call1((name,))?;
    kind.setattr("__enter__", bound_function(&stage, c"__enter__", Form::Enter)?)?;
    kind.setattr("__exit__", bound_function(&stage, c"__exit__", Form::Exit)?)?;
    Ok(stage)
}

#[derive(Clone, Copy)]
enum Form {
    Enter,
    Exit,
}

/// A built-in function that is bound to the stage.
fn bound_function<'py>(
    stage: &Bound<'py, PyAny>,
    name: &'static std::ffi::CStr,
    form: Form,
) -> PyResult<Bound<'py, PyAny>> {
    let (ml_meth, ml_flags) = match form {
        Form::Enter => (ffi::PyMethodDefPointer { PyCFunction: enter }, ffi::METH_NOARGS),
        Form::Exit => (ffi::PyMethodDefPointer { PyCFunctionFast: exit }, ffi::METH_FASTCALL),
    };
    let method = ffi::PyMethodDef { ml_name: name.as_ptr(), ml_meth, ml_flags, ml_doc: std::ptr::null() };
    // A function may outlive everything, and a program has few stages.
    let method = Box::leak(Box::new(method));
    // SAFETY: the definition lives for ever, its function has the form its flags say, and the interpreter
    // lock is held; the result is a new reference or null with an error set.
    unsafe {
        let function = ffi::PyCFunction_NewEx(method, stage.as_ptr(), std::ptr::null_mut());
        Bound::from_owned_ptr_or_err(stage.py(), function)
    }
}

/// The number of the stage a function is bound to.
///
/// # Safety
/// `stage` must be the object that [`bound_function`] bound, which is a [`Stage`].
#[inline]
unsafe fn id_of(stage: *mut ffi::PyObject) -> StageId {
    // SAFETY: the caller promises the type; the interpreter lock is held while Python calls us.
    unsafe {
        let py = Python::assume_attached();
        Borrowed::from_ptr(py, stage).cast_unchecked::<Stage>().get().id
    }
}

#[inline]
fn begin(id: StageId) {
    if !record::enter_unless_open(id) {
        enter_again(id);
    }
}

#[inline]
fn end(id: StageId) {
    if record::has_owned() {
        exit_own(id);
    } else {
        record::exit(id);
    }
}

#[cold]
fn enter_again(id: StageId) {
    record::enter_owned(id, current_task());
}

#[cold]
fn exit_own(id: StageId) {
    record::exit_owned(id, current_task());
}

/// The task of the event loop that runs on this thread.
fn current_task() -> Owner {
    // SAFETY: Python holds its lock while it enters and leaves a stage.
    let py = unsafe { Python::assume_attached() };
    let found = || -> PyResult<usize> {
        // A program that has not imported asyncio has no tasks, and the import takes long.
        let asyncio = py.import("sys")?.getattr("modules")?.get_item("asyncio")?;
        Ok(asyncio.call_method0("current_task")?.as_ptr().addr())
    };
    // Outside an event loop `current_task` raises.
    Owner(found().unwrap_or(0))
}

unsafe extern "C" fn enter(stage: *mut ffi::PyObject, _: *mut ffi::PyObject) -> *mut ffi::PyObject {
    // SAFETY: called by Python with what the function is bound to.
    let id = unsafe { id_of(stage) };
    guarded((), || begin(id));
    // SAFETY: the stage is alive while its function is called.
    unsafe { ffi::Py_NewRef(stage) }
}

unsafe extern "C" fn exit(
    stage: *mut ffi::PyObject,
    _: *mut *mut ffi::PyObject,
    _: ffi::Py_ssize_t,
) -> *mut ffi::PyObject {
    // SAFETY: called by Python with what the function is bound to.
    let id = unsafe { id_of(stage) };
    guarded((), || end(id));
    // SAFETY: `None` always exists; an exception is never swallowed.
    unsafe { ffi::Py_NewRef(ffi::Py_None()) }
}
