//! What limits the steps on a device, from what the device did, and what else its times and its card say.

use laptime_core::units::{bytes, count, counted, duration, percent};
use laptime_core::{Trouble, display_name};

use crate::device_shares::DeviceShares;
use crate::report::{DeviceSummary, Finding, Report, Warning};
use crate::shares::Shares;
use crate::wording::times;

/// A device that computes for this share of the steps is the limit, whatever else there is.
const BUSY: f64 = 0.85;
/// What takes less than this share of the steps is not the limit where the device computes most of the time.
const LIMIT: f64 = 0.15;
/// Communication is the limit from this share of the steps on.
const EXCHANGE: f64 = 0.40;
/// Idling after waits for the device, and copies, are worth a word from these shares of the steps on.
const MUCH_SYNC: f64 = 0.02;
const MUCH_COPYING: f64 = 0.05;
/// Waits of a step, from which on there is one in each.
const EACH_STEP: f64 = 0.9;
/// Copies are pageable from this share of their bytes on.
const PAGEABLE: f64 = 0.5;
/// Tensor cores below this share of the time that kernels ran are idle.
const TENSOR_IDLE: f64 = 0.01;
/// A lowered clock is worth a word from these shares of the readings on: by heat, and by the power limit.
const LOWERED: (f64, f64) = (0.05, 0.10);

/// What limits the steps.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Limit {
    Device,
    Host,
    Data,
    Copies,
    Sync,
    Communication,
}

impl Limit {
    fn of(shares: &DeviceShares<'_>) -> Self {
        let waiting = [
            (Self::Data, shares.of("idle_data")),
            // Launches that the device keeps up with limit it, whether or not its counters say how much it idles.
            (Self::Host, shares.of("idle_host") + shares.of("unexplained")),
            (Self::Sync, shares.of("idle_sync")),
            (Self::Copies, shares.of("copy")),
        ];
        let largest = waiting.into_iter().max_by(|a, b| a.1.total_cmp(&b.1));
        match largest {
            _ if shares.of("communication") >= EXCHANGE => Self::Communication,
            Some((limit, share)) if shares.busy() < BUSY && (share >= LIMIT || share >= shares.busy()) => {
                limit
            }
            _ => Self::Device,
        }
    }

    fn id(self) -> &'static str {
        match self {
            Self::Device => "gpu_bound",
            Self::Host => "host_bound",
            Self::Data => "data_bound",
            Self::Copies => "copy_bound",
            Self::Sync => "sync_bound",
            Self::Communication => "communication_bound",
        }
    }
}

/// What limits the steps by the times of the device; `None` where they are not known.
pub(super) fn verdict(report: &Report, hint: &str) -> Option<Finding> {
    let shares = DeviceShares::of_run(report)?;
    let device = report.devices.iter().flatten().next()?;
    let limit = Limit::of(&shares);
    let text = match limit {
        Limit::Device => device_text(&shares, device),
        Limit::Host => host_text(report, &shares, hint),
        Limit::Data => data_text(&shares, hint),
        Limit::Copies => format!("copying to the GPU is the limit: {}", copies_text(report, &shares)),
        Limit::Sync => format!("waiting for the GPU is the limit: {}", sync_text(report, &shares)),
        Limit::Communication => {
            let (share, busy) = (percent(shares.of("communication")), percent(shares.busy()));
            format!(
                "exchange between ranks is the limit: it takes {share} of the {busy} of each step in which the GPU works"
            )
        }
    };
    Some(Finding::new(limit.id(), text))
}

/// What else the device's times and its card say, without what the verdict has said.
pub(super) fn findings(report: &Report) -> Vec<Finding> {
    let (Some(shares), Some(device)) = (DeviceShares::of_run(report), report.devices.iter().flatten().next())
    else {
        return Vec::new();
    };
    let limit = Limit::of(&shares);
    let sync = limit != Limit::Sync && shares.of("idle_sync") > MUCH_SYNC && waits(report) >= EACH_STEP;
    let copies = limit != Limit::Copies && shares.of("copy") > MUCH_COPYING;
    let found = [
        sync.then(|| Finding::new("device_sync", sync_text(report, &shares))),
        copies.then(|| Finding::new("device_copies", copies_text(report, &shares))),
        tensor_cores(device).filter(|_| limit == Limit::Device),
        clock(device),
        memory(report, device),
    ];
    found.into_iter().flatten().collect()
}

/// What is missing where a training is on a device of which only the host's times are known.
pub(crate) fn host_times(report: &Report) -> Option<Warning> {
    let is_said =
        |warning: &Warning| matches!(warning, Warning::Trouble { trouble: Trouble::DeviceTimesOff { .. } });
    let device = only_host_times(report)?;
    (!report.warnings.iter().any(is_said)).then(|| Warning::HostTimes { device: device.to_owned() })
}

/// The device that a training is on, where only the host's times are known.
pub(super) fn only_host_times(report: &Report) -> Option<&str> {
    const DEVICES: [&str; 6] = ["cuda", "gpu", "hip", "mps", "xpu", "tpu"];
    let is_device = |name: &&str| DEVICES.iter().any(|known| name.to_ascii_lowercase().starts_with(known));
    let known = report.device_ledger.is_some();
    let fits = report.fits.iter().filter_map(|fit| fit.device.as_deref());
    fits.chain(report.run.device.as_deref()).find(is_device).filter(|_| !known)
}

fn device_text(shares: &DeviceShares<'_>, device: &DeviceSummary) -> String {
    let parts: Vec<String> = shares
        .computing()
        .iter()
        .filter(|(_, share)| *share >= 0.01)
        .take(2)
        .map(|(stage, share)| format!("{} {}", display_name(stage), percent(*share)))
        .collect();
    let parts = if parts.is_empty() { String::new() } else { format!(" ({})", parts.join(", ")) };
    let ahead = device.steps_ahead.filter(|steps| *steps > 0);
    let ahead = ahead.map(|steps| format!("; the host is {} ahead", counted(steps, "step")));
    format!(
        "the GPU is the limit: it computes {} of each step{parts}{}",
        percent(shares.busy()),
        ahead.unwrap_or_default()
    )
}

fn host_text(report: &Report, shares: &DeviceShares<'_>, hint: &str) -> String {
    let host = Shares::of_run(report);
    let idle = percent(shares.of("idle_host"));
    let other = host.largest_other().filter(|(stage, _)| *stage != "device_wait");
    let (prepare, launching) = (host.of("prepare"), host.computing_sum());
    match other {
        _ if prepare > launching => format!(
            "the host is the limit: the GPU idles {idle} of each step, {} of which the host prepares batches in; \
             {hint}",
            percent(prepare)
        ),
        Some((stage, share)) if share > launching => format!(
            "the host is the limit: the GPU idles {idle} of each step; {} takes {} of it on the host",
            display_name(stage),
            percent(share)
        ),
        _ if shares.of("unexplained") > shares.of("idle_host") => format!(
            "the host is the limit: for {} of each step the GPU keeps up with the host's launches, and no \
             counter says how much of that it idles; torch.compile, CUDA graphs or larger batches",
            percent(shares.of("unexplained") + shares.of("idle_host"))
        ),
        _ => format!(
            "the host is the limit: the GPU idles {idle} of each step waiting for launches and computes {}; \
             torch.compile, CUDA graphs or larger batches",
            percent(shares.busy())
        ),
    }
}

fn data_text(shares: &DeviceShares<'_>, hint: &str) -> String {
    let idle = shares.of("idle_data");
    let faster = times(1.0 / (1.0 - idle.clamp(0.0, 0.99)));
    format!(
        "data loading is the limit: the GPU idles {} of each step waiting for data and computes {}; steps could \
         be {faster} faster if batches were ready; {hint}",
        percent(idle),
        percent(shares.busy())
    )
}

fn copies_text(report: &Report, shares: &DeviceShares<'_>) -> String {
    let share = shares.of("copy");
    let copied_s = share * shares.seconds();
    let moved = report.transfer.host_to_device_bytes.unwrap_or(0);
    let copy_s = report.devices.iter().flatten().next().map_or(0.0, |device| device.copy_s);
    let rate =
        (moved > 0 && copy_s > 0.0).then(|| format!(" at {}/s", bytes((moved as f64 / copy_s) as u64)));
    let pageable = report.transfer.pageable_bytes.unwrap_or(0) as f64 / (moved as f64).max(1.0);
    let what = format!("the GPU only copies for {} of each step{}", percent(share), rate.unwrap_or_default());
    if pageable >= PAGEABLE {
        return format!(
            "{what}, {} of the bytes from pageable memory; pin_memory=True and non_blocking=True would save up \
             to {}",
            percent(pageable.min(1.0)),
            duration(copied_s)
        );
    }
    format!(
        "{what}; copying the next batch on a stream of its own while this one is computed would save up to {}",
        duration(copied_s)
    )
}

fn sync_text(report: &Report, shares: &DeviceShares<'_>) -> String {
    let waits = waits(report);
    let often =
        if waits < 1.5 { "once".to_owned() } else { format!("{} times", count(waits.round() as u64)) };
    let share = percent(shares.of("idle_sync"));
    format!(
        "the host waits for the GPU {often} in each step, which then idles {share} of it; read the loss every \
         100 steps, not in each: up to {share} back"
    )
}

/// Waits for the device in each step.
fn waits(report: &Report) -> f64 {
    let waits = report.ledger.iter().find(|row| row.stage == "device_wait").map_or(0, |row| row.count);
    waits as f64 / report.steps.map_or(0, |steps| steps.count).max(1) as f64
}

fn tensor_cores(device: &DeviceSummary) -> Option<Finding> {
    device.tensor_share.filter(|share| *share < TENSOR_IDLE)?;
    let text = "tensor cores are idle: matrices are fp32 (allow TF32 or autocast)";
    Some(Finding::new("tensor_cores_idle", text))
}

fn clock(device: &DeviceSummary) -> Option<Finding> {
    let (heat, power) = (device.lowered_by_heat?, device.lowered_by_power?);
    let (what, share) = match (heat >= LOWERED.0, power >= LOWERED.1) {
        (true, _) => ("heat lowered the GPU's clock", heat),
        (_, true) => ("the GPU's power limit lowered its clock", power),
        _ => return None,
    };
    let clock = device.clock_mhz.zip(device.highest_clock_mhz);
    let clock = clock.map(|(mean, highest)| {
        format!(" (mean {} of {} MHz)", count(mean.round() as u64), count(highest.round() as u64))
    });
    let text = format!("{what} in {} of the readings{}", percent(share), clock.unwrap_or_default());
    Some(Finding::new("device_clock", text))
}

fn memory(report: &Report, device: &DeviceSummary) -> Option<Finding> {
    let (peak, all) = (report.memory.peak_device_bytes?, device.memory_bytes?);
    Some(Finding::new("device_memory", format!("peak {} of {} of device memory", bytes(peak), bytes(all))))
}
