//! How long a dataset takes over a link: once, every epoch, shared with others, and what would make it less.

use serde::Serialize;

use crate::link::{NetworkLink, StreamRate};
use crate::survey::{Amount, Memory};

use super::local_disk::LocalDisk;

/// Bytes of a shard that small objects are packed into.
const SHARD_BYTES: f64 = 64e6;

/// What a change must save to be worth naming.
const WORTH: f64 = 0.9;

/// What is moved, and how often.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Dataset {
    /// Objects.
    pub objects: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Passes over them.
    pub epochs: u64,
    /// Machines that read all of them at the same time over the same link.
    pub readers: u64,
}

/// What is best.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Advice {
    /// It is read once: reading it from where it lies costs as much as copying it.
    Stream,
    /// Copy it to the local disk before the first pass.
    CopyOnce,
    /// It fits in memory but not on the disk: keep it there after the first pass.
    KeepInMemory,
    /// It fits nowhere here.
    StreamAlways,
}

/// Something that could be changed, and what it would bring.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct WhatIf {
    /// What: `packed` into shards, or `compressed`.
    pub change: &'static str,
    /// Objects there would be.
    pub objects: f64,
    /// Bytes there would be.
    pub bytes: f64,
    /// The time of one copy.
    pub copy_s: Amount,
}

/// A copy with so many streams.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct StreamCopy {
    /// Connections used at the same time.
    pub streams: u32,
    /// Its time.
    pub copy_s: Amount,
}

/// What moving a dataset over a link takes.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct TransferPlan {
    /// One copy, with [`streams`](Self::streams) at a time.
    pub copy_s: Amount,
    /// Connections used at the same time.
    pub streams: u32,
    /// The same with every number of streams that was tried.
    pub by_streams: Vec<StreamCopy>,
    /// Of it, waiting: connecting, and what objects take besides their bytes.
    pub waiting_s: f64,
    /// Machines that read all of it.
    pub readers: u64,
    /// One pass of all readers that share the link.
    pub shared_epoch_s: Amount,
    /// Passes that were asked about.
    pub epochs: u64,
    /// All passes, each over the link.
    pub streamed_s: Amount,
    /// A copy for each reader, and all passes from there; `None` where it fits neither on the disk nor in memory.
    pub staged_s: Option<Amount>,
    /// One pass over the copy.
    pub local_epoch_s: Option<f64>,
    /// The disk of the current folder; `None` where it could not be measured.
    pub disk: Option<LocalDisk>,
    /// Whether it fits there.
    pub fits_on_disk: Option<bool>,
    /// Whether it fits in the memory that is free.
    pub fits_in_memory: Option<bool>,
    /// What is best.
    pub advice: Advice,
    /// What would make it less.
    pub what_if: Vec<WhatIf>,
}

/// Plans the transfer of a dataset over a link; `None` of a link without a rate.
#[must_use]
pub fn plan(
    dataset: &Dataset,
    link: &NetworkLink,
    disk: Option<LocalDisk>,
    memory: Option<Memory>,
) -> Option<TransferPlan> {
    let rate = link.best()?;
    let (objects, bytes) = (dataset.objects as f64, dataset.bytes as f64);
    let copy_s = rate.time(objects, bytes, link.object_s);
    let copy_of = |rate: &StreamRate| StreamCopy {
        streams: rate.streams,
        copy_s: rate.time(objects, bytes, link.object_s),
    };
    let waiting_s = rate.lead_s + objects * link.object_s / f64::from(rate.streams);
    // Alone a reader takes what it can; together they take what the link has.
    let all = link.most_bytes_per_s()?.dividing(bytes * dataset.readers as f64);
    let shared_epoch_s = if all.mean > copy_s.mean { all } else { copy_s };
    let fits_on_disk = disk.map(|disk| dataset.bytes <= disk.free_bytes);
    let fits_in_memory = memory.map(|memory| dataset.bytes <= memory.available_bytes);
    let local_epoch_s = local_epoch(bytes, fits_on_disk, fits_in_memory, disk);
    let epochs = dataset.epochs as f64;
    let staged_s = local_epoch_s.map(|seconds| {
        // What fits in memory is there after the copy, or after the first pass from the disk.
        let passes = if fits_in_memory == Some(true) { 0.0 } else { epochs };
        shared_epoch_s.shifted(passes * seconds)
    });
    Some(TransferPlan {
        copy_s,
        streams: rate.streams,
        by_streams: link.rates.iter().map(copy_of).collect(),
        waiting_s,
        readers: dataset.readers,
        shared_epoch_s,
        epochs: dataset.epochs,
        streamed_s: shared_epoch_s.times(epochs),
        staged_s,
        local_epoch_s,
        disk,
        fits_on_disk,
        fits_in_memory,
        advice: advice(dataset, fits_on_disk, fits_in_memory),
        what_if: what_if(dataset, link),
    })
}

/// The time of one pass over a copy: from memory it is none that counts.
fn local_epoch(
    bytes: f64,
    fits_on_disk: Option<bool>,
    fits_in_memory: Option<bool>,
    disk: Option<LocalDisk>,
) -> Option<f64> {
    match (fits_on_disk, fits_in_memory, disk) {
        (_, Some(true), _) => Some(0.0),
        (Some(true), _, Some(disk)) => disk.read_bytes_per_s.map(|rate| bytes / rate),
        _ => None,
    }
}

fn advice(dataset: &Dataset, fits_on_disk: Option<bool>, fits_in_memory: Option<bool>) -> Advice {
    match (dataset.epochs, fits_on_disk, fits_in_memory) {
        (0 | 1, ..) => Advice::Stream,
        (_, Some(true), _) => Advice::CopyOnce,
        (_, _, Some(true)) => Advice::KeepInMemory,
        _ => Advice::StreamAlways,
    }
}

fn what_if(dataset: &Dataset, link: &NetworkLink) -> Vec<WhatIf> {
    let (objects, bytes) = (dataset.objects as f64, dataset.bytes as f64);
    let shards = (bytes / SHARD_BYTES).ceil().max(1.0);
    let changes =
        [("packed", shards, bytes), ("compressed", objects, bytes * link.deflated_share.unwrap_or(1.0))];
    let best = |objects: f64, bytes: f64| {
        let times = link.rates.iter().map(|rate| rate.time(objects, bytes, link.object_s));
        times.min_by(|a, b| a.mean.total_cmp(&b.mean))
    };
    let now = best(objects, bytes).map_or(0.0, |time| time.mean);
    let worth = |(change, objects, bytes): (&'static str, f64, f64)| {
        let copy_s = best(objects, bytes).filter(|time| time.mean < WORTH * now)?;
        Some(WhatIf { change, objects, bytes, copy_s })
    };
    changes.into_iter().filter_map(worth).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link::StreamRate;

    fn link(object_s: f64) -> NetworkLink {
        let of = |streams, mean: f64| StreamRate {
            streams,
            bytes_per_s: Amount::between(0.9 * mean, mean, 1.1 * mean),
            lead_s: 0.1,
            ramping: false,
        };
        NetworkLink {
            protocol: "https",
            connect_s: 0.02,
            tls_s: None,
            login_s: None,
            first_byte_s: 0.02,
            object_s,
            rates: vec![of(1, 50e6), of(2, 100e6)],
            streams: 2,
            ramping: false,
            measured_bytes: 0,
            measured_s: 0.0,
            deflated_share: Some(0.25),
        }
    }

    fn dataset(objects: u64) -> Dataset {
        Dataset { objects, bytes: 10_000_000_000, epochs: 10, readers: 1 }
    }

    fn disk(free_bytes: u64) -> LocalDisk {
        LocalDisk { free_bytes, read_bytes_per_s: Some(1e9), write_bytes_per_s: Some(1e9) }
    }

    #[test]
    fn readers_share_what_the_link_has() {
        let of = |readers| plan(&Dataset { readers, ..dataset(100) }, &link(0.0), None, None).unwrap();
        let (alone, eight) = (of(1), of(8));
        assert!((alone.copy_s.mean - 100.1).abs() < 1e-6, "{alone:?}");
        assert!((eight.shared_epoch_s.mean - 800.0).abs() < 1e-6, "{eight:?}");
        assert!(eight.copy_s == alone.copy_s && eight.streamed_s.mean > 7999.0);
    }

    #[test]
    fn a_copy_that_fits_is_made_once_and_read_from_the_disk() {
        let plan = plan(&dataset(100), &link(0.0), Some(disk(u64::MAX)), None).unwrap();
        assert_eq!((plan.advice, plan.local_epoch_s), (Advice::CopyOnce, Some(10.0)));
        assert!((plan.staged_s.unwrap().mean - 200.1).abs() < 1e-6);
    }

    #[test]
    fn what_fits_nowhere_is_streamed_every_time() {
        let memory = Memory { limit_bytes: 1, available_bytes: 1, limited_by_cgroup: false };
        let full = plan(&dataset(100), &link(0.0), Some(disk(1)), Some(memory)).unwrap();
        assert_eq!((full.advice, full.staged_s), (Advice::StreamAlways, None));
        let once = plan(&Dataset { epochs: 1, ..dataset(1) }, &link(0.0), None, None).unwrap();
        assert_eq!(once.advice, Advice::Stream);
    }

    #[test]
    fn many_small_objects_wait_and_packing_them_helps() {
        let plan = plan(&dataset(100_000), &link(0.02), None, None).unwrap();
        assert!(plan.waiting_s > 1000.0);
        let packed = plan.what_if.iter().find(|what| what.change == "packed").unwrap();
        assert!(packed.copy_s.mean < 110.0 && packed.objects < 200.0, "{packed:?}");
        assert!(plan.what_if.iter().any(|what| what.change == "compressed") == (plan.copy_s.mean < 200.0));
    }
}
