//! The CUDA driver, opened at run time: nothing links it, and a machine without one is no trouble.

#![expect(unsafe_code, reason = "the driver is a C library")]

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::ptr::{null, null_mut};

/// Where the driver is on Linux, wherever it was installed.
pub(crate) const LIBRARY: &CStr = c"libcuda.so.1";

const STREAM_NON_BLOCKING: c_uint = 1;
const EVENT_DEFAULT: c_uint = 0;
const CAPTURE_RELAXED: c_int = 2;
const NOT_CAPTURING: c_int = 0;

/// What a call of the driver came to when it did not succeed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Fault {
    /// The device has not come there yet.
    NotReady,
    /// A stream is being captured into a graph, and this would become part of it or spoil it.
    Capturing,
    /// There is no context yet, or none on this thread.
    NoContext,
    /// The driver is shutting down with the process.
    Gone,
    /// The context is of no use any more, to anyone.
    Broken(c_int),
    /// This call failed; the next one may succeed.
    Failed(c_int),
}

impl Fault {
    fn of(code: c_int) -> Self {
        match code {
            600 => Self::NotReady,
            900..=908 => Self::Capturing,
            3 | 201 => Self::NoContext,
            4 => Self::Gone,
            // Launches that failed, contexts destroyed, devices lost: every later call says the same.
            46 | 100 | 101 | 214 | 700 | 702 | 709 | 710 | 714..=719 | 999 => Self::Broken(code),
            code => Self::Failed(code),
        }
    }
}

fn checked(code: c_int) -> Result<(), Fault> {
    if code == 0 { Ok(()) } else { Err(Fault::of(code)) }
}

macro_rules! functions {
    ($($field:ident = $symbol:literal ($($argument:ty),*);)*) => {
        /// The functions of the driver that are called.
        struct Functions { $($field: unsafe extern "C" fn($($argument),*) -> c_int,)* }

        impl Functions {
            fn find(library: *mut c_void) -> Result<Self, String> {
                $(
                    // SAFETY: the library is open and stays so, and the name ends with a zero.
                    let $field = unsafe { libc::dlsym(library, $symbol.as_ptr()) };
                    if $field.is_null() {
                        return Err(format!("the driver is too old: it has no {}", $symbol.to_string_lossy()));
                    }
                )*
                Ok(Self {
                    // SAFETY: these are the arguments that the driver's interface gives the function.
                    $($field: unsafe {
                        std::mem::transmute::<*mut c_void, unsafe extern "C" fn($($argument),*) -> c_int>($field)
                    },)*
                })
            }
        }
    };
}

functions! {
    driver_version = c"cuDriverGetVersion" (*mut c_int);
    error_name = c"cuGetErrorName" (c_int, *mut *const c_char);
    device_name = c"cuDeviceGetName" (*mut c_char, c_int, c_int);
    device_bus_id = c"cuDeviceGetPCIBusId" (*mut c_char, c_int, c_int);
    device_memory = c"cuDeviceTotalMem_v2" (*mut usize, c_int);
    primary_state = c"cuDevicePrimaryCtxGetState" (c_int, *mut c_uint, *mut c_int);
    primary_retain = c"cuDevicePrimaryCtxRetain" (*mut *mut c_void, c_int);
    context_device = c"cuCtxGetDevice" (*mut c_int);
    context_set = c"cuCtxSetCurrent" (*mut c_void);
    context_push = c"cuCtxPushCurrent_v2" (*mut c_void);
    context_pop = c"cuCtxPopCurrent_v2" (*mut *mut c_void);
    priorities = c"cuCtxGetStreamPriorityRange" (*mut c_int, *mut c_int);
    capture_mode = c"cuThreadExchangeStreamCaptureMode" (*mut c_int);
    stream_create = c"cuStreamCreateWithPriority" (*mut *mut c_void, c_uint, c_int);
    stream_capturing = c"cuStreamIsCapturing" (*mut c_void, *mut c_int);
    event_create = c"cuEventCreate" (*mut *mut c_void, c_uint);
    event_record = c"cuEventRecord" (*mut c_void, *mut c_void);
    event_query = c"cuEventQuery" (*mut c_void);
    event_elapsed = c"cuEventElapsedTime" (*mut f32, *mut c_void, *mut c_void);
    host_alloc = c"cuMemHostAlloc" (*mut *mut c_void, usize, c_uint);
    copy_to_host = c"cuMemcpyDtoHAsync_v2" (*mut c_void, u64, usize, *mut c_void);
}

/// A context of the driver.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Context(usize);

/// A stream of the driver; the framework's come as their raw handles.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Stream(pub(crate) usize);

/// An event of the driver, with timing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct EventHandle(pub(crate) u64);

impl EventHandle {
    fn raw(self) -> *mut c_void {
        self.0 as *mut c_void
    }
}

impl Stream {
    fn raw(self) -> *mut c_void {
        self.0 as *mut c_void
    }
}

/// The driver of this process. It is never closed: the framework has it open too.
pub(crate) struct Driver {
    functions: Functions,
}

impl Driver {
    /// Opens it for the rest of the process' life; the error says why it cannot be.
    pub(crate) fn open(library: &CStr) -> Result<&'static Self, String> {
        // SAFETY: the path ends with a zero; opening the driver runs its constructors, as the framework did.
        let handle = unsafe { libc::dlopen(library.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
        if handle.is_null() {
            return Err(format!("{} cannot be opened", library.to_string_lossy()));
        }
        Ok(Box::leak(Box::new(Self { functions: Functions::find(handle)? })))
    }

    /// A fault as a person can look it up.
    pub(crate) fn name_of(&self, code: c_int) -> String {
        let mut name = null();
        // SAFETY: the driver stores a pointer to a constant, or null for a code it does not know.
        let known = unsafe { (self.functions.error_name)(code, &raw mut name) } == 0 && !name.is_null();
        if !known {
            return format!("CUDA error {code}");
        }
        // SAFETY: it is not null, ends with a zero and is never freed.
        unsafe { CStr::from_ptr(name) }.to_string_lossy().into_owned()
    }

    /// The version of CUDA that the driver is made for, such as 13.0.
    pub(crate) fn version(&self) -> Result<String, Fault> {
        let mut version = 0;
        // SAFETY: it stores one number.
        checked(unsafe { (self.functions.driver_version)(&raw mut version) })?;
        Ok(format!("{}.{}", version / 1000, version % 1000 / 10))
    }

    /// What a device is called.
    pub(crate) fn device_name(&self, device: u32) -> Result<String, Fault> {
        let mut name = [0_u8; 256];
        // SAFETY: it writes at most as many bytes as it is given room for, the last of them a zero.
        let code = unsafe { (self.functions.device_name)(name.as_mut_ptr().cast(), 255, device as c_int) };
        checked(code)?;
        Ok(CStr::from_bytes_until_nul(&name).unwrap_or_default().to_string_lossy().into_owned())
    }

    /// Where a device is on the PCI bus, as other libraries name it.
    pub(crate) fn bus_id(&self, device: u32) -> Result<String, Fault> {
        let mut id = [0_u8; 32];
        // SAFETY: it writes at most as many bytes as it is given room for, the last of them a zero.
        checked(unsafe { (self.functions.device_bus_id)(id.as_mut_ptr().cast(), 31, device as c_int) })?;
        Ok(CStr::from_bytes_until_nul(&id).unwrap_or_default().to_string_lossy().into_owned())
    }

    /// A device's memory, bytes.
    pub(crate) fn device_memory(&self, device: u32) -> Result<u64, Fault> {
        let mut bytes = 0;
        // SAFETY: it stores one number.
        checked(unsafe { (self.functions.device_memory)(&raw mut bytes, device as c_int) })?;
        Ok(bytes as u64)
    }

    /// Whether somebody uses the device in this process: we never make a context that is not there.
    pub(crate) fn is_in_use(&self, device: u32) -> Result<bool, Fault> {
        let (mut flags, mut active) = (0, 0);
        // SAFETY: it stores two numbers.
        checked(unsafe { (self.functions.primary_state)(device as c_int, &raw mut flags, &raw mut active) })?;
        Ok(active != 0)
    }

    /// The context that frameworks use on a device.
    pub(crate) fn primary_context(&self, device: u32) -> Result<Context, Fault> {
        let mut context = null_mut();
        // SAFETY: it stores a handle, which stays good since it is never released.
        checked(unsafe { (self.functions.primary_retain)(&raw mut context, device as c_int) })?;
        Ok(Context(context as usize))
    }

    /// The device of this thread's context.
    #[inline]
    pub(crate) fn current_device(&self) -> Result<u32, Fault> {
        let mut device = 0;
        // SAFETY: it stores one number.
        checked(unsafe { (self.functions.context_device)(&raw mut device) })?;
        u32::try_from(device).map_err(|_| Fault::NoContext)
    }

    /// Makes a context this thread's, for a thread of our own.
    pub(crate) fn make_current(&self, context: Context) -> Result<(), Fault> {
        // SAFETY: the context was retained and never released.
        checked(unsafe { (self.functions.context_set)(context.0 as *mut c_void) })
    }

    /// What this thread calls does not spoil a capture that another thread has under way; gives the mode before.
    pub(crate) fn relax_captures(&self) -> Result<c_int, Fault> {
        self.exchange_capture_mode(CAPTURE_RELAXED)
    }

    fn exchange_capture_mode(&self, mut mode: c_int) -> Result<c_int, Fault> {
        // SAFETY: it swaps one number, which is a mode it gave itself or a documented one.
        checked(unsafe { (self.functions.capture_mode)(&raw mut mode) })?;
        Ok(mode)
    }

    /// Runs `body` with a context on this thread, which then has its own again.
    pub(crate) fn within<T>(
        &self,
        context: Context,
        body: impl FnOnce() -> Result<T, Fault>,
    ) -> Result<T, Fault> {
        let mode = self.relax_captures()?;
        // SAFETY: the context was retained and never released.
        let pushed = checked(unsafe { (self.functions.context_push)(context.0 as *mut c_void) });
        let value = pushed.and_then(|()| body());
        if pushed.is_ok() {
            let mut popped = null_mut();
            // SAFETY: it stores a handle; what it takes away is what was put there above.
            checked(unsafe { (self.functions.context_pop)(&raw mut popped) })?;
        }
        self.exchange_capture_mode(mode)?;
        value
    }

    /// A stream that waits for no other and goes before all that can wait.
    pub(crate) fn private_stream(&self) -> Result<Stream, Fault> {
        let (mut least, mut greatest) = (0, 0);
        // SAFETY: it stores two numbers.
        checked(unsafe { (self.functions.priorities)(&raw mut least, &raw mut greatest) })?;
        let mut stream = null_mut();
        // SAFETY: it stores a handle.
        checked(unsafe { (self.functions.stream_create)(&raw mut stream, STREAM_NON_BLOCKING, greatest) })?;
        Ok(Stream(stream as usize))
    }

    /// Whether what a stream is given becomes part of a graph.
    #[inline]
    pub(crate) fn is_capturing(&self, stream: Stream) -> Result<bool, Fault> {
        let mut status = NOT_CAPTURING;
        // SAFETY: it stores one number; the stream is the caller's, who uses it itself.
        checked(unsafe { (self.functions.stream_capturing)(stream.raw(), &raw mut status) })?;
        Ok(status != NOT_CAPTURING)
    }

    /// A new event in this thread's context.
    pub(crate) fn new_event(&self) -> Result<EventHandle, Fault> {
        let mut event = null_mut();
        // SAFETY: it stores a handle, which stays good since it is never destroyed.
        checked(unsafe { (self.functions.event_create)(&raw mut event, EVENT_DEFAULT) })?;
        Ok(EventHandle(event as u64))
    }

    /// The event happens when the device has done what the stream was given so far.
    #[inline]
    pub(crate) fn record(&self, event: EventHandle, stream: Stream) -> Result<(), Fault> {
        // SAFETY: the event is one of ours; the stream is ours or the caller's, who uses it itself.
        checked(unsafe { (self.functions.event_record)(event.raw(), stream.raw()) })
    }

    /// Whether an event has happened.
    pub(crate) fn has_happened(&self, event: EventHandle) -> Result<bool, Fault> {
        // SAFETY: the event is one of ours.
        match checked(unsafe { (self.functions.event_query)(event.raw()) }) {
            Ok(()) => Ok(true),
            Err(Fault::NotReady) => Ok(false),
            Err(fault) => Err(fault),
        }
    }

    /// Time on the device from one event to another, nanoseconds; negative when the other came first.
    pub(crate) fn elapsed_ns(&self, from: EventHandle, to: EventHandle) -> Result<f64, Fault> {
        let mut milliseconds = 0.0;
        // SAFETY: it stores one number; both events are ours.
        checked(unsafe { (self.functions.event_elapsed)(&raw mut milliseconds, from.raw(), to.raw()) })?;
        Ok(f64::from(milliseconds) * 1e6)
    }

    /// Memory that the device can write while the host goes on.
    pub(crate) fn pinned(&self, words: usize) -> Result<Pinned, Fault> {
        let mut address = null_mut();
        // SAFETY: it stores an address, which stays good since it is never freed.
        checked(unsafe { (self.functions.host_alloc)(&raw mut address, words * size_of::<u64>(), 0) })?;
        if address.is_null() {
            Err(Fault::Failed(2))
        } else {
            Ok(Pinned { address: address as usize, words })
        }
    }

    /// Copies up to eight bytes of the device into a word of pinned memory once the stream comes there.
    pub(crate) fn copy(
        &self,
        (memory, word): (&Pinned, usize),
        from: u64,
        bytes: usize,
        stream: Stream,
    ) -> Result<(), Fault> {
        let to = memory.place(word).cast::<c_void>();
        // SAFETY: a word has room for what is copied, and the driver checks the address on the device.
        checked(unsafe { (self.functions.copy_to_host)(to, from, bytes.min(size_of::<u64>()), stream.raw()) })
    }
}

/// Words of pinned memory.
pub(crate) struct Pinned {
    address: usize,
    words: usize,
}

impl Pinned {
    fn place(&self, word: usize) -> *mut u64 {
        (self.address as *mut u64).wrapping_add(word % self.words)
    }

    /// A word as it stands.
    pub(crate) fn word(&self, word: usize) -> u64 {
        // SAFETY: the place is inside the memory, which is page-aligned and never freed.
        unsafe { self.place(word).read_volatile() }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_library_that_is_absent_or_no_driver_says_so() {
        assert!(Driver::open(c"/nowhere/libcuda.so.1").is_err_and(|why| why.contains("cannot be opened")));
        let not_a_driver = Driver::open(c"libc.so.6");
        assert!(not_a_driver.is_err_and(|why| why.contains("has no cuDriverGetVersion")));
    }
}
