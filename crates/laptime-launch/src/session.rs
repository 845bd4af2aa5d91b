//! Everything a command started in a session of its own: that session's processes and their descendants.

#![expect(unsafe_code, reason = "sending signals")]

use std::collections::BTreeSet;
use std::fs;
use std::thread;
use std::time::Duration;

use laptime_core::proc::ProcessStat;

use crate::processes::all_processes;

/// Looks until nobody is left: a process may start another while the others are being ended.
const MOST_LOOKS: u32 = 50;
const BETWEEN_LOOKS: Duration = Duration::from_millis(2);

/// One process, as `/proc/PID/stat` shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Process {
    pid: u32,
    parent: u32,
    session: u32,
    /// Whether it has ended and only waits to be reaped.
    ended: bool,
}

impl Process {
    fn read(pid: u32) -> Option<Self> {
        let text = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
        let stat = ProcessStat::parse(&text)?;
        Some(Self { pid, parent: stat.parent()?, session: stat.session()?, ended: stat.has_ended() })
    }
}

/// Those that live, of the session that `leader` began and of what its members started elsewhere.
fn living_members(leader: u32, processes: &[Process]) -> BTreeSet<u32> {
    let mut members: BTreeSet<u32> = BTreeSet::new();
    loop {
        let found = processes.iter().filter(|process| {
            (process.session == leader || members.contains(&process.parent))
                && !members.contains(&process.pid)
        });
        let found: Vec<u32> = found.map(|process| process.pid).collect();
        if found.is_empty() {
            break;
        }
        members.extend(found);
    }
    let lives = |pid: &u32| processes.iter().any(|process| process.pid == *pid && !process.ended);
    members.into_iter().filter(lives).collect()
}

fn living(leader: u32) -> BTreeSet<u32> {
    let processes: Vec<Process> = all_processes().into_iter().filter_map(Process::read).collect();
    living_members(leader, &processes)
}

/// Asks everything in a session to end.
pub(crate) fn ask_to_end(leader: u32) {
    send(leader, libc::SIGTERM);
}

/// Interrupts the process group that a session began with, as Ctrl-C on its terminal would.
pub(crate) fn interrupt(leader: u32) {
    // SAFETY: a plain system call; the leader is not reaped yet, so the group is its own.
    unsafe { libc::kill(-leader.cast_signed(), libc::SIGINT) };
}

/// Stops or continues everything in a session.
pub(crate) fn send(leader: u32, signal: i32) {
    living(leader).into_iter().for_each(|pid| send_one(pid, signal));
}

fn send_one(pid: u32, signal: i32) {
    // SAFETY: a plain system call; a process that is gone by now is none of ours to hurt, since its number
    // is not given out again so soon.
    unsafe { libc::kill(pid.cast_signed(), signal) };
}

/// Ends what a command left behind in its process group, such as the workers of a loader that crashed. A look
/// at the group costs a microsecond, one at all processes of a machine milliseconds.
pub(crate) fn end_leftovers(leader: u32) {
    // SAFETY: signal 0 only asks whether anybody is there.
    let anybody = unsafe { libc::kill(-leader.cast_signed(), 0) == 0 };
    if anybody {
        end(leader);
    }
}

/// Ends everything in a session, at once. Who is stopped starts nobody: so all are stopped before the first
/// is ended, and nobody is left whose parent, and with that the way to find it, is gone.
pub(crate) fn end(leader: u32) {
    let mut known = BTreeSet::new();
    for _ in 0..MOST_LOOKS {
        let new: Vec<u32> = living(leader).difference(&known).copied().collect();
        if new.is_empty() {
            break;
        }
        new.iter().for_each(|pid| send_one(*pid, libc::SIGSTOP));
        known.extend(new);
    }
    known.iter().for_each(|pid| send_one(*pid, libc::SIGKILL));
    for _ in 0..MOST_LOOKS {
        if living(leader).is_empty() {
            return;
        }
        send(leader, libc::SIGKILL);
        thread::sleep(BETWEEN_LOOKS);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process(pid: u32, parent: u32, session: u32) -> Process {
        Process { pid, parent, session, ended: false }
    }

    #[test]
    fn members_are_the_session_and_whatever_they_started_elsewhere() {
        let processes = [
            process(10, 1, 10),
            process(11, 10, 10),
            // Left behind by a parent that is gone, but still in the session.
            process(12, 1, 10),
            // In a session of its own, as is its child.
            process(13, 11, 13),
            process(14, 13, 13),
            Process { ended: true, ..process(15, 10, 10) },
            process(20, 1, 20),
        ];
        assert_eq!(living_members(10, &processes), BTreeSet::from([10, 11, 12, 13, 14]));
    }
}
