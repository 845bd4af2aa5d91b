//! Whether device times are taken in this process, of which devices, and why no longer.

use std::ffi::CStr;
use std::sync::atomic::{AtomicPtr, AtomicU8, AtomicU32, AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};

use super::driver::{Driver, Fault};
use super::events::Device;

/// Devices that one process can have times of; a machine has 16 at most today.
pub(crate) const MOST_DEVICES: usize = 32;
/// Calls that fail one after another, until it is taken for granted that the next ones will too.
const MOST_FAILURES: u32 = 100;

/// Nothing has begun.
const IDLE: u8 = 0;
/// Boundaries are taken.
const ON: u8 = 1;
/// The recorder has finished; another may start.
const PAUSED: u8 = 2;
/// Something is wrong, and there is a reason on record.
const OFF: u8 = 3;
/// The driver is gone with the process, or this is a forked child, where it cannot be used.
const ENDED: u8 = 4;

static STATE: AtomicU8 = AtomicU8::new(IDLE);
static DRIVER: AtomicPtr<Driver> = AtomicPtr::new(std::ptr::null_mut());
static DEVICES: [AtomicPtr<Device>; MOST_DEVICES] =
    [const { AtomicPtr::new(std::ptr::null_mut()) }; MOST_DEVICES];
static RECORDING: Failures = Failures { in_a_row: AtomicU32::new(0) };
static READING: Failures = Failures { in_a_row: AtomicU32::new(0) };
/// Faults of any kind so far.
static FAULTS: AtomicU64 = AtomicU64::new(0);
/// The recorder whose flusher reads; 0 when none does.
static READER: AtomicU32 = AtomicU32::new(0);
static BEGUN_BY: AtomicU32 = AtomicU32::new(0);
static BECAUSE: Mutex<String> = Mutex::new(String::new());
static BEGINNING: Mutex<()> = Mutex::new(());

fn reason() -> MutexGuard<'static, String> {
    BECAUSE.lock().unwrap_or_else(PoisonError::into_inner)
}

#[inline]
pub(crate) fn is_on() -> bool {
    STATE.load(Ordering::Relaxed) == ON
}

/// Whether there may be something to read.
pub(crate) fn is_read() -> bool {
    [ON, PAUSED].contains(&STATE.load(Ordering::Relaxed))
}

/// Whether a device may begin now.
pub(crate) fn may_begin() -> bool {
    [IDLE, ON, PAUSED].contains(&STATE.load(Ordering::Relaxed))
}

/// Why it is off; `None` when it is not, or when that is no trouble.
pub(crate) fn off_because() -> Option<String> {
    (STATE.load(Ordering::Acquire) == OFF).then(|| reason().clone())
}

/// One thread at a time makes what a device needs; the others go on without.
pub(crate) fn try_beginning() -> Option<MutexGuard<'static, ()>> {
    match BEGINNING.try_lock() {
        Ok(guard) => Some(guard),
        Err(TryLockError::Poisoned(guard)) => Some(guard.into_inner()),
        Err(TryLockError::WouldBlock) => None,
    }
}

/// The driver that is open.
#[inline]
#[expect(unsafe_code, reason = "a leaked pointer is given out for ever")]
pub(crate) fn driver() -> Option<&'static Driver> {
    // SAFETY: the pointer is null or comes from `Box::leak`, so what it points to is never freed.
    unsafe { DRIVER.load(Ordering::Acquire).as_ref() }
}

/// Opens the driver unless it is open.
pub(crate) fn open_driver(library: &CStr) -> Result<&'static Driver, String> {
    if let Some(driver) = driver() {
        return Ok(driver);
    }
    let driver = Driver::open(library)?;
    DRIVER.store(std::ptr::from_ref(driver).cast_mut(), Ordering::Release);
    Ok(driver)
}

/// The device with this number, if it has begun.
#[inline]
#[expect(unsafe_code, reason = "a leaked pointer is given out for ever")]
pub(crate) fn device(index: u32) -> Option<&'static Device> {
    let place = DEVICES.get(index as usize)?;
    // SAFETY: the pointer is null or comes from `Box::leak`, so what it points to is never freed.
    unsafe { place.load(Ordering::Acquire).as_ref() }
}

/// From here on the device has times.
pub(crate) fn put_on(device: &'static Device) {
    if let Some(place) = DEVICES.get(device.index as usize) {
        place.store(std::ptr::from_ref(device).cast_mut(), Ordering::Release);
    }
    BEGUN_BY.store(std::process::id(), Ordering::Relaxed);
    let _ = STATE.compare_exchange(IDLE, ON, Ordering::AcqRel, Ordering::Relaxed);
}

/// A recorder has started: boundaries are taken again.
pub(crate) fn resume() {
    if STATE.load(Ordering::Relaxed) == IDLE {
        return;
    }
    if BEGUN_BY.load(Ordering::Relaxed) == std::process::id() {
        let _ = STATE.compare_exchange(PAUSED, ON, Ordering::AcqRel, Ordering::Relaxed);
    } else {
        // It began before a fork that nothing of ours stood by.
        begin_anew_in_child();
    }
}

/// A recorder ends: nobody will read what comes from here on.
pub(crate) fn pause() {
    let _ = STATE.compare_exchange(ON, PAUSED, Ordering::AcqRel, Ordering::Relaxed);
}

/// In a forked child the driver is out of use, unless nobody had used it before the fork.
pub(crate) fn begin_anew_in_child() {
    if STATE.load(Ordering::Relaxed) != IDLE {
        STATE.store(ENDED, Ordering::Relaxed);
    }
}

/// Device times are off for good.
#[cold]
pub(crate) fn turn_off(because: String) {
    let mut reason = reason();
    if may_begin() {
        *reason = because;
        // Off with no other driver than this process': a child of a fork has its own say.
        BEGUN_BY.store(std::process::id(), Ordering::Relaxed);
        STATE.store(OFF, Ordering::Release);
    }
}

/// Whether this recorder's flusher is the one that reads: one that hangs in a finished recorder may still do so.
pub(crate) fn is_reader(generation: u32) -> bool {
    match READER.compare_exchange(0, generation, Ordering::AcqRel, Ordering::Acquire) {
        Ok(_) => true,
        Err(reader) => reader == generation,
    }
}

/// Another recorder's flusher may read.
pub(crate) fn read_no_more(generation: u32) {
    let _ = READER.compare_exchange(generation, 0, Ordering::AcqRel, Ordering::Relaxed);
}

/// How often the driver reported an error so far.
pub(crate) fn faults() -> u64 {
    FAULTS.load(Ordering::Relaxed)
}

/// Failures of one thread's calls, one after another.
pub(crate) struct Failures {
    in_a_row: AtomicU32,
}

/// Those of the training's threads.
pub(crate) fn recording() -> &'static Failures {
    &RECORDING
}

/// Those of the flusher.
pub(crate) fn reading() -> &'static Failures {
    &READING
}

impl Failures {
    /// What a call of the driver gave; too many failures turn device times off.
    #[inline]
    pub(crate) fn judge<T>(&self, driver: &Driver, result: Result<T, Fault>) -> Option<T> {
        match result {
            Ok(value) => Some(value),
            Err(fault) => {
                self.blame(driver, fault);
                None
            }
        }
    }

    /// What is wanted in the end has succeeded.
    #[inline]
    pub(crate) fn forgive(&self) {
        if self.in_a_row.load(Ordering::Relaxed) != 0 {
            self.in_a_row.store(0, Ordering::Relaxed);
        }
    }

    #[cold]
    fn blame(&self, driver: &Driver, fault: Fault) {
        if fault != Fault::NotReady {
            FAULTS.fetch_add(1, Ordering::Relaxed);
        }
        match fault {
            Fault::NotReady | Fault::Capturing => {}
            // A thread of the user's need not have one; ours has.
            Fault::NoContext if std::ptr::eq(self, &raw const RECORDING) => {}
            Fault::NoContext => self.count(|| "its context is gone".into()),
            Fault::Gone => STATE.store(ENDED, Ordering::Release),
            Fault::Broken(code) => turn_off(format!("the driver answered {}", driver.name_of(code))),
            Fault::Failed(code) => self.count(|| format!("the last with {}", driver.name_of(code))),
        }
    }

    fn count(&self, last: impl FnOnce() -> String) {
        let failures = self.in_a_row.fetch_add(1, Ordering::Relaxed) + 1;
        if failures >= MOST_FAILURES {
            turn_off(format!("{failures} calls of the driver failed, {}", last()));
        }
    }
}

/// For tests: as in a process that never had a device.
pub(crate) fn forget_all() {
    STATE.store(IDLE, Ordering::Release);
    DRIVER.store(std::ptr::null_mut(), Ordering::Release);
    for place in &DEVICES {
        place.store(std::ptr::null_mut(), Ordering::Release);
    }
    RECORDING.forgive();
    READING.forgive();
    reason().clear();
}
