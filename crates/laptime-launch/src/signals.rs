//! Signals: held back in laptime, distinguished by sender, and given to the command as it would get them.

#![expect(unsafe_code, reason = "signal masks, dispositions and waiting for signals")]

use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

/// Whether broken pipes were ignored before the Rust runtime ignored them for itself.
static PIPE_IGNORED: AtomicBool = AtomicBool::new(false);

/// Says that whoever started laptime ignores SIGPIPE, so that a command does too. The Rust runtime ignores
/// it before `main`, so only code that runs before can know.
pub fn keep_broken_pipes_silent() {
    PIPE_IGNORED.store(true, Ordering::Relaxed);
}

/// All signals, held back in this process from now on; what was so before is kept for the child.
pub struct Blocked {
    every: libc::sigset_t,
    original: Inherited,
}

/// What a child is to have as if it were started without laptime.
#[derive(Clone, Copy)]
pub(crate) struct Inherited {
    mask: libc::sigset_t,
    pipe_ignored: bool,
    child_ignored: bool,
}

/// A signal that came, and from whom.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Signal {
    pub(crate) number: i32,
    /// The process that sent it; `None` when it came from the kernel, such as a key on the terminal.
    pub(crate) sender: Option<i32>,
}

impl Signal {
    /// Whether a mask of signals, bit 0 for signal 1, has it.
    pub(crate) fn is_in(&self, mask: u64) -> bool {
        u32::try_from(self.number - 1).is_ok_and(|bit| bit < 64 && mask >> bit & 1 == 1)
    }
}

impl Blocked {
    /// Blocks every signal that can be. Must be called before any thread is started.
    #[must_use]
    pub fn all() -> Self {
        // SAFETY: zeroed sets and actions are valid for the calls that fill them, which get live pointers.
        unsafe {
            let mut every: libc::sigset_t = std::mem::zeroed();
            let mut mask: libc::sigset_t = std::mem::zeroed();
            libc::sigfillset(&raw mut every);
            libc::pthread_sigmask(libc::SIG_SETMASK, &raw const every, &raw mut mask);
            let mut before: libc::sigaction = std::mem::zeroed();
            libc::sigaction(libc::SIGCHLD, std::ptr::null(), &raw mut before);
            let child_ignored = before.sa_sigaction == libc::SIG_IGN;
            if child_ignored {
                // Where it is ignored the kernel reaps children itself, and it would be unknown how ours ended.
                libc::signal(libc::SIGCHLD, libc::SIG_DFL);
            }
            let pipe_ignored = PIPE_IGNORED.load(Ordering::Relaxed);
            Self { every, original: Inherited { mask, pipe_ignored, child_ignored } }
        }
    }

    pub(crate) fn inherited(&self) -> Inherited {
        self.original
    }

    /// The next signal; `None` when there is none for that long.
    pub(crate) fn wait(&self, patience: Duration) -> Option<Signal> {
        let patience = libc::timespec {
            tv_sec: patience.as_secs().try_into().unwrap_or(1),
            tv_nsec: patience.subsec_nanos().into(),
        };
        // SAFETY: the set and the time are live, and zeroed information is valid for the call that fills it.
        unsafe {
            let mut about: libc::siginfo_t = std::mem::zeroed();
            let number = libc::sigtimedwait(&raw const self.every, &raw mut about, &raw const patience);
            // Codes of the kernel are positive; `kill`, `sigqueue` and `tgkill` are zero or less.
            let sent = about.si_code <= 0;
            (number > 0).then(|| Signal { number, sender: sent.then(|| about.si_pid()) })
        }
    }

    /// Whether somebody asked laptime to end since this was last called; a wish that it stops is followed.
    #[must_use]
    pub fn asks_to_end(&self) -> bool {
        while let Some(signal) = self.wait(Duration::ZERO) {
            match signal.number {
                libc::SIGINT | libc::SIGTERM | libc::SIGHUP | libc::SIGQUIT => return true,
                libc::SIGTSTP => self.stop_by(libc::SIGTSTP),
                _ => {}
            }
        }
        false
    }

    /// Stops this process as the child was stopped, until somebody continues it.
    pub(crate) fn stop_by(&self, signal: i32) {
        // SAFETY: as above; signals stay blocked but for the one that stops.
        unsafe {
            let mut only: libc::sigset_t = std::mem::zeroed();
            libc::sigemptyset(&raw mut only);
            libc::sigaddset(&raw mut only, signal);
            let mut before: libc::sigaction = std::mem::zeroed();
            let mut default: libc::sigaction = std::mem::zeroed();
            default.sa_sigaction = libc::SIG_DFL;
            libc::sigaction(signal, &raw const default, &raw mut before);
            // The group's own copy of the signal may still wait here; one stop is enough.
            let at_once = libc::timespec { tv_sec: 0, tv_nsec: 0 };
            libc::sigtimedwait(&raw const only, std::ptr::null_mut(), &raw const at_once);
            libc::raise(signal);
            libc::pthread_sigmask(libc::SIG_UNBLOCK, &raw const only, std::ptr::null_mut());
            libc::pthread_sigmask(libc::SIG_BLOCK, &raw const only, std::ptr::null_mut());
            libc::sigaction(signal, &raw const before, std::ptr::null_mut());
        }
    }
}

impl Inherited {
    /// Makes the calling process, a child about to become the command, see what laptime was started with.
    /// Only calls that are allowed between fork and exec.
    pub(crate) fn restore(&self) -> io::Result<()> {
        // SAFETY: async-signal-safe calls with live pointers.
        unsafe {
            if self.pipe_ignored {
                libc::signal(libc::SIGPIPE, libc::SIG_IGN);
            }
            if self.child_ignored {
                libc::signal(libc::SIGCHLD, libc::SIG_IGN);
            }
            match libc::pthread_sigmask(libc::SIG_SETMASK, &raw const self.mask, std::ptr::null_mut()) {
                0 => Ok(()),
                error => Err(io::Error::from_raw_os_error(error)),
            }
        }
    }

    /// What this process was started with, when nothing was changed yet.
    pub(crate) fn untouched() -> Self {
        // SAFETY: a zeroed set is valid for the call that fills it.
        let mask = unsafe {
            let mut mask: libc::sigset_t = std::mem::zeroed();
            libc::pthread_sigmask(libc::SIG_BLOCK, std::ptr::null(), &raw mut mask);
            mask
        };
        Self { mask, pipe_ignored: PIPE_IGNORED.load(Ordering::Relaxed), child_ignored: false }
    }
}

/// ` (SIGTERM)`; empty for a signal without a name.
#[must_use]
pub fn name(signal: i32) -> String {
    let names = [
        "HUP", "INT", "QUIT", "ILL", "TRAP", "ABRT", "BUS", "FPE", "KILL", "USR1", "SEGV", "USR2", "PIPE",
        "ALRM", "TERM", "STKFLT", "CHLD", "CONT", "STOP", "TSTP", "TTIN", "TTOU", "URG", "XCPU", "XFSZ",
        "VTALRM", "PROF", "WINCH", "IO", "PWR", "SYS",
    ];
    let name = usize::try_from(signal - 1).ok().and_then(|at| names.get(at));
    name.map(|name| format!(" (SIG{name})")).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mask_has_the_signals_whose_bits_are_set() {
        let signal = |number| Signal { number, sender: None };
        assert!(signal(libc::SIGHUP).is_in(1) && signal(64).is_in(1 << 63));
        assert!(!signal(libc::SIGINT).is_in(1) && !signal(0).is_in(u64::MAX));
    }

    #[test]
    fn names_stand_at_their_numbers() {
        let known = [
            (libc::SIGHUP, " (SIGHUP)"),
            (libc::SIGKILL, " (SIGKILL)"),
            (libc::SIGTERM, " (SIGTERM)"),
            (libc::SIGSYS, " (SIGSYS)"),
            (40, ""),
            (0, ""),
        ];
        for (signal, expected) in known {
            assert_eq!(name(signal), expected);
        }
    }
}
