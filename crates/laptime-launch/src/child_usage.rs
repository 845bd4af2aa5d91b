//! What a child used, as the kernel says when it is reaped.

/// What the kernel says of a child when it is reaped: its own use and that of the children it waited for.
#[derive(Clone, Copy, Debug, Default)]
pub struct ChildUsage {
    /// CPU time in user mode, nanoseconds.
    pub user_ns: u64,
    /// CPU time in the kernel, nanoseconds.
    pub system_ns: u64,
    /// The most memory that one of the processes had resident, bytes.
    pub peak_resident_bytes: u64,
    /// Page faults that waited for storage.
    pub major_faults: u64,
    /// Times a CPU was given up to wait.
    pub voluntary_switches: u64,
    /// Times a CPU was taken away.
    pub involuntary_switches: u64,
}

impl ChildUsage {
    /// What `wait4` reported.
    pub(crate) fn of(usage: &libc::rusage) -> Self {
        let count = |value: libc::c_long| u64::try_from(value).unwrap_or(0);
        let ns = |time: libc::timeval| {
            u64::try_from(time.tv_sec).unwrap_or(0) * 1_000_000_000
                + u64::try_from(time.tv_usec).unwrap_or(0) * 1000
        };
        Self {
            user_ns: ns(usage.ru_utime),
            system_ns: ns(usage.ru_stime),
            // The kernel counts in KiB here.
            peak_resident_bytes: count(usage.ru_maxrss).saturating_mul(1024),
            major_faults: count(usage.ru_majflt),
            voluntary_switches: count(usage.ru_nvcsw),
            involuntary_switches: count(usage.ru_nivcsw),
        }
    }
}
