//! Two sides of a comparison: a step of each as a stack of its stages.

use laptime_analyse::compare::{Comparison, StageChange};
use laptime_core::units;

use super::figure::Figure;
use super::numbers::Numbers;
use super::stacked::{Row, draw_rows};
use crate::one_line::shown;
use crate::stage_words::stage_name;

/// The stages of a step on the thread that takes the steps, and on the device where all runs have its times.
pub(crate) fn compare_figures(comparison: &Comparison) -> Vec<Figure> {
    let host = figure(comparison, &comparison.stages, "stages", "A step of each side, by stage");
    let device = comparison.device_stages.as_deref().unwrap_or_default();
    let device = figure(comparison, device, "device", "The same on the device");
    host.into_iter().chain(device).collect()
}

fn figure(comparison: &Comparison, stages: &[StageChange], id: &str, title: &str) -> Option<Figure> {
    let side = |name: &str, of: fn(&StageChange) -> f64| Row {
        name: shown(name),
        strong: false,
        stages: stages.iter().map(|stage| (stage.stage.clone(), of(stage))).collect(),
    };
    let (a, b) = (&comparison.a.name, &comparison.b.name);
    let rows = [side(a, |stage| stage.a_s), side(b, |stage| stage.b_s)];
    let described = format!("Where a step of {} and one of {} go", shown(a), shown(b));
    let numbers = numbers(comparison, stages);
    (!stages.is_empty())
        .then(|| Figure::new(id, title, described, numbers, |canvas| draw_rows(canvas, &rows)))
}

fn numbers(comparison: &Comparison, stages: &[StageChange]) -> Numbers {
    let (a, b) = (shown(&comparison.a.name), shown(&comparison.b.name));
    let mut numbers = Numbers::new(["stage", &a, &b, "ratio", "at least", "at most", "beyond noise"]);
    for stage in stages {
        let ratio = |of: fn(&laptime_core::Estimate) -> f64| {
            units::or_unknown(stage.ratio.as_ref().map(of), |ratio| units::fixed(ratio, 3))
        };
        numbers.row([
            stage_name(&stage.stage),
            units::duration(stage.a_s),
            units::duration(stage.b_s),
            ratio(|ratio| ratio.mean),
            ratio(|ratio| ratio.low),
            ratio(|ratio| ratio.high),
            if stage.changed { "yes" } else { "no" }.to_owned(),
        ]);
    }
    numbers
}
