//! How much memory there is, so that a training too large for it fails before it starts.

use laptime_core::proc::bytes_of;

/// Bytes the system can hand out without swapping; `None` where it does not say.
pub(crate) fn available_bytes() -> Option<u64> {
    bytes_of(&std::fs::read_to_string("/proc/meminfo").ok()?, "MemAvailable")
}
