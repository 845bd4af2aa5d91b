//! Running: what is left of a run that goes on, or that begins where an earlier one ended.

use laptime_core::{Estimate, Status};

use super::calibration::factor;
use super::document::{Forecast, ForecastPart, Plan, Score, WhatIf};
use super::model::{Amount, Change, Model, Surrounding};
use super::past::Past;
use super::plan::Work;
use super::width::around;
use super::{Known, forecast};
use crate::time_left::LEVEL;

/// A calibrated interval reaches at most so many times what is left, either way: more says that nothing is known.
const MOST_OFF: f64 = 20.0;

/// Of a run that goes on: what has passed is known, and what is left is what every report of it says, unless earlier
/// runs or the length of the data know of more to come.
pub(super) fn go_on(forecast: &mut Forecast, model: &Model<'_>, work: &Work, plan: &Plan, scores: &[Score]) {
    let (past, asked) = (model.past, *plan != Plan::default());
    let known = past.report.time_left.filter(|_| !asked && !model.around.is_from_elsewhere());
    let Some(left) = known.or_else(|| left(model, work)) else { return };
    forecast.go_on(past.report.wall_s, left, factor(scores));
}

impl Forecast {
    /// Takes what is left instead of what was expected; the interval is as wide as finished forecasts say.
    fn go_on(&mut self, passed_s: f64, left: Estimate, factor: Option<f64>) {
        let width = left_width(passed_s, left);
        let left = widened(left, factor.unwrap_or(1.0));
        let at = |left: f64| passed_s + left;
        let total = Estimate { mean: at(left.mean), low: at(left.low), high: at(left.high), level: LEVEL };
        let apart = total.mean - self.total_s.mean;
        match self.parts.iter_mut().find(|part| part.name == "training") {
            Some(training) => training.seconds += apart,
            None => self.parts.push(ForecastPart { name: "training", seconds: apart }),
        }
        self.course.fixed_s = (self.course.fixed_s + apart).max(0.0);
        (self.total_s, self.left_s, self.width) = (total, Some(left), width);
        self.calibrated = factor.is_some();
    }
}

/// Half the width in logarithms of the total that what is left makes.
fn left_width(passed_s: f64, left: Estimate) -> f64 {
    ((passed_s + left.high) / (passed_s + left.low).max(f64::MIN_POSITIVE)).ln() / 2.0
}

/// The same interval so many times as wide, in ratios.
fn widened(left: Estimate, times: f64) -> Estimate {
    let ratio = |end: f64| if left.mean > 0.0 { (end / left.mean).powf(times) } else { 1.0 };
    let (low, high) = (ratio(left.low).max(1.0 / MOST_OFF), ratio(left.high).min(MOST_OFF));
    Estimate { low: left.mean * low, high: left.mean * high, ..left }
}

/// Of a run that has hardly begun: what the newest earlier run of the same training took, such as the one it resumes.
pub(super) fn resumed(known: &Known<'_>, earlier: &[Past<'_>], plan: &Plan) -> Option<Forecast> {
    let report = &known.run.report;
    let fit =
        report.fits.last().filter(|fit| fit.parameters.is_some() && report.run.status == Status::Running)?;
    let past = earlier.iter().rev().find(|past| past.is_same_training(fit) && !past.is_running())?;
    let epochs = plan.epochs.or(fit.planned_epochs);
    let steps = plan.steps.or(fit.planned_steps).filter(|_| epochs.is_none());
    let plan = Plan { epochs, steps, until_loss: None };
    let work = Work::of(past, &plan).ok()?;
    let model = Model { past, around: Surrounding::of(past, &work, earlier), change: Change::NONE };
    let steps = work.steps.saturating_sub(fit.steps) as f64;
    let ends = work.epochs.unwrap_or(0) as f64;
    let sum = model.sum(&Amount { steps, ends, from_start: false }, &work)?;
    let left = around(sum.seconds() + model.warm_up_s(), sum.width());
    let known_then = Known { run: past.run, earlier: known.earlier, scores: known.scores };
    let mut found = forecast(&known_then, &plan, &WhatIf::default()).ok()?;
    found.go_on(report.wall_s, left, factor(known.scores));
    found.basis.runs.insert(0, report.run.id.clone());
    Some(found)
}

/// What is left of a run whose own plan is not the one asked for.
fn left(model: &Model<'_>, work: &Work) -> Option<Estimate> {
    let fit = model.past.fit;
    let ends = work.epochs.map_or(0, |epochs| epochs.saturating_sub(fit.epochs));
    let steps = work.steps.saturating_sub(fit.steps);
    let sum = model.sum(&Amount { steps: steps as f64, ends: ends as f64, from_start: false }, work)?;
    Some(around(sum.seconds(), sum.width()))
}
