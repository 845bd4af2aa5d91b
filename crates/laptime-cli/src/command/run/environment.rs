//! What the command's environment says beyond laptime's own: the run to join, and Python's hooks.

use std::env;
use std::ffi::OsString;

use laptime_record::{BEGAN_VARIABLE, RUN_VARIABLE, Supervisor, began_text};

/// Set to 0 so that Python's hooks stay away.
const HOOKS_VARIABLE: &str = "LAPTIME_HOOKS";
/// Names the folder that makes Python attach the hooks at its start; set by the Python package, whose
/// `laptime` command knows where it is installed.
const HOOK_FOLDER_VARIABLE: &str = "LAPTIME_HOOK_PATH";

/// The variables to add. Without a run on disk there is nothing to join, and the hooks stay away.
pub(in crate::command) fn variables(
    supervisor: &Supervisor,
    no_hooks: bool,
) -> Vec<(&'static str, OsString)> {
    let mut variables = Vec::new();
    if let Some(run) = supervisor.run() {
        variables.push((RUN_VARIABLE, run.into()));
        variables.push((BEGAN_VARIABLE, began_text(supervisor.began()).into()));
    }
    if no_hooks || supervisor.run().is_none() {
        variables.push((HOOKS_VARIABLE, "0".into()));
    } else {
        let python_path = python_path(env::var_os(HOOK_FOLDER_VARIABLE), env::var_os("PYTHONPATH"));
        variables.extend(python_path.map(|path| ("PYTHONPATH", path)));
    }
    variables
}

/// Where Python looks for modules: the hook's folder first, then where it looked already.
fn python_path(hook: Option<OsString>, known: Option<OsString>) -> Option<OsString> {
    let mut path = hook.filter(|folder| !folder.is_empty())?;
    if let Some(known) = known.filter(|known| !known.is_empty()) {
        path.push(":");
        path.push(known);
    }
    Some(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hook_comes_first_and_what_was_there_stays() {
        let path = |hook: &str, known: &str| python_path(Some(hook.into()), Some(known.into()));
        assert_eq!(path("/hook", "/a:/b"), Some("/hook:/a:/b".into()));
        assert_eq!(path("/hook", ""), Some("/hook".into()));
        assert_eq!(path("", "/a"), None);
    }
}
