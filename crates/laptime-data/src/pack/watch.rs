//! What is known of a pack while it is made, and the wish to stop.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

/// Followed by whoever shows progress, from any thread.
#[derive(Debug, Default)]
pub struct PackWatch {
    rows: AtomicU64,
    blocks: AtomicU64,
    all_blocks: AtomicU64,
    stopped: AtomicBool,
}

impl PackWatch {
    /// Rows written so far, those of an earlier attempt included.
    #[must_use]
    pub fn rows(&self) -> u64 {
        self.rows.load(Ordering::Relaxed)
    }

    /// Share of the source that is done, where its length is known.
    #[must_use]
    pub fn share(&self) -> Option<f64> {
        let all = self.all_blocks.load(Ordering::Relaxed);
        (all > 0).then(|| self.blocks.load(Ordering::Relaxed) as f64 / all as f64)
    }

    /// Asks to stop after the blocks that are being read.
    pub fn stop(&self) {
        self.stopped.store(true, Ordering::Release);
    }

    /// Whether somebody asked to stop.
    #[must_use]
    pub fn stopped(&self) -> bool {
        self.stopped.load(Ordering::Acquire)
    }

    /// Says how far something of known length is, in any unit.
    pub fn set_done(&self, done: u64, all: u64) {
        self.all_blocks.store(all, Ordering::Relaxed);
        self.blocks.store(done, Ordering::Relaxed);
    }

    pub(super) fn set_rows(&self, rows: u64) {
        self.rows.store(rows, Ordering::Relaxed);
    }
}
