//! Everything a repeat started: the processes of its session and their descendants.

#![expect(unsafe_code, reason = "sending signals")]

use std::collections::BTreeSet;
use std::fs;
use std::thread;
use std::time::Duration;

/// Looks until nobody is left: a process may start another while the others are being ended.
const MOST_LOOKS: u32 = 50;
const BETWEEN_LOOKS: Duration = Duration::from_millis(2);

/// One process, as `/proc/PID/stat` tells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Process {
    pid: i32,
    parent: i32,
    session: i32,
    /// Whether it has ended and only waits to be reaped.
    ended: bool,
}

impl Process {
    fn parse(text: &str) -> Option<Self> {
        let pid = text.split(' ').next()?.parse().ok()?;
        // The second field is the command in brackets and may itself hold brackets and spaces.
        let mut fields = text.get(text.rfind(')')? + 1..)?.split_ascii_whitespace();
        let ended = matches!(fields.next()?, "Z" | "X");
        let (parent, _group, session) = (fields.next()?, fields.next()?, fields.next()?);
        Some(Self { pid, parent: parent.parse().ok()?, session: session.parse().ok()?, ended })
    }
}

fn all_processes() -> Vec<Process> {
    let entries = fs::read_dir("/proc").into_iter().flatten().flatten();
    let numbered =
        entries.filter(|entry| entry.file_name().to_str().is_some_and(|name| name.parse::<u32>().is_ok()));
    numbered
        .filter_map(|entry| Process::parse(&fs::read_to_string(entry.path().join("stat")).ok()?))
        .collect()
}

/// Those that live, of the session that `leader` began and of what its members started elsewhere.
fn living_members(leader: i32, processes: &[Process]) -> BTreeSet<i32> {
    let mut members: BTreeSet<i32> = BTreeSet::from([leader]);
    loop {
        let found = processes.iter().filter(|process| {
            (process.session == leader || members.contains(&process.parent))
                && !members.contains(&process.pid)
        });
        let found: Vec<i32> = found.map(|process| process.pid).collect();
        if found.is_empty() {
            break;
        }
        members.extend(found);
    }
    let lives = |pid: &i32| processes.iter().any(|process| process.pid == *pid && !process.ended);
    members.into_iter().filter(lives).collect()
}

/// Asks everything in a session to end.
pub(super) fn ask_to_end(leader: u32) {
    send(leader, libc::SIGTERM);
}

/// Stops or continues everything in a session.
pub(super) fn send(leader: u32, signal: i32) {
    for pid in living_members(leader.cast_signed(), &all_processes()) {
        // SAFETY: a plain system call; a process that is gone by now is none of ours to hurt, since its
        // number is not given out again so soon.
        unsafe { libc::kill(pid, signal) };
    }
}

/// Ends what a command left behind in its process group, such as the workers of a loader that crashed. A look
/// at the group costs a microsecond, one at all processes of a machine milliseconds.
pub(super) fn end_leftovers(leader: u32) {
    // SAFETY: signal 0 only asks whether anybody is there.
    let anybody = unsafe { libc::kill(-leader.cast_signed(), 0) == 0 };
    if anybody {
        end(leader);
    }
}

/// Ends everything in a session, at once.
pub(super) fn end(leader: u32) {
    for _ in 0..MOST_LOOKS {
        if living_members(leader.cast_signed(), &all_processes()).is_empty() {
            return;
        }
        send(leader, libc::SIGKILL);
        thread::sleep(BETWEEN_LOOKS);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn process(pid: i32, parent: i32, session: i32) -> Process {
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

    #[test]
    fn a_name_with_brackets_and_spaces_is_read_over() {
        let expected = Process { pid: 7, parent: 3, session: 5, ended: true };
        assert_eq!(Process::parse("7 (a) b (c)) Z 3 4 5 0 -1"), Some(expected));
        assert_eq!(Process::parse("7 (a) R 3"), None);
    }
}
