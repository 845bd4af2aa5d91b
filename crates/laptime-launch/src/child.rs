//! The child: started so that it cannot tell laptime is there, followed, and reaped.

#![expect(unsafe_code, reason = "waiting for one child, and code between fork and exec")]

use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::process::CommandExt;
use std::process::{Command, Stdio};

use laptime_core::Status;
use laptime_core::proc::ProcessStat;

use crate::child_usage::ChildUsage;
use crate::job::Job;
use crate::signals::{self, Blocked, Inherited, Signal};
use crate::watcher::{Watcher, announce};

/// The command, running.
pub(crate) struct Child {
    pid: i32,
}

/// How a command ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ended {
    /// By itself, with this code.
    Exit(u8),
    /// By this signal.
    Signal(i32),
}

impl Ended {
    /// How it ended, for the log.
    #[must_use]
    pub fn status(self) -> (Status, Option<String>) {
        match self {
            Self::Exit(0) => (Status::Finished, None),
            Self::Exit(code) => (Status::Failed, Some(format!("ended with exit code {code}"))),
            Self::Signal(signal) => {
                (Status::Killed, Some(format!("ended by signal {signal}{}", signals::name(signal))))
            }
        }
    }
}

/// What happened to the child since it was last asked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Change {
    /// Nothing.
    None,
    /// It was stopped by this signal.
    Stopped(i32),
    /// It ended and waits to be reaped.
    Ended,
}

impl Child {
    /// Starts a command with these variables added to the environment.
    pub(crate) fn start(
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

    /// Starts a command in a session of its own, away from the terminal: input, output and errors are these.
    pub(crate) fn start_apart(
        job: &Job,
        variables: &[(&str, OsString)],
        signals: &Blocked,
        [input, out, error]: [Stdio; 3],
        watcher: Option<&Watcher>,
    ) -> io::Result<Self> {
        let mut command = command(&job.words, signals.inherited());
        command.envs(variables.iter().map(|(name, value)| (name, value)));
        if let Some(folder) = &job.folder {
            command.current_dir(folder);
        }
        command.stdin(input).stdout(out).stderr(error);
        let place = watcher.and_then(Watcher::place);
        // SAFETY: both calls are allowed between fork and exec.
        unsafe { command.pre_exec(move || begin_session(place)) };
        let pid = i32::try_from(command.spawn()?.id()).map_err(io::Error::other)?;
        Ok(Self { pid })
    }

    /// Its number.
    pub(crate) fn pid(&self) -> u32 {
        self.pid.unsigned_abs()
    }

    /// Passes on a signal that somebody sent to laptime.
    pub(crate) fn forward(&self, signal: &Signal) {
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
            match ask_stat(pid, |stat| stat.number(4)) {
                Some(parent) if parent > 1 => pid = parent,
                _ => return false,
            }
        }
        false
    }

    fn is_stopped(&self) -> bool {
        ask_stat(self.pid, |stat| Some(stat.is_stopped())) == Some(true)
    }

    /// Asks without waiting; the end stays to be asked for again until the child is reaped.
    pub(crate) fn change(&self) -> Change {
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
        // SAFETY: zeroed information is valid, and stays so when there is nothing to report.
        unsafe {
            let mut about: libc::siginfo_t = std::mem::zeroed();
            libc::waitid(libc::P_PID, self.pid.unsigned_abs(), &raw mut about, options);
            about
        }
    }

    /// Takes the ended child's last word, and what it used.
    pub(crate) fn reap(&self) -> (Ended, ChildUsage) {
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
        (ended, ChildUsage::of(&usage))
    }
}

/// Becomes the command; returns only to say why it could not.
#[must_use]
pub fn replace_this_process(words: &[OsString]) -> io::Error {
    command(words, Inherited::untouched()).exec()
}

fn command(words: &[OsString], inherited: Inherited) -> Command {
    let (program, arguments) = words.split_first().map_or_else(Default::default, |(p, a)| (p.clone(), a));
    let mut command = Command::new(program);
    command.args(arguments);
    // SAFETY: `restore` makes only calls that are allowed between fork and exec.
    unsafe { command.pre_exec(move || inherited.restore()) };
    command
}

/// In a child between fork and exec: begins a session, and says so to the watcher before the command can
/// start anything.
fn begin_session(watcher: Option<RawFd>) -> io::Result<()> {
    // SAFETY: plain system calls; the first fails only in the leader of a group, which a new child is not.
    unsafe {
        if libc::setsid() < 0 {
            return Err(io::Error::last_os_error());
        }
        // A shell starts what it runs in the background with interrupts ignored, and what ignores them from its start
        // (a shell's trap, Python) never learns of them; no terminal reaches this session, so an interrupt is meant.
        libc::signal(libc::SIGINT, libc::SIG_DFL);
    }
    watcher.into_iter().for_each(announce);
    Ok(())
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

/// Something that `/proc/PID/stat` says.
fn ask_stat<T>(pid: i32, answer: impl Fn(&ProcessStat<'_>) -> Option<T>) -> Option<T> {
    let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    answer(&ProcessStat::parse(&text)?)
}
