//! Pulse: what a run does just now, for views that follow it.

mod log;
mod steps;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use laptime_core::{Counter, Record, Role};
use serde::Serialize;

use crate::timeline::Quantity;
use log::LogPulse;
pub use steps::StepHistogram;

/// What moves bytes, in the order in which they come to the model and leave it.
const LINKS: [(Quantity, &str); 9] = [
    (Quantity::StorageRead, "storage_read"),
    (Quantity::NetworkReceived, "network_received"),
    (Quantity::Counted(Counter::FileReadBytes), "data_files_read"),
    (Quantity::Counted(Counter::BatchBytes), "batches"),
    (Quantity::Counted(Counter::HostToDeviceBytes), "host_to_device"),
    (Quantity::Counted(Counter::DeviceToHostBytes), "device_to_host"),
    (Quantity::Counted(Counter::BetweenRanksBytes), "between_ranks"),
    (Quantity::NetworkSent, "network_sent"),
    (Quantity::StorageWritten, "storage_written"),
];

/// The newest records of a run, folded beside its digest in memory that does not grow with it.
#[derive(Clone, Debug, Default)]
pub struct Pulse {
    logs: BTreeMap<usize, LogPulse>,
}

/// What a run does just now.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct PulseReport {
    /// How long its steps take; absent before the first one ended.
    pub steps: Option<StepHistogram>,
    /// Bytes that move, by link; links that never moved any are left out.
    pub links: Vec<Level>,
    /// CPUs that it keeps busy.
    pub busy_cpus: Option<Level>,
    /// Memory of its processes, bytes.
    pub resident_bytes: Option<Level>,
    /// Share of the time in which its devices compute, their mean.
    pub device_busy: Option<Level>,
    /// Memory of its devices that is taken, bytes.
    pub device_bytes: Option<Level>,
    /// What its devices draw, watts.
    pub device_watts: Option<Level>,
}

/// How much there is of something, and how that came.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Level {
    /// Of what.
    pub name: &'static str,
    /// How much there is now; of a link, bytes a second.
    pub now: f64,
    /// The newest readings, the last of which is `now`; about one a second.
    pub course: Vec<f64>,
}

impl Pulse {
    /// Takes the next record of one of several logs, numbered from 0.
    pub fn take_from(&mut self, log: usize, record: &Record) {
        self.logs.entry(log).or_default().take(record);
    }

    /// What the run does just now.
    #[must_use]
    pub fn report(&self) -> PulseReport {
        let links = LINKS.into_iter().filter_map(|(quantity, name)| self.level(quantity, name));
        PulseReport {
            steps: steps::histogram(self.logs.values()),
            links: links.collect(),
            busy_cpus: self.level(Quantity::BusyCpus, "busy_cpus"),
            resident_bytes: self.level(Quantity::ResidentBytes, "resident_bytes"),
            device_busy: self.level(Quantity::DeviceBusy, "device_busy"),
            device_bytes: self.level(Quantity::DeviceMemory, "device_bytes"),
            device_watts: self.level(Quantity::DevicePower, "device_watts"),
        }
    }

    /// A quantity of all live processes. What a supervisor read is of all that it started, so that alone counts then.
    fn level(&self, quantity: Quantity, name: &'static str) -> Option<Level> {
        let with = |supervised: bool| {
            let logs = self.logs.values().filter(move |log| log.is_live());
            let logs = logs.filter(move |log| (log.role == Role::Supervisor) == supervised);
            logs.map(|log| log.course(quantity)).filter(|course| !course.is_empty()).collect::<Vec<_>>()
        };
        let courses = Some(with(true)).filter(|courses| !courses.is_empty()).unwrap_or_else(|| with(false));
        let mut course = added_up(&courses);
        if quantity == Quantity::DeviceBusy {
            course.iter_mut().for_each(|busy| *busy /= courses.len() as f64);
        }
        Some(Level { name, now: *course.last()?, course })
    }
}

/// Readings of several processes added up, each as far back as the shortest goes.
fn added_up(courses: &[Vec<f64>]) -> Vec<f64> {
    let shortest = courses.iter().map(Vec::len).min().unwrap_or(0);
    let back = |at: usize| courses.iter().filter_map(move |course| course.get(course.len() - shortest + at));
    (0..shortest).map(|at| back(at).sum()).collect()
}
