//! Runs that were recorded, and the `laptime` command.

use std::ffi::OsString;
use std::path::PathBuf;

use laptime_cli::ShownRun;
use laptime_store::StoreError;
use pyo3::exceptions::{PyFileNotFoundError, PyOSError, PyValueError};
use pyo3::prelude::*;

/// The folder of a run, or of the latest, its report as JSON, with every epoch on demand, and as text.
#[pyfunction]
#[pyo3(signature = (run=None, dir=None, every_epoch=false))]
pub(crate) fn show_run(
    py: Python<'_>,
    run: Option<&str>,
    dir: Option<PathBuf>,
    every_epoch: bool,
) -> PyResult<(String, String, String)> {
    parts(py.detach(move || laptime_cli::show_run(dir.as_deref(), run, every_epoch)))
}

/// The run in a folder, as far as it is recorded: the folder, its report as JSON and the summary as text.
#[pyfunction]
pub(crate) fn summarize_run(py: Python<'_>, folder: PathBuf) -> PyResult<(String, String, String)> {
    parts(py.detach(move || laptime_cli::summarize_run(&folder)))
}

/// What a notebook shows of the run in a folder: its verdict, its laps and its ledger, as HTML.
#[pyfunction]
pub(crate) fn run_card(py: Python<'_>, folder: PathBuf) -> PyResult<String> {
    py.detach(move || laptime_cli::run_card(&folder)).map_err(|error| python_error(&error))
}

/// The page of the run in a folder, with everything in it.
#[pyfunction]
pub(crate) fn run_page(py: Python<'_>, folder: PathBuf) -> PyResult<String> {
    py.detach(move || laptime_cli::run_page(&folder)).map_err(|error| python_error(&error))
}

fn parts(shown: Result<ShownRun, StoreError>) -> PyResult<(String, String, String)> {
    let shown = shown.map_err(|error| python_error(&error))?;
    Ok((shown.path.to_string_lossy().into_owned(), shown.json, shown.text))
}

pub(crate) fn python_error(error: &StoreError) -> PyErr {
    let hint = error.hint().map(|hint| format!("; hint: {hint}")).unwrap_or_default();
    let message = format!("{error}{hint}");
    match error {
        StoreError::NoRuns(_) | StoreError::UnknownRun { .. } => PyFileNotFoundError::new_err(message),
        StoreError::Io { .. } => PyOSError::new_err(message),
        _ => PyValueError::new_err(message),
    }
}

/// Runs the `laptime` command and gives its exit code.
#[pyfunction]
pub(crate) fn main(py: Python<'_>, command_line: Vec<OsString>) -> u8 {
    let began = laptime_record::ProgramStart::now();
    py.detach(|| laptime_cli::exit_code_of(&began, command_line))
}
