//! The program to run: whether it is there, and what a run of it is called.

use std::env;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use crate::failure::Failure;
use crate::text::shown;

/// What shells and `env` end with when there is no such command.
const EXIT_NOT_FOUND: u8 = 127;
/// What shells and `env` end with when the command cannot be executed.
const EXIT_NOT_EXECUTABLE: u8 = 126;

/// Names the Python that laptime runs in; set by the Python package.
const PYTHON_VARIABLE: &str = "LAPTIME_PYTHON";

/// Refuses a program that is not there or cannot be executed, before anything is written.
pub(in crate::command) fn look_up(program: &OsStr) -> Result<(), Failure> {
    let candidates = candidates(program);
    if candidates.iter().any(|path| is_executable(path)) {
        return Ok(());
    }
    match candidates.iter().find(|path| path.exists()) {
        Some(path) if path.is_dir() && !program.as_bytes().contains(&b'/') => Err(not_found(program)),
        Some(path) => Err(not_executable(program, path)),
        None => Err(not_found(program)),
    }
}

/// The words that are run: a Python script that cannot be executed itself is given to Python.
pub(super) fn words(typed: &[OsString]) -> Vec<OsString> {
    let is_script = typed.first().is_some_and(|program| {
        let path = Path::new(program);
        let is_python = path.extension().is_some_and(|ending| ending == "py") && path.is_file();
        is_python && !candidates(program).iter().any(|path| is_executable(path))
    });
    let python = is_script.then(python).flatten();
    python.into_iter().chain(typed.iter().cloned()).collect()
}

/// The Python that laptime runs in, else the one that is found.
fn python() -> Option<OsString> {
    let found = |name: &&str| candidates(OsStr::new(name)).iter().any(|path| is_executable(path));
    let own = env::var_os(PYTHON_VARIABLE).filter(|python| !python.is_empty());
    own.or_else(|| ["python3", "python"].into_iter().find(found).map(OsString::from))
}

/// Where `execvp` looks for it: the path itself, or every folder of PATH.
fn candidates(program: &OsStr) -> Vec<PathBuf> {
    if program.as_bytes().contains(&b'/') {
        return vec![PathBuf::from(program)];
    }
    let folders = env::var_os("PATH").unwrap_or_else(|| "/bin:/usr/bin".into());
    if program.is_empty() {
        return Vec::new();
    }
    env::split_paths(&folders).map(|folder| folder.join(program)).collect()
}

/// Whether a file is there that somebody may execute; the system has the last word when it starts.
fn is_executable(path: &Path) -> bool {
    path.metadata().is_ok_and(|file| file.is_file() && file.permissions().mode() & 0o111 != 0)
}

fn failed(program: &OsStr) -> Failure {
    Failure::new(format!("could not run `{}`", program.to_string_lossy()))
}

fn not_found(program: &OsStr) -> Failure {
    let failure = if program.as_bytes().contains(&b'/') {
        failed(program).because("there is no such file")
    } else {
        failed(program).because("there is no such command in PATH")
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

/// What a run is called that was given no name: the script, else the program.
pub(in crate::command) fn run_name(command: &[String]) -> String {
    let file_name = |path: &str| {
        Path::new(path)
            .file_name()
            .map_or_else(|| path.to_owned(), |name| name.to_string_lossy().into_owned())
    };
    let program = file_name(command.first().map_or("", String::as_str));
    if !program.starts_with("python") {
        return program;
    }
    let mut words = command.iter().skip(1);
    while let Some(word) = words.next() {
        match word.as_str() {
            "-c" => return program,
            "-m" => return words.next().cloned().unwrap_or(program),
            "-W" | "-X" => drop(words.next()),
            option if option.starts_with('-') => {}
            script => return file_name(script),
        }
    }
    program
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(line: &str) -> String {
        run_name(&line.split(' ').map(str::to_owned).collect::<Vec<_>>())
    }

    #[test]
    fn a_run_is_called_after_the_script_else_after_the_program() {
        assert_eq!(name("python train.py --epochs 3"), "train.py");
        assert_eq!(name("/usr/bin/python3.12 -u -X dev src/train.py"), "train.py");
        assert_eq!(name("python -m torch.distributed.run train.py"), "torch.distributed.run");
        assert_eq!(name("python -c pass"), "python");
        assert_eq!(name("python"), "python");
        assert_eq!(name("/bin/sleep 3"), "sleep");
    }
}
