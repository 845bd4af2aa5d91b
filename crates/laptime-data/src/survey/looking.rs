//! Looks into many files with a few threads, until all are seen or it has taken long enough.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::watch::Watch;

/// Files that are looked into however long that takes: fewer say little of the others.
const LEAST_LOOKED_INTO: usize = 32;

/// How long files are looked into.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Patience {
    /// `None` where it never ends.
    pub(crate) until: Option<Instant>,
}

impl Patience {
    /// As long as it takes.
    pub(crate) const ENDLESS: Self = Self { until: None };

    pub(crate) fn of(time: Duration) -> Self {
        Self { until: Instant::now().checked_add(time) }
    }

    /// Seconds that are left; endless where it never ends.
    pub(crate) fn left_s(&self) -> f64 {
        self.until
            .map_or(f64::INFINITY, |until| until.saturating_duration_since(Instant::now()).as_secs_f64())
    }

    pub(crate) fn is_over(&self) -> bool {
        self.until.is_some_and(|until| Instant::now() >= until)
    }
}

/// What `look` says of each item, in their order; `None` for those that were not looked into, which are the last
/// ones but for a few.
pub(crate) fn look_into<I: Sync, T: Send>(
    items: &[I],
    threads: usize,
    patience: Patience,
    watch: &Watch,
    look: impl Fn(&I) -> T + Sync,
) -> Vec<Option<T>> {
    let next = AtomicUsize::new(0);
    let found = Mutex::new(Vec::with_capacity(items.len()));
    let worker = || {
        loop {
            let index = next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = items.get(index) else { break };
            if watch.stopped() || (index >= LEAST_LOOKED_INTO && patience.is_over()) {
                break;
            }
            let seen = look(item);
            found.lock().unwrap_or_else(PoisonError::into_inner).push((index, seen));
        }
    };
    if threads > 1 && items.len() > 1 {
        std::thread::scope(|scope| {
            for _ in 1..threads.min(items.len()) {
                // Where the system gives no more threads, fewer do the same.
                let _ = std::thread::Builder::new().spawn_scoped(scope, worker);
            }
            worker();
        });
    } else {
        worker();
    }
    let mut seen: Vec<Option<T>> = items.iter().map(|_| None).collect();
    for (index, value) in found.into_inner().unwrap_or_else(PoisonError::into_inner) {
        seen[index] = Some(value);
    }
    seen
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_are_seen_in_their_order_whatever_the_threads() {
        let items: Vec<u32> = (0..1_000).collect();
        for threads in [1, 4] {
            let seen = look_into(&items, threads, Patience::ENDLESS, &Watch::default(), |item| item * 2);
            assert!(seen.iter().zip(&items).all(|(seen, item)| *seen == Some(item * 2)));
        }
    }

    #[test]
    fn the_first_are_seen_even_when_there_is_no_time() {
        let items = [(); 100];
        let over = Patience::of(Duration::ZERO);
        let seen = look_into(&items, 4, over, &Watch::default(), |()| ());
        assert_eq!(seen.iter().flatten().count(), LEAST_LOOKED_INTO);
    }
}
