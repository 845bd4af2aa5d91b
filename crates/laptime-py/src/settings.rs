//! Settings: the same answers as the command gets.

use std::ffi::OsString;
use std::path::PathBuf;

use laptime_launch::{Given, Settings};
use pyo3::prelude::*;

/// Directory, name, quiet and disabled, given these.
#[pyfunction]
pub(crate) fn settings(
    dir: Option<PathBuf>,
    name: Option<String>,
    quiet: Option<bool>,
    disabled: Option<bool>,
) -> (Option<OsString>, Option<String>, bool, bool) {
    let settings = Settings::read(Given { dir, name, quiet, disabled });
    (settings.dir.map(OsString::from), settings.name, settings.quiet, settings.disabled)
}

/// Whether a variable's value means on or off; `None` for an empty one.
#[pyfunction]
#[expect(clippy::needless_pass_by_value, reason = "how PyO3 hands over a string of the system")]
pub(crate) fn switched(value: OsString) -> Option<bool> {
    laptime_launch::switched(&value)
}
