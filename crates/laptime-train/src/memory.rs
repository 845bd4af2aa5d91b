//! How much memory there is, so that a training too large for it fails before it starts.

/// Bytes the system can hand out without swapping; `None` where it does not say.
pub(crate) fn available_bytes() -> Option<u64> {
    available_in(&std::fs::read_to_string("/proc/meminfo").ok()?)
}

fn available_in(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kibibytes.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn available_memory_is_read_in_bytes() {
        let meminfo = "MemTotal:  8000 kB\nMemFree: 10 kB\nMemAvailable:    4096 kB\n";
        assert_eq!(available_in(meminfo), Some(4096 * 1024));
        assert_eq!(available_in("MemTotal: 8000 kB\n"), None);
    }
}
