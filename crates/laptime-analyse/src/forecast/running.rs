//! Running: what is left of a run that goes on, or that begins where an earlier one ended.

use laptime_core::{Estimate, Status};

use super::calibration::calibrated;
use super::document::{Forecast, ForecastPart, Plan, Score, WhatIf};
use super::model::{Amount, Change, Model, Surrounding};
use super::past::Past;
use super::plan::Work;
use super::width::around;
use super::{Known, forecast};
use crate::statistics::t_width;
use crate::time_left::{LEVEL, unseen};

/// A calibrated interval reaches at most so many times what is left, either way: more says that nothing is known.
const MOST_OFF: f64 = 20.0;

/// Of a run that goes on: what has passed is known, and what is left is what every report of it says, unless earlier
/// runs or the length of the data know of more to come.
pub(super) fn go_on(forecast: &mut Forecast, model: &Model<'_>, work: &Work, plan: &Plan, scores: &[Score]) {
    let (past, asked) = (model.past, *plan != Plan::default());
    let known = past.report.time_left.filter(|_| !asked && !model.around.is_from_elsewhere());
    let Some(left) = known.or_else(|| left(model, work)) else { return };
    forecast.go_on(past.report.wall_s, to_the_end(left, model), scores);
}

/// The training's time left and what comes after it. However even the past was, the time to come differs.
fn to_the_end(left: Estimate, model: &Model<'_>) -> Estimate {
    let tear_down = model.around.tear_down;
    let differs = left.mean * unseen(model.past.pace.mean_s * model.past.pace.steps as f64);
    let width = t_width(LEVEL, f64::from(u32::MAX)) * tear_down.error_s(1.0).hypot(differs);
    let (below, above) = ((left.mean - left.low).hypot(width), (left.high - left.mean).hypot(width));
    let mean = left.mean + tear_down.each_s;
    Estimate { mean, low: (mean - below).max(mean / MOST_OFF), high: mean + above, ..left }
}

impl Forecast {
    /// Takes what is left instead of what was expected; the interval is as wide as finished forecasts say.
    fn go_on(&mut self, passed_s: f64, left: Estimate, scores: &[Score]) {
        let width = left_width(passed_s, left);
        let progress = passed_s / (passed_s + left.mean).max(f64::MIN_POSITIVE);
        let calibrated = calibrated(scores, progress, width);
        let left = match calibrated {
            Some(width) => within(passed_s, left, width),
            None => left,
        };
        let at = |left: f64| passed_s + left;
        let total = Estimate { mean: at(left.mean), low: at(left.low), high: at(left.high), level: LEVEL };
        let apart = total.mean - self.total_s.mean;
        match self.parts.iter_mut().find(|part| part.name == "training") {
            Some(training) => training.seconds += apart,
            None => self.parts.push(ForecastPart { name: "training", seconds: apart }),
        }
        self.course.fixed_s = (self.course.fixed_s + apart).max(0.0);
        (self.total_s, self.left_s, self.width) = (total, Some(left), width);
        self.calibrated = calibrated.is_some();
    }
}

/// Half the width in logarithms of the total that what is left makes.
fn left_width(passed_s: f64, left: Estimate) -> f64 {
    ((passed_s + left.high) / (passed_s + left.low).max(f64::MIN_POSITIVE)).ln() / 2.0
}

/// What is left where the total has an interval so wide in logarithms.
fn within(passed_s: f64, left: Estimate, width: f64) -> Estimate {
    let total = passed_s + left.mean;
    let (low, high) = (total / width.exp() - passed_s, total * width.exp() - passed_s);
    Estimate { low: low.max(left.mean / MOST_OFF), high: high.min(left.mean * MOST_OFF), ..left }
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
    found.go_on(report.wall_s, to_the_end(left, &model), known.scores);
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
