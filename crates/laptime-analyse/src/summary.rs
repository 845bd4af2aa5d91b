//! Summaries: fits, epochs and steps as a report shows them.

use std::collections::BTreeMap;

use laptime_core::{Metric, StageId, Status, Ticks, Timebase};

use crate::device_ledger::Explained;
use crate::epoch::Epoch;
use crate::fit::Fit;
use crate::histogram::Histogram;
use crate::lap_choice::chosen;
use crate::outlook::steps_per_epoch;
use crate::process::Process;
use crate::report::{
    EpochSummary, EpochTimes, FitSummary, LapKind, MetricValue, SteadySteps, StepStatistics,
};
use crate::steady::{EpochTime, mean_time, settling, steady_epoch};
use crate::step_series::{StepSeries, joined};
use crate::target::target;
use crate::totals::Totals;
use crate::window::Window;

/// Where one fit's thread stands at the end of a report.
pub(crate) struct Standing<'a> {
    process: &'a Process,
    timebase: &'a Timebase,
    end: Ticks,
    totals: Totals,
    on_top: StageId,
    explained: Option<Explained>,
}

impl<'a> Standing<'a> {
    /// Where the thread of a fit stands.
    pub(crate) fn new(process: &'a Process, fit: &Fit, timebase: &'a Timebase) -> Self {
        let extent = process.extent();
        let lane = process.lanes.get(&fit.lane);
        let mut totals = lane.map(|lane| lane.totals_at(extent.end, extent.finished)).unwrap_or_default();
        totals.device = process.device_rows();
        let on_top = lane.map_or(StageId::UNACCOUNTED, |lane| lane.stage_on_top());
        let explained = Explained::of_process(process, timebase);
        Self { process, timebase, end: extent.end, totals, on_top, explained }
    }

    fn fit(&self, index: u32, fit: &Fit, laps: &[EpochSummary]) -> FitSummary {
        let facts = &fit.facts;
        let settling = settling(&fit.steps);
        let samples_per_s = rate(fit.steps.sum.samples, self.timebase.seconds(Ticks(fit.steps.sum.ticks)));
        let ledger = fit.ledger(self.end, &self.totals, self.on_top);
        let metric = fit.metric().map(|(metric, value)| MetricValue {
            name: metric.name().to_owned(),
            value: Some(value).filter(|value| value.is_finite()),
        });
        FitSummary {
            index,
            label: facts.label.clone(),
            framework: facts.framework.clone(),
            framework_version: facts.framework_version.clone(),
            device: facts.device.clone(),
            rows: facts.rows,
            batch: facts.batch,
            parameters: facts.parameters,
            epochs: fit.complete_epochs(),
            steps: fit.steps.sum.steps,
            steps_per_epoch: steps_per_epoch(fit),
            planned_epochs: facts.epochs,
            planned_steps: facts.steps,
            plan_source: facts.plan_source.clone(),
            wall_s: self.timebase.seconds(fit.wall(self.end)),
            epoch_s: epoch_times(fit, self.timebase),
            stages: self.seconds(&ledger),
            device_stages: self.device_seconds(&ledger, fit.wall(self.end)),
            warm_up_steps: settling.warm_up_steps(),
            steady_steps: steady_steps(&fit.steps, settling.warm_up_steps(), self.timebase),
            loss: fit.loss().or_else(|| laps.iter().rev().find_map(|lap| lap.loss)),
            metric,
            target: target(fit, self.timebase),
            compiled_functions: facts.compiled_functions.clone(),
            workers: facts.workers,
            precision: facts.precision.clone(),
            flops_per_sample: facts.flops_per_sample,
            flops_per_s: facts.flops_per_sample.zip(samples_per_s).map(|(flops, rate)| flops as f64 * rate),
            share_of_peak: None,
            patience: facts.patience,
            updates: facts.updates,
            discarded_gradients: facts.discarded_gradients,
            settings: facts.settings.clone(),
            choices: facts.choices(),
        }
    }

    /// The laps of a fit: its epochs, else windows of its steps.
    fn laps(&self, number: u32, fit: &Fit, asked: Asked) -> Vec<EpochSummary> {
        if fit.is_by_steps() {
            return self.windows(number, fit, asked);
        }
        let mut first_step = 0;
        let epochs = fit.epochs.rows().iter().map(|epoch| {
            let lap = EpochSummary { first_step, ..self.epoch(number, fit, epoch) };
            first_step = lap.last_step();
            lap
        });
        epochs.collect()
    }

    /// An epoch, or neighbouring ones, but for the steps before.
    pub(crate) fn epoch(&self, number: u32, fit: &Fit, epoch: &Epoch) -> EpochSummary {
        let wall_s = self.timebase.seconds(epoch.wall(self.end));
        let mut followed = epoch.clone();
        followed.follow(&self.totals);
        let ledger = epoch.ledger(self.end, &self.totals, self.on_top);
        EpochSummary {
            fit: number,
            index: epoch.index,
            kind: if epoch.count() > 1 { LapKind::Folded } else { LapKind::Epoch },
            count: epoch.count(),
            complete: epoch.complete,
            wall_s,
            ended_s: epoch.ended.map(|at| self.since_begin(fit, at)),
            ended_unix_s: epoch.ended.and_then(|at| self.unix_seconds(at)),
            settled: (epoch.gap.is_some() && fit.has_facts) || self.is_over(),
            first_step: 0,
            steps: epoch.tally.steps,
            samples: known(epoch.tally.samples),
            samples_per_s: rate(epoch.tally.samples, wall_s),
            tokens: known(epoch.tally.tokens),
            tokens_per_s: rate(epoch.tally.tokens, wall_s),
            stages: self.seconds(&ledger),
            device_stages: self.device_seconds(&ledger, epoch.wall(self.end)),
            evaluate_s: self.timebase.seconds(followed.evaluate),
            checkpoint_s: self.timebase.seconds(followed.checkpoint),
            loss: epoch.loss(),
            metrics: metrics(&epoch.metrics),
            time_left: epoch.time_left,
        }
    }

    fn windows(&self, number: u32, fit: &Fit, asked: Asked) -> Vec<EpochSummary> {
        let now = fit.ended.is_none().then_some((self.end, &self.totals, self.on_top));
        let is_over = fit.ended.is_some() || asked.ended_well;
        let mut parts = fit.laps.parts(now);
        if let Some(last) = parts.last_mut() {
            last.complete |= is_over;
        }
        let windows = chosen(&fit.laps, parts, asked.lap, is_over);
        let is_settled = fit.ended.is_some() && fit.has_facts || self.is_over();
        let summary = |(index, window): (u32, &Window)| EpochSummary {
            settled: is_settled,
            ..self.window(number, index, fit, window)
        };
        (0..).zip(&windows).map(summary).collect()
    }

    /// A fit without epochs every 10 s.
    fn stretches(&self, number: u32, fit: &Fit) -> Vec<EpochSummary> {
        let is_over = fit.ended.is_some() || self.is_over();
        let stretches = (0..).zip(fit.laps.stretches.all(is_over));
        let summary = |(index, stretch): (u32, Window)| EpochSummary {
            settled: is_over && fit.has_facts
                || self.is_over()
                || fit.has_facts && (index as usize) < fit.laps.stretches.settled(),
            ..self.window(number, index, fit, &stretch)
        };
        if fit.is_by_steps() { stretches.map(summary).collect() } else { Vec::new() }
    }

    fn window(&self, number: u32, index: u32, fit: &Fit, window: &Window) -> EpochSummary {
        let wall_s = self.timebase.seconds(window.wall);
        let ended = Some(window.ended).filter(|_| window.complete);
        EpochSummary {
            fit: number,
            index,
            kind: LapKind::Window,
            count: 1,
            complete: window.complete,
            wall_s,
            ended_s: ended.map(|at| self.since_begin(fit, at)),
            ended_unix_s: ended.and_then(|at| self.unix_seconds(at)),
            settled: false,
            first_step: window.first_step,
            steps: window.tally.steps,
            samples: known(window.tally.samples),
            samples_per_s: rate(window.tally.samples, wall_s),
            tokens: known(window.tally.tokens),
            tokens_per_s: rate(window.tally.tokens, wall_s),
            stages: self.seconds(&window.stages),
            device_stages: self.device_seconds(&window.stages, window.wall),
            evaluate_s: self.timebase.seconds(window.pause.evaluate),
            checkpoint_s: self.timebase.seconds(window.pause.checkpoint),
            loss: window.loss(),
            metrics: metrics(&window.metrics),
            time_left: window.time_left,
        }
    }

    fn since_begin(&self, fit: &Fit, at: Ticks) -> f64 {
        self.timebase.seconds(at.since(fit.began.unwrap_or(at)))
    }

    fn unix_seconds(&self, at: Ticks) -> Option<f64> {
        self.process.clock.unix_seconds(at, self.timebase)
    }

    /// Whether the process will record no more.
    fn is_over(&self) -> bool {
        self.process.status() != Status::Running
    }

    fn seconds(&self, totals: &Totals) -> BTreeMap<String, f64> {
        self.process.names.seconds(totals, self.timebase)
    }

    fn device_seconds(&self, totals: &Totals, wall: Ticks) -> Option<BTreeMap<String, f64>> {
        let names = &self.process.names;
        self.explained.as_ref().map(|explained| explained.by_name(totals.device.as_ref(), wall, names))
    }
}

/// The summaries of the trainings of a process.
#[derive(Default)]
pub(crate) struct Trainings {
    /// Every fit that began.
    pub(crate) fits: Vec<FitSummary>,
    /// Their laps.
    pub(crate) laps: Vec<EpochSummary>,
    /// Those without epochs every 10 s.
    pub(crate) stretches: Vec<EpochSummary>,
}

/// What else decides over the laps of a process.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Asked {
    /// Steps of a lap of a fit without epochs, where that was asked for.
    pub(crate) lap: Option<u64>,
    /// Whether it is known from outside that the process came to a good end, though it said no word of it.
    pub(crate) ended_well: bool,
}

/// Every fit that began, with its laps.
pub(crate) fn trainings(process: &Process, timebase: &Timebase, asked: Asked) -> Trainings {
    let mut trainings = Trainings::default();
    for (index, fit) in process.fits.iter().filter(|(_, fit)| fit.began.is_some()) {
        let standing = Standing::new(process, fit, timebase);
        let laps = standing.laps(*index, fit, asked);
        trainings.fits.push(standing.fit(*index, fit, &laps));
        trainings.laps.extend(laps);
        trainings.stretches.extend(standing.stretches(*index, fit));
    }
    trainings
}

fn metrics(measured: &BTreeMap<Metric, f64>) -> BTreeMap<String, Option<f64>> {
    let shown = |value: f64| Some(value).filter(|value| value.is_finite());
    measured.iter().map(|(metric, value)| (metric.name().to_owned(), shown(*value))).collect()
}

/// Statistics of the steps of all fits; `None` when no step ended.
pub(crate) fn steps(process: &Process, timebase: &Timebase) -> Option<StepStatistics> {
    let all = || process.fits.values().map(|fit| &fit.steps).chain([&process.loose_steps]);
    let add = |of: fn(&StepSeries) -> u64| all().map(of).fold(0, u64::saturating_add);
    let mut histogram = Histogram::default();
    all().for_each(|series| histogram.merge(&series.histogram));
    let (count, ticks) = (add(|series| series.sum.steps), add(|series| series.sum.ticks));
    let sum_s = timebase.seconds(Ticks(ticks));
    let quantile = |q| histogram.quantile(q).map(|ticks| ticks * timebase.ns_per_tick * 1e-9);
    Some(StepStatistics {
        count,
        mean_s: sum_s / count.max(1) as f64,
        p50_s: quantile(0.5)?,
        p95_s: quantile(0.95)?,
        samples_per_s: rate(add(|series| series.sum.samples), sum_s),
        tokens_per_s: rate(add(|series| series.sum.tokens), sum_s),
    })
}

/// The steps after the warm-up; all of them where its end is unknown.
fn steady_steps(series: &StepSeries, warm_up: Option<u64>, timebase: &Timebase) -> Option<SteadySteps> {
    let settled = warm_up.and_then(|steps| joined(series.blocks_after(steps), 1).pop());
    let steps = settled.unwrap_or(series.sum);
    let seconds = timebase.seconds(Ticks(steps.ticks));
    (steps.steps > 0).then(|| SteadySteps {
        count: steps.steps,
        mean_s: seconds / steps.steps as f64,
        samples_per_s: rate(steps.samples, seconds),
    })
}

/// Mean, first and steady time of the epochs that ended.
fn epoch_times(fit: &Fit, timebase: &Timebase) -> EpochTimes {
    let mut before = 0_u64;
    let times = fit.epochs.complete().map(|row| {
        let (count, seconds) = (row.complete_count(), timebase.seconds(row.complete_wall()));
        let time = EpochTime { before, count, seconds };
        before = before.saturating_add(row.tally.steps);
        time
    });
    let times: Vec<EpochTime> = times.collect();
    EpochTimes {
        mean: mean_time(&times),
        first: times.first().map(|first| first.seconds),
        steady: steady_epoch(&times, settling(&fit.steps)),
    }
}

/// A count that nobody made is unknown, not zero.
pub(crate) fn known(count: u64) -> Option<u64> {
    (count > 0).then_some(count)
}

/// An amount of the whole run by epoch; `None` unless all epochs are whole and of one fit, since a mean would mix
/// what differs.
pub(crate) fn per_epoch(amount: u64, trainings: &Trainings) -> Option<u64> {
    let is_whole = |lap: &EpochSummary| lap.complete && lap.kind != LapKind::Window;
    let alike = trainings.fits.len() == 1 && trainings.laps.iter().all(is_whole);
    let epochs: u64 = trainings.laps.iter().map(|lap| lap.count).sum();
    amount.checked_div(epochs).filter(|_| alike)
}

/// How much there was in a second; `None` where there was nothing.
pub(crate) fn rate(amount: u64, seconds: f64) -> Option<f64> {
    (amount > 0 && seconds > 0.0).then(|| amount as f64 / seconds)
}
