//! The child: started so that it cannot tell laptime is there, followed, and reaped.

#![expect(unsafe_code, reason = "waiting for one child, and code between fork and exec")]

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use laptime_record::ChildUsage;

use super::program::not_started;
use super::signals::{Blocked, Inherited, Signal};
use crate::failure::Failure;

/// How often the probes are read.
const SAMPLE_EVERY: Duration = Duration::from_secs(1);

/// The command, running.
pub(in crate::command) struct Child {
    pid: i32,
}

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Ended {
    /// By itself, with this code.
    Exit(u8),
    /// By this signal.
    Signal(i32),
}

/// What happened to the child since it was last asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::command) enum Change {
    None,
    /// It was stopped by this signal.
    Stopped(i32),
    /// It ended and waits to be reaped.
    Ended,
}

impl Child {
    /// Starts a command with these variables added to the environment.
    pub(in crate::command) fn start(
        words: &[OsString],
        variables: &[(&str, OsString)],
        signals: &Blocked,
    ) -> io::Result<Self> {
        let mut command = command(words, signals.inherited());
        command.envs(variables.iter().map(|(name, value)| (name, value)));
        let child = command.spawn()?;
        let pid = i32::try_from(child.id()).map_err(io::Error::other)?;
        let_go_of_standard_streams();
        Ok(Self { pid })
    }

    /// Starts a command in a session of its own, away from the terminal: nothing to read, its words into
    /// these files.
    pub(in crate::command) fn start_apart(
        words: &[OsString],
        variables: &[(&str, OsString)],
        signals: &Blocked,
        (out, error): (fs::File, fs::File),
    ) -> io::Result<Self> {
        let mut command = command(words, signals.inherited());
        command.envs(variables.iter().map(|(name, value)| (name, value)));
        command.stdin(Stdio::null()).stdout(out).stderr(error);
        // SAFETY: `setsid` is allowed between fork and exec; it fails only in a leader, which this is not.
        unsafe {
            command.pre_exec(|| if libc::setsid() < 0 { Err(io::Error::last_os_error()) } else { Ok(()) })
        };
        let pid = i32::try_from(command.spawn()?.id()).map_err(io::Error::other)?;
        Ok(Self { pid })
    }

    pub(in crate::command) fn pid(&self) -> u32 {
        self.pid.unsigned_abs()
    }

    /// Passes on a signal that somebody sent to laptime.
    pub(in crate::command) fn forward(&self, signal: &Signal) {
        let Some(sender) = signal.sender else { return };
        // What the command sends its own group has reached it already.
        let own = signal.number == libc::SIGCHLD || self.has_descendant(sender);
        // A shell continues the whole group; a child that already runs was continued with it.
        let needless = signal.number == libc::SIGCONT && !self.is_stopped();
        if !own && !needless {
            // SAFETY: the child is not reaped yet, so the pid is its own.
            unsafe { libc::kill(self.pid, signal.number) };
        }
    }

    fn has_descendant(&self, mut pid: i32) -> bool {
        // More generations than a command has; a parent is never deeper than its child.
        for _ in 0..64 {
            if pid == self.pid {
                return true;
            }
            match field_of_stat(pid, 1).and_then(|parent| parent.parse().ok()) {
                Some(parent) if parent > 1 => pid = parent,
                _ => return false,
            }
        }
        false
    }

    fn is_stopped(&self) -> bool {
        field_of_stat(self.pid, 0).is_some_and(|state| matches!(state.as_str(), "T" | "t"))
    }

    /// Asks without waiting; the end stays to be asked for again until the child is reaped.
    pub(in crate::command) fn change(&self) -> Change {
        let mut about = self.wait_id(libc::WEXITED | libc::WNOWAIT | libc::WNOHANG);
        if matches!(about.si_code, libc::CLD_EXITED | libc::CLD_KILLED | libc::CLD_DUMPED) {
            return Change::Ended;
        }
        about = self.wait_id(libc::WSTOPPED | libc::WNOHANG);
        match about.si_code {
            // SAFETY: the code says that the information is a child's.
            libc::CLD_STOPPED => Change::Stopped(unsafe { about.si_status() }),
            _ => Change::None,
        }
    }

    fn wait_id(&self, options: i32) -> libc::siginfo_t {
        // SAFETY: zeroed information is valid, and stays so when there is nothing to tell.
        unsafe {
            let mut about: libc::siginfo_t = std::mem::zeroed();
            libc::waitid(libc::P_PID, self.pid.unsigned_abs(), &raw mut about, options);
            about
        }
    }

    /// Takes the ended child's last word, and what it used.
    pub(in crate::command) fn reap(&self) -> (Ended, ChildUsage) {
        let mut word = 0;
        // SAFETY: live pointers, and a zeroed `rusage` is valid.
        let usage = unsafe {
            let mut usage: libc::rusage = std::mem::zeroed();
            while libc::wait4(self.pid, &raw mut word, 0, &raw mut usage) < 0
                && io::Error::last_os_error().kind() == io::ErrorKind::Interrupted
            {}
            usage
        };
        let ended = if libc::WIFSIGNALED(word) {
            Ended::Signal(libc::WTERMSIG(word))
        } else {
            Ended::Exit(u8::try_from(libc::WEXITSTATUS(word)).unwrap_or(u8::MAX))
        };
        (ended, child_usage(&usage))
    }
}

/// Becomes the command; returns only to say why it could not.
pub(in crate::command) fn replace_this_process(words: &[OsString]) -> Failure {
    let error = command(words, Inherited::untouched()).exec();
    not_started(words.first().unwrap_or(&OsString::new()), &error)
}

fn command(words: &[OsString], inherited: Inherited) -> Command {
    let (program, arguments) = words.split_first().map_or_else(Default::default, |(p, a)| (p.clone(), a));
    let mut command = Command::new(program);
    command.args(arguments);
    // SAFETY: `restore` makes only calls that are allowed between fork and exec.
    unsafe { command.pre_exec(move || inherited.restore()) };
    command
}

/// A reader of the command's output must see its end when the command closes it, and a writer to its
/// input that nobody reads any more; so laptime keeps only standard error, for the report.
fn let_go_of_standard_streams() {
    let Ok(nothing) = fs::OpenOptions::new().read(true).write(true).open("/dev/null") else { return };
    for stream in [libc::STDIN_FILENO, libc::STDOUT_FILENO] {
        // SAFETY: both descriptors are open, and nothing here reads or writes these streams any more.
        unsafe { libc::dup2(nothing.as_raw_fd(), stream) };
    }
}

/// A field of `/proc/PID/stat` behind the command's name: 0 is the state, 1 the parent.
fn field_of_stat(pid: i32, field: usize) -> Option<String> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    let fields = text.get(text.rfind(')')? + 1..)?;
    fields.split_ascii_whitespace().nth(field).map(str::to_owned)
}

fn child_usage(usage: &libc::rusage) -> ChildUsage {
    let count = |value: libc::c_long| u64::try_from(value).unwrap_or(0);
    let ns = |time: libc::timeval| {
        u64::try_from(time.tv_sec).unwrap_or(0) * 1_000_000_000
            + u64::try_from(time.tv_usec).unwrap_or(0) * 1000
    };
    ChildUsage {
        user_ns: ns(usage.ru_utime),
        system_ns: ns(usage.ru_stime),
        // The kernel counts in KiB here.
        peak_resident_bytes: count(usage.ru_maxrss).saturating_mul(1024),
        major_faults: count(usage.ru_majflt),
        voluntary_switches: count(usage.ru_nvcsw),
        involuntary_switches: count(usage.ru_nivcsw),
    }
}

/// When to read the probes again.
pub(in crate::command) struct Timer {
    due: Instant,
}

impl Timer {
    pub(in crate::command) fn every_second() -> Self {
        Self { due: Instant::now() + SAMPLE_EVERY }
    }

    /// How long it is until then.
    pub(in crate::command) fn left(&self) -> Duration {
        self.due.saturating_duration_since(Instant::now())
    }

    /// Whether it is time, which it then is again a second later.
    pub(in crate::command) fn is_due(&mut self) -> bool {
        let due = self.left().is_zero();
        if due {
            *self = Self::every_second();
        }
        due
    }
}
