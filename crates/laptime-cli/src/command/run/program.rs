//! Why a program cannot be run, and what to type instead.

use std::ffi::OsStr;
use std::io;
use std::path::Path;

use laptime_launch::program::{NotRunnable, is_path};

use crate::failure::Failure;
use crate::text::shown;

/// What shells and `env` end with when there is no such command.
const EXIT_NOT_FOUND: u8 = 127;
/// What shells and `env` end with when the command cannot be executed.
const EXIT_NOT_EXECUTABLE: u8 = 126;

/// Refuses a program that is not there or cannot be executed, before anything is written.
pub(in crate::command) fn look_up(program: &OsStr) -> Result<(), Failure> {
    laptime_launch::program::look_up(program).map_err(|because| match because {
        NotRunnable::NotFound => not_found(program),
        NotRunnable::NotExecutable(path) => not_executable(program, &path),
    })
}

fn failed(program: &OsStr) -> Failure {
    Failure::new(format!("could not run `{}`", program.to_string_lossy()))
}

fn not_found(program: &OsStr) -> Failure {
    let failure = if is_path(program) {
        failed(program).because("no such file")
    } else {
        failed(program).because("no such command in PATH")
    };
    let script = Path::new(program).extension().is_some_and(|ending| ending == "py");
    let typed = shown(&program.to_string_lossy());
    let hint = if script {
        format!("laptime run -- python {typed}")
    } else {
        "laptime run -- python train.py".to_owned()
    };
    Failure { exit: EXIT_NOT_FOUND, ..failure.hint(hint) }
}

fn not_executable(program: &OsStr, path: &Path) -> Failure {
    let because = if path.is_dir() { "it is a folder" } else { "the file is not executable" };
    let failure = failed(program).because(because);
    let typed = shown(&path.to_string_lossy());
    let hint = match path.extension() {
        Some(ending) if ending == "py" => format!("laptime run -- python {typed}"),
        _ if path.is_dir() => "laptime run -- python train.py".to_owned(),
        _ => format!("chmod +x {typed}"),
    };
    Failure { exit: EXIT_NOT_EXECUTABLE, ..failure.hint(hint) }
}

/// What the system said when it was to start.
pub(in crate::command) fn not_started(program: &OsStr, error: &io::Error) -> Failure {
    let exit = if error.kind() == io::ErrorKind::NotFound { EXIT_NOT_FOUND } else { EXIT_NOT_EXECUTABLE };
    Failure { exit, ..failed(program).caused_by(error) }
}
