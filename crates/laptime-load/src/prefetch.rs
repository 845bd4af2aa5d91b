//! A thread that works ahead, and stops when nobody wants its work any more.

use std::io;
use std::sync::mpsc::{Receiver, sync_channel};
use std::thread::{Builder, JoinHandle};

/// Finished items that wait. One hides an even delay; the second hides a single slow read.
const WAITING: usize = 2;

/// The items of an iterator, made ahead on a thread of its own.
///
/// At most four are alive at a time: one being made, two waiting, one in use. Dropping it ends the thread after
/// the item it is making, and waits for that.
#[derive(Debug)]
pub(crate) struct Prefetch<T> {
    // Taken only when dropped.
    items: Option<Receiver<T>>,
    thread: Option<JoinHandle<()>>,
}

impl<T: Send + 'static> Prefetch<T> {
    pub(crate) fn start(work: impl Iterator<Item = T> + Send + 'static) -> io::Result<Self> {
        let (sender, items) = sync_channel(WAITING);
        let thread = Builder::new().name("laptime-prefetch".to_owned()).spawn(move || {
            for item in work {
                if sender.send(item).is_err() {
                    break;
                }
            }
        })?;
        Ok(Self { items: Some(items), thread: Some(thread) })
    }
}

impl<T> Iterator for Prefetch<T> {
    type Item = T;

    fn next(&mut self) -> Option<T> {
        self.items.as_ref()?.recv().ok()
    }
}

impl<T> Drop for Prefetch<T> {
    fn drop(&mut self) {
        // The channel first: a thread that waits in `send` wakes up only when the receiver is gone.
        drop(self.items.take());
        if let Some(thread) = self.thread.take() {
            // A panic over there was seen as missing items; to pass it on from a drop would abort.
            let _ = thread.join();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::Arc;
    use std::sync::atomic::{AtomicUsize, Ordering};

    #[test]
    fn items_come_in_order_and_end() {
        let items: Vec<u32> = Prefetch::start(0..100).unwrap().collect();
        assert_eq!(items, (0..100).collect::<Vec<_>>());
    }

    #[test]
    fn never_more_than_four_items_are_alive() {
        let token = Arc::new(());
        let most = Arc::new(AtomicUsize::new(0));
        let (tokens, peak) = (Arc::downgrade(&token), Arc::clone(&most));
        let work = (0..1000).map_while(move |_| {
            let item = tokens.upgrade()?;
            // The token of the test itself is not an item.
            peak.fetch_max(Arc::strong_count(&item) - 1, Ordering::Relaxed);
            Some(item)
        });
        let delivered = Prefetch::start(work).unwrap().count();
        assert_eq!(delivered, 1000);
        assert!(most.load(Ordering::Relaxed) <= 4, "{most:?} items at a time");
    }

    #[test]
    fn dropping_it_early_ends_the_thread() {
        let alive = Arc::new(());
        let held = Arc::clone(&alive);
        let mut endless = Prefetch::start(std::iter::repeat_with(move || Arc::clone(&held))).unwrap();
        assert!(endless.next().is_some());
        drop(endless);
        assert_eq!(Arc::strong_count(&alive), 1, "the thread and all it made are gone");
    }

    #[test]
    fn the_thread_has_a_name() {
        let name = || std::thread::current().name().map(str::to_owned);
        let mut names = Prefetch::start(std::iter::once_with(name)).unwrap();
        assert_eq!(names.next().unwrap().unwrap(), "laptime-prefetch");
    }
}
