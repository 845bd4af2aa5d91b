//! The watcher: a process that outlives whoever started it, whatever ended that, and ends what was left running.
//!
//! A sweep that is killed with -9 can end nothing itself, and a signal at its death would reach the command
//! but none of what that started. So a process of its own holds one end of a socket. What is started apart
//! says so there before it becomes the command; when the other end closes and one is still to end, the
//! watcher ends its whole session.

#![expect(unsafe_code, reason = "a process of its own")]

use std::fs::File;
use std::io::{Read, Write};
use std::os::fd::{AsRawFd, FromRawFd, RawFd};
use std::os::unix::net::UnixStream;
use std::panic::{AssertUnwindSafe, catch_unwind};

use crate::descriptors::close_from;
use crate::session;

/// What is sent when nothing is left to be ended.
const NOBODY: [u8; 4] = [0; 4];

/// The end of the socket that whoever starts commands has; the watcher ends when that is closed.
#[derive(Debug)]
pub struct Watcher {
    pid: i32,
    socket: Option<UnixStream>,
}

impl Watcher {
    /// Forks one; to be called with every signal blocked, before the first thread is started. `None` where
    /// there is no process or socket to be had.
    #[must_use]
    pub fn start() -> Option<Self> {
        let (own, watchers) = UnixStream::pair().ok()?;
        // SAFETY: the child never returns from `watch`, which needs no lock that a thread may hold.
        match unsafe { libc::fork() } {
            -1 => None,
            0 => watch(&watchers),
            pid => Some(Self { pid, socket: Some(own) }),
        }
    }

    /// Where a child says who it is; closed when it becomes the command.
    pub(crate) fn place(&self) -> Option<RawFd> {
        self.socket.as_ref().map(AsRawFd::as_raw_fd)
    }

    /// The command has ended, and nothing of it is left.
    pub(crate) fn all_ended(&self) {
        // A watcher that somebody ended is missed by nobody but a killed sweep.
        let _ = self.socket.as_ref().map(|mut socket| socket.write_all(&NOBODY));
    }
}

impl Drop for Watcher {
    fn drop(&mut self) {
        self.socket = None;
        // SAFETY: the child is not reaped yet, so the pid is its own.
        unsafe { libc::waitpid(self.pid, std::ptr::null_mut(), 0) };
    }
}

/// In a child between fork and exec, the leader of a session: says so to the watcher. Only calls that are
/// allowed there, and no signal where the watcher is gone.
pub(crate) fn announce(place: RawFd) {
    // SAFETY: four live bytes, and a descriptor that stays open until the exec.
    unsafe {
        let pid = libc::getpid().to_ne_bytes();
        libc::send(place, pid.as_ptr().cast(), pid.len(), libc::MSG_NOSIGNAL);
    }
}

/// The watcher's life, away from the terminal and the group of who started it.
fn watch(socket: &UnixStream) -> ! {
    // SAFETY: plain system calls on this process, whose only thread this is; no descriptor of another owner
    // is used below.
    let mut said = unsafe {
        libc::setsid();
        libc::prctl(libc::PR_SET_NAME, c"laptime-watcher".as_ptr());
        libc::dup2(socket.as_raw_fd(), libc::STDIN_FILENO);
        close_from(1);
        File::from_raw_fd(libc::STDIN_FILENO)
    };
    let body = || {
        if let Some(leader) = last_of(&mut said) {
            session::end(leader);
        }
    };
    let _ = catch_unwind(AssertUnwindSafe(body));
    // SAFETY: ends this process without what its parent had planned for its own end.
    unsafe { libc::_exit(0) }
}

/// Who was still to end when the socket was closed.
fn last_of(said: &mut impl Read) -> Option<u32> {
    let (mut leader, mut word) = (NOBODY, NOBODY);
    while said.read_exact(&mut word).is_ok() {
        leader = word;
    }
    Some(u32::from_ne_bytes(leader)).filter(|leader| *leader > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_that_has_not_ended_is_to_be_ended() {
        let said = |leaders: &[u32]| {
            let bytes: Vec<u8> = leaders.iter().flat_map(|leader| leader.to_ne_bytes()).collect();
            last_of(&mut bytes.as_slice())
        };
        assert_eq!(said(&[7, 0, 8]), Some(8));
        assert_eq!(said(&[7, 0]), None);
        assert_eq!(said(&[]), None);
    }

    #[test]
    fn a_watcher_ends_with_whoever_started_it() {
        let watcher = Watcher::start().unwrap();
        let stat = format!("/proc/{}/stat", watcher.pid);
        assert!(std::fs::exists(&stat).unwrap());
        drop(watcher);
        assert!(!std::fs::exists(&stat).unwrap());
    }
}
