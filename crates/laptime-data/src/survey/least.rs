//! What passes over the data move, and the time they must take at least.

use serde::Serialize;

use super::amount::Amount;
use super::part::{Part, total};
use super::{Memory, Survey};

/// What one pass over the data moves.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct EpochBytes {
    /// Read from storage by the first pass: what the kernel counts as `read_bytes`, in whole pages.
    pub storage: u64,
    /// Handed to the program by every pass: what the kernel counts as `rchar`.
    pub files: u64,
    /// Moved to a device; `None` where the numbers of no part are known.
    pub host_to_device: Option<Amount>,
}

impl EpochBytes {
    pub(super) fn of(parts: &[Part]) -> Self {
        Self {
            storage: parts.iter().map(|part| part.storage_bytes).fold(0, u64::saturating_add),
            files: parts.iter().map(|part| part.bytes).fold(0, u64::saturating_add),
            host_to_device: total(parts, |part| part.device_bytes),
        }
    }
}

/// The least that all passes need of the storage.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize)]
pub struct Least {
    /// Share of the data that later passes find in the page cache, when they read it in a new order each time;
    /// `None` where the memory is not known.
    pub cached_share: Option<f64>,
    /// Bytes that all passes together read from storage at least.
    pub storage_bytes: f64,
    /// Bytes that all passes together move to a device.
    pub device_bytes: Option<f64>,
    /// The first pass.
    pub first_epoch_s: Option<f64>,
    /// Every other.
    pub later_epoch_s: Option<f64>,
    /// All of them.
    pub total_s: Option<f64>,
}

impl Least {
    pub(super) fn of(survey: &Survey) -> Self {
        let storage = survey.epoch_bytes.storage as f64;
        let cached_share = survey.memory.map(|memory| cached_share(storage, &memory));
        // Where nothing is known of the memory all of it may be found there.
        let later = storage * (1.0 - cached_share.unwrap_or(1.0));
        let more = survey.epochs.saturating_sub(1) as f64;
        let first_epoch_s = survey.transfer_s.map(|time| time.low);
        let rate = survey.link.map(|link| link.bytes_per_s.high);
        let later_epoch_s = rate.map(|rate| later / rate);
        let device = survey.epoch_bytes.host_to_device;
        Self {
            cached_share,
            storage_bytes: storage + more * later,
            device_bytes: device.map(|bytes| bytes.mean * survey.epochs as f64),
            first_epoch_s,
            later_epoch_s,
            total_s: first_epoch_s.zip(later_epoch_s).map(|(first, later)| first + more * later),
        }
    }
}

/// What a cache that drops the least recently used keeps for the next pass, when each is in a new random order:
/// with `f` of the data in it, `f + (1 - f) ln(1 - f)`. Reading in the same order each time finds less.
fn cached_share(bytes: f64, memory: &Memory) -> f64 {
    let held = memory.available_bytes as f64 / bytes.max(1.0);
    if held >= 1.0 { 1.0 } else { held + (1.0 - held) * (1.0 - held).ln() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn data_that_fits_is_read_once_and_data_that_does_not_again() {
        let memory = |available_bytes| Memory { limit_bytes: 0, available_bytes, limited_by_cgroup: false };
        assert_eq!(cached_share(100.0, &memory(100)), 1.0);
        assert_eq!(cached_share(0.0, &memory(0)), 0.0);
        assert!((cached_share(100.0, &memory(50)) - 0.153).abs() < 0.001);
        assert!((cached_share(100.0, &memory(90)) - 0.670).abs() < 0.001);
    }
}
