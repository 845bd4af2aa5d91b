//! Passes: what the probes and the loader saw between the first pass of a run and its last, for advice.

use laptime_core::{Counter, Gauge, Timebase};

use crate::gauges::Gauges;
use crate::process::Process;
use crate::supervised::Supervised;

/// What a run had of its machine while it trained.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct Passes {
    /// The process that trains.
    pub(crate) own: CpuUse,
    /// The command and all it started.
    pub(crate) tree: CpuUse,
    /// Memory of the process that trains, at the first pass and at the end, bytes.
    pub(crate) resident: Option<(u64, u64)>,
    /// Loading of a batch by the process that trains.
    pub(crate) own_loading: Option<BatchLoading>,
    /// Loading of a batch by a loader's worker.
    pub(crate) worker_loading: Option<BatchLoading>,
    /// What was read from storage, and when.
    pub(crate) storage: Option<StorageReads>,
}

/// Bytes read from storage by the command and all it started.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct StorageReads {
    /// Before the first pass.
    pub(crate) start_up: f64,
    /// In the first epoch and what followed it; of a training without epochs, all that followed.
    pub(crate) first_epoch: f64,
    /// After that.
    pub(crate) later: f64,
}

/// CPU time of processes over some time.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct CpuUse {
    /// How long was looked, seconds.
    pub(crate) seconds: f64,
    /// CPU time, seconds.
    pub(crate) cpu_s: Option<f64>,
    /// Time their threads were ready to run and waited for a CPU, seconds.
    pub(crate) queue_s: Option<f64>,
}

/// What a batch takes to load, in the mean of those that were timed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct BatchLoading {
    /// All of it, seconds.
    pub(crate) seconds: f64,
    /// On a CPU, seconds.
    pub(crate) cpu_s: f64,
    /// Ready to run and waiting for a CPU, seconds.
    pub(crate) queue_s: f64,
    /// To make a batch of its samples, seconds.
    pub(crate) collate_s: f64,
}

impl Passes {
    /// Of a run and all its processes.
    pub(crate) fn of(run: &Supervised<'_>, processes: &[Process]) -> Self {
        let timebase = run.process.timebase();
        let (tree, own) = run.gauges_in_passes().unwrap_or_default();
        let others = processes.iter().filter(|process| !std::ptr::eq(*process, run.process));
        let others: Vec<&Gauges> = others.map(|process| &process.gauges).collect();
        Self {
            own: CpuUse::of(&own, &timebase),
            tree: CpuUse::of(&tree, &timebase),
            resident: own.first(Gauge::ResidentBytes).zip(own.last(Gauge::ResidentBytes)),
            own_loading: BatchLoading::of(&[&run.process.gauges]),
            worker_loading: BatchLoading::of(&others),
            storage: run.by_epochs(Gauge::StorageReadBytes).map(|[start, passes, second, now]| {
                StorageReads {
                    start_up: (passes - start).max(0.0),
                    first_epoch: (second - passes).max(0.0),
                    later: (now - second).max(0.0),
                }
            }),
        }
    }
}

impl CpuUse {
    fn of(gauges: &Gauges, timebase: &Timebase) -> Self {
        let machine = gauges.machine_use(timebase);
        Self { seconds: gauges.sampled_s(timebase), cpu_s: machine.cpu_s, queue_s: machine.cpu_wait_s }
    }

    /// CPUs that were kept busy, on average.
    pub(crate) fn busy(&self) -> Option<f64> {
        self.cpu_s.filter(|_| self.seconds > 0.0).map(|cpu| cpu / self.seconds)
    }

    /// How many times longer threads took because they waited for CPUs; 1 where they had all they wanted.
    pub(crate) fn stretch(&self) -> Option<f64> {
        let (cpu, queue) = (self.cpu_s.filter(|cpu| *cpu > 0.0)?, self.queue_s?);
        Some((cpu + queue) / cpu)
    }
}

impl BatchLoading {
    fn of(gauges: &[&Gauges]) -> Option<Self> {
        let sum = |counter| gauges.iter().map(|one| one.counted(counter)).sum::<u64>() as f64;
        let batches = sum(Counter::LoadedBatches);
        let each = |counter| sum(counter) * 1e-9 / batches;
        (batches > 0.0).then(|| Self {
            seconds: each(Counter::LoadingNs),
            cpu_s: each(Counter::LoadingCpuNs),
            queue_s: each(Counter::LoadingQueueNs),
            collate_s: each(Counter::CollateNs),
        })
    }

    /// Waiting for anything but a CPU: storage, the network, a clock; seconds.
    pub(crate) fn waits_s(&self) -> f64 {
        (self.seconds - self.cpu_s - self.queue_s).max(0.0)
    }
}
