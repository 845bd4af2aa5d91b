//! A library that stands in for the CUDA driver: the same symbols, with a device that is scripted.
//!
//! A test compiles it as a `cdylib`. Work is given to a stream by `stand_in_work` and takes its time on a clock
//! that is the host's with an offset and a drift, so events happen when that time has passed. A seed makes any
//! call fail, events that never happen, times that are absurd and a clock that begins anew.

use std::cell::Cell;
use std::collections::HashMap;
use std::ffi::{c_char, c_int, c_uint, c_void};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, OnceLock, PoisonError};

const SUCCESS: c_int = 0;
const INVALID_VALUE: c_int = 1;
const INVALID_CONTEXT: c_int = 201;
const INVALID_HANDLE: c_int = 400;
const NOT_READY: c_int = 600;
const CAPTURE_IMPLICIT: c_int = 906;
const NEVER: f64 = f64::INFINITY;

#[derive(Default)]
struct Device {
    /// When each stream has done what it was given, on the device's clock.
    free_at: HashMap<usize, f64>,
    /// When each event happens.
    events: Vec<f64>,
    capturing: Vec<usize>,
    captured: u64,
    offset_ns: f64,
    drift: f64,
    /// Nobody has initialised it, or somebody has reset it.
    unused: bool,
    faults: Faults,
    /// When the event that was recorded last on each stream happens.
    last: HashMap<usize, f64>,
}

#[derive(Default)]
struct Faults {
    random: u64,
    per_mille: u64,
    injected: u64,
    /// What every call answers from now on; 0 is nothing.
    all: c_int,
}

impl Faults {
    fn roll(&mut self) -> u64 {
        self.random ^= self.random << 13;
        self.random ^= self.random >> 7;
        self.random ^= self.random << 17;
        self.random
    }

    fn strikes(&mut self) -> bool {
        let strikes = self.per_mille > 0 && self.roll() % 1000 < self.per_mille;
        self.injected += u64::from(strikes);
        strikes
    }
}

/// Calls of the driver so far; no lock, so that a forked child can ask.
static CALLS: AtomicU64 = AtomicU64::new(0);
static DEVICE: Mutex<Option<Device>> = Mutex::new(None);

thread_local! {
    static CURRENT: Cell<usize> = const { Cell::new(0) };
    static MODE: Cell<c_int> = const { Cell::new(0) };
}

struct Locked(MutexGuard<'static, Option<Device>>);

impl std::ops::Deref for Locked {
    type Target = Device;
    fn deref(&self) -> &Device {
        self.0.as_ref().unwrap()
    }
}

impl std::ops::DerefMut for Locked {
    fn deref_mut(&mut self) -> &mut Device {
        self.0.as_mut().unwrap()
    }
}

fn device() -> Locked {
    let mut device = DEVICE.lock().unwrap_or_else(PoisonError::into_inner);
    device.get_or_insert_default();
    Locked(device)
}

/// The host's clock, as the tests see it: `CLOCK_MONOTONIC`.
fn host_ns() -> f64 {
    let mut time = [0_i64; 2];
    unsafe extern "C" {
        fn clock_gettime(clock: c_int, time: *mut i64) -> c_int;
    }
    unsafe { clock_gettime(1, time.as_mut_ptr()) };
    time[0] as f64 * 1e9 + time[1] as f64
}

impl Device {
    fn now(&self) -> f64 {
        let began = began_ns();
        (host_ns() - began) * (1.0 + self.drift) + began + self.offset_ns
    }

    /// When the host's clock shows what the device's will show.
    fn on_host(&self, at: f64) -> f64 {
        let began = began_ns();
        (at - self.offset_ns - began) / (1.0 + self.drift) + began
    }

    fn free_at(&self, stream: usize) -> f64 {
        self.free_at.get(&stream).copied().unwrap_or(f64::MIN).max(self.now())
    }

    fn event(&self, event: *mut c_void) -> Option<usize> {
        (event as usize).checked_sub(1).filter(|at| *at < self.events.len())
    }
}

fn began_ns() -> f64 {
    static BEGAN_NS: OnceLock<f64> = OnceLock::new();
    *BEGAN_NS.get_or_init(host_ns)
}

/// The error of a plan, or of the dice.
fn fault() -> c_int {
    CALLS.fetch_add(1, Ordering::Relaxed);
    let mut device = device();
    if device.faults.all != 0 {
        return device.faults.all;
    }
    if !device.faults.strikes() {
        return SUCCESS;
    }
    // Mostly such as pass; now and then one after which nothing works.
    const CODES: [c_int; 12] = [1, 2, 3, 201, 400, 400, 600, 600, 801, 900, 906, 304];
    const LASTING: [c_int; 6] = [700, 719, 709, 999, 4, 46];
    let roll = device.faults.roll();
    if roll % 200 == 0 {
        device.faults.all = LASTING[(roll >> 32) as usize % LASTING.len()];
        return device.faults.all;
    }
    CODES[(roll >> 32) as usize % CODES.len()]
}

macro_rules! or_fault {
    () => {
        match fault() {
            SUCCESS => {}
            code => return code,
        }
    };
}

/// A device that was never used.
#[unsafe(no_mangle)]
pub extern "C" fn stand_in_reset(offset_ns: f64, drift: f64) {
    began_ns();
    *DEVICE.lock().unwrap_or_else(PoisonError::into_inner) =
        Some(Device { offset_ns, drift, ..Device::default() });
}

/// Puts this thread in the framework's context of a device; -1 takes it out.
#[unsafe(no_mangle)]
pub extern "C" fn stand_in_use(device: c_int) {
    CURRENT.set((device + 1) as usize);
}

/// Whether the framework has initialised the device; it has at first.
#[unsafe(no_mangle)]
pub extern "C" fn stand_in_used(used: c_int) {
    device().unused = used == 0;
}

/// Gives a stream work of this length; says when the host's clock shows its end.
#[unsafe(no_mangle)]
pub extern "C" fn stand_in_work(stream: usize, ns: f64) -> f64 {
    let mut device = device();
    let end = device.free_at(stream) + ns * (1.0 + device.drift);
    device.free_at.insert(stream, end);
    device.on_host(end)
}

/// When the host's clock shows what the event that was recorded last on a stream waits for.
#[unsafe(no_mangle)]
pub extern "C" fn stand_in_happens(stream: usize) -> f64 {
    let device = device();
    device.on_host(device.last.get(&stream).copied().unwrap_or(f64::NAN))
}

/// A stream waits for what another was given.
#[unsafe(no_mangle)]
pub extern "C" fn stand_in_wait(stream: usize, other: usize) {
    let mut device = device();
    let free = device.free_at(stream).max(device.free_at(other));
    device.free_at.insert(stream, free);
}

/// From now on a call fails with this probability in a thousand.
#[unsafe(no_mangle)]
pub extern "C" fn stand_in_faults(seed: u64, per_mille: u64) {
    let mut device = device();
    device.faults.random = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    device.faults.per_mille = per_mille;
}

/// From now on every call answers this.
#[unsafe(no_mangle)]
pub extern "C" fn stand_in_answer(code: c_int) {
    device().faults.all = code;
}

/// What every call answers by now; 0 is nothing.
#[unsafe(no_mangle)]
pub extern "C" fn stand_in_answers() -> c_int {
    device().faults.all
}

/// Calls that failed by the dice.
#[unsafe(no_mangle)]
pub extern "C" fn stand_in_injected() -> u64 {
    device().faults.injected
}

#[unsafe(no_mangle)]
pub extern "C" fn stand_in_calls() -> u64 {
    CALLS.load(Ordering::Relaxed)
}

#[unsafe(no_mangle)]
pub extern "C" fn stand_in_capture(stream: usize, on: c_int) {
    let mut device = device();
    device.capturing.retain(|capturing| *capturing != stream);
    if on != 0 {
        device.capturing.push(stream);
    }
}

/// What became part of a graph, or was asked in a way that spoils one.
#[unsafe(no_mangle)]
pub extern "C" fn stand_in_captured() -> u64 {
    device().captured
}

#[unsafe(no_mangle)]
pub extern "C" fn cuDriverGetVersion(version: *mut c_int) -> c_int {
    or_fault!();
    unsafe { *version = 13_000 };
    SUCCESS
}

#[unsafe(no_mangle)]
pub extern "C" fn cuGetErrorName(code: c_int, name: *mut *const c_char) -> c_int {
    let known = match code {
        700 => c"CUDA_ERROR_ILLEGAL_ADDRESS",
        400 => c"CUDA_ERROR_INVALID_HANDLE",
        _ => return INVALID_VALUE,
    };
    unsafe { *name = known.as_ptr() };
    SUCCESS
}

#[unsafe(no_mangle)]
pub extern "C" fn cuDeviceGetName(name: *mut c_char, room: c_int, device: c_int) -> c_int {
    or_fault!();
    let text = format!("Stand-in {device}\0");
    let bytes = text.len().min(room as usize);
    unsafe { std::ptr::copy_nonoverlapping(text.as_ptr().cast(), name, bytes) };
    SUCCESS
}

#[unsafe(no_mangle)]
pub extern "C" fn cuDeviceGetPCIBusId(id: *mut c_char, room: c_int, _device: c_int) -> c_int {
    or_fault!();
    let text = b"0000:ff:1f.0\0";
    let bytes = text.len().min(room as usize);
    unsafe { std::ptr::copy_nonoverlapping(text.as_ptr().cast(), id, bytes) };
    SUCCESS
}

#[unsafe(no_mangle)]
pub extern "C" fn cuDeviceTotalMem_v2(bytes: *mut usize, _device: c_int) -> c_int {
    or_fault!();
    unsafe { *bytes = 1 << 30 };
    SUCCESS
}

#[unsafe(no_mangle)]
pub extern "C" fn cuDevicePrimaryCtxGetState(_: c_int, flags: *mut c_uint, active: *mut c_int) -> c_int {
    or_fault!();
    unsafe { (*flags, *active) = (0, c_int::from(!device().unused)) };
    SUCCESS
}

#[unsafe(no_mangle)]
pub extern "C" fn cuDevicePrimaryCtxRetain(context: *mut *mut c_void, device: c_int) -> c_int {
    or_fault!();
    unsafe { *context = (device + 1) as usize as *mut c_void };
    SUCCESS
}

#[unsafe(no_mangle)]
pub extern "C" fn cuCtxGetDevice(device: *mut c_int) -> c_int {
    or_fault!();
    let current = CURRENT.get();
    if current == 0 {
        return INVALID_CONTEXT;
    }
    unsafe { *device = current as c_int - 1 };
    SUCCESS
}

#[unsafe(no_mangle)]
pub extern "C" fn cuCtxSetCurrent(context: *mut c_void) -> c_int {
    or_fault!();
    CURRENT.set(context as usize);
    SUCCESS
}

#[unsafe(no_mangle)]
pub extern "C" fn cuCtxPushCurrent_v2(context: *mut c_void) -> c_int {
    or_fault!();
    // Two deep is all that is needed: the lower one in the upper bits.
    CURRENT.set(CURRENT.get() << 16 | context as usize);
    SUCCESS
}

#[unsafe(no_mangle)]
pub extern "C" fn cuCtxPopCurrent_v2(context: *mut *mut c_void) -> c_int {
    let current = CURRENT.get();
    unsafe { *context = (current & 0xffff) as *mut c_void };
    CURRENT.set(current >> 16);
    SUCCESS
}

#[unsafe(no_mangle)]
pub extern "C" fn cuCtxGetStreamPriorityRange(least: *mut c_int, greatest: *mut c_int) -> c_int {
    or_fault!();
    unsafe { (*least, *greatest) = (0, -5) };
    SUCCESS
}

#[unsafe(no_mangle)]
pub extern "C" fn cuThreadExchangeStreamCaptureMode(mode: *mut c_int) -> c_int {
    or_fault!();
    unsafe { *mode = MODE.replace(*mode) };
    SUCCESS
}

#[unsafe(no_mangle)]
pub extern "C" fn cuStreamCreateWithPriority(stream: *mut *mut c_void, flags: c_uint, _: c_int) -> c_int {
    or_fault!();
    if flags != 1 {
        return INVALID_VALUE;
    }
    unsafe { *stream = 0xF00D as *mut c_void };
    SUCCESS
}

#[unsafe(no_mangle)]
pub extern "C" fn cuStreamIsCapturing(stream: *mut c_void, status: *mut c_int) -> c_int {
    or_fault!();
    let device = device();
    if stream.is_null() && !device.capturing.is_empty() {
        return CAPTURE_IMPLICIT;
    }
    unsafe { *status = c_int::from(device.capturing.contains(&(stream as usize))) };
    SUCCESS
}

#[unsafe(no_mangle)]
pub extern "C" fn cuEventCreate(event: *mut *mut c_void, _flags: c_uint) -> c_int {
    or_fault!();
    let mut device = device();
    device.events.push(f64::MIN);
    unsafe { *event = device.events.len() as *mut c_void };
    SUCCESS
}

#[unsafe(no_mangle)]
pub extern "C" fn cuEventRecord(event: *mut c_void, stream: *mut c_void) -> c_int {
    or_fault!();
    let mut device = device();
    let Some(event) = device.event(event) else { return INVALID_HANDLE };
    if device.capturing.contains(&(stream as usize)) {
        device.captured += 1;
    }
    let mut happens = device.free_at(stream as usize);
    if device.faults.strikes() {
        match device.faults.roll() % 4 {
            // Stuck for good, or much later.
            0 => happens = NEVER,
            1 => happens += 1e6,
            // The device's clock begins anew, or leaps.
            2 => device.offset_ns = -1e12,
            _ => device.offset_ns += 3e9,
        }
    }
    device.events[event] = happens;
    device.last.insert(stream as usize, happens);
    SUCCESS
}

#[unsafe(no_mangle)]
pub extern "C" fn cuEventQuery(event: *mut c_void) -> c_int {
    or_fault!();
    let mut device = device();
    if MODE.get() != 2 && !device.capturing.is_empty() {
        device.captured += 1;
    }
    let Some(event) = device.event(event) else { return INVALID_HANDLE };
    if device.events[event] <= device.now() { SUCCESS } else { NOT_READY }
}

#[unsafe(no_mangle)]
pub extern "C" fn cuEventElapsedTime(ms: *mut f32, from: *mut c_void, to: *mut c_void) -> c_int {
    or_fault!();
    let mut device = device();
    let (Some(from), Some(to)) = (device.event(from), device.event(to)) else { return INVALID_HANDLE };
    let (from, to) = (device.events[from], device.events[to]);
    if from.max(to) > device.now() {
        return NOT_READY;
    }
    let mut elapsed = ((to - from) / 1e6) as f32;
    if device.faults.strikes() {
        let absurd = [f32::NAN, f32::INFINITY, -1e30, 1e30, -1e9, 1e9, -50.0, 50.0];
        elapsed = absurd[device.faults.roll() as usize % absurd.len()];
    }
    unsafe { *ms = elapsed };
    SUCCESS
}

#[unsafe(no_mangle)]
pub extern "C" fn cuMemHostAlloc(address: *mut *mut c_void, bytes: usize, _flags: c_uint) -> c_int {
    or_fault!();
    unsafe { *address = vec![0_u64; bytes.div_ceil(8)].leak().as_mut_ptr().cast() };
    SUCCESS
}

/// The device's memory is the host's here, and copied at once.
#[unsafe(no_mangle)]
pub extern "C" fn cuMemcpyDtoHAsync_v2(
    to: *mut c_void,
    from: u64,
    bytes: usize,
    stream: *mut c_void,
) -> c_int {
    or_fault!();
    let mut device = device();
    if device.capturing.contains(&(stream as usize)) {
        device.captured += 1;
    }
    unsafe { std::ptr::copy_nonoverlapping(from as *const u8, to.cast(), bytes) };
    SUCCESS
}
