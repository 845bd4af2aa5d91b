//! What a node of a cluster does for a `laptime` command that runs elsewhere.

use laptime_cli::BlockServer;
use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

/// Makes the repeats of a sweep that standard input asks for, until it ends.
#[pyfunction]
pub(crate) fn answer_repeats(py: Python<'_>) -> PyResult<()> {
    Ok(py.detach(laptime_cli::answer_repeats)?)
}

/// Reads the blocks of a source that a pack is made of, for whoever writes it elsewhere.
#[pyclass(frozen, module = "laptime._native")]
pub(crate) struct PackBlocks(BlockServer);

#[pymethods]
impl PackBlocks {
    #[new]
    fn new(request: String) -> Self {
        Self(BlockServer::open(request))
    }

    /// The bytes of a block; `ValueError` says why there are none, as a JSON document.
    fn read<'py>(&self, py: Python<'py>, block: usize) -> PyResult<Bound<'py, PyBytes>> {
        let read = py.detach(|| self.0.read(block));
        read.map(|bytes| PyBytes::new(py, &bytes)).map_err(PyValueError::new_err)
    }
}
