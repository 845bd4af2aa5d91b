//! What hooks report in every step, as functions that CPython calls directly and that share one door.
//!
//! Between two of these calls PyTorch has thrown nearly everything out of the caches, so what counts is how
//! little code and memory a call touches. Each function is a few instructions; all of them go on in
//! [`report`], which therefore is the code that is most often still there.

#![expect(
    unsafe_code,
    reason = "a step has time for few cache misses, and arguments that are parsed cost many"
)]

use std::ffi::{CStr, c_int};
use std::ptr::null_mut;

use laptime_record::{Address, Call, Modes, Request, Update, guarded, is_inside, training};
use pyo3::ffi::{self, PyObject};
use pyo3::intern;
use pyo3::prelude::*;

use crate::{garbage, pending, torch};

// What `begin_call` answers. Python gets `None` for a call that is no stage of its own and `True` for one that
// has begun, which it checks without looking anything up, and a number for all others (but 1, which equals `True`).
const SILENT: i32 = -1;
const BEGUN: i32 = 0;
/// It has begun, and the samples of its input are wanted.
const WANTS_SAMPLES: i32 = 2;
/// A model is to be trained for the first time.
const NEW_MODEL: i32 = 3;
/// The module is seen for the first time.
const NEW_MODULE: i32 = 4;

/// What a hook reports; the object it is about goes with it.
#[derive(Clone, Copy)]
enum HookEvent {
    Call(Modes),
    CallEnd,
    Backward,
    BackwardEnd,
    Zero,
    ZeroEnd,
    Update,
    UpdateEnd,
    Request,
    Batch,
    WaitEnd,
}

/// Passes on what a hook reports, and gives the answer.
#[inline(never)]
fn report(event: HookEvent, object: *mut PyObject) -> i32 {
    let about = Address(object.addr());
    guarded(SILENT, || {
        training(|training| {
            if training.is_capturing() {
                return while_capturing(event);
            }
            match event {
                HookEvent::Call(modes) => return answer(training.begin_call(about, modes)),
                HookEvent::CallEnd => training.end_call(),
                HookEvent::Backward => training.begin_backward(),
                HookEvent::BackwardEnd => return i32::from(training.end_backward()),
                HookEvent::Zero => training.begin_zero(about),
                HookEvent::ZeroEnd => training.end_zero(),
                HookEvent::Update => return i32::from(training.begin_update(about) as u8),
                HookEvent::UpdateEnd => training.end_update(about),
                HookEvent::Request => return i32::from(training.request(about) as u8),
                HookEvent::Batch => return i32::from(training.take_batch(about)),
                HookEvent::WaitEnd => training.end_wait(),
            }
            0
        })
    })
}

/// The answer to a hook while a graph is captured, when nothing is computed.
fn while_capturing(event: HookEvent) -> i32 {
    match event {
        HookEvent::Call(_) => SILENT,
        HookEvent::Update => i32::from(Update::Nested as u8),
        // The samples of a batch are known already.
        HookEvent::Batch => 1,
        _ => 0,
    }
}

fn answer(begun: Call) -> i32 {
    match begun {
        Call::Begun => BEGUN,
        Call::BegunWithoutSamples => WANTS_SAMPLES,
        Call::Silent => SILENT,
        Call::NewModel => NEW_MODEL,
        Call::NewModule => NEW_MODULE,
    }
}

fn none() -> *mut PyObject {
    // SAFETY: `None` always exists, and Python holds its lock while it calls us.
    unsafe { ffi::Py_NewRef(ffi::Py_None()) }
}

fn number(value: i32) -> *mut PyObject {
    // SAFETY: Python holds its lock while it calls us.
    unsafe { ffi::PyLong_FromLong(value.into()) }
}

/// The argument of a function as Python passed it.
///
/// # Safety
/// Python must be calling, and keep the object alive meanwhile.
unsafe fn argument<'a>(object: *mut PyObject) -> Borrowed<'a, 'a, PyAny> {
    // SAFETY: the caller promises both.
    unsafe { Borrowed::from_ptr(Python::assume_attached(), object) }
}

unsafe extern "C" fn begin_call(_: *mut PyObject, module: *mut PyObject) -> *mut PyObject {
    if is_inside() {
        return none();
    }
    // Read first: what Python runs meanwhile may have something to report as well.
    // SAFETY: called by Python with a living module.
    let modes = guarded(NO_MODES, || modes_of(unsafe { argument(module) }));
    match report(HookEvent::Call(modes), module) {
        SILENT => none(),
        // SAFETY: `True` always exists, and Python holds its lock while it calls us.
        BEGUN => unsafe { ffi::Py_NewRef(ffi::Py_True()) },
        wanted => number(wanted),
    }
}

const NO_MODES: Modes = Modes { trains: false, grad_enabled: false };

fn modes_of(module: Borrowed<'_, '_, PyAny>) -> Modes {
    let trains = module.getattr(intern!(module.py(), "training")).and_then(|mode| mode.is_truthy());
    // A module without that is not trained.
    Modes { trains: trains.unwrap_or(false), grad_enabled: torch::is_grad_enabled(module.py()) }
}

unsafe extern "C" fn end_call(_: *mut PyObject, _: *mut PyObject) -> *mut PyObject {
    report(HookEvent::CallEnd, null_mut());
    none()
}

unsafe extern "C" fn begin_backward(_: *mut PyObject, tensors: *mut PyObject) -> *mut PyObject {
    // SAFETY: called by Python with a living object.
    let tensors = unsafe { argument(tensors) };
    let loss = guarded(None, || torch::loss_of(&tensors));
    if let Some(loss) = loss {
        guarded((), || training(|training| training.take_loss(loss)));
    }
    report(HookEvent::Backward, null_mut());
    none()
}

unsafe extern "C" fn end_backward(_: *mut PyObject, _: *mut PyObject) -> *mut PyObject {
    // DDP has waited for its collectives: they end with what they are part of.
    // SAFETY: called by Python.
    guarded((), || pending::finish_completed(unsafe { Python::assume_attached() }));
    match report(HookEvent::BackwardEnd, null_mut()) {
        1 => number(1),
        _ => none(),
    }
}

unsafe extern "C" fn begin_zero(_: *mut PyObject, optimizer: *mut PyObject) -> *mut PyObject {
    report(HookEvent::Zero, optimizer);
    none()
}

unsafe extern "C" fn end_zero(_: *mut PyObject, _: *mut PyObject) -> *mut PyObject {
    report(HookEvent::ZeroEnd, null_mut());
    none()
}

unsafe extern "C" fn begin_update(_: *mut PyObject, optimizer: *mut PyObject) -> *mut PyObject {
    number(report(HookEvent::Update, optimizer))
}

unsafe extern "C" fn end_update(_: *mut PyObject, optimizer: *mut PyObject) -> *mut PyObject {
    report(HookEvent::UpdateEnd, optimizer);
    none()
}

unsafe extern "C" fn request(_: *mut PyObject, iterator: *mut PyObject) -> *mut PyObject {
    number(report(HookEvent::Request, iterator))
}

unsafe extern "C" fn end_wait(_: *mut PyObject, _: *mut PyObject) -> *mut PyObject {
    report(HookEvent::WaitEnd, null_mut());
    none()
}

unsafe extern "C" fn take_batch(
    _: *mut PyObject,
    arguments: *mut *mut PyObject,
    count: ffi::Py_ssize_t,
) -> *mut PyObject {
    if count != 2 {
        return number(0);
    }
    // SAFETY: Python passes as many living arguments as it says.
    let (iterator, batch) = unsafe { (*arguments, argument(*arguments.add(1))) };
    if report(HookEvent::Batch, iterator) != 0 {
        return number(0);
    }
    let samples = guarded(None, || torch::samples_of(&batch));
    if let Some(samples) = samples {
        guarded((), || training(|training| training.count_samples(Address(iterator.addr()), samples)));
    }
    number(samples.is_none().into())
}

/// A function of the module, with its signature and its documentation.
fn method(name: &'static CStr, form: Form, doc: &'static CStr) -> ffi::PyMethodDef {
    let (ml_meth, ml_flags): (ffi::PyMethodDefPointer, c_int) = match form {
        Form::Plain(function) => (ffi::PyMethodDefPointer { PyCFunction: function }, ffi::METH_NOARGS),
        Form::About(function) => (ffi::PyMethodDefPointer { PyCFunction: function }, ffi::METH_O),
        Form::AboutTwo(function) => {
            (ffi::PyMethodDefPointer { PyCFunctionFast: function }, ffi::METH_FASTCALL)
        }
    };
    ffi::PyMethodDef { ml_name: name.as_ptr(), ml_meth, ml_flags, ml_doc: doc.as_ptr() }
}

/// How many objects a function is about.
#[derive(Clone, Copy)]
enum Form {
    Plain(ffi::PyCFunction),
    About(ffi::PyCFunction),
    AboutTwo(ffi::PyCFunctionFast),
}

/// Puts the functions into the module.
pub(crate) fn add_to(module: &Bound<'_, PyModule>) -> PyResult<()> {
    use Form::{About, AboutTwo, Plain};
    let methods = [
        method(
            c"begin_call",
            About(begin_call),
            c"begin_call($module, module, /)\n--\n\nA module is called: `None` when that is no stage, `True` when it has begun, else what is wanted first.",
        ),
        method(c"end_call", Plain(end_call), c"end_call($module, /)\n--\n\nThe outermost call has ended."),
        method(
            c"begin_backward",
            About(begin_backward),
            c"begin_backward($module, tensors, /)\n--\n\nA backward pass begins from these tensors.",
        ),
        method(
            c"end_backward",
            Plain(end_backward),
            c"end_backward($module, /)\n--\n\nThe backward pass has ended; 1 when it is an update of the script's own to be settled.",
        ),
        method(
            c"begin_zero",
            About(begin_zero),
            c"begin_zero($module, optimizer, /)\n--\n\nGradients are about to be set to zero, by an optimizer or by a module.",
        ),
        method(
            c"collected",
            AboutTwo(garbage::collected),
            c"collected($module, phase, info, /)\n--\n\nThe garbage collector starts or stops, as `gc.callbacks` says.",
        ),
        method(c"end_zero", Plain(end_zero), c"end_zero($module, /)\n--\n\nGradients are zero."),
        method(
            c"begin_update",
            About(begin_update),
            c"begin_update($module, optimizer, /)\n--\n\nAn optimizer updates its model: `UPDATE_BEGUN`, `UPDATE_UNSETTLED`: settle first and then `enter_update`, or `UPDATE_NESTED`: part of another.",
        ),
        method(
            c"end_update",
            About(end_update),
            c"end_update($module, optimizer, /)\n--\n\nThe model is updated.",
        ),
        method(
            c"request",
            About(request),
            c"request($module, iterator, /)\n--\n\nA batch is requested; says what else is wanted: `REQUEST_INTERRUPTS`, `REQUEST_TIMED` or 0.",
        ),
        method(
            c"take_batch",
            AboutTwo(take_batch),
            c"take_batch($module, iterator, batch, /)\n--\n\nA batch has come; says whether its samples are still to be counted.",
        ),
        method(
            c"end_wait",
            Plain(end_wait),
            c"end_wait($module, /)\n--\n\nThe wait for a batch has ended, with or without one.",
        ),
    ];
    // Side by side, and for as long as any function may be called.
    let mut methods = Vec::from(methods);
    methods.push(ffi::PyMethodDef::zeroed());
    // SAFETY: the definitions live for ever, end with an empty one, and their functions have the form their
    // flags say.
    let added = unsafe { ffi::PyModule_AddFunctions(module.as_ptr(), methods.leak().as_mut_ptr()) };
    if added != 0 {
        return Err(PyErr::fetch(module.py()));
    }
    module.add("CALL_WANTS_SAMPLES", WANTS_SAMPLES)?;
    module.add("CALL_NEW_MODEL", NEW_MODEL)?;
    module.add("REQUEST_INTERRUPTS", Request::Interrupts as u8)?;
    module.add("REQUEST_TIMED", Request::Timed as u8)?;
    module.add("CALL_NEW_MODULE", NEW_MODULE)
}
