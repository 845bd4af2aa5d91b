//! Device times: events of the CUDA driver at the boundaries of stages, read late and never waited for.
//!
//! The training thread records an event on the framework's stream and goes on; the flusher reads it when the
//! device has passed. The driver is opened at run time and only in a process whose framework uses it. Whatever
//! goes wrong turns device times off, and the run says why.

mod clock_map;
mod driver;
mod events;
mod handover;
mod reader;
mod state;

use std::ffi::CStr;

use laptime_core::StageId;

use self::driver::{Driver, Fault, LIBRARY, Stream};
use self::events::Device;
pub use self::events::LossKind;
pub(crate) use self::reader::DeviceReader;
pub(crate) use self::state::begin_anew_in_child;
use crate::active::{ARMED, generation};
use crate::guard::guarded;
use crate::probe::gpu;

/// Times of this device are taken from here on. The framework has initialised it: we never do.
///
/// What cannot be done is on record, once; calling it again is cheap.
pub fn begin(device_index: u32) {
    guarded((), || begin_on(LIBRARY, device_index));
}

/// For tests: another library stands in for the driver, in a process that forgets what was before.
#[doc(hidden)]
pub fn begin_with(library: &CStr, device_index: u32) {
    state::forget_all();
    guarded((), || begin_on(library, device_index));
}

/// Whether device times are taken.
#[inline]
#[must_use]
pub fn is_on() -> bool {
    state::is_on()
}

/// The device of the calling thread's context, while device times are taken.
#[inline]
#[must_use]
pub fn current() -> Option<u32> {
    if is_on() { state::driver()?.current_device().ok() } else { None }
}

/// A boundary: from here on the host launches work for `stage` on this stream, a raw handle of the current
/// context; 0 is the default stream.
///
/// It never blocks, and does nothing without a device or while the stream is captured into a graph.
#[inline]
pub fn boundary(stream: usize, stage: StageId) {
    with_current(|device| device.boundary(Stream(stream), stage));
}

/// Has the loss at this address of the device put on record, once the stream comes to where it stands now.
///
/// The host does not wait for it. The address must stay the loss' until then, as it does for work on the stream.
pub fn loss(stream: usize, address: u64, kind: LossKind) {
    with_current(|device| device.loss(Stream(stream), address, kind));
}

/// Runs `body` on the device of this thread's context, if there is one.
#[inline]
fn with_current(body: impl FnOnce(&Device) -> Result<(), Fault>) {
    if !state::is_on() || [0, ARMED].contains(&generation()) {
        return;
    }
    guarded((), || {
        let Some(driver) = state::driver() else { return };
        let failures = state::recording();
        let Some(index) = failures.judge(driver, driver.current_device()) else { return };
        let device = state::device(index).or_else(|| begin_another(driver, index));
        if device.is_some_and(|device| failures.judge(driver, body(device)).is_some()) {
            failures.forgive();
        }
    });
}

#[cold]
fn begin_another(driver: &'static Driver, index: u32) -> Option<&'static Device> {
    let _one_at_a_time = state::try_beginning()?;
    if state::device(index).is_none() && (index as usize) < state::MOST_DEVICES {
        make(driver, index);
    }
    state::device(index)
}

fn begin_on(library: &CStr, index: u32) {
    let Some(_one_at_a_time) = state::try_beginning() else { return };
    if !state::may_begin() || state::device(index).is_some() || index as usize >= state::MOST_DEVICES {
        return;
    }
    match state::open_driver(library) {
        Ok(driver) => make(driver, index),
        Err(because) => state::turn_off(because),
    }
}

fn make(driver: &'static Driver, index: u32) {
    match driver.is_in_use(index) {
        // Nobody has initialised it: there is nothing to take times of, and it may come later.
        Ok(false) | Err(Fault::NoContext) => {}
        Ok(true) => match Device::new(driver, index) {
            Ok(device) => {
                state::put_on(device);
                // Without its place on the bus, what the card did is not known; its times are.
                if let Ok(id) = driver.bus_id(index) {
                    gpu::watch(&id);
                }
            }
            Err(fault) => give_up(driver, fault),
        },
        Err(fault) => give_up(driver, fault),
    }
}

/// A device that cannot begin has no times at all, whatever the fault.
fn give_up(driver: &Driver, fault: Fault) {
    match fault {
        Fault::Failed(code) | Fault::Broken(code) => {
            state::turn_off(format!("the device cannot be timed: {}", driver.name_of(code)));
        }
        fault => {
            let _: Option<()> = state::recording().judge(driver, Err(fault));
        }
    }
}
