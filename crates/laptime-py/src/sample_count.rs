//! How many samples a batch has, found without knowing any framework.

#![expect(unsafe_code, reason = "looks at every batch, so it must cost nothing where nothing is known")]

use std::ptr::null_mut;

use pyo3::ffi::{self, PyObject};
use pyo3::prelude::*;
use pyo3::types::{PyDict, PyList, PyTuple};

/// What says how many samples a batch has.
pub(crate) enum SampleCount {
    /// Always this many.
    Fixed(u32),
    /// What a function says of the batch.
    Function(Py<PyAny>),
    /// What the batch looks like. The type of the last batch that showed none is kept.
    Looked(*mut ffi::PyTypeObject),
}

impl SampleCount {
    /// From a number, a function, or nothing.
    pub(crate) fn new(given: Option<Bound<'_, PyAny>>) -> Self {
        match given {
            None => Self::Looked(null_mut()),
            Some(given) => match given.extract::<u32>() {
                Ok(number) => Self::Fixed(number),
                Err(_) => Self::Function(given.unbind()),
            },
        }
    }

    /// The Python object it holds, or null.
    pub(crate) fn held(&self) -> *mut PyObject {
        if let Self::Function(function) = self { function.as_ptr() } else { null_mut() }
    }

    /// The number of samples in a batch; 0 when it is unknown.
    ///
    /// # Safety
    /// `batch` must be alive, and the interpreter lock be held.
    #[inline]
    pub(crate) unsafe fn of(&mut self, batch: *mut PyObject) -> u32 {
        // SAFETY: the caller promises both.
        let (py, batch, kind) = unsafe {
            let py = Python::assume_attached();
            (py, Borrowed::from_ptr(py, batch), ffi::Py_TYPE(batch))
        };
        match self {
            Self::Fixed(number) => *number,
            Self::Looked(silent) if *silent == kind => 0,
            Self::Looked(silent) => look(&batch).unwrap_or_else(|| {
                *silent = kind;
                0
            }),
            Self::Function(function) => {
                let count = function.bind(py).call1((batch,)).and_then(|number| number.extract());
                // A function that fails says nothing; the training must not notice.
                count.unwrap_or(0)
            }
        }
    }
}

/// The length of the first array in a batch, or of a list of samples.
#[cold]
fn look(batch: &Bound<'_, PyAny>) -> Option<u32> {
    if let Some(rows) = rows(batch) {
        return Some(rows);
    }
    if let Ok(parts) = batch.cast::<PyTuple>() {
        return rows(&parts.get_item(0).ok()?);
    }
    if let Ok(parts) = batch.cast::<PyList>() {
        let samples = u32::try_from(parts.len()).ok();
        return parts.get_item(0).ok().and_then(|first| rows(&first)).or(samples);
    }
    let parts = batch.cast::<PyDict>().ok()?;
    parts.values().iter().find_map(|part| rows(&part))
}

/// The rows of an array of at least one dimension.
fn rows(array: &Bound<'_, PyAny>) -> Option<u32> {
    let shape = array.getattr("shape").ok()?;
    shape.get_item(0).ok()?.extract().ok()
}
