//! The program to run: whether it is there, and what a run of it is called.

use std::env;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Names the Python that laptime runs in; set by the Python package.
const PYTHON_VARIABLE: &str = "LAPTIME_PYTHON";

/// Why a program cannot be run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum NotRunnable {
    /// There is no such file, or no such command in PATH.
    NotFound,
    /// This is there, and is a folder or a file that nobody may execute.
    NotExecutable(PathBuf),
}

/// Whether a program is there and can be executed, as far as that shows without starting it.
///
/// # Errors
/// Why it cannot.
pub fn look_up(program: &OsStr) -> Result<(), NotRunnable> {
    let candidates = candidates(program);
    if candidates.iter().any(|path| is_executable(path)) {
        return Ok(());
    }
    match candidates.into_iter().find(|path| path.exists()) {
        Some(path) if path.is_dir() && !is_path(program) => Err(NotRunnable::NotFound),
        Some(path) => Err(NotRunnable::NotExecutable(path)),
        None => Err(NotRunnable::NotFound),
    }
}

/// Whether a program is named by its path, and not to be looked for in PATH.
#[must_use]
pub fn is_path(program: &OsStr) -> bool {
    program.as_bytes().contains(&b'/')
}

/// The words that are run: a Python script that cannot be executed itself is given to Python.
#[must_use]
pub fn words(typed: &[OsString]) -> Vec<OsString> {
    let is_script = typed.first().is_some_and(|program| {
        let path = Path::new(program);
        let is_python = path.extension().is_some_and(|ending| ending == "py") && path.is_file();
        is_python && !candidates(program).iter().any(|path| is_executable(path))
    });
    let python = is_script.then(python).flatten();
    python.into_iter().chain(typed.iter().cloned()).collect()
}

/// The Python that laptime runs in, else the one that is found.
#[must_use]
pub fn python() -> Option<OsString> {
    let found = |name: &&str| candidates(OsStr::new(name)).iter().any(|path| is_executable(path));
    let own = env::var_os(PYTHON_VARIABLE).filter(|python| !python.is_empty());
    own.or_else(|| ["python3", "python"].into_iter().find(found).map(OsString::from))
}

/// Where `execvp` looks for it: the path itself, or every folder of PATH.
fn candidates(program: &OsStr) -> Vec<PathBuf> {
    if is_path(program) {
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

/// What a run is called that was given no name: the script, else the program.
#[must_use]
pub fn run_name(command: &[String]) -> String {
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
