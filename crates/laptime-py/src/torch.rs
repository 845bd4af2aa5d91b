//! What is read from PyTorch in every step: from here it takes no Python frame.

#![expect(unsafe_code, reason = "a tensor's own length function makes no objects")]

use std::cell::Cell;
use std::ffi::c_void;
use std::ptr;

use laptime_record::device::{self, LossKind};
use laptime_record::{PassId, current_stream, guarded, training};
use pyo3::prelude::*;
use pyo3::sync::PyOnceLock;
use pyo3::types::{PyIterator, PyList, PyTuple, PyType};
use pyo3::{ffi, intern};

struct Torch {
    is_grad_enabled: Py<PyAny>,
    /// How many modes see every look at a tensor.
    mode_count: Py<PyAny>,
    tensor: Py<PyType>,
    /// The types that a loss may have.
    floats: [(Py<PyAny>, LossKind); 4],
    /// The first dimension of a tensor. Its shape would be a tuple of numbers made for every batch.
    length: Option<ffi::lenfunc>,
}

static TORCH: PyOnceLock<Torch> = PyOnceLock::new();

/// Keeps the functions of PyTorch that every step calls, and its type of tensors.
#[pyfunction]
pub(crate) fn register_torch(
    is_grad_enabled: Bound<'_, PyAny>,
    mode_count: Bound<'_, PyAny>,
    tensor: Bound<'_, PyType>,
    floats: (Py<PyAny>, Py<PyAny>, Py<PyAny>, Py<PyAny>),
) {
    let (float32, float64, float16, bfloat16) = floats;
    let py = tensor.py();
    let torch = Torch {
        is_grad_enabled: is_grad_enabled.unbind(),
        mode_count: mode_count.unbind(),
        length: length_of(&tensor),
        tensor: tensor.unbind(),
        floats: [
            (float32, LossKind::F32),
            (float64, LossKind::F64),
            (float16, LossKind::F16),
            (bfloat16, LossKind::BF16),
        ],
    };
    // A second call brings the same PyTorch.
    let _ = TORCH.set(py, torch);
}

/// What C knows of a tensor's length: the class that Python sees has a function of its own, written in Python.
fn length_of(tensor: &Bound<'_, PyType>) -> Option<ffi::lenfunc> {
    let base = tensor.getattr(intern!(tensor.py(), "__base__")).ok()?;
    let base = base.cast::<PyType>().ok()?;
    // SAFETY: the slot of a type that is alive is null or a function of this form.
    unsafe {
        let slot = ffi::PyType_GetSlot(base.as_type_ptr(), ffi::Py_mp_length);
        std::mem::transmute::<*mut c_void, Option<ffi::lenfunc>>(slot)
    }
}

/// Whether gradients are kept; without PyTorch they are not.
pub(crate) fn is_grad_enabled(py: Python<'_>) -> bool {
    let enabled =
        TORCH.get(py).map(|torch| torch.is_grad_enabled.bind(py).call0().and_then(|is| is.is_truthy()));
    matches!(enabled, Some(Ok(true)))
}

/// Whether these are plain tensors that nobody watches, so that a look at them shows nowhere.
pub(crate) fn are_plain(tensors: &Bound<'_, PyList>) -> bool {
    let py = tensors.py();
    let Some(torch) = TORCH.get(py) else { return false };
    let modes = torch.mode_count.bind(py).call0().and_then(|count| count.is_truthy());
    matches!(modes, Ok(false)) && tensors.iter().all(|tensor| tensor.get_type().is(&torch.tensor))
}

/// Samples in a batch whose first part is a plain tensor that nobody watches; `None` otherwise.
pub(crate) fn samples_of(batch: &Bound<'_, PyAny>) -> Option<u32> {
    let torch = TORCH.get(batch.py())?;
    let first = if let Ok(parts) = batch.cast_exact::<PyList>() {
        &parts.get_item(0).ok()?
    } else if let Ok(parts) = batch.cast_exact::<PyTuple>() {
        &parts.get_item(0).ok()?
    } else {
        batch
    };
    let is_plain = first.get_type().is(&torch.tensor);
    if !is_plain || torch.mode_count.bind(batch.py()).call0().ok()?.is_truthy().ok()? {
        return None;
    }
    rows(first, torch.length)
}

/// How often a loss is read, in ticks: each millisecond by most time stamp counters. Reading takes about 0.3 us.
const CLOSEST_LOSSES: u64 = 1 << 21;

/// How often a loss is fetched from a device, in ticks: each 8 ms by most time stamp counters. To ask for it takes
/// about 4 us.
const CLOSEST_FETCHES: u64 = 1 << 24;

/// The value of a loss, of one number on the CPU that nobody watches; `None` otherwise, and where one was read
/// just before. One that is on a device is on record when it is known there.
///
/// It is read from memory: an operation of PyTorch would show up in profilers, and wait for a device.
pub(crate) fn loss_of(loss: &Bound<'_, PyAny>) -> Option<f64> {
    thread_local! {
        static LAST: Cell<u64> = const { Cell::new(0) };
    }
    let now = laptime_record::now().0;
    if now.wrapping_sub(LAST.get()) < CLOSEST_LOSSES {
        return None;
    }
    LAST.set(now);
    let value = read_loss(loss);
    // What could not be read is no reason to fail.
    drop(PyErr::take(loss.py()));
    value
}

fn read_loss(loss: &Bound<'_, PyAny>) -> Option<f64> {
    let py = loss.py();
    let torch = TORCH.get(py)?;
    if !loss.get_type().is(&torch.tensor) || torch.mode_count.bind(py).call0().ok()?.is_truthy().ok()? {
        return None;
    }
    let (cpu, cuda) = (intern!(py, "is_cpu"), intern!(py, "is_cuda"));
    let on_cpu = loss.getattr(cpu).ok()?.is_truthy().ok()?;
    let on_device = !on_cpu && device::is_on() && loss.getattr(cuda).ok()?.is_truthy().ok()?;
    let numbers: u64 = loss.call_method0(intern!(py, "numel")).ok()?.extract().ok()?;
    if !(on_cpu || on_device) || numbers != 1 {
        return None;
    }
    let dtype = loss.getattr(intern!(py, "dtype")).ok()?;
    let address: usize = loss.call_method0(intern!(py, "data_ptr")).ok()?.extract().ok()?;
    let (_, kind) = torch.floats.iter().find(|(float, _)| dtype.is(float))?;
    if address == 0 {
        return None;
    }
    if on_device {
        fetch_loss(address as u64, *kind);
        return None;
    }
    // SAFETY: a tensor of one number on the CPU has that number, of its type, where it says, for as long as it is
    // alive, and our caller holds it; what is written there meanwhile is written by the script's own thread.
    unsafe {
        match kind {
            LossKind::F32 => Some(f64::from(ptr::with_exposed_provenance::<f32>(address).read_unaligned())),
            LossKind::F64 => Some(ptr::with_exposed_provenance::<f64>(address).read_unaligned()),
            LossKind::F16 | LossKind::BF16 => None,
        }
    }
}

/// Has a device's loss copied to the host after the work that computes it, unless one was just before.
fn fetch_loss(address: u64, kind: LossKind) {
    thread_local! {
        static LAST: Cell<u64> = const { Cell::new(0) };
    }
    let now = laptime_record::now().0;
    if now.wrapping_sub(LAST.get()) >= CLOSEST_FETCHES
        && let Some(stream) = current_stream()
    {
        LAST.set(now);
        device::loss(stream, address, kind);
    }
}

/// The first dimension of a plain tensor; 1 when it has none.
fn rows(tensor: &Bound<'_, PyAny>, length: Option<ffi::lenfunc>) -> Option<u32> {
    // SAFETY: the function is that of the tensor's base, and the interpreter lock is held.
    let rows = length.map_or(0, |length| unsafe { length(tensor.as_ptr()) });
    if rows > 0 {
        return u32::try_from(rows).ok();
    }
    // It failed, or there is no dimension, or nothing in it.
    drop(PyErr::take(tensor.py()));
    let shape = tensor.getattr(intern!(tensor.py(), "shape")).ok()?;
    let shape = shape.cast::<PyTuple>().ok()?;
    if shape.is_empty() { Some(1) } else { shape.get_item(0).ok()?.extract().ok() }
}

/// An iterator over the indices of a loader's batches, which says how many samples each will have.
#[pyclass(module = "laptime._native")]
pub(crate) struct IndexIterator {
    indices: Py<PyIterator>,
    pass: PassId,
}

#[pymethods]
impl IndexIterator {
    #[new]
    fn new(indices: &Bound<'_, PyAny>, pass_id: u32) -> PyResult<Self> {
        Ok(Self { indices: indices.try_iter()?.unbind(), pass: PassId(pass_id) })
    }

    fn __iter__(slf: Bound<'_, Self>) -> Bound<'_, Self> {
        slf
    }

    fn __next__<'py>(&self, py: Python<'py>) -> Option<PyResult<Bound<'py, PyAny>>> {
        let index = self.indices.bind(py).clone().next()?;
        if let Ok(Ok(of_batch)) = index.as_ref().map(|index| index.cast_exact::<PyList>()) {
            let samples = u32::try_from(of_batch.len()).unwrap_or(u32::MAX);
            guarded((), || training(|training| training.order(self.pass, samples)));
        }
        Some(index)
    }
}
