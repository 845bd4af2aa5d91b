//! What if: what another batch, other rows or other workers make of a step.

use super::document::{CannotForecast, WhatIf};
use super::model::Change;
use super::past::Past;
use super::plan::Work;
use super::simulation::{Loader, StageTimes, simulated_step_s};
use super::width::NINE_OF_TEN;
use crate::advise::{Evidence, HAND_OVER_S, Pipeline, fixed_cost, workers_start_s};
use crate::scaling::{Axis, Point, ScalingLaw};

/// Steps that are simulated: enough for a mean to the per cent.
const SIMULATED: u64 = 20_000;
/// Batches that a worker loads ahead, unless said otherwise; torch's own number.
const AHEAD: u64 = 2;
/// How far a simulated change of workers may be off, standard deviation in logarithms: assumed, so that nine of ten
/// are within the 15 % that `advise` allows the same pipeline.
const WORKERS_ERROR: f64 = 0.09;
/// How far a line through two batch sizes may be off within them (3.5 % from 32 to 512 samples of a small network),
/// and more for each factor of e beyond.
const LINE_ERROR: (f64, f64) = (0.035, 0.035);
/// How far the fixed cost of a step by smaller last batches may be off, for each factor of e; assumed.
const FIXED_ERROR: f64 = 0.08;
/// Rows that are more or fewer by a factor of e may be cached or stored otherwise; assumed.
const ROWS_ERROR: f64 = 0.03;
/// The part of forward and backward that does not depend on the batch where nothing says so; assumed, least, expected
/// and most: of long steps on a CPU, and of steps that a device or the framework's own work decides.
const LONG_STEPS: (f64, f64, f64) = (0.0, 0.15, 0.6);
const SHORT_STEPS: (f64, f64, f64) = (0.0, 0.5, 1.0);
/// Steps below this are mostly the framework's own work, seconds.
const SHORT_S: f64 = 0.005;
/// Relative change in computing that a law may have at most; beyond it says nothing.
const LARGEST: f64 = 1e6;

/// How a changed training differs from the one seen; `work` is as it is changed.
pub(super) fn change(
    past: &Past<'_>,
    earlier: &[Past<'_>],
    what_if: &WhatIf,
    work: &Work,
) -> Result<Change, CannotForecast> {
    let evidence = Evidence::of(past.run).filter(|evidence| evidence.fit.index == past.fit.index);
    let (batch, batch_error) = match what_if.batch {
        Some(asked) => computing(past, earlier, evidence.as_ref(), asked),
        None => ((1.0, 1.0), 0.0),
    };
    let rows_error = match what_if.rows {
        Some(_) => ROWS_ERROR * row_times(past, what_if, work).max(1e-9).ln().abs(),
        None => 0.0,
    };
    let pipeline = evidence.as_ref().and_then(Pipeline::of).map(|pipeline| in_steps(past, pipeline));
    let Some(pipeline) = pipeline else {
        if what_if.workers.is_some_and(|workers| Some(workers) != past.fit.workers) {
            let because = "what loading computes and what it waits for was not recorded".to_owned();
            return Err(CannotForecast::CannotChange { what: "--workers", because });
        }
        let step = without_pipeline(past, batch);
        return Ok(Change { step, step_error: batch_error.hypot(rows_error), epoch_s: 0.0 });
    };
    let before = past.fit.workers.unwrap_or(0);
    let after = what_if.workers.unwrap_or(before);
    let changed = scaled(&pipeline, batch);
    let shapes = Shapes::of(past);
    let persistent = past.fit.settings.get("torch.persistent_workers").is_some_and(|value| value == "yes");
    let start_s = |workers: u64| if persistent { 0.0 } else { Pipeline::start_s(workers) };
    let simulated = |pipeline: &Pipeline, workers: u64| {
        let loader = Loader { workers, ahead: ahead(past), start_s: start_s(workers) };
        shapes.step_s(pipeline, &loader, work)
    };
    // A loop that loads for itself computes and loads, whatever its workers cost beyond what is simulated.
    let was = if after == 0 && before > 0 { seen_step_s(past) } else { simulated(&pipeline, before) };
    let step = simulated(&changed, after) / was.max(1e-12);
    let workers_error = if after == before { 0.0 } else { WORKERS_ERROR };
    let step_error = batch_error.hypot(rows_error).hypot(workers_error);
    // An evaluation has workers of its own, which take as long to start as those of an epoch.
    let started_s = evidence.as_ref().and_then(workers_start_s).unwrap_or_else(|| start_s(before));
    let epoch_s = if past.stage_s("evaluate") > 0.0 { start_s(after) - started_s } else { 0.0 };
    Ok(Change { step, step_error, epoch_s })
}

/// A step as it was, with stalls that come regularly, such as waits for workers that start; seconds.
fn seen_step_s(past: &Past<'_>) -> f64 {
    let regular = past.pace.stalls.filter(|stalls| stalls.regular);
    past.pace.mean_s + regular.map_or(0.0, |stalls| stalls.within(1.0).0)
}

/// So many times the rows there were.
fn row_times(past: &Past<'_>, what_if: &WhatIf, work: &Work) -> f64 {
    let batches = what_if.batch.zip(past.fit.batch).map_or(1.0, |(asked, batch)| asked as f64 / batch as f64);
    let steps = work.per_epoch.zip(past.fit.steps_per_epoch);
    steps.map_or(1.0, |(after, before)| after as f64 * batches / before.max(1) as f64)
}

/// A step whose loading was not timed: what waits for data grows with the batch, what computes by the law.
fn without_pipeline(past: &Past<'_>, (compute, load): (f64, f64)) -> f64 {
    let Some((step, wait)) = past.run.steady_step(past.fit.index).filter(|(step, _)| *step > 0.0) else {
        return compute;
    };
    (wait * load + (step - wait) * compute) / step
}

/// The same without the evaluations between the steps, and without what a worker's batch waits for only because it is
/// handed over.
fn in_steps(past: &Past<'_>, pipeline: Pipeline) -> Pipeline {
    let evaluation_s = past.stage_s("evaluate") / past.fit.steps.max(1) as f64;
    let without = |seconds: f64| (seconds - evaluation_s).max(0.1 * seconds);
    let handed_over = if past.fit.workers.unwrap_or(0) > 0 { HAND_OVER_S } else { 0.0 };
    Pipeline {
        compute_s: without(pipeline.compute_s),
        compute_cpu_s: without(pipeline.compute_cpu_s),
        load_waits_s: (pipeline.load_waits_s - handed_over).max(0.0),
        ..pipeline
    }
}

fn scaled(pipeline: &Pipeline, (compute, load): (f64, f64)) -> Pipeline {
    Pipeline {
        compute_s: pipeline.compute_s * compute,
        compute_cpu_s: pipeline.compute_cpu_s * compute,
        ..pipeline.with_loading(load)
    }
}

/// How computing and loading change with the batch, and how far the former may be off in logarithms.
fn computing(
    past: &Past<'_>,
    earlier: &[Past<'_>],
    evidence: Option<&Evidence<'_>>,
    asked: u64,
) -> ((f64, f64), f64) {
    let Some(batch) = past.fit.batch.filter(|batch| *batch > 0) else { return ((1.0, 1.0), 0.0) };
    let times = asked as f64 / batch as f64;
    let known = by_law(past, earlier, asked as f64).or_else(|| by_line(past, earlier, asked as f64));
    let by_last = || {
        let fixed = fixed_cost(evidence?, batch)?;
        Some((fixed + (1.0 - fixed) * times, FIXED_ERROR * times.ln().abs()))
    };
    let (ratio, error) = known.or_else(by_last).unwrap_or_else(|| by_habit(past, times));
    ((ratio.clamp(1.0 / LARGEST, LARGEST), times), error)
}

/// By the law through runs of several batch sizes.
fn by_law(past: &Past<'_>, earlier: &[Past<'_>], asked: f64) -> Option<(f64, f64)> {
    let points = points(past, earlier);
    let law = ScalingLaw::through(&points, Axis::Work)?;
    let here = law.mean_at(past.fit.batch? as f64)?.time;
    let there = law.predict(asked)?;
    let spread = (there.time.high / there.time.low).ln() / (2.0 * NINE_OF_TEN);
    let ratio = there.time.mean / here.mean;
    (ratio.is_finite() && ratio > 0.0 && spread.is_finite()).then_some((ratio, spread))
}

/// By the line through two batch sizes.
fn by_line(past: &Past<'_>, earlier: &[Past<'_>], asked: f64) -> Option<(f64, f64)> {
    let mut points: Vec<(f64, f64)> = Vec::new();
    for point in points_of(past, earlier) {
        match points.iter_mut().find(|known| known.0 == point.0) {
            // The newest run of a size counts; the one that is forecast is last.
            Some(known) => *known = point,
            None => points.push(point),
        }
    }
    points.sort_by(|a, b| a.0.total_cmp(&b.0));
    let (first, last) = (*points.first()?, *points.last()?);
    let slope = ((last.1 - first.1) / (last.0 - first.0)).max(0.0);
    let fixed = (first.1 - slope * first.0).max(0.0);
    let here = fixed + slope * past.fit.batch? as f64;
    let outside = (asked / last.0).ln().max((first.0 / asked).ln()).max(0.0);
    let ratio = (fixed + slope * asked) / here;
    let known = points.len() > 1 && ratio.is_finite() && ratio > 0.0;
    known.then_some((ratio, LINE_ERROR.0 + LINE_ERROR.1 * outside))
}

fn points(past: &Past<'_>, earlier: &[Past<'_>]) -> Vec<Point> {
    points_of(past, earlier).into_iter().map(|(x, y)| Point::new(x, &[y])).collect()
}

/// Batch and computing of a step of all runs of the same training, seconds; the one that is forecast is last.
fn points_of(past: &Past<'_>, earlier: &[Past<'_>]) -> Vec<(f64, f64)> {
    let same =
        |run: &&Past<'_>| run.fit.parameters == past.fit.parameters && run.fit.device == past.fit.device;
    let point = |run: &Past<'_>| {
        let (step, wait) = run.run.steady_step(run.fit.index)?;
        Some((run.fit.batch.filter(|batch| *batch > 0)? as f64, step - wait)).filter(|(_, y)| *y > 0.0)
    };
    earlier.iter().filter(same).chain([past]).filter_map(point).collect()
}

/// By what is usual of such steps: one batch size cannot say what a step costs whatever the batch.
fn by_habit(past: &Past<'_>, times: f64) -> (f64, f64) {
    let (step, wait) = past.run.steady_step(past.fit.index).unwrap_or((past.pace.mean_s, 0.0));
    let on_cpu = past.fit.device.as_deref().is_none_or(|device| device.to_ascii_lowercase().contains("cpu"));
    let (least, usual, most) = if on_cpu && step >= SHORT_S { LONG_STEPS } else { SHORT_STEPS };
    // The update of the weights depends on their number alone.
    let computing = ((step - wait) * past.fit.steps as f64).max(f64::MIN_POSITIVE);
    let update = (past.stage_s("optimizer") / computing).clamp(0.0, 1.0);
    let ratio = |fixed: f64| {
        let fixed = update + (1.0 - update) * fixed;
        fixed + (1.0 - fixed) * times
    };
    let spread = (ratio(least) / ratio(most)).ln().abs() / (2.0 * NINE_OF_TEN);
    (ratio(usual), spread)
}

/// How the stages of single steps vary.
struct Shapes {
    compute: Vec<f64>,
    load: Vec<f64>,
}

impl Shapes {
    fn of(past: &Past<'_>) -> Self {
        let steps = past.run.single_steps(past.fit.index).unwrap_or_default();
        let warm_up = usize::try_from(past.pace.warm_up).unwrap_or(usize::MAX).min(steps.len());
        let steady = &steps[warm_up..];
        let loads_itself = past.fit.workers.unwrap_or(0) == 0;
        Self {
            compute: shape(steady.iter().map(|(step, wait, _)| step - wait)),
            // How long single batches take to load shows only where nobody loads ahead.
            load: if loads_itself { shape(steady.iter().map(|(_, wait, _)| *wait)) } else { Vec::new() },
        }
    }

    fn step_s(&self, pipeline: &Pipeline, loader: &Loader, work: &Work) -> f64 {
        let (compute_s, load_s) = pipeline.stages(loader.workers);
        let stages = StageTimes {
            compute_s,
            load_s,
            compute_shape: self.compute.clone(),
            load_shape: self.load.clone(),
        };
        simulated_step_s(&stages, loader, work.per_epoch.unwrap_or(SIMULATED), SIMULATED)
    }
}

/// Batches that each worker loads ahead.
fn ahead(past: &Past<'_>) -> u64 {
    let said = past.fit.settings.get("torch.prefetch_factor").and_then(|value| value.parse().ok());
    said.unwrap_or(AHEAD)
}

/// Values over their mean; nothing of those that are zero in the mean.
fn shape(values: impl Iterator<Item = f64> + Clone) -> Vec<f64> {
    let count = values.clone().count().max(1) as f64;
    let mean = values.clone().sum::<f64>() / count;
    if mean > 0.0 { values.map(|value| value.max(0.0) / mean).collect() } else { Vec::new() }
}
