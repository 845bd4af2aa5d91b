//! Whether the process that wrote a log still lives.

use std::fs;

use laptime_core::proc::ProcessStat;

/// A process, such that another one that got the same pid later is not taken for it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ProcessIdentity {
    /// Process id.
    pub pid: u32,
    /// The kernel's boot id.
    pub boot_id: String,
    /// Start of the process in clock ticks since boot.
    pub pid_start: u64,
}

impl ProcessIdentity {
    /// The process that asks.
    #[must_use]
    pub fn current() -> Self {
        let pid = std::process::id();
        Self { pid, boot_id: boot_id(), pid_start: process_start(pid).unwrap_or(0) }
    }

    /// The process that started the one that asks.
    #[must_use]
    pub fn parent() -> Self {
        let pid = rustix::process::getppid().map_or(0, |parent| parent.as_raw_nonzero().get().unsigned_abs());
        Self { pid, boot_id: boot_id(), pid_start: process_start(pid).unwrap_or(0) }
    }

    /// Whether it still runs on this machine.
    #[must_use]
    pub fn is_alive(&self) -> bool {
        self.boot_id == boot_id() && process_start(self.pid) == Some(self.pid_start)
    }
}

/// The id of this boot of the machine; empty where the kernel does not say.
#[must_use]
pub fn boot_id() -> String {
    fs::read_to_string("/proc/sys/kernel/random/boot_id").map(|id| id.trim().to_owned()).unwrap_or_default()
}

/// When a process started, in clock ticks since boot; `None` for one that has ended (a zombie has).
#[must_use]
pub fn process_start(pid: u32) -> Option<u64> {
    let stat = fs::read_to_string(format!("/proc/{pid}/stat")).ok()?;
    ProcessStat::parse(&stat).filter(|stat| !stat.has_ended())?.start()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_process_lives_and_one_with_another_start_does_not() {
        let me = ProcessIdentity::current();
        assert!(me.is_alive());
        assert!(!ProcessIdentity { pid_start: me.pid_start + 1, ..me.clone() }.is_alive());
        assert!(!ProcessIdentity { boot_id: "another boot".into(), ..me }.is_alive());
    }
}
