//! Device ledger: what the devices worked on, from the boundaries of their streams or from their tracks.

use std::collections::BTreeMap;

use laptime_core::{Gauge, StageId, Ticks, Timebase, TrackKind};

use crate::device::DeviceFold;
use crate::device_rows::{DeviceRow as Row, DeviceRows};
use crate::ledger::{StageNames, place};
use crate::process::Process;
use crate::report::{DeviceRow, LedgerRow, TrackSummary};

/// Rows that are no stages, in the order they are shown.
const COPY: &str = "copy";
const COMMUNICATION: &str = "communication";
const IDLE_DATA: &str = "idle_data";
const IDLE_HOST: &str = "idle_host";
const IDLE_SYNC: &str = "idle_sync";
const UNEXPLAINED: &str = "unexplained";

/// The ledgers of all devices; `None` where none was recorded.
pub(crate) fn device_ledger(tracks: &[TrackSummary]) -> Option<Vec<DeviceRow>> {
    let devices = tracks.iter().filter(|track| track.kind == TrackKind::Device);
    let rows: Vec<DeviceRow> = devices.flat_map(device_rows).collect();
    (!rows.is_empty()).then_some(rows)
}

fn device_rows(track: &TrackSummary) -> impl Iterator<Item = DeviceRow> {
    track.ledger.iter().map(|row| DeviceRow {
        device: track.name.clone(),
        row: row.stage.clone(),
        seconds: row.seconds,
        share: row.share,
    })
}

/// The devices of a process whose streams have boundaries, each with a ledger that closes to the run's wall time.
pub(crate) fn device_tracks(process: &Process, wall: Ticks) -> Vec<TrackSummary> {
    let timebase = process.timebase();
    let known = process.devices.iter().filter(|(_, device)| device.boundaries > 0);
    let track = |(lane, device): (&u32, &DeviceFold)| {
        let explained = Explained::of(process, device, timebase);
        let wall_s = timebase.seconds(wall);
        let ledger = explained.rows(&device.rows().clone().close_to(wall), &process.names);
        let row = |(stage, seconds): (String, f64)| LedgerRow {
            stage,
            seconds,
            share: if wall_s > 0.0 { (seconds / wall_s).clamp(0.0, 1.0) } else { 0.0 },
            count: 0,
            mean_s: None,
            p50_s: None,
            p95_s: None,
        };
        let name = process.lanes.get(lane).map(|lane| lane.track.name.clone()).unwrap_or_default();
        TrackSummary { kind: TrackKind::Device, name, wall_s, ledger: ledger.into_iter().map(row).collect() }
    };
    known.map(track).collect()
}

/// How the rows of a device are explained that its boundaries leave open: what the steps that were not looked at
/// did, and how much of a stage that is done as soon as it is launched is work.
#[derive(Clone, Debug)]
pub(crate) struct Explained {
    timebase: Timebase,
    /// What the steps that were looked at did, each row as a share of them.
    looked: Vec<(Row, f64)>,
    /// The share of work in such stages; `None` where no counter says.
    work: Option<f64>,
}

impl Explained {
    /// The device that the fits of a process have; `None` where none has times.
    pub(crate) fn of_process(process: &Process, timebase: &Timebase) -> Option<Self> {
        process.device().map(|(_, device)| Self::of(process, device, *timebase))
    }

    fn of(process: &Process, device: &DeviceFold, timebase: Timebase) -> Self {
        let sum: f64 = device.looked().iter().map(|(_, ticks)| ticks.0 as f64).sum();
        let share = |(row, ticks): (Row, Ticks)| (row, ticks.0 as f64 / sum);
        let looked = if sum > 0.0 { device.looked().iter().map(share).collect() } else { Vec::new() };
        let mut explained = Self { timebase, looked, work: None };
        explained.work = explained.counted_work(process, device);
        explained
    }

    /// The share of work in what is done as soon as it is launched, by the device's counters: what they count
    /// beyond the work that is sure.
    fn counted_work(&self, process: &Process, device: &DeviceFold) -> Option<f64> {
        let (from, until) = device.extent()?;
        let gauges = process.gauges.between(from, until);
        let grown = |gauge| gauges.grown(gauge).filter(|ns| *ns > 0).map(|ns| ns as f64);
        let busy = gauges.grown(Gauge::DeviceBusyNs)? as f64 / grown(Gauge::DeviceUsedNs)?;
        let busy_s = busy.clamp(0.0, 1.0) * self.timebase.seconds(until.since(from));
        let (mut sure_s, mut drained_s) = (0.0, 0.0);
        for (row, seconds) in self.seen(device.rows()) {
            match row {
                Row::Busy(_) | Row::Communication => sure_s += seconds,
                Row::Drained(_) => drained_s += seconds,
                _ => {}
            }
        }
        (drained_s > 0.0).then(|| ((busy_s - sure_s) / drained_s).clamp(0.0, 1.0))
    }

    /// Seconds of the rows, with the steps that were not looked at like those that were.
    fn seen(&self, rows: &DeviceRows) -> BTreeMap<Row, f64> {
        let mut seconds: BTreeMap<Row, f64> = BTreeMap::new();
        for (row, ticks) in rows.iter() {
            let length = self.timebase.seconds(ticks);
            if row == Row::Unseen && !self.looked.is_empty() {
                self.looked
                    .iter()
                    .for_each(|(row, share)| *seconds.entry(*row).or_default() += share * length);
            } else {
                *seconds.entry(row).or_default() += length;
            }
        }
        seconds
    }

    /// The rows by name with their seconds, in the order they are shown.
    fn rows(&self, rows: &DeviceRows, names: &StageNames) -> Vec<(String, f64)> {
        let mut stages: BTreeMap<StageId, f64> = BTreeMap::new();
        let mut others: BTreeMap<&str, f64> = BTreeMap::new();
        for (row, seconds) in self.seen(rows) {
            let other = match row {
                Row::Busy(stage) => {
                    *stages.entry(stage).or_default() += seconds;
                    continue;
                }
                Row::Drained(stage) => {
                    let work = self.work.map(|share| share * seconds);
                    if let Some(work) = work {
                        *stages.entry(stage).or_default() += work;
                    }
                    let rest = if work.is_some() { IDLE_HOST } else { UNEXPLAINED };
                    *others.entry(rest).or_default() += seconds - work.unwrap_or(0.0);
                    continue;
                }
                Row::Copy => COPY,
                Row::Communication => COMMUNICATION,
                Row::IdleData => IDLE_DATA,
                Row::IdleHost => IDLE_HOST,
                Row::IdleSync => IDLE_SYNC,
                Row::Unseen => UNEXPLAINED,
            };
            *others.entry(other).or_default() += seconds;
        }
        let mut ordered: Vec<(StageId, f64)> = stages.into_iter().collect();
        ordered.sort_by_key(|(stage, _)| place(*stage));
        let stages = ordered.into_iter().map(|(stage, seconds)| (names.name(stage), seconds));
        let rest = [COPY, COMMUNICATION, IDLE_DATA, IDLE_HOST, IDLE_SYNC, UNEXPLAINED];
        let rest = rest.into_iter().filter_map(|row| Some((row.to_owned(), *others.get(row)?)));
        stages.chain(rest).filter(|(_, seconds)| *seconds > 0.0).collect()
    }

    /// The rows of a scope of some length by name.
    pub(crate) fn by_name(
        &self,
        rows: Option<&DeviceRows>,
        wall: Ticks,
        names: &StageNames,
    ) -> BTreeMap<String, f64> {
        let mut seconds = BTreeMap::new();
        for (name, length) in self.rows(&rows.cloned().unwrap_or_default().close_to(wall), names) {
            *seconds.entry(name).or_default() += length;
        }
        seconds
    }
}
