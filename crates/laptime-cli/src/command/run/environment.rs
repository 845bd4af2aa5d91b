//! What the command's environment says beyond laptime's own: the run to join.

use std::ffi::OsString;

use laptime_record::{BEGAN_VARIABLE, RUN_VARIABLE, Supervisor, began_text};

use super::hooks::Hooks;

/// The variables to add.
pub(in crate::command) fn variables(supervisor: &Supervisor, hooks: &Hooks) -> Vec<(&'static str, OsString)> {
    let mut variables = hooks.variables().to_vec();
    if let Some(run) = supervisor.run() {
        variables.push((RUN_VARIABLE, run.into()));
        variables.push((BEGAN_VARIABLE, began_text(supervisor.began()).into()));
    }
    variables
}
