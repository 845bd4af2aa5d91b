//! libturbojpeg, opened at run time where it is installed: the functions that decode, unchanged since 2.0.

#![expect(unsafe_code, reason = "functions of a library that is opened at run time")]

use std::ffi::{CStr, c_char, c_int, c_uchar, c_ulong, c_void};
use std::mem;
use std::sync::OnceLock;

use super::error::ImageError;

type Handle = *mut c_void;
type Init = unsafe extern "C" fn() -> Handle;
type Header = unsafe extern "C" fn(
    Handle,
    *const c_uchar,
    c_ulong,
    *mut c_int,
    *mut c_int,
    *mut c_int,
    *mut c_int,
) -> c_int;
type Decompress = unsafe extern "C" fn(
    Handle,
    *const c_uchar,
    c_ulong,
    *mut c_uchar,
    c_int,
    c_int,
    c_int,
    c_int,
    c_int,
) -> c_int;
type ErrorText = unsafe extern "C" fn(Handle) -> *mut c_char;
type ErrorCode = unsafe extern "C" fn(Handle) -> c_int;
type Destroy = unsafe extern "C" fn(Handle) -> c_int;

/// `TJPF_RGB`.
const RGB: c_int = 0;
/// `TJFLAG_LIMITSCANS`: no more than 500 passes over one image. Versions before 2.1 ignore it.
const LIMIT_SCANS: c_int = 32_768;
/// `TJERR_WARNING`: the image could be decoded all the same.
const WARNING: c_int = 0;

#[cfg(target_os = "macos")]
const NAMES: [&CStr; 2] = [c"libturbojpeg.0.dylib", c"libturbojpeg.dylib"];
#[cfg(not(target_os = "macos"))]
const NAMES: [&CStr; 2] = [c"libturbojpeg.so.0", c"libturbojpeg.so"];

struct Functions {
    init: Init,
    header: Header,
    decompress: Decompress,
    error_text: ErrorText,
    error_code: ErrorCode,
    destroy: Destroy,
}

/// The library's functions, looked for once; it stays open, since unloading it under a thread would crash.
fn functions() -> Option<&'static Functions> {
    static FUNCTIONS: OnceLock<Option<Functions>> = OnceLock::new();
    FUNCTIONS.get_or_init(|| NAMES.into_iter().find_map(Functions::open)).as_ref()
}

impl Functions {
    fn open(name: &CStr) -> Option<Self> {
        // SAFETY: the name ends with a zero; a library that is absent gives a null pointer. The functions have
        // these types in `turbojpeg.h`.
        unsafe {
            let library = libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL);
            if library.is_null() {
                return None;
            }
            Some(Self {
                init: function(library, c"tjInitDecompress")?,
                header: function(library, c"tjDecompressHeader3")?,
                decompress: function(library, c"tjDecompress2")?,
                error_text: function(library, c"tjGetErrorStr2")?,
                error_code: function(library, c"tjGetErrorCode")?,
                destroy: function(library, c"tjDestroy")?,
            })
        }
    }
}

/// A function of an open library.
///
/// # Safety
/// `F` is the type of the function pointer that the name stands for.
unsafe fn function<F: Copy>(library: *mut c_void, name: &CStr) -> Option<F> {
    const { assert!(size_of::<F>() == size_of::<*mut c_void>()) };
    // SAFETY: the library is open; the caller answers for the type, which is as large as a pointer.
    unsafe {
        let found = libc::dlsym(library, name.as_ptr());
        (!found.is_null()).then(|| mem::transmute_copy::<*mut c_void, F>(&found))
    }
}

/// Whether libturbojpeg is installed.
#[must_use]
pub fn turbo_is_installed() -> bool {
    functions().is_some()
}

/// A decompressor of libturbojpeg, for one image: it keeps tables and warnings, and an image that lacks its own or is
/// damaged would be decoded with those of the image before. To make one takes less than a microsecond.
pub(super) struct TurboJpeg {
    functions: &'static Functions,
    handle: Handle,
}

impl TurboJpeg {
    /// A decompressor, where the library is installed.
    pub(super) fn new() -> Option<Self> {
        let functions = functions()?;
        // SAFETY: the function takes nothing and gives a handle or null.
        let handle = unsafe { (functions.init)() };
        (!handle.is_null()).then_some(Self { functions, handle })
    }

    /// Decodes an image of this height and width into rows of red, green and blue.
    pub(super) fn decode(
        &mut self,
        encoded: &[u8],
        (height, width): (usize, usize),
        pixels: &mut [u8],
    ) -> Result<(), ImageError> {
        assert_eq!(pixels.len(), height * width * 3);
        if self.declared_size(encoded)? != (height, width) {
            return Err(ImageError::damaged("its headers disagree about its size"));
        }
        let (height, width) = (height as c_int, width as c_int);
        // SAFETY: the buffers have the lengths that are given; no row beyond the height is written, since the
        // image is scaled to fit the size that is asked for or refused.
        let status = unsafe {
            (self.functions.decompress)(
                self.handle,
                encoded.as_ptr(),
                encoded.len() as c_ulong,
                pixels.as_mut_ptr(),
                width,
                width * 3,
                height,
                RGB,
                LIMIT_SCANS,
            )
        };
        if status == 0 || self.only_warned() { Ok(()) } else { Err(self.error()) }
    }

    fn declared_size(&mut self, encoded: &[u8]) -> Result<(usize, usize), ImageError> {
        let (mut width, mut height, mut sampling, mut colours) = (0, 0, 0, 0);
        // SAFETY: the buffer has the length that is given, and the results are written to integers of ours.
        let status = unsafe {
            (self.functions.header)(
                self.handle,
                encoded.as_ptr(),
                encoded.len() as c_ulong,
                &raw mut width,
                &raw mut height,
                &raw mut sampling,
                &raw mut colours,
            )
        };
        if status != 0 && !self.only_warned() {
            return Err(self.error());
        }
        Ok((usize::try_from(height).unwrap_or(0), usize::try_from(width).unwrap_or(0)))
    }

    fn only_warned(&self) -> bool {
        // SAFETY: the handle is open.
        unsafe { (self.functions.error_code)(self.handle) == WARNING }
    }

    fn error(&self) -> ImageError {
        // SAFETY: the handle is open; its text ends with a zero and lives until the next call.
        let text = unsafe {
            let text = (self.functions.error_text)(self.handle);
            if text.is_null() { c"it cannot be decoded" } else { CStr::from_ptr(text) }
        };
        ImageError::damaged(&text.to_string_lossy())
    }
}

impl Drop for TurboJpeg {
    fn drop(&mut self) {
        // SAFETY: the handle is open and not used again.
        unsafe { (self.functions.destroy)(self.handle) };
    }
}
