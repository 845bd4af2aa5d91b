//! Ending as the command did: with its exit code, or by the same signal.

#![expect(unsafe_code, reason = "dying by a signal")]

use crate::child::Ended;

/// Ends this process as the child ended; returns only the exit code that is left to return.
#[must_use]
pub fn end_like(ended: Ended) -> u8 {
    match ended {
        Ended::Exit(code) => code,
        Ended::Signal(signal) => {
            die_by(signal);
            // What a shell would say, should the signal not have ended us.
            u8::try_from(signal + 128).unwrap_or(1)
        }
    }
}

/// Takes the default action of a signal, without a second core beside the child's.
fn die_by(signal: i32) {
    let none = libc::rlimit { rlim_cur: 0, rlim_max: 0 };
    // SAFETY: plain system calls on this process; the set is made whole by `sigemptyset` before it is used.
    unsafe {
        libc::setrlimit(libc::RLIMIT_CORE, &raw const none);
        // A core that goes to a program does not ask for the limit.
        libc::prctl(libc::PR_SET_DUMPABLE, 0, 0, 0, 0);
        libc::signal(signal, libc::SIG_DFL);
        let mut only: libc::sigset_t = std::mem::zeroed();
        libc::sigemptyset(&raw mut only);
        libc::sigaddset(&raw mut only, signal);
        libc::pthread_sigmask(libc::SIG_UNBLOCK, &raw const only, std::ptr::null_mut());
        libc::raise(signal);
    }
}
