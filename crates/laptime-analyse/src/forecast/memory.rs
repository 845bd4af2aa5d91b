//! Memory: the most that a training needs, and whether it fits.

use super::document::{Fits, ForecastMemory};
use super::past::Past;

/// Most of the memory that a training can have: the rest is the system's and what allocators lose.
const USABLE: f64 = 0.95;

/// What is needed at least and at most, bytes.
type Range = Option<(f64, f64)>;

/// Memory with a batch so many times as large; earlier runs are of other batches.
pub(super) fn memory(past: &Past<'_>, earlier: &[Past<'_>], batch_times: f64) -> ForecastMemory {
    let host = range(past, earlier, batch_times, |run| run.report.memory.peak_rss_bytes);
    let device = range(past, earlier, batch_times, |run| run.report.memory.peak_device_bytes);
    let host_bytes = past.run.machine.memory_bytes;
    let device_bytes = past.report.devices.iter().flatten().find_map(|device| device.memory_bytes);
    let on_device = device.is_some() || device_bytes.is_some();
    let fits = [Some(fits(host, host_bytes)), on_device.then(|| fits(device, device_bytes))];
    let fits = fits.into_iter().flatten().reduce(both).unwrap_or_default();
    let bytes = |range: Range| range.filter(|(low, high)| high <= &(low * 1.5)).map(middle);
    ForecastMemory {
        host_peak_bytes: bytes(host),
        device_peak_bytes: bytes(device),
        host_bytes,
        device_bytes,
        fits,
    }
}

fn middle((low, high): (f64, f64)) -> u64 {
    (low.midpoint(high)).round() as u64
}

fn both(one: Fits, other: Fits) -> Fits {
    match (one, other) {
        (Fits::No, _) | (_, Fits::No) => Fits::No,
        (Fits::Yes, Fits::Yes) => Fits::Yes,
        _ => Fits::CannotTell,
    }
}

fn fits(needed: Range, there_is: Option<u64>) -> Fits {
    let Some(((low, high), there_is)) = needed.zip(there_is.map(|bytes| bytes as f64 * USABLE)) else {
        return Fits::CannotTell;
    };
    match (high <= there_is, low > there_is) {
        (true, _) => Fits::Yes,
        (_, true) => Fits::No,
        _ => Fits::CannotTell,
    }
}

/// The peak by the line through two batch sizes; of one, between all of it being the model's and the batch's.
fn range(past: &Past<'_>, earlier: &[Past<'_>], times: f64, of: impl Fn(&Past<'_>) -> Option<u64>) -> Range {
    let peak = of(past)? as f64;
    if (times - 1.0).abs() < 1e-9 {
        return Some((peak, peak));
    }
    let batch = past.fit.batch? as f64;
    let other = earlier.iter().rev().filter(|run| run.fit.parameters == past.fit.parameters);
    let other = other.filter_map(|run| Some((run.fit.batch? as f64, of(run)? as f64)));
    if let Some((size, bytes)) = other.into_iter().find(|(size, _)| *size != batch) {
        let slope = ((peak - bytes) / (batch - size)).max(0.0);
        let needed = (peak + slope * batch * (times - 1.0)).max(0.0);
        return Some((needed, needed));
    }
    Some((peak.min(peak * times), peak.max(peak * times)))
}
