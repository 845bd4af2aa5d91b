//! One array of a batch, for whoever reads DLPack or the buffer protocol.

#![expect(unsafe_code, reason = "the buffer protocol hands out pointers")]

use std::ffi::{CStr, c_int, c_void};
use std::ptr::null_mut;

use laptime_load::loader::BatchArray;
use laptime_load::pack::Element;
use pyo3::exceptions::{PyBufferError, PyValueError};
use pyo3::ffi;
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use super::dlpack;

/// One array of a batch, without a copy: DLPack and the buffer protocol give it to any library.
#[pyclass(module = "laptime._native", frozen)]
pub(crate) struct LoadedArray {
    array: BatchArray,
    /// Shape, then strides in bytes: what a buffer points to.
    extents: Vec<ffi::Py_ssize_t>,
}

impl LoadedArray {
    pub(super) fn new(array: BatchArray) -> Self {
        let dimensions = array.shape.len();
        let mut extents = vec![0; 2 * dimensions];
        let mut stride = array.element.bytes() as ffi::Py_ssize_t;
        for (place, &extent) in array.shape.iter().enumerate().rev() {
            extents[place] = extent as ffi::Py_ssize_t;
            extents[dimensions + place] = stride;
            stride *= extent as ffi::Py_ssize_t;
        }
        Self { array, extents }
    }
}

#[pymethods]
impl LoadedArray {
    /// Its shape.
    #[getter]
    fn shape<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyTuple>> {
        PyTuple::new(py, &self.array.shape)
    }

    /// The name NumPy has for the type of its numbers.
    #[getter]
    fn dtype(&self) -> &'static str {
        self.array.element.name()
    }

    /// A capsule with the array, as the array API standard says.
    #[pyo3(signature = (*, stream=None, max_version=None, dl_device=None, copy=None))]
    fn __dlpack__<'py>(
        &self,
        py: Python<'py>,
        stream: Option<&Bound<'py, PyAny>>,
        max_version: Option<(u32, u32)>,
        dl_device: Option<(i32, i32)>,
        copy: Option<bool>,
    ) -> PyResult<Bound<'py, PyAny>> {
        if stream.is_some() || dl_device.is_some_and(|device| device != dlpack::CPU) {
            return Err(PyBufferError::new_err("the batch is in the memory of the CPU"));
        }
        if copy == Some(true) {
            return Err(PyValueError::new_err("the batch is given without a copy: copy it yourself"));
        }
        if max_version.is_some_and(|(major, _)| major >= 1) {
            dlpack::versioned_capsule(py, self.array.clone())
        } else {
            dlpack::capsule(py, self.array.clone())
        }
    }

    /// Where the array is: `(1, 0)`, the CPU.
    fn __dlpack_device__(&self) -> (i32, i32) {
        dlpack::CPU
    }

    /// # Safety
    /// Python must be calling, with a view to fill.
    unsafe fn __getbuffer__(slf: Bound<'_, Self>, view: *mut ffi::Py_buffer, flags: c_int) -> PyResult<()> {
        if view.is_null() {
            return Err(PyBufferError::new_err("no view"));
        }
        let this = slf.get();
        let wants = |flag: c_int| flags & flag == flag;
        if wants(ffi::PyBUF_F_CONTIGUOUS) && this.array.shape.len() > 1 {
            return Err(PyBufferError::new_err("the batch lies row by row, not column by column"));
        }
        let extents = this.extents.as_ptr().cast_mut();
        let dimensions = this.array.shape.len();
        let format = format_of(this.array.element).as_ptr().cast_mut();
        // SAFETY: the view is Python's to fill. What it points to belongs to the array, which the view holds and
        // which does not change.
        unsafe {
            (*view).buf = this.array.pointer().cast::<c_void>();
            (*view).len = this.array.bytes() as ffi::Py_ssize_t;
            (*view).itemsize = this.array.element.bytes() as ffi::Py_ssize_t;
            (*view).readonly = 0;
            (*view).ndim = dimensions as c_int;
            (*view).format = if wants(ffi::PyBUF_FORMAT) { format } else { null_mut() };
            (*view).shape = if wants(ffi::PyBUF_ND) { extents } else { null_mut() };
            let strides = extents.wrapping_add(dimensions);
            (*view).strides = if wants(ffi::PyBUF_STRIDES) { strides } else { null_mut() };
            (*view).suboffsets = null_mut();
            (*view).internal = null_mut();
            (*view).obj = slf.into_ptr();
        }
        Ok(())
    }
}

/// How `struct` and the buffer protocol call the type, with the bytes and the order of this machine.
fn format_of(element: Element) -> &'static CStr {
    match element {
        Element::Bool => c"?",
        Element::I8 => c"b",
        Element::U16 => c"H",
        Element::I16 => c"h",
        Element::U32 => c"I",
        Element::I32 => c"i",
        Element::U64 => c"Q",
        Element::I64 => c"q",
        Element::F16 => c"e",
        Element::F32 => c"f",
        Element::F64 => c"d",
        // Bytes, whatever they mean.
        _ => c"B",
    }
}
