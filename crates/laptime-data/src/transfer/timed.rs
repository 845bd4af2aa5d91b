//! A copy that is made, timed, and held against its forecast.

use std::fs;
use std::io::{self, Read};
use std::os::unix::process::CommandExt;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};
use serde::Serialize;

use crate::survey::{Amount, Watch};

use super::tool::Move;

/// How often it is looked at.
const LOOK: Duration = Duration::from_millis(20);

/// How often its size is looked up, which walks what was copied.
const SIZE_EVERY: Duration = Duration::from_millis(500);

/// What the tool says when it fails is kept up to so many bytes.
const LONGEST_COMPLAINT: u64 = 64 << 10;

/// A copy, held against its forecast.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Timed {
    /// What it took.
    pub seconds: f64,
    /// What was expected.
    pub forecast: Amount,
    /// How far the forecast was off: 0.1 for a copy that took 10 % longer.
    pub error: f64,
    /// Whether the interval held it.
    pub within: bool,
    /// Bytes that were copied.
    pub bytes: u64,
}

/// Why a copy came to nothing.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TimedError {
    /// There is something in its place, which stays.
    #[error("{0} is there already")]
    Exists(String),
    /// The tool cannot be started or watched.
    #[error(transparent)]
    System(#[from] io::Error),
    /// The tool failed.
    #[error("{tool} failed: {complaint}")]
    Failed {
        /// Which.
        tool: &'static str,
        /// Its last words.
        complaint: String,
    },
    /// Somebody asked to stop; what was copied so far stays.
    #[error("it was stopped")]
    Stopped,
}

/// Makes the copy in the current folder. `progress` is given the bytes that are there, every now and then.
///
/// # Errors
/// When the target exists, the tool fails, or the watch stops it.
pub fn timed(
    copy: &Move,
    forecast: Amount,
    watch: &Watch,
    progress: &mut dyn FnMut(u64),
) -> Result<Timed, TimedError> {
    let target = Path::new(&copy.target);
    if fs::symlink_metadata(target).is_ok() {
        return Err(TimedError::Exists(copy.target.clone()));
    }
    let (program, arguments) =
        copy.words.split_first().ok_or_else(|| io::Error::other("an empty command"))?;
    let started = Instant::now();
    let mut command = Command::new(program);
    command
        .args(arguments)
        .process_group(0)
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::piped());
    let mut child = command.spawn()?;
    let complaints = child.stderr.take().map(|errors| thread::spawn(move || last_line(errors)));
    let mut looked = started;
    let status = loop {
        if let Some(status) = child.try_wait()? {
            break status;
        }
        if watch.stopped() {
            let _ = kill_process_group(Pid::from_child(&child), Signal::TERM);
            child.wait()?;
            return Err(TimedError::Stopped);
        }
        if looked.elapsed() > SIZE_EVERY {
            progress(bytes_below(target));
            looked = Instant::now();
        }
        thread::sleep(LOOK);
    };
    let seconds = started.elapsed().as_secs_f64();
    let complaint = complaints.and_then(|thread| thread.join().ok()).unwrap_or_default();
    if !status.success() {
        return Err(TimedError::Failed { tool: copy.tool.name(), complaint });
    }
    Ok(graded(seconds, forecast, bytes_below(target)))
}

fn graded(seconds: f64, forecast: Amount, bytes: u64) -> Timed {
    let within = (forecast.low..=forecast.high).contains(&seconds);
    Timed { seconds, forecast, error: seconds / forecast.mean - 1.0, within, bytes }
}

fn last_line(errors: impl Read) -> String {
    let mut text = Vec::new();
    let mut errors = errors;
    let _ = errors.by_ref().take(LONGEST_COMPLAINT).read_to_end(&mut text);
    // A tool that says more must not wait for somebody to read it.
    let _ = io::copy(&mut errors, &mut io::sink());
    let text = String::from_utf8_lossy(&text).into_owned();
    text.lines().map(str::trim).rfind(|line| !line.is_empty()).unwrap_or("it said nothing").to_owned()
}

fn bytes_below(path: &Path) -> u64 {
    let Ok(metadata) = fs::symlink_metadata(path) else { return 0 };
    if !metadata.is_dir() {
        return metadata.len();
    }
    let entries = fs::read_dir(path).into_iter().flatten().flatten();
    entries.map(|entry| bytes_below(&entry.path())).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::transfer::Tool;

    fn copy(script: &str, target: &Path) -> Move {
        let words = ["sh", "-c", script].map(str::to_owned).to_vec();
        Move { tool: Tool::Curl, words, target: target.display().to_string() }
    }

    #[test]
    fn a_copy_is_graded_and_one_that_fails_says_why() {
        let folder = tempfile::tempdir().unwrap();
        let target = folder.path().join("x");
        let forecast = Amount::between(0.0, 1.0, 1e6);
        let run = |script: &str| timed(&copy(script, &target), forecast, &Watch::default(), &mut |_| {});
        assert!(run("echo no such host >&2; exit 6").unwrap_err().to_string().ends_with("no such host"));
        let done = run(&format!("printf 12345 > {}", target.display())).unwrap();
        assert!(done.within && done.bytes == 5 && done.error < 1e6);
        assert!(matches!(run("true"), Err(TimedError::Exists(_))));
    }

    #[test]
    fn errors_count_from_the_forecast() {
        let graded = graded(1.1, Amount::between(0.9, 1.0, 1.05), 7);
        assert!((graded.error - 0.1).abs() < 1e-9 && !graded.within);
    }
}
