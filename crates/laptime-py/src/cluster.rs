//! What a node of a cluster does for a `laptime` command that runs elsewhere.

use pyo3::prelude::*;

/// Makes the repeats of a sweep that standard input asks for, until it ends.
#[pyfunction]
pub(crate) fn answer_repeats(py: Python<'_>) -> PyResult<()> {
    Ok(py.detach(laptime_cli::answer_repeats)?)
}
