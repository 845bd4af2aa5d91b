//! A Python process that answers requests, and all of them together.

use std::ffi::OsString;
use std::io::{self, Read, Write};
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStdin, ChildStdout, Command, ExitStatus, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use laptime_load::shown_text;
use rustix::process::{Pid, Signal, kill_process_group};
use serde::de::{DeserializeOwned, IgnoredAny};
use serde::{Deserialize, Serialize};

use super::{PythonCommand, Task};
use crate::pack::error::SourceError;

/// Given to Python as text, so that no package has to be installed for it.
const PROGRAM: &str = include_str!("../../../../../python/laptime/_pack.py");

/// How long a process may take to end after it closed its pipe.
const LONGEST_END: Duration = Duration::from_secs(1);

/// The workers of a source.
#[derive(Debug)]
pub(super) struct Workers {
    program: OsString,
    running: Mutex<Running>,
}

#[derive(Debug, Default)]
struct Running {
    groups: Vec<Arc<Mutex<Group>>>,
    /// Whether no more may be started: one that starts while all are ended would be waited for.
    ended: bool,
}

/// A Python process and whatever it started: a pool of a dataset's own would hold the pipes open, and outlive it.
#[derive(Debug)]
struct Group {
    child: Child,
    over: bool,
}

impl Group {
    /// Ends all of it, whatever it does.
    fn end(&mut self) {
        // Once: afterwards something else may have its number. Fails where all have ended by themselves.
        if !std::mem::replace(&mut self.over, true) {
            let _ = kill_process_group(Pid::from_child(&self.child), Signal::KILL);
            let _ = self.child.wait();
        }
    }

    /// How the process ended that has closed its pipe.
    fn ended(&mut self) -> io::Result<ExitStatus> {
        let limit = Instant::now() + LONGEST_END;
        while self.child.try_wait()?.is_none() && Instant::now() < limit {
            thread::sleep(LONGEST_END / 100);
        }
        self.end();
        self.child.wait()
    }
}

impl Workers {
    pub(super) fn new(python: &PythonCommand) -> Result<Self, SourceError> {
        let program = python.program.clone().ok_or_else(|| {
            SourceError::unfit("there is no Python in PATH", "install Python, or name it in LAPTIME_PYTHON")
        })?;
        Ok(Self { program, running: Mutex::new(Running::default()) })
    }

    /// Starts a worker that has its task and is ready for requests.
    pub(super) fn start(&self, task: &Task) -> Result<Worker, SourceError> {
        let mut worker = self.start_on(task)?;
        worker.receive::<IgnoredAny>()?;
        Ok(worker)
    }

    /// Starts a worker, whose first answer is about its task.
    pub(super) fn start_on(&self, task: &Task) -> Result<Worker, SourceError> {
        let mut running = locked(&self.running);
        if running.ended {
            return Err(SourceError::Stopped);
        }
        let mut command = Command::new(&self.program);
        command.args(["-c", PROGRAM]).stdin(Stdio::piped()).stdout(Stdio::piped()).process_group(0);
        let mut child = command.spawn().map_err(|error| {
            let program = shown_text(self.program.as_encoded_bytes());
            SourceError::unfit(format!("cannot start {program}: {error}"), "name a Python in LAPTIME_PYTHON")
        })?;
        let (Some(requests), Some(answers)) = (child.stdin.take(), child.stdout.take()) else {
            return Err(broken(&io::ErrorKind::BrokenPipe.into()));
        };
        let group = Arc::new(Mutex::new(Group { child, over: false }));
        running.groups.push(Arc::clone(&group));
        drop(running);
        let mut worker = Worker { group, requests, answers };
        worker.send(task, &[])?;
        Ok(worker)
    }

    /// Ends all of them, whatever they do, and starts no more.
    pub(super) fn end(&self) {
        let mut running = locked(&self.running);
        running.ended = true;
        running.groups.drain(..).for_each(|group| locked(&group).end());
    }

    /// Workers may be started again.
    pub(super) fn open_again(&self) {
        locked(&self.running).ended = false;
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
    group: Arc<Mutex<Group>>,
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
            locked(&self.group).ended().map_or_else(|error| error.to_string(), |status| status.to_string());
        let hint = "look above for what it printed; pack again with --threads 1 where memory is short";
        SourceError::unfit(format!("a Python worker ended on its own: {how}"), hint)
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        // It only waits for requests, or is not wanted any more; its code has nothing to finish.
        locked(&self.group).end();
    }
}
