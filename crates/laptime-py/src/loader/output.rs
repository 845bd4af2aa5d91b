//! What a batch is handed out as: torch tensors, NumPy arrays, or arrays that any library takes over.

#![expect(unsafe_code, reason = "a tensor a microsecond leaves no time for the interpreter's way to call")]

use std::ptr::null_mut;

use laptime_load::loader::{BatchArray, LoadedBatch};
use pyo3::exceptions::PyValueError;
use pyo3::ffi::{self, PyObject};
use pyo3::prelude::*;
use pyo3::types::PyTuple;

use super::array::LoadedArray;
use super::dlpack;

/// What batches are handed out as.
pub(super) enum Output {
    Torch(TensorMaker),
    Numpy(ArrayMaker),
    Dlpack,
}

impl Output {
    /// The output of this name; its library is imported.
    pub(super) fn named(py: Python<'_>, name: &str) -> PyResult<Self> {
        match name {
            "torch" => TensorMaker::new(py).map(Self::Torch),
            "numpy" => ArrayMaker::new(py).map(Self::Numpy),
            "dlpack" => Ok(Self::Dlpack),
            _ => Err(PyValueError::new_err(format!(
                "output is \"torch\", \"numpy\" or \"dlpack\", not {name:?}"
            ))),
        }
    }

    /// The batch as a tuple of arrays, in the order of the columns.
    pub(super) fn tuple<'py>(&self, py: Python<'py>, batch: LoadedBatch) -> PyResult<Bound<'py, PyTuple>> {
        let count = batch.arrays.len() as ffi::Py_ssize_t;
        // SAFETY: the tuple is ours alone until it is returned; each of its places is filled once, with a reference
        // it takes over. One that is dropped with places left empty is what Python expects.
        unsafe {
            let tuple = Bound::from_owned_ptr_or_err(py, ffi::PyTuple_New(count))?;
            for (place, array) in batch.arrays.into_iter().enumerate() {
                let array = self.array(py, array)?.into_ptr();
                ffi::PyTuple_SetItem(tuple.as_ptr(), place as ffi::Py_ssize_t, array);
            }
            Ok(tuple.cast_into_unchecked())
        }
    }

    fn array<'py>(&self, py: Python<'py>, array: BatchArray) -> PyResult<Bound<'py, PyAny>> {
        match self {
            Self::Torch(maker) => maker.tensor(dlpack::capsule(py, array)?),
            Self::Numpy(maker) => maker.array(py, array),
            Self::Dlpack => Ok(Bound::new(py, LoadedArray::new(array))?.into_any()),
        }
    }
}

/// Torch's own function that makes a tensor of a capsule.
pub(super) struct TensorMaker {
    function: Py<PyAny>,
    /// The same without the interpreter's way to call it, and what it is called on.
    direct: Option<(ffi::PyCFunction, Option<Py<PyAny>>)>,
}

impl TensorMaker {
    fn new(py: Python<'_>) -> PyResult<Self> {
        let function = py.import("torch")?.getattr("_C")?.getattr("_from_dlpack")?;
        Ok(Self { direct: direct(&function), function: function.unbind() })
    }

    fn tensor<'py>(&self, capsule: Bound<'py, PyAny>) -> PyResult<Bound<'py, PyAny>> {
        let py = capsule.py();
        let Some((function, this)) = &self.direct else {
            return self.function.bind(py).call1((capsule,));
        };
        let this = this.as_ref().map_or(null_mut(), Py::as_ptr);
        // SAFETY: the function is alive as long as its object, which `self` holds, and takes one argument.
        unsafe { Bound::from_owned_ptr_or_err(py, function(this, capsule.as_ptr())) }
    }
}

/// The function of C behind a built-in one of one argument, and what it is called on.
fn direct(function: &Bound<'_, PyAny>) -> Option<(ffi::PyCFunction, Option<Py<PyAny>>)> {
    // SAFETY: what is read is that of a built-in function, which the first line makes sure of; the flags say that
    // it is of the form that is returned.
    unsafe {
        let object: *mut PyObject = function.as_ptr();
        if ffi::PyCFunction_CheckExact(object) == 0 || ffi::PyCFunction_GetFlags(object) != ffi::METH_O {
            return None;
        }
        let this = Bound::from_borrowed_ptr_or_opt(function.py(), ffi::PyCFunction_GetSelf(object));
        Some((ffi::PyCFunction_GetFunction(object)?, this.map(Bound::unbind)))
    }
}

/// NumPy's type of arrays, and of numbers as they were needed.
pub(super) struct ArrayMaker {
    kind: Py<PyAny>,
    dtypes: Vec<Py<PyAny>>,
}

impl ArrayMaker {
    fn new(py: Python<'_>) -> PyResult<Self> {
        let numpy = py.import("numpy")?;
        let dtype = numpy.getattr("dtype")?;
        let dtypes = laptime_load::pack::Element::ALL
            .iter()
            .map(|element| dtype.call1((element.name(),)).map(Bound::unbind))
            .collect::<PyResult<_>>()?;
        Ok(Self { kind: numpy.getattr("ndarray")?.unbind(), dtypes })
    }

    fn array<'py>(&self, py: Python<'py>, array: BatchArray) -> PyResult<Bound<'py, PyAny>> {
        let place = laptime_load::pack::Element::ALL.iter().position(|&element| element == array.element);
        let dtype = place.and_then(|place| self.dtypes.get(place)).map(|dtype| dtype.bind(py));
        let shape = PyTuple::new(py, &array.shape)?;
        self.kind.bind(py).call1((shape, dtype, Bound::new(py, LoadedArray::new(array))?))
    }
}
