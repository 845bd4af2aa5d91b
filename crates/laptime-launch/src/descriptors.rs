//! Descriptors that a forked process must not keep open.

#![expect(unsafe_code, reason = "closing descriptors by their number")]

/// Descriptors that are closed one by one where the kernel cannot close them all: the usual limit of a process.
const MOST: i32 = 4096;

/// Closes every descriptor from `first` on. Only calls that are allowed between fork and exec.
///
/// By its number: the function is missing in C libraries before glibc 2.34, the call in kernels before 5.9.
///
/// # Safety
/// No descriptor from `first` on may be used afterwards by whoever owns it.
pub(crate) unsafe fn close_from(first: i32) {
    // SAFETY: closing is what was asked for; the caller answers for the owners.
    unsafe {
        let (last, flags): (libc::c_uint, libc::c_uint) = (libc::c_uint::MAX, 0);
        if libc::syscall(libc::SYS_close_range, first, last, flags) != 0 {
            for descriptor in first..MOST {
                libc::close(descriptor);
            }
        }
    }
}
