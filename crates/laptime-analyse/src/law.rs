//! Law: the straight line through fits that differ in one value.

use std::collections::{BTreeMap, BTreeSet};

use laptime_core::Timebase;

use crate::fit::Fit;
use crate::process::Process;
use crate::report::{Estimate, Law};
use crate::statistics::{Line, mean, t_width, variance};

const LEVEL: f64 = 0.95;
/// No timing repeats better than this share of itself, so no interval is narrower.
const BEST_REPEAT: f64 = 1e-3;

/// One fit as a point of the law.
#[derive(Clone, Copy, Debug)]
struct Point {
    x: f64,
    y: f64,
    /// Variance of `y` from the variation between its epochs, with its degrees of freedom.
    variance: Option<(f64, f64)>,
}

/// The law through the fits of a process; `None` unless they differ in exactly one number and vary enough
/// to put an interval around the line.
pub(crate) fn law(process: &Process, timebase: &Timebase) -> Option<Law> {
    let fits: Vec<&Fit> = process.fits.values().filter(|fit| fit.complete_epochs().count() > 0).collect();
    let (name, xs) = differing(&fits)?;
    let per_epoch = name == "rows";
    let points = fits.iter().zip(xs).map(|(fit, x)| point(fit, x, per_epoch, timebase));
    let points: Vec<Point> = points.collect::<Option<_>>()?;
    let line = Line::through(&points.iter().map(|point| (point.x, point.y)).collect::<Vec<_>>())?;
    let (slope_error, intercept_error, degrees) = errors(&line, &points)?;
    let estimate = |mean: f64, error: f64| {
        let half = t_width(LEVEL, degrees) * error;
        Estimate { mean, low: mean - half, high: mean + half, level: LEVEL }
    };
    let law = Law {
        x: name,
        y: if per_epoch { "epoch_s" } else { "step_s" }.to_owned(),
        intercept: estimate(line.intercept, intercept_error),
        slope: estimate(line.slope, slope_error),
        r2: line.r2,
        points: points.iter().map(|point| (point.x, point.y)).collect(),
    };
    let finite = [law.intercept, law.slope].iter().all(|e| e.low.is_finite() && e.high.is_finite());
    finite.then_some(law)
}

/// The one number the fits differ in, and its value in each.
///
/// A setting that changes the model changes the number of parameters with it; then the law is one of
/// parameters, which is what the time follows.
fn differing(fits: &[&Fit]) -> Option<(String, Vec<f64>)> {
    let all: Vec<BTreeMap<String, String>> = fits.iter().map(|fit| values(fit)).collect();
    let names: BTreeSet<&String> = all.iter().flat_map(BTreeMap::keys).collect();
    let differs = |name: &&&String| all.iter().any(|values| values.get(**name) != all[0].get(**name));
    let mut different: Vec<&String> = names.iter().filter(differs).copied().collect();
    if different.len() == 2 && different.iter().any(|name| *name == "parameters") {
        let setting = *different.iter().find(|name| **name != "parameters")?;
        if fits.iter().all(|fit| fit.facts.settings.contains_key(setting)) {
            different.retain(|name| *name == "parameters");
        }
    }
    let [name] = different[..] else { return None };
    let number = |values: &BTreeMap<String, String>| values.get(name)?.parse::<f64>().ok();
    let xs: Option<Vec<f64>> = all.iter().map(number).collect();
    let xs = xs.filter(|xs| xs.iter().all(|x| x.is_finite()))?;
    Some((name.clone(), xs))
}

/// A setting that follows from the others, so that it is never what fits differ in alone.
const DERIVED: &str = "flops_per_sample";

/// Everything that may explain the time of a fit, by name; settings cannot hide the three known ones.
fn values(fit: &Fit) -> BTreeMap<String, String> {
    let facts = &fit.facts;
    let known = [("rows", facts.rows), ("batch", facts.batch), ("parameters", facts.parameters)];
    let known = known.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?.to_string())));
    let mut values = facts.settings.clone();
    values.remove(DERIVED);
    values.extend(known);
    values
}

/// Mean time of an epoch or step of a fit; the first epoch pays for warm-up and counts only when alone.
fn point(fit: &Fit, x: f64, per_epoch: bool, timebase: &Timebase) -> Option<Point> {
    let times = fit.complete_epochs().filter_map(|epoch| {
        let whole = timebase.seconds(epoch.wall(epoch.began));
        let step = || timebase.seconds(epoch.step_time) / epoch.steps as f64;
        if per_epoch { Some(whole) } else { (epoch.steps > 0).then(step) }
    });
    let times: Vec<f64> = times.collect();
    let settled = if times.len() > 1 { &times[1..] } else { &times[..] };
    let (y, count) = (mean(settled)?, settled.len() as f64);
    let variance = variance(settled).map(|variance| (variance / count, count - 1.0));
    Some(Point { x, y, variance })
}

/// Standard errors of slope and intercept with their degrees of freedom.
///
/// Distances from the line and variation between epochs both tell how sure the line is; the larger one
/// counts. Two points lie on their line exactly, so only their epochs can tell.
fn errors(line: &Line, points: &[Point]) -> Option<(f64, f64, f64)> {
    let count = points.len() as f64;
    let repeated: f64 = points.iter().filter_map(|point| point.variance).map(|(_, degrees)| degrees).sum();
    let degrees = if count > 2.0 { count - 2.0 } else { repeated };
    if degrees < 1.0 {
        return None;
    }
    let residual = if count > 2.0 { line.residual / (count - 2.0) } else { 0.0 };
    let known: Vec<f64> =
        points.iter().filter_map(|point| Some(point.variance?.0 / point.y.powi(2))).collect();
    // A fit with one epoch varies, relative to its time, as the others do.
    let relative = mean(&known).filter(|relative| relative.is_finite()).unwrap_or(0.0);
    let (mut of_slope, mut of_intercept) = (0.0, 0.0);
    for point in points {
        let own = point.variance.map_or(relative * point.y.powi(2), |(variance, _)| variance);
        let variance = own.max(residual).max((BEST_REPEAT * point.y).powi(2));
        let pull = (point.x - line.mean_x) / line.spread_x;
        of_slope += pull.powi(2) * variance;
        of_intercept += (1.0 / count - line.mean_x * pull).powi(2) * variance;
    }
    Some((of_slope.sqrt(), of_intercept.sqrt(), degrees))
}
