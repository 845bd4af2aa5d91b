//! A run as it is compared, and the runs of a side.

use laptime_core::{Machine, Ticks};

use super::document::{RunRef, SideSummary};
use super::series::mean_step;
use crate::passes::Passes;
use crate::process::Process;
use crate::report::Report;
use crate::steady::{Settling, settling};
use crate::step_series::{Block, StepSeries, joined};

/// A run with what a report leaves out: its machine, and its steps in time order.
#[derive(Clone, Debug)]
pub struct ComparedRun {
    /// What is known of it.
    pub report: Report,
    /// What it ran on.
    pub machine: Machine,
    pub(super) fits: Vec<FitSteps>,
    /// What it had of its machine while it trained.
    pub(crate) passes: Passes,
}

/// The steps of one fit.
#[derive(Clone, Debug)]
pub(super) struct FitSteps {
    /// Its number.
    pub(super) fit: u32,
    /// All of them, in blocks.
    pub(super) blocks: Vec<Block>,
    /// Those after the warm-up; all where none ends.
    pub(super) steady: Vec<Block>,
    /// Whether they settle.
    pub(super) settling: Settling,
    /// Seconds of a tick.
    pub(super) tick_s: f64,
}

impl FitSteps {
    fn new(fit: u32, series: &StepSeries, tick_s: f64) -> Self {
        let settling = settling(series);
        let warm_up = settling.warm_up_steps().unwrap_or(0);
        let (blocks, steady) = (series.blocks().to_vec(), series.blocks_after(warm_up).to_vec());
        Self { fit, blocks, steady, settling, tick_s }
    }

    /// Steps of warm-up that are left out.
    pub(super) fn warm_up_steps(&self) -> u64 {
        self.settling.warm_up_steps().unwrap_or(0)
    }

    /// Steps after the warm-up.
    pub(super) fn steady_steps(&self) -> u64 {
        self.steady.iter().map(|block| block.steps).sum()
    }
}

impl ComparedRun {
    /// A run by its report, its machine and the process that trained.
    pub(crate) fn new(report: Report, machine: Machine, process: Option<&Process>) -> Self {
        let fits = process.into_iter().flat_map(|process| {
            let tick_s = process.timebase().seconds(Ticks(1));
            let began = process.fits.iter().filter(|(_, fit)| fit.began.is_some());
            began.map(move |(index, fit)| FitSteps::new(*index, &fit.steps, tick_s))
        });
        let fits = fits.filter(|fit| !fit.blocks.is_empty()).collect();
        Self { report, machine, fits, passes: Passes::default() }
    }

    /// How much others wanted the CPUs: the share of them that other programs kept busy, else the share of the time in
    /// which some task waited for one.
    pub(super) fn contention(&self) -> Option<f64> {
        let machine = &self.report.machine;
        let cpus = machine.cpus.map_or(f64::from(self.report.run.cpus), |cpus| cpus as f64).max(1.0);
        machine.other_cpus.map(|others| (others / cpus).min(1.0)).or(machine.cpu_pressure)
    }

    /// How far the mean step of a fit may be off, as a share; `None` with too few steps.
    pub(crate) fn step_noise(&self, fit: u32) -> Option<f64> {
        let steps = self.fits.iter().find(|steps| steps.fit == fit)?;
        mean_step(steps)?.error.map(|error| error.relative)
    }

    /// The steps of a fit one by one in time order: seconds, seconds until the batch was ready, samples; `None` where
    /// there are so many that they are kept in blocks.
    pub(crate) fn single_steps(&self, fit: u32) -> Option<Vec<(f64, f64, u64)>> {
        let steps = self.fits.iter().find(|steps| steps.fit == fit)?;
        let one = |block: &Block| {
            let seconds = |ticks: u64| ticks as f64 * steps.tick_s;
            (block.steps == 1).then(|| (seconds(block.ticks), seconds(block.wait), block.samples))
        };
        steps.blocks.iter().map(one).collect()
    }

    /// Mean step of a fit in so many stretches of equal length , seconds.
    pub(crate) fn stretches(&self, fit: u32, count: usize) -> Option<Vec<f64>> {
        let steps = self.fits.iter().find(|steps| steps.fit == fit)?;
        let stretches = joined(&steps.blocks, count);
        let means = stretches.iter().map(|block| block.mean_ticks() * steps.tick_s);
        (stretches.len() == count).then(|| means.collect())
    }

    fn summary(&self) -> RunRef {
        let run = &self.report.run;
        let settled = self.fits.iter().filter_map(|fit| match fit.settling {
            Settling::TooFewSteps => None,
            Settling::After(_) => Some(true),
            Settling::Never => Some(false),
        });
        RunRef {
            id: run.id.clone(),
            name: run.name.clone(),
            status: run.status,
            steps: self.report.fits.iter().map(|fit| fit.steps).sum(),
            warm_up_steps: self.fits.iter().map(FitSteps::warm_up_steps).sum(),
            contention: self.contention(),
            settled: settled.reduce(|all, one| all && one),
        }
    }
}

/// The runs of a side.
pub(super) struct Side<'a> {
    /// What it is shown by.
    pub(super) name: &'a str,
    /// Its runs.
    pub(super) runs: &'a [ComparedRun],
}

impl<'a> Side<'a> {
    /// The runs of a side, which is shown by a name.
    pub(super) fn new(name: &'a str, runs: &'a [ComparedRun]) -> Self {
        Self { name, runs }
    }

    /// The side as the document has it.
    pub(super) fn summary(&self) -> SideSummary {
        SideSummary { name: self.name.to_owned(), runs: self.runs.iter().map(ComparedRun::summary).collect() }
    }
}
