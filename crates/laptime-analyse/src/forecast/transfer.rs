//! Transfer: bytes that a whole training moves, by what a part of it moved.

use super::document::ForecastTransfer;
use super::past::Past;
use super::plan::Work;

/// Bytes of a number of a model as it is copied to a device.
const PARAMETER_BYTES: u64 = 4;
/// A dataset that takes less than this share of the memory stays in it after the first epoch.
const CACHED: f64 = 0.5;
/// Epochs that have to be seen before the later ones say what they read.
const LEAST_LATER: f64 = 1.2;

/// What a training moves whose samples are so many times those that were seen in a step.
pub(super) fn transfer(past: &Past<'_>, work: &Work, batch_times: f64) -> ForecastTransfer {
    let moved = &past.report.transfer;
    let times = samples_times(past, work, batch_times);
    let by_step = work.steps as f64 / past.fit.steps.max(1) as f64;
    let copied = moved.host_to_device_bytes.map(|bytes| {
        // The model is copied once, before its first step.
        let model = past.fit.parameters.unwrap_or(0).saturating_mul(PARAMETER_BYTES);
        let once = if model < bytes { model } else { 0 };
        once.saturating_add(scaled(bytes - once, times))
    });
    ForecastTransfer {
        storage_bytes: storage(past, work, batch_times),
        host_to_device_bytes: copied,
        // Gradients are exchanged once a step, whatever the batch.
        between_ranks_bytes: moved.between_ranks_bytes.map(|bytes| scaled(bytes, by_step)),
    }
}

fn scaled(bytes: u64, times: f64) -> u64 {
    (bytes as f64 * times).round() as u64
}

/// Samples of the whole training over those that were seen.
fn samples_times(past: &Past<'_>, work: &Work, batch_times: f64) -> f64 {
    let by_step = work.steps as f64 / past.fit.steps.max(1) as f64 * batch_times;
    let seen: Option<u64> = past.laps().map(|lap| lap.samples).sum();
    let full = past.fit.batch.map(|batch| batch as f64 * batch_times);
    let per_epoch = work.per_epoch.zip(work.last_batch).map(|(steps, last)| steps as f64 - 1.0 + last);
    let (Some(seen), Some(full), Some(per_epoch), Some(epochs)) = (seen, full, per_epoch, work.epochs) else {
        return by_step;
    };
    if seen > 0 && epochs > 0 { epochs as f64 * per_epoch * full / seen as f64 } else { by_step }
}

/// Bytes from storage: those of the start and of the first epoch, and of every other what later ones read; before there
/// was one, nothing where the data stays in memory, else all of it again.
fn storage(past: &Past<'_>, work: &Work, batch_times: f64) -> Option<u64> {
    let reads = past.run.passes.storage?;
    let Some(per_epoch) = past.fit.steps_per_epoch.filter(|steps| *steps > 0 && past.has_epochs()) else {
        let times = work.steps as f64 / past.fit.steps.max(1) as f64 * batch_times;
        return Some((reads.start_up + (reads.first_epoch + reads.later) * times).round() as u64);
    };
    let seen = past.fit.steps as f64 / per_epoch as f64;
    let after = work.per_epoch.unwrap_or(per_epoch) as f64;
    let larger = after * batch_times / per_epoch as f64;
    let first = reads.first_epoch / seen.min(1.0) * larger;
    let memory = past.run.machine.memory_bytes.map_or(f64::INFINITY, |bytes| bytes as f64);
    let stays = first <= CACHED * memory;
    let later = match seen >= LEAST_LATER {
        true if stays => reads.later / (seen - 1.0) * larger,
        false if stays => 0.0,
        _ => first,
    };
    let epochs = work.steps as f64 / after.max(1.0);
    Some((reads.start_up + first * epochs.min(1.0) + later * (epochs - 1.0).max(0.0)).round() as u64)
}
