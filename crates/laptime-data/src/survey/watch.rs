//! What a survey reports while it works, and how it is asked to stop.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Shared between a survey and whoever watches it.
#[derive(Debug, Default)]
pub struct Watch {
    stop: AtomicBool,
    files: AtomicU64,
    bytes: AtomicU64,
    read_bytes: AtomicU64,
}

impl Watch {
    /// Asks the survey to end with what it knows.
    pub fn stop(&self) {
        self.stop.store(true, Ordering::Relaxed);
    }

    /// Whether it was asked to end.
    #[must_use]
    pub fn stopped(&self) -> bool {
        self.stop.load(Ordering::Relaxed)
    }

    /// Files found so far.
    #[must_use]
    pub fn files(&self) -> u64 {
        self.files.load(Ordering::Relaxed)
    }

    /// Bytes that the files found so far have.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.bytes.load(Ordering::Relaxed)
    }

    /// Bytes that were read so far to find out.
    #[must_use]
    pub fn read_bytes(&self) -> u64 {
        self.read_bytes.load(Ordering::Relaxed)
    }

    pub(crate) fn found(&self, files: u64, bytes: u64) {
        self.files.fetch_add(files, Ordering::Relaxed);
        self.bytes.fetch_add(bytes, Ordering::Relaxed);
    }

    pub(crate) fn read(&self, bytes: u64) {
        self.read_bytes.fetch_add(bytes, Ordering::Relaxed);
    }
}
