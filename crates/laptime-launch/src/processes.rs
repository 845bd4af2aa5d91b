//! Processes as `/proc` lists them.

use std::fs;

use laptime_core::proc::numbers;
use laptime_record::probe::{RealSystem, System};

/// What probes of a tree of processes ask of the system, beyond what a process asks of itself.
pub(crate) trait Processes: System {
    /// The children of a process, those of all its threads.
    fn children(&self, pid: u32) -> Vec<u32>;
    /// The threads of a process.
    fn threads(&self, pid: u32) -> Vec<u32>;
}

impl Processes for RealSystem {
    fn children(&self, pid: u32) -> Vec<u32> {
        let lists = self.threads(pid).into_iter().filter_map(|thread| {
            let list = fs::read_to_string(format!("/proc/{pid}/task/{thread}/children")).ok()?;
            Some(numbers(&list).collect::<Vec<u32>>())
        });
        lists.flatten().collect()
    }

    fn threads(&self, pid: u32) -> Vec<u32> {
        numbered(&format!("/proc/{pid}/task"))
    }
}

/// Every process of the machine.
pub(crate) fn all_processes() -> Vec<u32> {
    numbered("/proc")
}

/// The entries of a folder whose names are numbers.
fn numbered(folder: &str) -> Vec<u32> {
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok()).collect()
}
