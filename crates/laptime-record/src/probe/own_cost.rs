//! What the recorder itself uses: CPU time of the flusher, which is the thread that reads the probes.

use rustix::time::{ClockId, clock_gettime};

pub(super) fn cpu_time_of_this_thread() -> u64 {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}
