//! How long the threads of a tree were ready to run and waited for a CPU.

use std::collections::BTreeMap;

use crate::processes::Processes;

/// Threads that are asked in one round; of a tree with more, the round is left out.
const MOST_THREADS: usize = 512;

/// The waits of all threads that were ever seen; a thread that ends leaves its own in the sum.
#[derive(Default)]
pub(crate) struct ThreadWaits {
    /// The newest reading of each living thread, by process and thread, nanoseconds.
    living: BTreeMap<(u32, u32), u64>,
    sum_ns: u64,
}

impl ThreadWaits {
    /// The waits so far of these processes; `None` where the kernel does not say, or of too many threads.
    pub(crate) fn read(&mut self, processes: &[u32], system: &dyn Processes) -> Option<u64> {
        let threads =
            processes.iter().flat_map(|pid| system.threads(*pid).into_iter().map(|tid| (*pid, tid)));
        let threads: Vec<(u32, u32)> = threads.take(MOST_THREADS + 1).collect();
        if threads.len() > MOST_THREADS {
            return None;
        }
        let mut living = BTreeMap::new();
        for (pid, tid) in threads {
            let Some(wait) = waited_ns(pid, tid, system) else { continue };
            let before = self.living.get(&(pid, tid)).copied().unwrap_or(0);
            // A number can be used again; then the thread has waited all of it since.
            let more = if wait >= before { wait - before } else { wait };
            self.sum_ns = self.sum_ns.saturating_add(more);
            living.insert((pid, tid), wait);
        }
        let known = !living.is_empty() || self.sum_ns > 0;
        self.living = living;
        known.then_some(self.sum_ns)
    }
}

/// The second number of `schedstat`: time on the run queue.
fn waited_ns(pid: u32, tid: u32, system: &dyn Processes) -> Option<u64> {
    let text = system.text(&format!("/proc/{pid}/task/{tid}/schedstat"))?;
    text.split_ascii_whitespace().nth(1)?.parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scripted_system::ScriptedSystem;

    fn waited(waits: &mut ThreadWaits, files: &[(&'static str, &'static str)]) -> Option<u64> {
        waits.read(&[10, 11], &ScriptedSystem::of(files))
    }

    #[test]
    fn waits_of_all_threads_add_up_and_stay_when_a_thread_ends() {
        let mut waits = ThreadWaits::default();
        let both = [
            ("/proc/10/threads", "10 12"),
            ("/proc/10/task/10/schedstat", "900 5 1"),
            ("/proc/10/task/12/schedstat", "900 20 1"),
            ("/proc/11/threads", "11"),
            ("/proc/11/task/11/schedstat", "900 100 1"),
        ];
        assert_eq!(waited(&mut waits, &both), Some(125));
        let later = [("/proc/10/threads", "10"), ("/proc/10/task/10/schedstat", "900 8 1")];
        assert_eq!(waited(&mut waits, &later), Some(128));
        assert_eq!(waited(&mut waits, &[]), Some(128));
    }

    #[test]
    fn a_kernel_that_does_not_tell_gives_nothing() {
        let mut waits = ThreadWaits::default();
        assert_eq!(waited(&mut waits, &[("/proc/10/threads", "10")]), None);
        let garbage = [("/proc/10/threads", "10"), ("/proc/10/task/10/schedstat", "x")];
        assert_eq!(waited(&mut waits, &garbage), None);
    }
}
