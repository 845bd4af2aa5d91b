//! The priority of a thread.

#![expect(unsafe_code, reason = "setting the priority of a thread")]

/// A third of the CPU time of others where all want some: less would hold up the end of a command on a busy machine.
const NICENESS: i32 = 5;

/// Makes the thread that calls this less urgent than others: a look at a command must not slow it.
pub fn give_way() {
    // SAFETY: a plain system call; on Linux 0 is the calling thread. Without it the thread is as urgent as any.
    unsafe { libc::setpriority(libc::PRIO_PROCESS, 0, NICENESS) };
}
