//! Keeps a sweep on disk as it comes along.

use std::time::{Duration, Instant};

use laptime_store::Collection;

use super::state::SweepState;

/// What a power cut may cost, as for every log; waiting for the disk takes longer than a short repeat.
const SYNC_EVERY: Duration = Duration::from_secs(5);

/// Writes a sweep's state into its folder.
pub(super) struct Keeper<'a> {
    pub(super) entry: &'a Collection,
    /// When the state last went to the disk itself.
    synced: Instant,
    /// Whether it was said that the sweep cannot be kept.
    unkept: bool,
}

impl<'a> Keeper<'a> {
    pub(super) fn new(entry: &'a Collection) -> Self {
        Self { entry, synced: Instant::now(), unkept: false }
    }

    /// Keeps it; gives a warning, once, where it cannot.
    pub(super) fn keep(&mut self, state: &SweepState, over: bool) -> Option<String> {
        let durable = over || self.synced.elapsed() >= SYNC_EVERY;
        if durable {
            self.synced = Instant::now();
        }
        let error = self.entry.keep(&state.to_bytes(), durable).err()?;
        let first = !std::mem::replace(&mut self.unkept, true);
        first.then(|| format!("warning: the sweep cannot be kept: {error}"))
    }
}
