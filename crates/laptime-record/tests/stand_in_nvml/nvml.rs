//! A stand-in for `libnvidia-ml.so.1`, built by the tests: one card whose answers are scripted by `--cfg`.
//!
//! `older`: no counters, and the older name of the clock reasons; `forbidden`: the counters may not be read;
//! `breaking`: each answers once and then fails; `slow`: the clock takes 60 ms; `nonsense`: counters that are none;
//! `no_card`: no card at all.

#![allow(non_snake_case, dead_code, clippy::missing_safety_doc)]

use std::ffi::{CStr, c_char, c_int, c_uint, c_void};
use std::sync::atomic::{AtomicU32, Ordering::Relaxed};

const SUCCESS: c_int = 0;
const NOT_FOUND: c_int = 6;
const NO_PERMISSION: c_int = 4;
const UNKNOWN: c_int = 999;
const CARD: usize = 7;

static INITIALISED: AtomicU32 = AtomicU32::new(0);
static POWER_ASKED: AtomicU32 = AtomicU32::new(0);
static COMPARED: AtomicU32 = AtomicU32::new(0);

#[repr(C)]
pub struct Memory {
    total: u64,
    free: u64,
    used: u64,
}

#[repr(C)]
pub struct Utilization {
    busy: c_uint,
    memory: c_uint,
}

fn answer<T>(device: *mut c_void, place: *mut T, value: T) -> c_int {
    if device as usize != CARD || INITIALISED.load(Relaxed) == 0 {
        return UNKNOWN;
    }
    unsafe { place.write(value) };
    SUCCESS
}

#[unsafe(no_mangle)]
pub extern "C" fn nvmlInit_v2() -> c_int {
    INITIALISED.fetch_add(1, Relaxed);
    SUCCESS
}

#[unsafe(no_mangle)]
pub unsafe extern "C" fn nvmlDeviceGetHandleByPciBusId_v2(id: *const c_char, device: *mut *mut c_void) -> c_int {
    if cfg!(no_card) || unsafe { CStr::from_ptr(id) }.to_bytes() != b"0000:1B:00.0" {
        return NOT_FOUND;
    }
    unsafe { device.write(CARD as *mut c_void) };
    SUCCESS
}

#[unsafe(no_mangle)]
pub extern "C" fn nvmlDeviceGetMemoryInfo(device: *mut c_void, memory: *mut Memory) -> c_int {
    answer(device, memory, Memory { total: 139 << 30, free: 108 << 30, used: 31 << 30 })
}

#[unsafe(no_mangle)]
pub extern "C" fn nvmlDeviceGetClockInfo(device: *mut c_void, which: c_uint, mhz: *mut c_uint) -> c_int {
    if cfg!(slow) {
        std::thread::sleep(std::time::Duration::from_millis(60));
    }
    if which != 1 {
        return UNKNOWN;
    }
    answer(device, mhz, 1320)
}

#[unsafe(no_mangle)]
pub extern "C" fn nvmlDeviceGetMaxClockInfo(device: *mut c_void, which: c_uint, mhz: *mut c_uint) -> c_int {
    if which != 1 {
        return UNKNOWN;
    }
    answer(device, mhz, 1980)
}

#[unsafe(no_mangle)]
pub extern "C" fn nvmlDeviceGetPowerUsage(device: *mut c_void, milliwatts: *mut c_uint) -> c_int {
    if cfg!(breaking) && POWER_ASKED.fetch_add(1, Relaxed) > 0 {
        return UNKNOWN;
    }
    answer(device, milliwatts, 412_345)
}

#[unsafe(no_mangle)]
pub extern "C" fn nvmlDeviceGetEnforcedPowerLimit(device: *mut c_void, milliwatts: *mut c_uint) -> c_int {
    answer(device, milliwatts, 700_000)
}

#[unsafe(no_mangle)]
pub extern "C" fn nvmlDeviceGetTemperature(device: *mut c_void, sensor: c_uint, celsius: *mut c_uint) -> c_int {
    if sensor != 0 {
        return UNKNOWN;
    }
    answer(device, celsius, 61)
}

#[cfg(not(older))]
#[unsafe(no_mangle)]
pub extern "C" fn nvmlDeviceGetCurrentClocksEventReasons(device: *mut c_void, reasons: *mut u64) -> c_int {
    answer(device, reasons, 0x24)
}

#[cfg(older)]
#[unsafe(no_mangle)]
pub extern "C" fn nvmlDeviceGetCurrentClocksThrottleReasons(device: *mut c_void, reasons: *mut u64) -> c_int {
    answer(device, reasons, 0x4)
}

#[unsafe(no_mangle)]
pub extern "C" fn nvmlDeviceGetUtilizationRates(device: *mut c_void, rates: *mut Utilization) -> c_int {
    answer(device, rates, Utilization { busy: 13, memory: 2 })
}

#[cfg(not(older))]
mod counters {
    use super::*;

    #[repr(C)]
    pub struct Support {
        version: c_uint,
        supported: c_uint,
    }

    #[derive(Clone, Copy)]
    #[repr(C)]
    pub struct Metric {
        id: c_uint,
        status: c_int,
        value: f64,
        names: [*const c_char; 3],
    }

    #[repr(C)]
    pub struct Compared {
        version: c_uint,
        count: c_uint,
        from: *mut c_void,
        to: *mut c_void,
        metrics: [Metric; 333],
    }

    #[unsafe(no_mangle)]
    pub unsafe extern "C" fn nvmlGpmQueryDeviceSupport(device: *mut c_void, support: *mut Support) -> c_int {
        let support = unsafe { &mut *support };
        if support.version != 1 {
            return UNKNOWN;
        }
        answer(device, &raw mut support.supported, 1)
    }

    #[unsafe(no_mangle)]
    pub unsafe extern "C" fn nvmlGpmSampleAlloc(sample: *mut *mut c_void) -> c_int {
        unsafe { sample.write(Box::into_raw(Box::new(0_u64)).cast()) };
        SUCCESS
    }

    #[unsafe(no_mangle)]
    pub unsafe extern "C" fn nvmlGpmSampleGet(device: *mut c_void, sample: *mut c_void) -> c_int {
        if cfg!(forbidden) {
            return NO_PERMISSION;
        }
        static TAKEN: AtomicU32 = AtomicU32::new(0);
        answer(device, sample.cast::<u64>(), u64::from(TAKEN.fetch_add(1, Relaxed)) + 1)
    }

    #[unsafe(no_mangle)]
    pub unsafe extern "C" fn nvmlGpmMetricsGet(compared: *mut Compared) -> c_int {
        let compared = unsafe { &mut *compared };
        let (from, to) = unsafe { (*compared.from.cast::<u64>(), *compared.to.cast::<u64>()) };
        // Each sample is compared with the one just before it.
        if compared.version != 1 || from == 0 || to != from + 1 {
            return UNKNOWN;
        }
        if cfg!(breaking) && COMPARED.fetch_add(1, Relaxed) > 1 {
            return UNKNOWN;
        }
        for metric in &mut compared.metrics[..compared.count as usize] {
            (metric.status, metric.value) = match metric.id {
                1 => (SUCCESS, if cfg!(nonsense) { f64::NAN } else { 12.5 }),
                2 => (SUCCESS, 40.0),
                5 if cfg!(nonsense) => (SUCCESS, -3.0),
                5 => (SUCCESS, 0.0),
                10 => (NO_PERMISSION, 99.0),
                20 => (SUCCESS, 16.0),
                21 => (SUCCESS, 1024.0),
                _ => (UNKNOWN, 0.0),
            };
        }
        SUCCESS
    }
}
