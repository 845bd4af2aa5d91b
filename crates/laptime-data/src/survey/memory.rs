//! The memory this process may take: what the machine has free, within the limit of its control group.

use std::fs;
use std::path::{Path, PathBuf};

use laptime_core::proc::{bytes_of, cgroups, value_of};
use serde::Serialize;

/// What there is to take.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Memory {
    /// The most there is: the machine's memory, or the limit of the control group where that is lower.
    pub limit_bytes: u64,
    /// Of it, what can be taken now; the page cache counts as free.
    pub available_bytes: u64,
    /// Whether the control group is the limit, as in most containers.
    pub limited_by_cgroup: bool,
}

impl Memory {
    /// As the kernel reports it; `None` where it does not.
    #[must_use]
    pub fn of_this_machine() -> Option<Self> {
        let machine = of_machine(&fs::read_to_string("/proc/meminfo").ok()?)?;
        let groups = fs::read_to_string("/proc/self/cgroup").unwrap_or_default();
        Some(limited(machine, Path::new("/sys/fs/cgroup"), &groups))
    }
}

fn of_machine(meminfo: &str) -> Option<Memory> {
    Some(Memory {
        limit_bytes: bytes_of(meminfo, "MemTotal")?,
        available_bytes: bytes_of(meminfo, "MemAvailable")?,
        limited_by_cgroup: false,
    })
}

/// The tightest of the limits that the group and those above it set.
fn limited(machine: Memory, root: &Path, groups: &str) -> Memory {
    let mut memory = machine;
    for folder in group_folders(root, groups) {
        let Some(limit) = read_number(&folder, &["memory.max", "memory.limit_in_bytes"]) else { continue };
        if limit >= machine.limit_bytes {
            continue;
        }
        let used = read_number(&folder, &["memory.current", "memory.usage_in_bytes"]).unwrap_or(0);
        let available = limit.saturating_sub(used.saturating_sub(cached(&folder)));
        if limit < memory.limit_bytes {
            memory.limit_bytes = limit;
            memory.limited_by_cgroup = true;
        }
        memory.available_bytes = memory.available_bytes.min(available);
    }
    memory
}

/// The folders of the process' groups, of version 2 and of version 1, each with those above it.
fn group_folders(root: &Path, groups: &str) -> Vec<PathBuf> {
    let mut folders = Vec::new();
    for (controllers, path) in cgroups(groups) {
        let top = match controllers {
            "" => root.to_owned(),
            controllers if controllers.split(',').any(|name| name == "memory") => root.join("memory"),
            _ => continue,
        };
        let own = top.join(path.trim_start_matches('/'));
        folders.extend(own.ancestors().take_while(|folder| folder.starts_with(&top)).map(Path::to_owned));
    }
    folders
}

/// Pages of files that the group holds: they make room for others.
fn cached(folder: &Path) -> u64 {
    let stat = fs::read_to_string(folder.join("memory.stat")).unwrap_or_default();
    value_of(&stat, "file").or_else(|| value_of(&stat, "total_cache")).unwrap_or(0)
}

fn read_number(folder: &Path, names: &[&str]) -> Option<u64> {
    names.iter().find_map(|name| fs::read_to_string(folder.join(name)).ok()?.trim().parse().ok())
}

#[cfg(test)]
mod tests {
    use super::*;

    const MEMINFO: &str = "MemTotal:       1000 kB\nMemFree: 1 kB\nMemAvailable:    800 kB\n";

    fn group(root: &Path, name: &str, limit: &str, used: &str, stat: &str) {
        let folder = root.join(name);
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("memory.max"), limit).unwrap();
        fs::write(folder.join("memory.current"), used).unwrap();
        fs::write(folder.join("memory.stat"), stat).unwrap();
    }

    #[test]
    fn the_machine_tells_total_and_available() {
        let memory = of_machine(MEMINFO).unwrap();
        assert_eq!((memory.limit_bytes, memory.available_bytes), (1_024_000, 819_200));
        assert_eq!(of_machine("nothing"), None);
    }

    #[test]
    fn the_tightest_group_above_decides_and_its_page_cache_counts_as_free() {
        let root = tempfile::tempdir().unwrap();
        group(root.path(), "a", "500000\n", "400000\n", "anon 1\nfile 300000\n");
        group(root.path(), "a/b", "max\n", "100\n", "");
        let memory = limited(of_machine(MEMINFO).unwrap(), root.path(), "0::/a/b\n");
        assert!(memory.limited_by_cgroup);
        assert_eq!((memory.limit_bytes, memory.available_bytes), (500_000, 400_000));
    }

    #[test]
    fn a_limit_beyond_the_machine_is_none() {
        let root = tempfile::tempdir().unwrap();
        group(root.path(), "a", "9223372036854771712\n", "400\n", "");
        let machine = of_machine(MEMINFO).unwrap();
        assert_eq!(limited(machine, root.path(), "0::/a\n"), machine);
        assert_eq!(limited(machine, root.path(), ""), machine);
    }
}
