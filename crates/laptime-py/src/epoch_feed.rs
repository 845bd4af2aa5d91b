//! The epochs of the run that is being recorded, for a TensorBoard writer of the script's own.

use std::path::Path;

use laptime_cli::EpochPoint;
use pyo3::prelude::*;

use crate::shown::python_error;

/// Gives each epoch of a run once, as soon as its pass has ended.
#[pyclass(module = "laptime._native")]
pub(crate) struct EpochFeed {
    feed: laptime_cli::EpochFeed,
}

/// Number of the fit, number of the epoch, when it ended in seconds since 1970, and its scalars by tag.
type EpochTuple = (u32, u32, f64, Vec<(String, f64)>);

#[pymethods]
impl EpochFeed {
    /// The epochs that ended since the last call.
    fn next_epochs(&mut self, py: Python<'_>) -> PyResult<Vec<EpochTuple>> {
        let points = py.detach(|| self.feed.next_epochs()).map_err(|error| python_error(&error))?;
        let tuple = |point: EpochPoint| (point.fit, point.epoch, point.unix_s, point.scalars);
        Ok(points.into_iter().map(tuple).collect())
    }
}

/// The epochs of the run in a folder, from its beginning.
#[pyfunction]
pub(crate) fn epoch_feed(folder: &str) -> PyResult<EpochFeed> {
    let feed = laptime_cli::EpochFeed::open(Path::new(folder)).map_err(|error| python_error(&error))?;
    Ok(EpochFeed { feed })
}
