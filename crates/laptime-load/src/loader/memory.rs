//! Memory of batches, used again when nobody holds it any more.

#![expect(unsafe_code, reason = "aligned memory that is handed out by its address")]

use std::alloc::{Layout, alloc_zeroed, dealloc};
use std::ptr::NonNull;
use std::sync::{Arc, Mutex, MutexGuard, TryLockError, Weak};

/// Bytes to which memory is aligned: a cache line, and Arrow's alignment.
pub const ALIGNMENT: usize = 64;

/// Tries to get the lock of a pool, which is held for a few instructions at a time. Without it memory is allocated
/// and freed as usual.
const PATIENCE: usize = 10_000;

/// Aligned memory of one array of a batch. It stays as it is while it is referenced, and then serves another batch.
#[derive(Debug)]
pub struct AlignedMemory {
    chunk: Option<Chunk>,
    pool: Weak<Pool>,
}

/// Owned bytes.
#[derive(Debug)]
struct Chunk {
    start: NonNull<u8>,
    bytes: usize,
}

// SAFETY: a chunk owns its bytes as a `Vec` does; nothing of it belongs to a thread.
unsafe impl Send for Chunk {}
// SAFETY: through a shared reference bytes are only read; see `AlignedMemory::pointer` for what a holder must keep.
unsafe impl Sync for Chunk {}

impl Chunk {
    fn layout(bytes: usize) -> Option<Layout> {
        Layout::from_size_align(bytes.max(1), ALIGNMENT).ok()
    }

    fn new(bytes: usize) -> Option<Self> {
        // SAFETY: the layout has at least one byte.
        let start = unsafe { alloc_zeroed(Self::layout(bytes)?) };
        Some(Self { start: NonNull::new(start)?, bytes })
    }
}

impl Drop for Chunk {
    fn drop(&mut self) {
        if let Some(layout) = Self::layout(self.bytes) {
            // SAFETY: allocated by `new` with this very layout.
            unsafe { dealloc(self.start.as_ptr(), layout) };
        }
    }
}

/// Memory that waits for the next batch.
#[derive(Debug)]
pub(super) struct Pool {
    free: Mutex<Vec<Chunk>>,
    /// Most chunks that wait; what comes back beyond that is freed.
    most: usize,
    /// Most bytes that wait: chunks of a length that never comes again are of no use.
    most_bytes: u64,
}

impl Pool {
    pub(super) fn new(most: usize, most_bytes: u64) -> Arc<Self> {
        Arc::new(Self { free: Mutex::new(Vec::new()), most, most_bytes })
    }

    /// Memory of exactly this many bytes, its content undefined but initialised; `None` if there is no memory.
    pub(super) fn take(self: &Arc<Self>, bytes: usize) -> Option<AlignedMemory> {
        let found = self.free().and_then(|mut free| {
            let place = free.iter().rposition(|chunk| chunk.bytes == bytes);
            place.map(|place| free.swap_remove(place))
        });
        let chunk = found.or_else(|| Chunk::new(bytes))?;
        Some(AlignedMemory { chunk: Some(chunk), pool: Arc::downgrade(self) })
    }

    /// The lock, unless it cannot be had: in the child of a fork it may be held by a thread that is not there.
    fn free(&self) -> Option<MutexGuard<'_, Vec<Chunk>>> {
        for _ in 0..PATIENCE {
            match self.free.try_lock() {
                Ok(free) => return Some(free),
                Err(TryLockError::Poisoned(free)) => return Some(free.into_inner()),
                Err(TryLockError::WouldBlock) => std::hint::spin_loop(),
            }
        }
        None
    }

    fn give(&self, chunk: Chunk) {
        let Some(mut free) = self.free() else { return };
        free.push(chunk);
        let mut bytes: u64 = free.iter().map(|chunk| chunk.bytes as u64).sum();
        let mut old = 0;
        // The oldest go: lengths that are no longer asked for must not stay for ever.
        while old + 1 < free.len() && (free.len() - old > self.most || bytes > self.most_bytes) {
            bytes -= free[old].bytes as u64;
            old += 1;
        }
        if old > 0 {
            let old: Vec<Chunk> = free.drain(..old).collect();
            // They are freed only after the lock is.
            drop(free);
            drop(old);
        }
    }
}

impl AlignedMemory {
    /// The first byte.
    ///
    /// Whoever writes through it must be the only holder of the batch, as PyTorch and NumPy assume of memory that is
    /// handed to them.
    pub fn pointer(&self) -> *mut u8 {
        self.chunk.as_ref().map_or(std::ptr::null_mut(), |chunk| chunk.start.as_ptr())
    }

    /// How many bytes.
    pub fn bytes(&self) -> usize {
        self.chunk.as_ref().map_or(0, |chunk| chunk.bytes)
    }

    /// The bytes themselves.
    pub fn as_slice(&self) -> &[u8] {
        match &self.chunk {
            // SAFETY: the chunk owns these bytes, and they were zeroed when it was made.
            Some(chunk) => unsafe { std::slice::from_raw_parts(chunk.start.as_ptr(), chunk.bytes) },
            None => &[],
        }
    }

    /// The bytes, while nobody else has the memory.
    pub(super) fn as_mut_slice(&mut self) -> &mut [u8] {
        match &mut self.chunk {
            // SAFETY: the chunk owns these initialised bytes, and is borrowed exclusively.
            Some(chunk) => unsafe { std::slice::from_raw_parts_mut(chunk.start.as_ptr(), chunk.bytes) },
            None => &mut [],
        }
    }
}

impl Drop for AlignedMemory {
    fn drop(&mut self) {
        if let (Some(chunk), Some(pool)) = (self.chunk.take(), self.pool.upgrade()) {
            pool.give(chunk);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memory_is_aligned_and_used_again_once_nobody_holds_it() {
        let pool = Pool::new(2, 1000);
        let first = pool.take(100).unwrap();
        let second = pool.take(100).unwrap();
        assert_eq!(first.pointer() as usize % ALIGNMENT, 0);
        assert_eq!(first.bytes(), 100);
        let address = second.pointer() as usize;
        drop(second);
        let third = pool.take(100).unwrap();
        assert_eq!(third.pointer() as usize, address);
        assert_ne!(first.pointer() as usize, address, "what is held is not given out again");
    }

    #[test]
    fn no_more_waits_than_was_allowed_and_nothing_outlives_the_pool_badly() {
        let pool = Pool::new(2, 1000);
        let held: Vec<_> = (1..6).map(|bytes| pool.take(bytes).unwrap()).collect();
        drop(held);
        assert_eq!(pool.free.lock().unwrap().len(), 2);
        let last = pool.take(7).unwrap();
        drop(pool);
        assert_eq!(last.as_slice(), [0; 7]);
    }

    #[test]
    fn lengths_that_never_come_again_take_no_more_memory_than_was_allowed() {
        let pool = Pool::new(100, 1000);
        for bytes in 200..300 {
            drop(pool.take(bytes).unwrap());
        }
        let waiting: Vec<usize> = pool.free.lock().unwrap().iter().map(|chunk| chunk.bytes).collect();
        assert_eq!(waiting, [297, 298, 299]);
        drop(pool.take(5000).unwrap());
        assert_eq!(pool.free.lock().unwrap().len(), 1, "one may be larger");
    }

    #[test]
    fn impossible_sizes_are_refused() {
        assert!(Pool::new(1, 1000).take(usize::MAX).is_none());
        assert!(Pool::new(1, 1000).take(0).unwrap().as_slice().is_empty());
    }
}
