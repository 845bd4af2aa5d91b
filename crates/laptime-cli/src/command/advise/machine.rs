//! What this computer says of itself, for advice before anything is trained.

use std::path::Path;
use std::thread::{available_parallelism, sleep};
use std::time::Duration;

use laptime_analyse::advise::MachineFacts;
use laptime_core::proc::{CpuTimes, bytes_of, cpu_quota_milli};
use laptime_record::probe::{RealSystem, System, own_cgroup};

/// How long the load of the CPUs is looked at: the kernel counts by 10 ms.
const LOOKED: Duration = Duration::from_millis(300);

/// The machine that this process runs on; runs are kept in `folder`.
pub(super) fn facts(folder: &Path) -> MachineFacts {
    let busy =
        || RealSystem.text("/proc/stat").as_deref().and_then(CpuTimes::parse).map(|times| times.busy_ns);
    let before = busy();
    sleep(LOOKED);
    let busy = before.zip(busy()).map(|(before, after)| after.saturating_sub(before));
    MachineFacts {
        // The standard library divides by a quota, too; that is asked for apart.
        allowed_cpus: affinity(),
        omp_threads: std::env::var("OMP_NUM_THREADS").ok().and_then(|value| value.parse().ok()),
        busy_cpus: busy.map(|ns| ns as f64 / LOOKED.as_nanos() as f64),
        debug_build: cfg!(debug_assertions),
        ..read(&RealSystem, &std::path::absolute(folder).unwrap_or_else(|_| folder.to_owned()))
    }
}

/// CPUs by affinity: a list of ranges such as `0-3,8`.
fn affinity() -> Option<u32> {
    let status = RealSystem.text("/proc/self/status")?;
    let list = status.lines().find_map(|line| line.strip_prefix("Cpus_allowed_list:"))?;
    let fallback = || available_parallelism().ok().and_then(|cpus| u32::try_from(cpus.get()).ok());
    listed(list).or_else(fallback)
}

fn listed(list: &str) -> Option<u32> {
    let range = |part: &str| {
        let (first, last) = part.trim().split_once('-').unwrap_or((part.trim(), part.trim()));
        Some(last.parse::<u32>().ok()?.checked_sub(first.parse().ok()?)? + 1)
    };
    list.split(',').map(range).sum()
}

/// What the files of the kernel say.
fn read(system: &dyn System, folder: &Path) -> MachineFacts {
    let stat = system.text("/proc/stat").as_deref().and_then(CpuTimes::parse);
    let cgroup = own_cgroup(system);
    let of_cgroup = |file: &str| system.text(&format!("{}/{file}", cgroup.as_deref()?));
    let number = |text: Option<String>| text.and_then(|text| text.trim().parse::<u64>().ok());
    let cpufreq = |file: &str| system.text(&format!("/sys/devices/system/cpu/cpu0/cpufreq/{file}"));
    let meminfo = system.text("/proc/meminfo").unwrap_or_default();
    let of_machine = bytes_of(&meminfo, "MemAvailable").zip(bytes_of(&meminfo, "MemTotal"));
    let limit = number(of_cgroup("memory.max")).zip(number(of_cgroup("memory.current")));
    let of_limit = limit.map(|(limit, used)| (limit.saturating_sub(used), limit));
    let swap = bytes_of(&meminfo, "SwapTotal").zip(bytes_of(&meminfo, "SwapFree"));
    let mounts = system.text("/proc/mounts").unwrap_or_default();
    MachineFacts {
        cpus: stat.map_or(1, |stat| stat.cpus.max(1)),
        quota_cpus: of_cgroup("cpu.max").as_deref().and_then(cpu_quota_milli).map(|milli| milli as f64 / 1e3),
        governor: cpufreq("scaling_governor").map(|text| text.trim().to_owned()),
        clock_khz: number(cpufreq("scaling_max_freq")).zip(number(cpufreq("cpuinfo_max_freq"))),
        memory_bytes: of_limit.into_iter().chain(of_machine).min(),
        swap_bytes: swap.map(|(all, free)| all.saturating_sub(free)),
        shared_bytes: shared_bytes(&mounts),
        runs_file_system: file_system(&mounts, folder),
        ..MachineFacts::default()
    }
}

/// The size that `/dev/shm` was mounted with; absent where it is the kernel's half of the memory.
fn shared_bytes(mounts: &str) -> Option<u64> {
    // What is mounted last hides what was before.
    let mut mounts = mounts.lines().rev().map(|line| line.split(' ').collect::<Vec<_>>());
    let options = mounts.find(|parts| parts.get(1) == Some(&"/dev/shm"))?;
    let size = options.get(3)?.split(',').find_map(|option| option.strip_prefix("size="))?;
    let (digits, unit) =
        size.split_at(size.trim_end_matches(|letter: char| letter.is_ascii_alphabetic()).len());
    let shift = match unit {
        "" => 0,
        "k" => 10,
        "m" => 20,
        "g" => 30,
        _ => return None,
    };
    digits.parse::<u64>().ok().and_then(|number| number.checked_shl(shift))
}

/// The kind of the file system that a folder is on: the mount with the longest path above it.
fn file_system(mounts: &str, folder: &Path) -> Option<String> {
    let mounts = mounts.lines().filter_map(|line| {
        let mut parts = line.split(' ');
        Some((parts.nth(1)?.replace("\\040", " "), parts.next()?))
    });
    let above = mounts.filter(|(place, _)| folder.starts_with(place));
    above.max_by_key(|(place, _)| place.len()).map(|(_, kind)| kind.to_owned())
}

#[cfg(test)]
mod tests {
    use laptime_record::probe::Usage;

    use super::*;

    struct Scripted;

    impl System for Scripted {
        fn text(&self, path: &str) -> Option<String> {
            let text = match path {
                "/proc/self/cgroup" => "0::/box\n",
                "/sys/fs/cgroup/box/cpu.max" => "800000 100000\n",
                "/sys/fs/cgroup/box/memory.max" => "8589934592\n",
                "/sys/fs/cgroup/box/memory.current" => "1073741824\n",
                "/proc/meminfo" => {
                    "MemTotal: 67108864 kB\nMemAvailable: 33554432 kB\nSwapTotal: 100 kB\nSwapFree: 40 kB\n"
                }
                "/proc/mounts" => {
                    "/dev/vda / ext4 rw 0 0\nhost:/home /home nfs4 rw 0 0\nshm /dev/shm tmpfs rw,size=65536k 0 0\n"
                }
                "/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor" => "powersave\n",
                _ => return None,
            };
            Some(text.to_owned())
        }

        fn usage(&self) -> Usage {
            Usage::default()
        }

        fn thread_cpu_ns(&self) -> u64 {
            0
        }
    }

    #[test]
    fn limits_of_the_control_group_count_before_those_of_the_machine() {
        let facts = read(&Scripted, Path::new("/home/me/runs"));
        assert_eq!(facts.quota_cpus, Some(8.0));
        assert_eq!(facts.memory_bytes, Some((7 << 30, 8 << 30)));
        assert_eq!(facts.swap_bytes, Some(60 << 10));
        assert_eq!(facts.governor.as_deref(), Some("powersave"));
    }

    #[test]
    fn a_folder_is_on_the_mount_with_the_longest_path_above_it() {
        let kind = |folder| read(&Scripted, Path::new(folder)).runs_file_system;
        assert_eq!(kind("/home/me/runs").as_deref(), Some("nfs4"));
        assert_eq!(kind("/homestead").as_deref(), Some("ext4"));
    }

    #[test]
    fn shared_memory_has_the_size_it_was_mounted_with() {
        assert_eq!(read(&Scripted, Path::new("/")).shared_bytes, Some(64 << 20));
        assert_eq!(shared_bytes("shm /dev/shm tmpfs rw,nosuid 0 0"), None);
        assert_eq!(shared_bytes("shm /dev/shm tmpfs rw,size=8g 0 0"), Some(8 << 30));
    }

    #[test]
    fn an_affinity_is_a_list_of_ranges() {
        assert_eq!(listed("0-3,8\n"), Some(5));
        assert_eq!(listed("\t0"), Some(1));
        assert_eq!(listed("none"), None);
    }

    #[test]
    fn this_machine_has_cpus() {
        let facts = facts(Path::new("."));
        assert!(facts.cpus > 0 && facts.busy_cpus.is_some());
    }
}
