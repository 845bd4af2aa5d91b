//! A run as it is compared, and the runs of a side.

use laptime_core::{Machine, Ticks};

use super::document::{RunRef, SideSummary};
use super::series::mean_step;
use crate::fit::Fit;
use crate::outlook::first_epoch;
use crate::passes::Passes;
use crate::process::Process;
use crate::report::Report;
use crate::steady::{Settling, settling};
use crate::step_pace::{StepPace, Steps};
use crate::step_series::{Block, joined};
use crate::surroundings::Surroundings;

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
    /// Steps of its first epoch, once that is over.
    first_epoch: Option<u64>,
    /// What it does outside its steps.
    surroundings: Surroundings,
}

impl FitSteps {
    fn new(number: u32, fit: &Fit, process: &Process) -> Self {
        let (series, timebase) = (&fit.steps, process.timebase());
        let settling = settling(series);
        let warm_up = settling.warm_up_steps().unwrap_or(0);
        let (blocks, steady) = (series.blocks().to_vec(), series.blocks_after(warm_up).to_vec());
        Self {
            fit: number,
            blocks,
            steady,
            settling,
            tick_s: timebase.seconds(Ticks(1)),
            first_epoch: first_epoch(fit),
            surroundings: Surroundings::of(fit, process.extent().end, &timebase),
        }
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
            let began = process.fits.iter().filter(|(_, fit)| fit.began.is_some());
            began.map(move |(index, fit)| FitSteps::new(*index, fit, process))
        });
        let fits = fits.filter(|fit| !fit.blocks.is_empty()).collect();
        Self { report, machine, fits, passes: Passes::default() }
    }

    /// How much others wanted the CPUs: the share of them that other programs kept busy, else the share of the time in
    /// which some task waited for one.
    pub(crate) fn contention(&self) -> Option<f64> {
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

    /// What the steps of a fit take from here on; `None` of fewer than three.
    pub(crate) fn step_pace(&self, fit: u32) -> Option<StepPace> {
        let steps = self.fits.iter().find(|steps| steps.fit == fit)?;
        StepPace::of(&Steps {
            blocks: &steps.blocks,
            settling: steps.settling,
            first_epoch: steps.first_epoch,
            tick_s: steps.tick_s,
        })
    }

    /// Mean time of a step of a fit after its warm-up, and the part of it that waits for data; seconds.
    pub(crate) fn steady_step(&self, fit: u32) -> Option<(f64, f64)> {
        let steps = self.fits.iter().find(|steps| steps.fit == fit)?;
        let all = joined(&steps.steady, 1).pop().filter(|all| all.steps > 0)?;
        let seconds = |ticks: u64| ticks as f64 * steps.tick_s / all.steps as f64;
        Some((seconds(all.ticks), seconds(all.wait)))
    }

    /// The mean losses of at most so many stretches of steps, each with the steps until its middle; `None` where few
    /// steps have a loss.
    pub(crate) fn step_losses(&self, fit: u32, stretches: usize) -> Option<Vec<(f64, f64)>> {
        let blocks = &self.fits.iter().find(|steps| steps.fit == fit)?.blocks;
        let sum = |of: fn(&Block) -> u64| blocks.iter().map(of).sum::<u64>();
        if sum(|block| block.losses) * 2 < sum(|block| block.steps) {
            return None;
        }
        let mut before = 0.0;
        let stretches = joined(blocks, stretches).into_iter().filter_map(|block| {
            let middle = before + block.steps as f64 / 2.0;
            before += block.steps as f64;
            (block.losses > 0).then(|| (middle, block.loss_sum / block.losses as f64))
        });
        Some(stretches.collect())
    }

    /// What a fit does outside its steps; `None` where it took none.
    pub(crate) fn surroundings(&self, fit: u32) -> Option<&Surroundings> {
        self.fits.iter().find(|steps| steps.fit == fit).map(|steps| &steps.surroundings)
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
