//! Counters: amounts that only grow, counted by the code that moves them.

use serde::{Deserialize, Serialize};

/// What is counted. The number is what the log stores and never changes meaning.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[repr(u16)]
#[serde(rename_all = "snake_case")]
pub enum Counter {
    /// Bytes read from data files, whether they came from storage or from the page cache.
    FileReadBytes = 0,
    /// Bytes of batches handed to the model.
    BatchBytes = 1,
    /// Bytes copied from the host to a device; nothing on a CPU.
    HostToDeviceBytes = 2,
    /// Bytes exchanged between ranks.
    BetweenRanksBytes = 3,
    /// Tokens trained on, where the input shows them.
    Tokens = 4,
    /// Of the bytes copied from the host to a device, those from memory that is not pinned.
    PageableBytes = 5,
    /// Of the bytes copied from the host to a device, those that the host waited for.
    BlockingBytes = 6,
    /// Bytes copied from a device to the host.
    DeviceToHostBytes = 7,
    /// Batches whose loading was timed.
    LoadedBatches = 8,
    /// Time to load those, nanoseconds.
    LoadingNs = 9,
    /// The part of it that was spent on a CPU, nanoseconds.
    LoadingCpuNs = 10,
    /// The part of it that was ready to run and waited for a CPU, nanoseconds.
    LoadingQueueNs = 11,
    /// The part of it that made batches of samples, nanoseconds.
    CollateNs = 12,
}

impl Counter {
    /// Every counter, at the index that is its number.
    pub const ALL: [Self; 13] = [
        Self::FileReadBytes,
        Self::BatchBytes,
        Self::HostToDeviceBytes,
        Self::BetweenRanksBytes,
        Self::Tokens,
        Self::PageableBytes,
        Self::BlockingBytes,
        Self::DeviceToHostBytes,
        Self::LoadedBatches,
        Self::LoadingNs,
        Self::LoadingCpuNs,
        Self::LoadingQueueNs,
        Self::CollateNs,
    ];

    /// The counter with this number; `None` for one from a newer version.
    #[must_use]
    pub fn from_number(number: u16) -> Option<Self> {
        Self::ALL.get(usize::from(number)).copied()
    }

    /// The counter with this name, as reports write it.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        const NAMES: [&str; 13] = [
            "file_read_bytes",
            "batch_bytes",
            "host_to_device_bytes",
            "between_ranks_bytes",
            "tokens",
            "pageable_bytes",
            "blocking_bytes",
            "device_to_host_bytes",
            "loaded_batches",
            "loading_ns",
            "loading_cpu_ns",
            "loading_queue_ns",
            "collate_ns",
        ];
        NAMES.iter().position(|known| *known == name).map(|at| Self::ALL[at])
    }
}
