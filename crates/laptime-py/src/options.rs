//! What a Python dict says a recorder is started with.

use std::path::PathBuf;

use laptime_record::{Launch, Options, RunMeta, rank_from_environment};
use pyo3::prelude::*;
use pyo3::types::PyDict;

/// Options from a dict with `dir`, `name`, `command`, `join`, `rank` and `ranks`; all may be missing.
pub(crate) fn options(dict: &Bound<'_, PyDict>) -> PyResult<Options> {
    let (rank, ranks) = rank_from_environment();
    let meta = RunMeta {
        name: value(dict, "name")?.unwrap_or_default(),
        command: value(dict, "command")?.unwrap_or_default(),
        frameworks: value(dict, "frameworks")?.unwrap_or_default(),
        device: value(dict, "device")?,
        engine: value(dict, "engine")?,
        threads: value(dict, "threads")?,
        ranks: value(dict, "ranks")?.unwrap_or(ranks),
        ..RunMeta::default()
    };
    Ok(Options {
        root: value::<PathBuf>(dict, "dir")?,
        join: value::<PathBuf>(dict, "join")?,
        rank: value(dict, "rank")?.unwrap_or(rank),
        meta,
        launch: Launch::from_environment(),
        began: None,
    })
}

fn value<'py, T: FromPyObjectOwned<'py>>(dict: &Bound<'py, PyDict>, key: &str) -> PyResult<Option<T>> {
    match dict.get_item(key)? {
        Some(found) if !found.is_none() => found.extract().map(Some).map_err(Into::into),
        _ => Ok(None),
    }
}
