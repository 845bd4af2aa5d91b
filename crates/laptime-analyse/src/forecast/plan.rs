//! Plan: how many steps and epochs a training takes, and who said so.

use laptime_core::Estimate;

use super::convergence::{until_loss, until_patience};
use super::document::{CannotForecast, Convergence, Plan, PlanSource, Rows, WhatIf};
use super::past::Past;
use super::width::NINE_OF_TEN;

/// The work of a whole training.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Work {
    /// Epochs; `None` of a training that only has steps.
    pub(super) epochs: Option<u64>,
    /// Steps in all.
    pub(super) steps: u64,
    /// Steps of an epoch.
    pub(super) per_epoch: Option<u64>,
    /// The part of a full batch that the last one of an epoch has; `None` where all are full.
    pub(super) last_batch: Option<f64>,
    /// Who said so.
    pub(super) source: PlanSource,
    /// The line that did.
    pub(super) text: Option<String>,
    /// Whether it may end before.
    pub(super) is_bound: bool,
    /// How far the number of steps may be off, standard deviation.
    pub(super) steps_error: f64,
    /// When the loss is low enough, where that matters.
    pub(super) convergence: Option<Convergence>,
}

impl Work {
    /// As it was asked, else as the run says; where its loss decides, by that.
    pub(super) fn of(past: &Past<'_>, plan: &Plan) -> Result<Self, CannotForecast> {
        let planned = Self::planned(past, plan);
        let Some(loss) = plan.until_loss else { return planned.map(|work| work.with_patience(past)) };
        let convergence = until_loss(past, loss);
        match (convergence.laps, planned) {
            (Some(laps), _) => Self::until(past, laps, convergence),
            // What the loss does not tell is still known by the plan.
            (None, Ok(work)) => Ok(Self { convergence: Some(convergence), ..work }),
            (None, Err(_)) => {
                let because = convergence.because.unwrap_or_default();
                Err(CannotForecast::NeverLowEnough { loss: loss.to_string(), because })
            }
        }
    }

    /// As it was asked, else as the run says, whatever its loss.
    fn planned(past: &Past<'_>, plan: &Plan) -> Result<Self, CannotForecast> {
        let fit = past.fit;
        let (epochs, steps, source) = match (plan.epochs, plan.steps) {
            (None, None) => said(past)?,
            (epochs, steps) => (epochs, steps, PlanSource::Given),
        };
        let per_epoch = fit.steps_per_epoch.filter(|steps| *steps > 0);
        let by_epochs = || epochs?.checked_mul(per_epoch?);
        let steps = steps.or_else(by_epochs).ok_or(CannotForecast::NoEpochLength)?;
        let epochs = epochs.or_else(|| Some(steps / per_epoch.filter(|_| past.has_epochs())?));
        let text = fit.plan_source.clone().filter(|_| source != PlanSource::Given);
        let work = Self {
            epochs,
            steps,
            per_epoch,
            last_batch: last_batch(past),
            source,
            text,
            is_bound: fit.may_end_early() && matches!(source, PlanSource::Script | PlanSource::Framework),
            steps_error: 0.0,
            convergence: None,
        };
        let past_it = past.is_running() && work.steps < fit.steps;
        match work.steps {
            0 => Err(CannotForecast::NoPlan),
            _ if past_it => Err(CannotForecast::AlreadyPast { steps: fit.steps }),
            _ => Ok(work),
        }
    }

    /// The same of a training that ends once its loss no longer falls. A run that goes on shows its bound.
    fn with_patience(self, past: &Past<'_>) -> Self {
        let is_open = self.source != PlanSource::Finished && !past.is_running();
        let limits = past.fit.patience.zip(self.epochs).filter(|_| is_open);
        let Some((patience, most)) = limits else { return self };
        let found = until_patience(past, patience, most);
        let by_loss = found.clone().and_then(|found| Self::until(past, found.laps?, found).ok());
        by_loss.unwrap_or(Self { convergence: found, is_bound: true, ..self })
    }

    /// So many epochs or steps as the loss takes.
    fn until(past: &Past<'_>, laps: Estimate, convergence: Convergence) -> Result<Self, CannotForecast> {
        let count = Some(laps.mean.ceil().max(1.0) as u64);
        let (epochs, steps) = if convergence.unit == "epoch" { (count, None) } else { (None, count) };
        let work = Self::planned(past, &Plan { epochs, steps, until_loss: None })?;
        let each = epochs.and(work.per_epoch).unwrap_or(1) as f64;
        let steps_error = (laps.high - laps.low) / 2.0 / NINE_OF_TEN * each;
        let convergence = Some(convergence);
        Ok(Self { source: PlanSource::Loss, is_bound: false, steps_error, convergence, ..work })
    }

    /// The same with other rows or another batch.
    pub(super) fn changed(&self, past: &Past<'_>, what_if: &WhatIf) -> Result<Self, CannotForecast> {
        let unknown =
            |what, because: &str| CannotForecast::CannotChange { what, because: because.to_owned() };
        if !what_if.is_asked() {
            return Ok(self.clone());
        }
        let fit = past.fit;
        let batch_times = match (what_if.batch, fit.batch) {
            (None, _) => 1.0,
            (Some(0), _) => return Err(unknown("--batch", "a batch has at least one sample")),
            (Some(asked), Some(batch)) if batch > 0 => asked as f64 / batch as f64,
            _ => return Err(unknown("--batch", "the run does not say how large its batches are")),
        };
        let row_times = match (what_if.rows, fit.rows) {
            (None, _) => 1.0,
            (Some(Rows::Times(times)), _) if times.is_finite() && times > 0.0 => times,
            (Some(Rows::Count(count)), Some(rows)) if count > 0 && rows > 0 => count as f64 / rows as f64,
            (Some(Rows::Count(_)), None) => {
                return Err(unknown(
                    "--rows",
                    "the run does not say how many it has; `--rows 10x` does without",
                ));
            }
            _ => return Err(unknown("--rows", "an epoch has at least one row")),
        };
        let Some(per_epoch) = self.per_epoch else {
            let because = "the steps of an epoch are not known";
            return if what_if.rows.is_some() { Err(unknown("--rows", because)) } else { Ok(self.clone()) };
        };
        let exact = self.last_batch.map_or(per_epoch as f64, |last| per_epoch as f64 - 1.0 + last);
        let batches = exact * row_times / batch_times;
        let changed = (batches - 1e-9).ceil().max(1.0) as u64;
        let part = batches - batches.floor();
        let last_batch = Some(part).filter(|part| *part > 1e-9);
        let steps = match self.epochs.filter(|_| self.is_by_epochs(per_epoch)) {
            Some(epochs) => epochs.saturating_mul(changed),
            None => self.steps,
        };
        let epochs = if self.is_by_epochs(per_epoch) { self.epochs } else { Some(steps / changed) };
        Ok(Self { epochs, steps, per_epoch: Some(changed), last_batch, ..self.clone() })
    }

    /// Whether the number of epochs decides, and not the number of steps.
    fn is_by_epochs(&self, per_epoch: u64) -> bool {
        self.epochs.is_some_and(|epochs| epochs.saturating_mul(per_epoch) == self.steps)
    }
}

/// What the run says of its length.
fn said(past: &Past<'_>) -> Result<(Option<u64>, Option<u64>, PlanSource), CannotForecast> {
    let fit = past.fit;
    let source = if fit.plan_source.is_some() { PlanSource::Script } else { PlanSource::Framework };
    // One that may end early did all that it was going to do.
    if past.is_finished() && fit.epochs > 0 && fit.may_end_early() {
        return Ok((Some(fit.epochs), Some(fit.steps), PlanSource::Finished));
    }
    match (fit.planned_epochs, fit.planned_steps) {
        (Some(epochs), _) if fit.steps_per_epoch.is_some() => Ok((Some(epochs), None, source)),
        (_, Some(steps)) => Ok((None, Some(steps), source)),
        (Some(_), None) => Err(CannotForecast::NoEpochLength),
        (None, None) if past.is_finished() && fit.epochs > 0 => {
            Ok((Some(fit.epochs), Some(fit.steps), PlanSource::Finished))
        }
        (None, None) if past.is_finished() => Ok((None, Some(fit.steps), PlanSource::Finished)),
        (None, None) => Err(CannotForecast::NoPlan),
    }
}

/// The part of a full batch that the last one of an epoch has, where rows and batch size say so.
fn last_batch(past: &Past<'_>) -> Option<f64> {
    let (rows, batch) = (past.fit.rows?, past.fit.batch.filter(|batch| *batch > 0)?);
    let left = rows % batch;
    (left > 0 && past.fit.steps_per_epoch == Some(rows.div_ceil(batch))).then(|| left as f64 / batch as f64)
}
