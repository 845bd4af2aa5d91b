//! What is handed from the training thread to the flusher and back, without a lock between them.

use std::sync::atomic::AtomicU64;
use std::sync::atomic::Ordering::{Acquire, Relaxed, Release};

/// A counter on a cache line of its own.
#[repr(align(64))]
struct Counter(AtomicU64);

/// A queue of entries of `W` words, with room for a power of two of them. One thread at a time puts, one at a time takes.
pub(crate) struct Handover<const W: usize> {
    put: Counter,
    taken: Counter,
    places: Box<[[AtomicU64; W]]>,
}

impl<const W: usize> Handover<W> {
    pub(crate) fn with_room_for(entries: usize) -> Self {
        let places = (0..entries.next_power_of_two()).map(|_| [const { AtomicU64::new(0) }; W]).collect();
        Self { put: Counter(AtomicU64::new(0)), taken: Counter(AtomicU64::new(0)), places }
    }

    /// How many entries wait.
    pub(crate) fn len(&self) -> usize {
        self.put.0.load(Acquire).wrapping_sub(self.taken.0.load(Acquire)) as usize
    }

    /// Puts an entry; says whether there was room.
    #[inline]
    pub(crate) fn put(&self, entry: [u64; W]) -> bool {
        let put = self.put.0.load(Relaxed);
        if put.wrapping_sub(self.taken.0.load(Acquire)) >= self.places.len() as u64 {
            return false;
        }
        for (place, word) in self.places[put as usize & (self.places.len() - 1)].iter().zip(entry) {
            place.store(word, Relaxed);
        }
        self.put.0.store(put + 1, Release);
        true
    }

    /// Takes the oldest entry.
    #[inline]
    pub(crate) fn take(&self) -> Option<[u64; W]> {
        let taken = self.taken.0.load(Relaxed);
        if taken == self.put.0.load(Acquire) {
            return None;
        }
        let place = &self.places[taken as usize & (self.places.len() - 1)];
        let mut entry = [0; W];
        for (word, place) in entry.iter_mut().zip(place) {
            *word = place.load(Relaxed);
        }
        self.taken.0.store(taken + 1, Release);
        Some(entry)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_come_out_whole_and_in_order_while_two_threads_work() {
        let queue = Handover::<2>::with_room_for(8);
        std::thread::scope(|threads| {
            threads.spawn(|| {
                for number in 0..20_000_u64 {
                    while !queue.put([number, !number]) {
                        std::thread::yield_now();
                    }
                }
            });
            let mut expected = 0;
            while expected < 20_000 {
                match queue.take() {
                    Some(entry) => {
                        assert_eq!(entry, [expected, !expected]);
                        expected += 1;
                    }
                    None => std::thread::yield_now(),
                }
            }
        });
        assert_eq!((queue.len(), queue.take()), (0, None));
    }

    #[test]
    fn a_full_queue_takes_nothing_more() {
        let queue = Handover::<1>::with_room_for(2);
        assert_eq!([1, 2, 3].map(|entry| queue.put([entry])), [true, true, false]);
        assert_eq!(queue.take(), Some([1]));
        assert!(queue.put([3]));
    }
}
