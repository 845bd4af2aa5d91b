//! Contention: threads that are ready to run and wait for a CPU, because there are more of them than CPUs.

use laptime_core::Timebase;
use laptime_core::units::{counted, percent};

use crate::report::{Finding, MachineUse, Report};
use crate::supervised::Supervised;

/// Ready threads that wait this share of the time lose what more than a fifth of the CPUs would give.
const MUCH_WAITING: f64 = 0.2;
/// The share of the time some task waits for a CPU that goes with it.
const MUCH_PRESSURE: f64 = 0.2;
/// Where waits are not known: the share of the CPUs it asked for that a crowded process gets, and the times a
/// second a CPU is taken from it.
const CROWDED: (f64, f64) = (0.6, 100.0);
/// Over less than this the counts mean nothing, seconds.
const SHORTEST_S: f64 = 1.0;
/// Other programs are worth a word from this share of the CPUs on.
const OTHERS: f64 = 0.15;

/// What the training got of the CPUs while its steps ran.
pub(crate) struct Contention<'a> {
    report: &'a Report,
    machine: MachineUse,
    sampled_s: f64,
    switches_per_s: Option<f64>,
}

impl<'a> Contention<'a> {
    /// What the probes saw between the first pass and the last.
    pub(crate) fn seen(report: &'a Report, run: &Supervised<'_>, timebase: &Timebase) -> Option<Self> {
        let (gauges, own) = run.gauges_in_passes()?;
        let sampled_s = gauges.sampled_s(timebase);
        let switches = |gauges: &crate::gauges::Gauges| {
            let switches = gauges.machine_use(timebase).involuntary_switches?;
            Some(switches as f64 / gauges.sampled_s(timebase).max(f64::MIN_POSITIVE))
        };
        let machine = gauges.machine_use(timebase);
        let switches_per_s = switches(&own).or_else(|| switches(&gauges));
        (sampled_s >= SHORTEST_S).then_some(Self { report, machine, sampled_s, switches_per_s })
    }

    /// The finding, where the threads waited enough to matter, after these words.
    pub(crate) fn finding(&self, words: &str) -> Option<Finding> {
        if !self.on_cpu() || !self.is_crowded() {
            return None;
        }
        let waits = self.waiting().map(|share| match self.ready_threads() {
            Some(1) => format!(" waits for one {} of the time it could run", percent(share)),
            _ => format!(" wait for one {} of the time they could run", percent(share)),
        });
        let waits = waits.unwrap_or_default();
        let text = format!("{words}: {}{waits}{}{}", self.who(), self.signs(), self.hint());
        Some(Finding::new("contended", text))
    }

    fn on_cpu(&self) -> bool {
        let of_fits = self.report.fits.iter().filter_map(|fit| fit.device.as_deref());
        let mut devices = self.report.run.device.as_deref().into_iter().chain(of_fits);
        devices.all(|device| device.starts_with("cpu"))
    }

    fn is_crowded(&self) -> bool {
        let pressed = self.machine.cpu_pressure.is_none_or(|share| share >= MUCH_PRESSURE);
        match self.waiting() {
            Some(share) => share >= MUCH_WAITING && pressed,
            None => {
                let (got, taken) = CROWDED;
                let held = self.machine.cpu_pressure.is_some_and(|share| share >= MUCH_PRESSURE);
                let taken = self.switches_per_s.is_some_and(|rate| rate >= taken);
                self.used().is_some_and(|used| used < got * self.asked()) && (held || taken)
            }
        }
    }

    /// The share of the time ready threads wait.
    fn waiting(&self) -> Option<f64> {
        let (cpu, wait) = (self.machine.cpu_s?, self.machine.cpu_wait_s?);
        (cpu + wait > 0.0).then(|| wait / (cpu + wait))
    }

    /// Threads that are ready to run, on average.
    fn ready(&self) -> Option<f64> {
        Some((self.machine.cpu_s? + self.machine.cpu_wait_s?) / self.sampled_s)
    }

    fn ready_threads(&self) -> Option<u64> {
        self.ready().map(|ready| ready.round().max(1.0) as u64)
    }

    fn used(&self) -> Option<f64> {
        Some(self.machine.cpu_s? / self.sampled_s)
    }

    /// CPUs the training may use.
    fn allowed(&self) -> f64 {
        let cpus = f64::from(self.report.run.cpus.max(1));
        self.machine.quota_cpus.map_or(cpus, |quota| cpus.min(quota)).max(0.1)
    }

    fn asked(&self) -> f64 {
        f64::from(self.report.run.threads.unwrap_or(1).max(1)).min(self.allowed())
    }

    /// CPUs that other programs keep busy, where the training may use the same ones.
    fn others(&self) -> Option<f64> {
        let shared = self.machine.cpus == Some(u64::from(self.report.run.cpus));
        self.machine.other_cpus.filter(|others| shared && *others >= OTHERS * self.allowed())
    }

    /// `4 busy threads on 2 CPUs, of which other programs keep 1.0 busy,`.
    fn who(&self) -> String {
        let cpus = counted(u64::from(self.report.run.cpus.max(1)), "CPU");
        let quota = self.machine.quota_cpus.filter(|quota| *quota < f64::from(self.report.run.cpus));
        let cpus = quota.map_or(cpus, |quota| format!("a quota of {quota:.1} CPUs"));
        let others = self.others().map(|others| format!(", of which other programs keep {others:.1} busy,"));
        let others = others.unwrap_or_default();
        match (self.ready_threads(), self.used()) {
            (Some(ready), _) => format!("{} on {cpus}{others}", counted(ready, "busy thread")),
            (None, Some(used)) => {
                format!("the training got {used:.1} of the {:.1} CPUs it asked for{others}", self.asked())
            }
            (None, None) => format!("the training shares {cpus}{others}"),
        }
    }

    /// ` (CPU pressure 95 %, a CPU taken away 310 times a second)`.
    fn signs(&self) -> String {
        let pressure = self.machine.cpu_pressure.map(|share| format!("CPU pressure {}", percent(share)));
        let taken = self.switches_per_s.filter(|rate| *rate >= 1.0);
        let taken = taken.map(|rate| format!("a CPU taken away {rate:.0} times a second"));
        let signs: Vec<String> = pressure.into_iter().chain(taken).collect();
        if signs.is_empty() { String::new() } else { format!(" ({})", signs.join(", ")) }
    }

    /// The threads to try: as many as there are CPUs that nobody else keeps busy, shared by the ranks.
    fn hint(&self) -> String {
        let threads = self.ready().unwrap_or_else(|| self.asked()).round();
        let free = (self.allowed() - self.others().unwrap_or(0.0)) / f64::from(self.report.run.ranks.max(1));
        let free = free.round().max(1.0);
        let ranks = f64::from(self.report.run.ranks.max(1));
        if threads <= free * ranks {
            return String::new();
        }
        let tensorflow = |name: &str| ["tensorflow", "keras"].contains(&name);
        let frameworks = self.report.fits.iter().filter_map(|fit| fit.framework.as_deref());
        let variable = match frameworks.clone().next().is_some() && frameworks.clone().all(tensorflow) {
            true => "TF_NUM_INTRAOP_THREADS",
            false => "OMP_NUM_THREADS",
        };
        format!("; try {variable}={free}")
    }
}
