//! How the process keeps memory that was freed, since every step needs the same amount again.

/// Keeps freed memory in the process instead of handing it back to the system.
///
/// A training step frees tensors of the very sizes that the next step asks for. glibc maps large ones anew
/// each time, and the page faults took two thirds of a step of the mlp at batch 512 and a quarter of the cnn's.
/// Elsewhere than on glibc this does nothing.
pub(crate) fn keep_freed_memory() {
    #[cfg(all(target_os = "linux", target_env = "gnu"))]
    keep_freed_glibc_memory();
}

#[cfg(all(target_os = "linux", target_env = "gnu"))]
#[expect(unsafe_code, reason = "the standard library has no way to configure its allocator")]
fn keep_freed_glibc_memory() {
    /// Asked of the system at once when memory runs short.
    const TOP_PAD_BYTES: i32 = 64 << 20;
    // SAFETY: mallopt takes plain numbers, may be called at any time, and takes its own lock.
    unsafe {
        libc::mallopt(libc::M_MMAP_THRESHOLD, i32::MAX);
        libc::mallopt(libc::M_TRIM_THRESHOLD, i32::MAX);
        libc::mallopt(libc::M_TOP_PAD, TOP_PAD_BYTES);
    }
}
