//! Which worker of a data loader this process is, where the loader said.

use std::sync::atomic::{AtomicU64, Ordering};

/// The number plus one; 0 where nothing was said. A child of a worker is none itself, so the pid goes along.
static WORKER: AtomicU64 = AtomicU64::new(0);

/// Says that this process is a loader's worker with this number, from 0; called before its first record.
pub fn be_worker(number: u32) {
    let worker = u64::from(std::process::id()) << 32 | u64::from(number.saturating_add(1));
    WORKER.store(worker, Ordering::Relaxed);
}

/// The number this process was given.
pub(crate) fn worker() -> Option<u32> {
    let worker = WORKER.load(Ordering::Relaxed);
    let ours = worker >> 32 == u64::from(std::process::id());
    (worker as u32).checked_sub(1).filter(|_| ours)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_worker_knows_its_number_and_its_child_does_not_take_it_over() {
        be_worker(3);
        assert_eq!(worker(), Some(3));
        WORKER.fetch_add(1 << 32, Ordering::Relaxed);
        assert_eq!(worker(), None);
    }
}
