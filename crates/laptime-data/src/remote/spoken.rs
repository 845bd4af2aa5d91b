//! A program that is spoken with over a socket, so that nothing waits for it longer than the limits.

use std::ffi::OsStr;
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

use crate::source::SourceError;

use super::limits::Limits;

/// What a program says when it fails is read up to so many bytes.
const LONGEST_COMPLAINT: u64 = 16 << 10;

/// A program and a socket to it. It and whatever it started end with this.
pub(super) struct Spoken {
    child: Child,
    socket: UnixStream,
    complaints: Option<UnixStream>,
    limits: Limits,
    began: Instant,
    deadline: Instant,
}

impl Spoken {
    /// Starts a program.
    pub(super) fn start<W: AsRef<OsStr>>(words: &[W], limits: &Limits) -> Result<Self, SourceError> {
        let (program, arguments) = words.split_first().ok_or(SourceError::BadAddress("nothing to start"))?;
        let start = || -> io::Result<Self> {
            let (socket, theirs) = UnixStream::pair()?;
            let (complaints, their_errors) = UnixStream::pair()?;
            let streams =
                (Stdio::from(OwnedFd::from(theirs.try_clone()?)), Stdio::from(OwnedFd::from(theirs)));
            let mut command = Command::new(program);
            command.args(arguments).process_group(0).stdin(streams.0).stdout(streams.1);
            let child = command.stderr(Stdio::from(OwnedFd::from(their_errors))).spawn()?;
            let now = Instant::now();
            let (limits, deadline) = (*limits, now + limits.answer);
            Ok(Self { child, socket, complaints: Some(complaints), limits, began: now, deadline })
        };
        let name = program.as_ref().to_string_lossy();
        start().map_err(|error| SourceError::Unreachable(format!("{name} cannot be started: {error}")))
    }

    /// From now on so long.
    pub(super) fn allow(&mut self, time: Duration) {
        self.began = Instant::now();
        self.deadline = self.began + time;
    }

    /// What a failed read or write means: what the program complained about last, if it did.
    pub(super) fn failed(&mut self, error: &io::Error) -> SourceError {
        match error.kind() {
            io::ErrorKind::TimedOut | io::ErrorKind::WouldBlock => {
                SourceError::TimedOut(self.began.elapsed().as_secs())
            }
            io::ErrorKind::InvalidData => SourceError::BadAnswer(error.to_string()),
            _ => meaning(&self.complaint()),
        }
    }

    /// The last line that it wrote on standard error.
    fn complaint(&mut self) -> String {
        let Some(complaints) = self.complaints.take() else { return String::new() };
        // Of a program that has ended all is there; what it left running may hold the other end.
        let _ = complaints.set_read_timeout(Some(Duration::from_millis(500)));
        let mut text = Vec::new();
        let _ = complaints.take(LONGEST_COMPLAINT).read_to_end(&mut text);
        let text = String::from_utf8_lossy(&text).into_owned();
        text.lines().map(str::trim).rfind(|line| !line.is_empty()).unwrap_or("it ended").to_owned()
    }

    fn wait_at_most(&self) -> io::Result<()> {
        let left = self.deadline.saturating_duration_since(Instant::now()).min(self.limits.silence);
        if left.is_zero() {
            return Err(io::ErrorKind::TimedOut.into());
        }
        self.socket.set_read_timeout(Some(left))?;
        self.socket.set_write_timeout(Some(left))
    }
}

/// What a program's last words mean.
fn meaning(complaint: &str) -> SourceError {
    let has = |word: &str| complaint.to_lowercase().contains(word);
    let words = complaint.to_owned();
    match () {
        () if has("host key") => SourceError::Untrusted(words),
        () if has("permission denied") || has("authentication") => SourceError::Denied(words),
        () => SourceError::Unreachable(words),
    }
}

impl Drop for Spoken {
    fn drop(&mut self) {
        let _ = kill_process_group(Pid::from_child(&self.child), Signal::KILL);
        let _ = self.child.wait();
    }
}

impl Read for Spoken {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.wait_at_most()?;
        self.socket.read(buffer)
    }
}

impl Write for Spoken {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.wait_at_most()?;
        self.socket.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.socket.flush()
    }
}
