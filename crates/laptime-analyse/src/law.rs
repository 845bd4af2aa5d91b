//! Law: how time changes through fits that differ in one value.

use std::collections::{BTreeMap, BTreeSet};

use laptime_core::Timebase;

use crate::epoch::Epoch;
use crate::fit::Fit;
use crate::lap_choice::chosen;
use crate::process::Process;
use crate::report::Law;
use crate::scaling::{Axis, Block, Model, Point, ScalingLaw};
use crate::statistics::mean;

/// The law through the fits of a process; `None` unless they differ in exactly one number and vary enough
/// to put an interval around the line.
pub(crate) fn law(process: &Process, timebase: &Timebase) -> Option<Law> {
    let has_laps = |fit: &&Fit| fit.complete_epochs() > 0 || fit.is_by_steps();
    let fits: Vec<&Fit> = process.fits.values().filter(has_laps).collect();
    let (name, xs) = differing(&fits)?;
    let per_epoch = name == "rows" && fits.iter().all(|fit| !fit.is_by_steps());
    let points = fits.iter().zip(xs).map(|(fit, x)| point(fit, x, per_epoch, timebase));
    let points: Vec<Point> = points.collect::<Option<_>>()?;
    let axis = axis(&name);
    let line = ScalingLaw::of_model(&points, axis, Model::Linear)?;
    let chosen = ScalingLaw::through(&points, axis)?;
    let time = if per_epoch { "epoch time" } else { "step time" };
    let law = Law {
        text: chosen.sentence(time, &name),
        x: name,
        y: if per_epoch { "epoch_s" } else { "step_s" }.to_owned(),
        intercept: line.coefficient("intercept")?,
        slope: line.coefficient("slope")?,
        r2: line.r2,
        points: points.iter().filter_map(mean_point).collect(),
        model: chosen.model,
        coefficients: chosen.coefficients,
    };
    let finite = [law.intercept, law.slope].iter().all(|e| e.low.is_finite() && e.high.is_finite());
    finite.then_some(law)
}

/// What the number is: an epoch goes through the rows, a step through a batch.
fn axis(name: &str) -> Axis {
    match name {
        "rows" | "batch" => Axis::Work,
        "workers" | "threads" => Axis::Workers,
        _ => Axis::Setting,
    }
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
        if fits.iter().all(|fit| fit.facts.choices().contains_key(setting)) {
            different.retain(|name| *name == "parameters");
        }
    }
    let [name] = different[..] else { return None };
    let number = |values: &BTreeMap<String, String>| values.get(name)?.parse::<f64>().ok();
    let xs: Option<Vec<f64>> = all.iter().map(number).collect();
    let xs = xs.filter(|xs| xs.iter().all(|x| x.is_finite()))?;
    Some((name.clone(), xs))
}

/// Everything that may explain the time of a fit, by name; settings cannot hide the three known ones.
fn values(fit: &Fit) -> BTreeMap<String, String> {
    let facts = &fit.facts;
    let known = [("rows", facts.rows), ("batch", facts.batch), ("parameters", facts.parameters)];
    let known = known.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?.to_string())));
    let mut values = facts.choices();
    values.extend(known);
    values
}

/// Times of the epochs or of the steps of laps; the first epoch pays for warm-up and counts only when alone.
fn point(fit: &Fit, x: f64, per_epoch: bool, timebase: &Timebase) -> Option<Point> {
    let blocks: Vec<Block> = match fit.is_by_steps() {
        true => window_blocks(fit, timebase),
        false => fit.epochs.complete().filter_map(|row| epoch_block(row, per_epoch, timebase)).collect(),
    };
    let settled = if blocks.len() > 1 { &blocks[1..] } else { &blocks[..] };
    (!settled.is_empty()).then(|| Point { x, blocks: settled.to_vec() })
}

/// The time of an epoch or of its steps; epochs that were added up weigh as many.
fn epoch_block(row: &Epoch, per_epoch: bool, timebase: &Timebase) -> Option<Block> {
    let weight = row.complete_count() as f64;
    let whole = || timebase.seconds(row.complete_wall()) / weight;
    let step = || timebase.seconds(row.tally.time) / row.tally.steps as f64;
    let mean = if per_epoch { Some(whole()) } else { (row.tally.steps > 0).then(step) };
    Some(Block { mean: mean?, weight })
}

fn window_blocks(fit: &Fit, timebase: &Timebase) -> Vec<Block> {
    let windows = chosen(&fit.laps, fit.laps.parts(None), None, true);
    let tallies = windows.iter().map(|window| &window.tally).filter(|tally| tally.steps > 0);
    tallies.map(|tally| Block::new(timebase.seconds(tally.time) / tally.steps as f64)).collect()
}

fn mean_point(point: &Point) -> Option<(f64, f64)> {
    let times: Vec<f64> = point.blocks.iter().map(|block| block.mean).collect();
    Some((point.x, mean(&times)?))
}
