//! What the command's environment says beyond laptime's own: the run to join.

use std::ffi::OsString;

use laptime_record::{BEGAN_VARIABLE, RUN_VARIABLE, began_text};

use crate::hooks::Hooks;
use crate::supervisor::Supervisor;

/// The variables to add.
pub(crate) fn variables(supervisor: &Supervisor, hooks: &Hooks) -> Vec<(&'static str, OsString)> {
    let mut variables = hooks.variables().to_vec();
    if let Some(run) = supervisor.run() {
        variables.push((RUN_VARIABLE, run.into()));
        variables.push((BEGAN_VARIABLE, began_text(supervisor.began()).into()));
    }
    variables
}
