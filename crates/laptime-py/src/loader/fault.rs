//! What goes wrong with a pack, as the exception that a script would catch.

use std::any::Any;
use std::error::Error;
use std::io::ErrorKind;

use laptime_load::loader::LoaderError;
use laptime_load::pack::PackError;
use pyo3::create_exception;
use pyo3::exceptions::{PyFileNotFoundError, PyMemoryError, PyOSError, PyPermissionError};
use pyo3::exceptions::{PyRuntimeError, PyTimeoutError, PyValueError};
use pyo3::prelude::*;

create_exception!(
    laptime.loader,
    DamagedPackError,
    PyOSError,
    "A pack, or one of its samples, is not as it was written."
);

/// The exception for what the engine says.
pub(super) fn exception(error: &LoaderError) -> PyErr {
    let text = text(error);
    match error {
        LoaderError::Pack(pack) => pack_exception(pack, text),
        LoaderError::Stuck { .. } => PyTimeoutError::new_err(text),
        LoaderError::NoMemory { .. } => PyMemoryError::new_err(text),
        LoaderError::NoThread { .. } | LoaderError::Panicked { .. } => PyRuntimeError::new_err(text),
        _ => PyValueError::new_err(text),
    }
}

fn pack_exception(error: &PackError, text: String) -> PyErr {
    match error {
        PackError::NotFound { .. } => PyFileNotFoundError::new_err(text),
        PackError::Io { source, .. } if source.kind() == ErrorKind::PermissionDenied => {
            PyPermissionError::new_err(text)
        }
        PackError::NotAPack { .. }
        | PackError::BadManifest { .. }
        | PackError::WrongSize { .. }
        | PackError::Damaged { .. }
        | PackError::DamagedDescription { .. } => DamagedPackError::new_err(text),
        _ => PyOSError::new_err(text),
    }
}

/// What failed, why, and what to do about it.
fn text(error: &LoaderError) -> String {
    let mut text = error.to_string();
    let mut source = error.source();
    while let Some(cause) = source {
        text.push_str(&format!(": {cause}"));
        source = cause.source();
    }
    if let Some(hint) = error.hint() {
        text.push_str(&format!("\nhint: {hint}"));
    }
    text
}

/// The exception for a panic, which is a mistake of ours.
pub(super) fn panicked(panic: &(dyn Any + Send)) -> PyErr {
    let because = panic
        .downcast_ref::<String>()
        .map(String::as_str)
        .or_else(|| panic.downcast_ref::<&str>().copied())
        .unwrap_or("a panic without words");
    PyRuntimeError::new_err(format!("the loader failed, which is a mistake of laptime's: {because}"))
}
