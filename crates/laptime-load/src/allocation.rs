//! For tests: the largest allocation that a thread made.

use std::alloc::{GlobalAlloc, Layout, System};
use std::cell::Cell;

thread_local! {
    static LARGEST: Cell<usize> = const { Cell::new(0) };
}

struct Watching;

#[global_allocator]
static WATCHING: Watching = Watching;

fn note(bytes: usize) {
    // Fails only while the thread ends, when nobody asks any more.
    let _ = LARGEST.try_with(|largest| largest.set(largest.get().max(bytes)));
}

#[expect(unsafe_code, reason = "an allocator cannot be written without")]
// SAFETY: every call is passed on unchanged to the system's allocator, which keeps the contract.
unsafe impl GlobalAlloc for Watching {
    unsafe fn alloc(&self, layout: Layout) -> *mut u8 {
        note(layout.size());
        // SAFETY: the caller's promise about the layout is passed on.
        unsafe { System.alloc(layout) }
    }

    unsafe fn alloc_zeroed(&self, layout: Layout) -> *mut u8 {
        note(layout.size());
        // SAFETY: the caller's promise about the layout is passed on.
        unsafe { System.alloc_zeroed(layout) }
    }

    unsafe fn dealloc(&self, pointer: *mut u8, layout: Layout) {
        // SAFETY: the pointer came from the same allocator with the same layout.
        unsafe { System.dealloc(pointer, layout) }
    }

    unsafe fn realloc(&self, pointer: *mut u8, layout: Layout, bytes: usize) -> *mut u8 {
        note(bytes);
        // SAFETY: the pointer came from the same allocator with the same layout.
        unsafe { System.realloc(pointer, layout, bytes) }
    }
}

/// The largest allocation that this thread makes while the work is done.
pub(crate) fn largest_during(work: impl FnOnce()) -> usize {
    LARGEST.set(0);
    work();
    LARGEST.get()
}

#[test]
fn the_largest_allocation_is_seen() {
    let largest = largest_during(|| drop((vec![0_u8; 10], vec![1_u8; 12_345], vec![0_u8; 100])));
    assert_eq!(largest, 12_345);
}
