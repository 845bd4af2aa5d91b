//! Threads as the kernel shows them: whether one runs or waits.

#![expect(unsafe_code, reason = "reading the clock of a thread")]

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::fs::File;
use std::os::unix::fs::FileExt;
use std::time::Duration;

use laptime_core::proc::thread_state;

/// The threads of one process; each file is opened once and read again and again, which is cheaper.
#[derive(Debug, Default)]
pub(crate) struct Tasks {
    files: HashMap<u32, File>,
}

impl Tasks {
    /// Whether a thread waits; `None` when it is gone.
    pub(crate) fn waits(&mut self, pid: u32, tid: u32) -> Option<bool> {
        if let Entry::Vacant(place) = self.files.entry(tid) {
            place.insert(File::open(format!("/proc/{pid}/task/{tid}/stat")).ok()?);
        }
        let mut text = [0; 128];
        let read = self.files.get(&tid)?.read_at(&mut text, 0);
        let state = read.ok().and_then(|length| thread_state(text.get(..length)?));
        if state.is_none() {
            self.files.remove(&tid);
        }
        state.map(|state| state != b'R')
    }

    /// Closes the files of threads that are not among these.
    pub(crate) fn keep(&mut self, alive: impl Fn(u32) -> bool) {
        self.files.retain(|tid, _| alive(*tid));
    }
}

/// CPU time of the calling thread.
pub(crate) fn thread_cpu() -> Duration {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the time is live for the call that fills it.
    unsafe { libc::clock_gettime(libc::CLOCK_THREAD_CPUTIME_ID, &raw mut time) };
    Duration::new(time.tv_sec.try_into().unwrap_or(0), time.tv_nsec.try_into().unwrap_or(0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_thread_runs_and_a_thread_that_never_was_is_gone() {
        let mut tasks = Tasks::default();
        let pid = std::process::id();
        let own = std::fs::read_link("/proc/thread-self").unwrap();
        let tid = own.file_name().unwrap().to_str().unwrap().parse().unwrap();
        assert_eq!(tasks.waits(pid, tid), Some(false));
        assert_eq!(tasks.waits(pid, u32::MAX), None);
        tasks.keep(|_| false);
        assert!(tasks.files.is_empty());
    }
}
