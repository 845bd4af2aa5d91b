//! NVML, opened at run time: the few functions that are read, with the layouts of `nvml.h`.

#![expect(unsafe_code, reason = "functions of a library that is opened at run time")]

use std::ffi::{CStr, CString, c_char, c_int, c_uint, c_void};
use std::mem;
use std::ptr;

use laptime_core::Gauge;

use super::shares::Shares;
use super::{Readings, reading};

type Device = *mut c_void;
type Status = c_int;
const SUCCESS: Status = 0;
/// `NVML_CLOCK_SM`.
const CORES: c_uint = 1;
/// `NVML_TEMPERATURE_GPU`.
const CARD: c_uint = 0;
const MIB: f64 = 1_048_576.0;

type Init = unsafe extern "C" fn() -> Status;
type ByPciBusId = unsafe extern "C" fn(*const c_char, *mut Device) -> Status;
/// Asks a device for something.
type Get<T> = unsafe extern "C" fn(Device, *mut T) -> Status;
/// Asks a device for something of which there are several.
type GetOf<T> = unsafe extern "C" fn(Device, c_uint, *mut T) -> Status;

/// `nvmlMemory_t`.
#[derive(Default)]
#[repr(C)]
struct Memory {
    total: u64,
    free: u64,
    used: u64,
}

/// `nvmlUtilization_t`: percent of the driver's last period.
#[derive(Default)]
#[repr(C)]
struct Utilization {
    busy: c_uint,
    memory: c_uint,
}

/// A library that stays open: unloading it under a thread would kill the host.
#[derive(Clone, Copy)]
struct Library(*mut c_void);

impl Library {
    fn open(name: &CStr) -> Option<Self> {
        // SAFETY: the name ends with a zero; a library that is absent gives a null pointer.
        let library = unsafe { libc::dlopen(name.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
        (!library.is_null()).then_some(Self(library))
    }

    /// A function of the library.
    ///
    /// # Safety
    /// `F` is the type of the function pointer that the name stands for.
    unsafe fn function<F: Copy>(self, name: &CStr) -> Option<F> {
        assert_eq!(size_of::<F>(), size_of::<*mut c_void>());
        // SAFETY: the library is open; the caller answers for the type, which is as large as a pointer.
        unsafe {
            let found = libc::dlsym(self.0, name.as_ptr());
            (!found.is_null()).then(|| mem::transmute_copy::<*mut c_void, F>(&found))
        }
    }
}

/// A card, and what can be asked of it.
pub(super) struct Card {
    library: Library,
    device: Device,
    memory: Option<Get<Memory>>,
    clock: Option<GetOf<c_uint>>,
    highest_clock: Option<GetOf<c_uint>>,
    power: Option<Get<c_uint>>,
    power_limit: Option<Get<c_uint>>,
    temperature: Option<GetOf<c_uint>>,
    reasons: Option<Get<u64>>,
    utilization: Option<Get<Utilization>>,
}

// SAFETY: NVML may be called from any thread, and its handles are good in all of them.
unsafe impl Send for Card {}

impl Card {
    /// Opens the library and finds the card; `None` where either is not there.
    pub(super) fn open(library: &CStr, pci_bus_id: &str) -> Option<Self> {
        let library = Library::open(library)?;
        let pci_bus_id = CString::new(pci_bus_id).ok()?;
        let mut device: Device = ptr::null_mut();
        // SAFETY: the functions have these types in `nvml.h`, and the pointers are good for each call.
        unsafe {
            let init: Init = library.function(c"nvmlInit_v2")?;
            let find: ByPciBusId = library.function(c"nvmlDeviceGetHandleByPciBusId_v2")?;
            if init() != SUCCESS || find(pci_bus_id.as_ptr(), &raw mut device) != SUCCESS {
                return None;
            }
            let reasons = library.function(c"nvmlDeviceGetCurrentClocksEventReasons");
            let older = || library.function(c"nvmlDeviceGetCurrentClocksThrottleReasons");
            Some(Self {
                library,
                device,
                memory: library.function(c"nvmlDeviceGetMemoryInfo"),
                clock: library.function(c"nvmlDeviceGetClockInfo"),
                highest_clock: library.function(c"nvmlDeviceGetMaxClockInfo"),
                power: library.function(c"nvmlDeviceGetPowerUsage"),
                power_limit: library.function(c"nvmlDeviceGetEnforcedPowerLimit"),
                temperature: library.function(c"nvmlDeviceGetTemperature"),
                reasons: reasons.or_else(older),
                utilization: library.function(c"nvmlDeviceGetUtilizationRates"),
            })
        }
    }

    fn get<T: Default>(&self, function: Option<Get<T>>) -> Option<T> {
        let mut value = T::default();
        // SAFETY: the function writes one `T`, as its type in `nvml.h` says.
        let status = unsafe { function?(self.device, &raw mut value) };
        (status == SUCCESS).then_some(value)
    }

    fn get_of<T: Default>(&self, function: Option<GetOf<T>>, which: c_uint) -> Option<T> {
        let mut value = T::default();
        // SAFETY: the function writes one `T`, as its type in `nvml.h` says.
        let status = unsafe { function?(self.device, which, &raw mut value) };
        (status == SUCCESS).then_some(value)
    }

    pub(super) fn memory(&self) -> Option<Readings> {
        let memory = self.get(self.memory)?;
        Some(vec![
            reading(Gauge::DeviceMemoryBytes, memory.used),
            reading(Gauge::DeviceMemoryTotalBytes, memory.total),
        ])
    }

    pub(super) fn clock(&self) -> Option<Readings> {
        Some(vec![reading(Gauge::DeviceClockMhz, self.get_of(self.clock, CORES)?)])
    }

    pub(super) fn highest_clock(&self) -> Option<Readings> {
        Some(vec![reading(Gauge::DeviceHighestClockMhz, self.get_of(self.highest_clock, CORES)?)])
    }

    pub(super) fn power(&self) -> Option<Readings> {
        Some(vec![reading(Gauge::DevicePowerMilliwatts, self.get(self.power)?)])
    }

    pub(super) fn power_limit(&self) -> Option<Readings> {
        Some(vec![reading(Gauge::DevicePowerLimitMilliwatts, self.get(self.power_limit)?)])
    }

    pub(super) fn temperature(&self) -> Option<Readings> {
        let celsius = self.get_of(self.temperature, CARD)?;
        Some(vec![reading(Gauge::DeviceMilliCelsius, u64::from(celsius) * 1000)])
    }

    pub(super) fn clock_reasons(&self) -> Option<Readings> {
        Some(vec![reading(Gauge::DeviceClockReasons, self.get(self.reasons)?)])
    }

    /// How much of the driver's last period some kernel ran, 0 to 1.
    pub(super) fn utilization(&self) -> Option<f64> {
        self.get(self.utilization).map(|percent| f64::from(percent.busy) / 100.0)
    }

    /// The card's own counters; `None` where it has none or may not show them.
    pub(super) fn counters(&self) -> Option<Counters> {
        Counters::open(self.library, self.device)
    }
}

type CounterSample = *mut c_void;
type NewSample = unsafe extern "C" fn(*mut CounterSample) -> Status;
type TakeSample = unsafe extern "C" fn(Device, CounterSample) -> Status;
type Compare = unsafe extern "C" fn(*mut Compared) -> Status;

/// `nvmlGpmSupport_t`.
#[repr(C)]
struct Support {
    version: c_uint,
    supported: c_uint,
}

/// `nvmlGpmMetric_t`.
#[derive(Clone, Copy)]
#[repr(C)]
struct Metric {
    id: c_uint,
    status: Status,
    value: f64,
    names: [*const c_char; 3],
}

/// `NVML_GPM_METRIC_MAX` of the newest header known.
const MOST_METRICS: usize = 333;

/// `nvmlGpmMetricsGet_t`.
#[repr(C)]
struct Compared {
    version: c_uint,
    count: c_uint,
    from: CounterSample,
    to: CounterSample,
    metrics: [Metric; MOST_METRICS],
}

/// `nvmlGpmMetricId_t`: percent of the time, and for PCIe MiB a second.
const ASKED: [c_uint; 6] = [1, 2, 5, 10, 20, 21];

/// Counters of the card (GPM), compared between two samples.
pub(super) struct Counters {
    device: Device,
    take: TakeSample,
    compare: Compare,
    newest: CounterSample,
    spare: CounterSample,
    compared: Box<Compared>,
}

// SAFETY: as for a card; the samples are this one's own.
unsafe impl Send for Counters {}

impl Counters {
    fn open(library: Library, device: Device) -> Option<Self> {
        // SAFETY: the functions have these types in `nvml.h`, and the pointers are good for each call.
        unsafe {
            let is_supported: Get<Support> = library.function(c"nvmlGpmQueryDeviceSupport")?;
            let new: NewSample = library.function(c"nvmlGpmSampleAlloc")?;
            let take: TakeSample = library.function(c"nvmlGpmSampleGet")?;
            let compare: Compare = library.function(c"nvmlGpmMetricsGet")?;
            let mut support = Support { version: 1, supported: 0 };
            if is_supported(device, &raw mut support) != SUCCESS || support.supported == 0 {
                return None;
            }
            let mut samples: [CounterSample; 2] = [ptr::null_mut(); 2];
            for sample in &mut samples {
                if new(sample) != SUCCESS {
                    return None;
                }
            }
            let [newest, spare] = samples;
            if take(device, newest) != SUCCESS {
                return None;
            }
            let nothing = Metric { id: 0, status: 0, value: 0.0, names: [ptr::null(); 3] };
            let compared = Box::new(Compared {
                version: 1,
                count: 0,
                from: ptr::null_mut(),
                to: ptr::null_mut(),
                metrics: [nothing; MOST_METRICS],
            });
            Some(Self { device, take, compare, newest, spare, compared })
        }
    }

    /// What the card did since this was called last.
    pub(super) fn shares(&mut self) -> Option<Shares> {
        let compared = &mut *self.compared;
        (compared.version, compared.count) = (1, ASKED.len() as c_uint);
        (compared.from, compared.to) = (self.newest, self.spare);
        for (metric, id) in compared.metrics.iter_mut().zip(ASKED) {
            (metric.id, metric.status, metric.value) = (id, SUCCESS, f64::NAN);
        }
        // SAFETY: both samples came from NVML, and the comparison has the layout that its version says.
        let answered = unsafe {
            (self.take)(self.device, self.spare) == SUCCESS && (self.compare)(&raw mut *compared) == SUCCESS
        };
        if !answered {
            return None;
        }
        mem::swap(&mut self.newest, &mut self.spare);
        let value = |at: usize| {
            let metric = &compared.metrics[at];
            (metric.status == SUCCESS && metric.value.is_finite()).then_some(metric.value)
        };
        let share = |at: usize| value(at).map(|percent| percent / 100.0);
        let bytes = |at: usize| value(at).map(|mib| mib * MIB);
        Some(Shares {
            busy: share(0),
            cores: share(1),
            tensor: share(2),
            memory_bus: share(3),
            sent: bytes(4),
            received: bytes(5),
        })
    }
}
