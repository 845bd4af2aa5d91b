//! The bystander: a process in the command's group that nobody knows of, so that a signal it has got as well
//! was sent to the whole group, and with that to the command.

#![expect(unsafe_code, reason = "a process of its own that only waits for signals")]

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsRawFd, FromRawFd};

use crate::descriptors::close_from;

/// How long its answer is waited for, milliseconds; without one, signals go on to the command as if it were
/// not there.
const PATIENCE_MS: i32 = 2_000;

/// Stands in this process' group with every signal held back; ends with this process, whatever ends it.
pub(crate) struct Bystander {
    pid: i32,
    question: File,
    answer: File,
    /// One that once did not answer may report an old signal as if it were new.
    trusted: bool,
}

impl Bystander {
    /// Forks one; every signal must be blocked by now. `None` where there is no process or pipe to be had.
    pub(crate) fn stand() -> Option<Self> {
        let [questions, question] = pipe()?;
        let [answer, answers] = pipe()?;
        // SAFETY: the child makes only calls that are allowed after a fork of a process with threads.
        match unsafe { libc::fork() } {
            -1 => None,
            0 => wait_for_questions(&questions, &answers),
            pid => Some(Self { pid, question, answer, trusted: true }),
        }
    }

    /// The signals that the group got since the last time, as a mask: bit 0 is signal 1.
    pub(crate) fn seen(&mut self) -> u64 {
        let mask = if self.trusted { self.ask() } else { None };
        self.trusted = mask.is_some();
        mask.unwrap_or(0)
    }

    fn ask(&mut self) -> Option<u64> {
        self.question.write_all(&[0]).ok()?;
        let mut waiting = libc::pollfd { fd: self.answer.as_raw_fd(), events: libc::POLLIN, revents: 0 };
        // SAFETY: one live entry.
        let ready = unsafe { libc::poll(&raw mut waiting, 1, PATIENCE_MS) } == 1;
        let mut mask = [0; 8];
        ready.then(|| self.answer.read_exact(&mut mask).ok()).flatten()?;
        Some(u64::from_ne_bytes(mask))
    }
}

/// Both ends of a pipe that no command inherits: where to read, where to write.
fn pipe() -> Option<[File; 2]> {
    let mut ends = [0; 2];
    // SAFETY: room for two descriptors, which then belong to nobody else.
    unsafe {
        let made = libc::pipe2(ends.as_mut_ptr(), libc::O_CLOEXEC) == 0;
        made.then(|| ends.map(|end| File::from_raw_fd(end)))
    }
}

impl Drop for Bystander {
    fn drop(&mut self) {
        // SAFETY: the child is not reaped yet, so the pid is its own.
        unsafe {
            libc::kill(self.pid, libc::SIGKILL);
            libc::waitpid(self.pid, std::ptr::null_mut(), 0);
        }
    }
}

/// The bystander's life: each question is answered with the signals that came; it ends with the asker.
fn wait_for_questions(questions: &File, answers: &File) -> ! {
    // SAFETY: async-signal-safe calls with live pointers; every signal stays blocked.
    unsafe {
        // Nobody may wait for a stream to end because it is open here.
        libc::dup2(questions.as_raw_fd(), libc::STDIN_FILENO);
        libc::dup2(answers.as_raw_fd(), libc::STDOUT_FILENO);
        close_from(2);
        let mut every: libc::sigset_t = std::mem::zeroed();
        libc::sigfillset(&raw mut every);
        let at_once = libc::timespec { tv_sec: 0, tv_nsec: 0 };
        let mut question = 0_u8;
        while libc::read(libc::STDIN_FILENO, (&raw mut question).cast(), 1) == 1 {
            let mut mask = 0_u64;
            loop {
                let signal = libc::sigtimedwait(&raw const every, std::ptr::null_mut(), &raw const at_once);
                let Ok(bit @ 1..=64) = u32::try_from(signal) else { break };
                mask |= 1 << (bit - 1);
            }
            libc::write(libc::STDOUT_FILENO, (&raw const mask).cast(), 8);
        }
        libc::_exit(0)
    }
}
