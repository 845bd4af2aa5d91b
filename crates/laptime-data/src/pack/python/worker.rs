//! A Python process that answers requests, and all of them together.

use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use laptime_load::shown_text;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::{PythonCommand, Task};
use crate::pack::error::SourceError;

/// Given to Python as text, so that no package has to be installed for it.
const PROGRAM: &str = include_str!("../../../../../python/laptime/_pack.py");

/// The workers of a source.
#[derive(Debug)]
pub(super) struct Workers {
    program: OsString,
    children: Mutex<Vec<Arc<Mutex<Child>>>>,
}

impl Workers {
    pub(super) fn new(python: &PythonCommand) -> Result<Self, SourceError> {
        let program = python.program.clone().ok_or_else(|| {
            SourceError::unfit("there is no Python in PATH", "install Python, or name it in LAPTIME_PYTHON")
        })?;
        Ok(Self { program, children: Mutex::new(Vec::new()) })
    }

    pub(super) fn start(&self, task: &Task) -> Result<Worker, SourceError> {
        let task = serde_json::to_string(task).map_err(|error| broken(&io::Error::other(error)))?;
        let mut command = Command::new(&self.program);
        command.args(["-c", PROGRAM, &task]).stdin(Stdio::piped()).stdout(Stdio::piped());
        let mut child = command.spawn().map_err(|error| {
            let program = shown_text(self.program.as_encoded_bytes());
            SourceError::unfit(format!("cannot start {program}: {error}"), "name a Python in LAPTIME_PYTHON")
        })?;
        let (Some(requests), Some(answers)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(broken(&io::ErrorKind::BrokenPipe.into()));
        };
        let child = Arc::new(Mutex::new(child));
        locked(&self.children).push(Arc::clone(&child));
        Ok(Worker { child, requests, answers })
    }

    /// Ends all of them, whatever they do.
    pub(super) fn end(&self) {
        for child in locked(&self.children).drain(..) {
            // Fails for one that has ended.
            let _ = locked(&child).kill();
        }
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn broken(error: &io::Error) -> SourceError {
    let hint = "look above for what it printed; pack again with --threads 1 where memory is short";
    SourceError::unfit(format!("a Python worker cannot be talked to: {error}"), hint)
}

/// One Python process.
#[derive(Debug)]
pub(super) struct Worker {
    child: Arc<Mutex<Child>>,
    requests: ChildStdin,
    answers: ChildStdout,
}

/// How every answer begins.
#[derive(Deserialize)]
struct Opening {
    error: Option<String>,
    #[serde(default)]
    traceback: Vec<String>,
    #[serde(default)]
    bytes: usize,
}

impl Worker {
    pub(super) fn send(&mut self, header: &impl Serialize, buffers: &[&[u8]]) -> Result<(), SourceError> {
        let text = serde_json::to_vec(header).map_err(|error| broken(&io::Error::other(error)))?;
        let mut write = || {
            self.requests.write_all(&(text.len() as u32).to_le_bytes())?;
            self.requests.write_all(&text)?;
            buffers.iter().try_for_each(|buffer| self.requests.write_all(buffer))?;
            self.requests.flush()
        };
        // A worker that has failed said why before it went away.
        match write() {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => Ok(()),
            result => result.map_err(|error| broken(&error)),
        }
    }

    /// The next answer and its bytes, or what the worker failed of.
    pub(super) fn receive<T: DeserializeOwned>(&mut self) -> Result<(T, Vec<u8>), SourceError> {
        let text = match self.receive_text() {
            Ok(text) => text,
            Err(error) if error.kind() == io::ErrorKind::UnexpectedEof => return Err(self.ended()),
            Err(error) => return Err(broken(&error)),
        };
        let invalid = |error: serde_json::Error| broken(&io::Error::other(error));
        let opening: Opening = serde_json::from_slice(&text).map_err(invalid)?;
        if let Some(problem) = opening.error {
            return Err(SourceError::Python { problem, traceback: opening.traceback });
        }
        // It grows as bytes come, so that a number gone wrong takes no memory.
        let mut bytes = Vec::new();
        let read = (&mut self.answers).take(opening.bytes as u64).read_to_end(&mut bytes);
        read.map_err(|error| broken(&error))?;
        if bytes.len() < opening.bytes {
            return Err(self.ended());
        }
        Ok((serde_json::from_slice(&text).map_err(invalid)?, bytes))
    }

    fn receive_text(&mut self) -> io::Result<Vec<u8>> {
        let mut length = [0; 4];
        self.answers.read_exact(&mut length)?;
        let length = u64::from(u32::from_le_bytes(length));
        let mut text = Vec::new();
        (&mut self.answers).take(length).read_to_end(&mut text)?;
        if (text.len() as u64) < length { Err(io::ErrorKind::UnexpectedEof.into()) } else { Ok(text) }
    }

    fn ended(&self) -> SourceError {
        let how =
            locked(&self.child).wait().map_or_else(|error| error.to_string(), |status| status.to_string());
        let hint = "look above for what it printed; pack again with --threads 1 where memory is short";
        SourceError::unfit(format!("a Python worker ended on its own: {how}"), hint)
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        let mut child = locked(&self.child);
        // It only waits for requests, or is not wanted any more; its code has nothing to finish.
        let _ = child.kill();
        let _ = child.wait();
    }
}
