//! Forecast: how long a training takes, what it moves and how sure that is, from what a part of it showed.
//!
//! The time of a training is the sum of its parts: start-up, warm-up, steps by their mean after the warm-up, rare
//! stalls, what follows each epoch, and the end. Its interval comes from how the past varied between moments, from how
//! often each part was seen and from what was asked beyond it; finished forecasts of the machine then say how wide it
//! has to be.

mod calibration;
mod convergence;
mod deadline;
mod document;
mod memory;
mod model;
mod past;
mod plan;
mod running;
mod simulation;
mod transfer;
mod unreached;
mod what_if;
mod width;

#[cfg(test)]
mod coverage_tests;
#[cfg(test)]
mod planted;
#[cfg(test)]
mod tests;

pub use deadline::EpochsWithin;
pub use document::{
    Basis, CannotForecast, Cause, Convergence, EpochForecast, EstimatedPart, FORECAST_SCHEMA, Fits, Forecast,
    ForecastChange, ForecastMemory, ForecastPart, ForecastTransfer, NotSeen, Plan, PlanSource, Rows, Score,
    WhatIf, WidthCause,
};
pub use simulation::{Loader, StageTimes, simulated_step_s};

use crate::compare::ComparedRun;
use crate::statistics::t_width;
use crate::time_left::LEVEL;
use deadline::Course;
use model::{Amount, Change, Model, Sum, Surrounding};
use past::Past;
use plan::Work;
use width::around;

/// What is known before a forecast is made.
#[derive(Clone, Copy, Debug)]
pub struct Known<'a> {
    /// The run that is forecast: a probe, one that is running, or a finished one to ask what if.
    pub run: &'a ComparedRun,
    /// Other runs of the same command, newest last; they say what this one has not come to.
    pub earlier: &'a [ComparedRun],
    /// Finished forecasts of this machine, newest last.
    pub scores: &'a [Score],
}

/// How long the training of a run takes in all.
///
/// # Errors
/// Where too little was seen, or how much there is to do is not known.
pub fn forecast(known: &Known<'_>, plan: &Plan, what_if: &WhatIf) -> Result<Forecast, CannotForecast> {
    let earlier: Vec<Past<'_>> = known.earlier.iter().filter_map(|run| Past::of(run).ok()).collect();
    let past = match Past::of(known.run) {
        Ok(past) => past,
        Err(because) => return running::resumed(known, &earlier, plan).ok_or(because),
    };
    let unchanged = Work::of(&past, plan)?;
    let work = unchanged.changed(&past, what_if)?;
    let change = match what_if.is_asked() {
        true => what_if::change(&past, &earlier, what_if, &work)?,
        false => Change::NONE,
    };
    let model = Model { past: &past, around: Surrounding::of(&past, &work, &earlier), change };
    let few = CannotForecast::TooFewSteps { steps: past.fit.steps, needed: past.fit.steps + 1 };
    let sum = model.sum(&whole(&work), &work).ok_or(few)?;
    let batch_times = batch_times(&past, what_if);
    let calibrated = calibration::calibrated(known.scores, 0.0, sum.width());
    let mut forecast = Forecast {
        schema: FORECAST_SCHEMA,
        total_s: around(sum.seconds(), calibrated.unwrap_or(sum.width())),
        left_s: None,
        epoch_s: epochs(&model, &work),
        estimated: model.around.estimated.clone(),
        not_seen: model.around.not_seen.clone(),
        convergence: work.convergence.clone(),
        transfer: transfer::transfer(&past, &work, batch_times),
        memory: memory::memory(&past, &earlier, batch_times),
        width_from: sum.variance.causes(),
        width: sum.width(),
        calibrated: calibrated.is_some(),
        change: changed(&model, &sum, &unchanged, what_if),
        basis: basis(known, &model, &work),
        course: course(&model, &sum, &work),
        parts: sum.parts,
    };
    if past.is_running() && !what_if.is_asked() {
        running::go_on(&mut forecast, &model, &work, plan, known.scores);
    }
    Ok(forecast)
}

/// A training from its start to its end.
fn whole(work: &Work) -> Amount {
    Amount { steps: work.steps as f64, ends: work.epochs.unwrap_or(0) as f64, from_start: true }
}

/// So many times as large as they were.
fn batch_times(past: &Past<'_>, what_if: &WhatIf) -> f64 {
    let batches = what_if.batch.zip(past.fit.batch.filter(|batch| *batch > 0));
    batches.map_or(1.0, |(asked, batch)| asked as f64 / batch as f64)
}

fn epochs(model: &Model<'_>, work: &Work) -> EpochForecast {
    let later = model.epoch_s(work);
    EpochForecast { first: later.map(|later| later + model.warm_up_s()), later }
}

/// What any number of epochs takes: all but the epochs is paid once.
fn course(model: &Model<'_>, sum: &Sum, work: &Work) -> Course {
    let (epochs, epoch_s) = (work.epochs.unwrap_or(0), model.epoch_s(work).unwrap_or(0.0));
    Course { fixed_s: (sum.seconds() - epochs as f64 * epoch_s).max(0.0), epoch_s, epochs }
}

/// The total with a change over the one without. What both have in common does not make it uncertain.
fn changed(model: &Model<'_>, sum: &Sum, unchanged: &Work, what_if: &WhatIf) -> Option<ForecastChange> {
    let before = Model { past: model.past, around: model.around.clone(), change: Change::NONE };
    let before = before.sum(&whole(unchanged), unchanged).filter(|_| what_if.is_asked())?.seconds();
    let training = sum.parts.iter().find(|part| part.name == "training").map_or(0.0, |part| part.seconds);
    let width = t_width(LEVEL, f64::from(u32::MAX)) * model.change.step_error * training / sum.seconds();
    Some(ForecastChange { unchanged_s: before, ratio: around(sum.seconds() / before, width) })
}

fn basis(known: &Known<'_>, model: &Model<'_>, work: &Work) -> Basis {
    let past = model.past;
    let runs = [past.report.run.id.clone()].into_iter().chain(model.around.from.clone());
    Basis {
        runs: runs.collect(),
        seen_s: past.report.wall_s,
        blocks: past.pace.means.len() as u64,
        steps_seen: past.fit.steps,
        warm_up_steps: past.pace.warm_up,
        epochs: work.epochs,
        steps: work.steps,
        steps_per_epoch: work.per_epoch,
        plan: work.source,
        plan_text: work.text.clone(),
        is_bound: work.is_bound,
        scores: known.scores.len() as u64,
    }
}
