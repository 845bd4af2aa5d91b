//! The lap chart: every lap as a stack of its stages, evaluation and checkpoints apart on top.

use std::collections::BTreeMap;

use laptime_analyse::{EpochSummary, LapKind, Report, fewer_laps};
use laptime_core::units;

use super::canvas::{Anchor, Area, Canvas, text_width};
use super::figure::Figure;
use super::numbers::Numbers;
use super::scale::Measure;
use super::theme::stage_order;
use super::tick::Unit;
use crate::stage_words::stage_name;

/// Laps drawn one by one; neighbours of more are one bar.
const MOST_BARS: usize = 96;
/// Stages that take less than this share of all laps are drawn as one.
const SMALL: f64 = 0.004;
/// Between a pass and what followed it.
const APART: f64 = 3.0;
const HEIGHT: f64 = 300.0;

/// The laps of a run; `None` where no lap began.
pub(crate) fn laps_figure(report: &Report) -> Option<Figure> {
    let laps = fewer_laps(&report.epochs, MOST_BARS);
    let laps: Vec<Lap> = laps.iter().map(|lap| Lap::of(lap, &report.epochs)).collect();
    let drawn = laps.iter().any(|lap| lap.height() > 0.0);
    let stages = stages(&laps);
    let unit = unit(report);
    let described = format!(
        "{} as stacked times of their stages{}",
        units::counted(report.epochs.iter().map(|lap| lap.count).sum(), unit),
        if laps.iter().any(|lap| !lap.after.is_empty()) {
            ", what followed each of them apart on top"
        } else {
            ""
        }
    );
    let title = format!("Every {unit}, by stage");
    let numbers = numbers(report, unit);
    drawn.then(|| {
        Figure::new("laps", title, described, numbers, |canvas| draw(canvas, &laps, &stages, unit, report))
    })
}

/// What the laps of a run are called.
pub(crate) fn unit(report: &Report) -> &'static str {
    let windows = report.epochs.iter().all(|lap| lap.kind == LapKind::Window);
    if windows && !report.epochs.is_empty() { "window of steps" } else { "epoch" }
}

/// A bar: times are the mean of the laps it stands for.
struct Lap {
    name: String,
    number: u32,
    fit: u32,
    stages: BTreeMap<String, f64>,
    wall_s: f64,
    after: Vec<(&'static str, f64)>,
    complete: bool,
}

impl Lap {
    fn of(lap: &EpochSummary, all: &[EpochSummary]) -> Self {
        let count = lap.count.max(1) as f64;
        let windows = lap.kind == LapKind::Window;
        // Windows that were added up still show their own time.
        let each = if windows { 1.0 } else { count };
        let after = [("evaluate", lap.evaluate_s / each), ("checkpoint", lap.checkpoint_s / each)];
        let several_fits = all.first().map(|first| first.fit) != all.last().map(|last| last.fit);
        Self {
            name: lap_name(lap, several_fits),
            number: lap.index + 1,
            fit: lap.fit,
            stages: lap.stages.iter().map(|(stage, seconds)| (stage.clone(), seconds / each)).collect(),
            wall_s: lap.wall_s / each,
            after: after.into_iter().filter(|(_, seconds)| *seconds > 0.0).collect(),
            complete: lap.complete,
        }
    }

    fn height(&self) -> f64 {
        self.wall_s + self.after.iter().map(|(_, seconds)| seconds).sum::<f64>()
    }
}

/// `epoch 3`, `epochs 3 to 12, mean`, `fit 2, steps 64 to 127`.
fn lap_name(lap: &EpochSummary, several_fits: bool) -> String {
    let (first, count) = (u64::from(lap.index) + 1, lap.count.max(1));
    let name = match lap.kind {
        LapKind::Window => {
            let last = lap.last_step().max(lap.first_step + 1);
            format!("steps {} to {}", units::count(lap.first_step + 1), units::count(last))
        }
        _ if count > 1 => {
            format!("epochs {} to {}, mean", units::count(first), units::count(first + count - 1))
        }
        _ => format!("epoch {}", units::count(first)),
    };
    if several_fits { format!("fit {}, {name}", lap.fit + 1) } else { name }
}

/// Every stage that is worth a colour, in the order of the stack; the others are one.
fn stages(laps: &[Lap]) -> Vec<String> {
    let mut sums: BTreeMap<&str, f64> = BTreeMap::new();
    let parts = laps.iter().flat_map(|lap| &lap.stages);
    parts.for_each(|(stage, seconds)| *sums.entry(stage).or_default() += seconds);
    let total: f64 = sums.values().sum();
    let worth = sums.iter().filter(|(_, seconds)| **seconds > SMALL * total);
    let mut stages: Vec<String> = worth.map(|(stage, _)| (*stage).to_owned()).collect();
    if stages.len() < sums.len() && !stages.iter().any(|stage| stage == OTHER) {
        stages.push(OTHER.to_owned());
    }
    stages.sort_by_key(|stage| stage_order(stage));
    stages
}

const OTHER: &str = "<other>";

fn draw(canvas: &mut Canvas, laps: &[Lap], stages: &[String], unit: &str, report: &Report) {
    let after = ["evaluate", "checkpoint"];
    let followed = |stage: &&str| laps.iter().any(|lap| lap.after.iter().any(|(after, _)| after == stage));
    let extra = after.into_iter().filter(followed).filter(|stage| !stages.iter().any(|known| known == stage));
    let top = canvas.legend(stages.iter().map(String::as_str).chain(extra), 0.0) + 12.0;
    let highest = laps.iter().map(Lap::height).fold(0.0, f64::max);
    let measure = Measure::from_zero(highest * 1.04, Unit::Seconds);
    let left = measure.label_width(5);
    let plot = Area { x: left, y: top, width: canvas.width - left, height: HEIGHT };
    measure.draw_up(canvas, plot, 5);
    let slot = plot.width / laps.len().max(1) as f64;
    let width = (slot * 0.78).min(72.0).max(slot.min(1.0));
    let mut free = f64::NEG_INFINITY;
    for (at, lap) in laps.iter().enumerate() {
        let x = plot.x + (at as f64 + 0.5) * slot;
        draw_lap(canvas, lap, stages, (x - 0.5 * width, width), plot, &measure);
        let label = tick_label(lap, at.checked_sub(1).map(|before| &laps[before]), report);
        let half = 0.5 * text_width(&label);
        let middle = x.clamp(half, canvas.width - half);
        if middle - half > free {
            canvas.text("", (middle, plot.bottom() + 19.0), Anchor::Middle, &label);
            free = middle + half + 12.0;
        }
    }
    canvas.path("axis", &format!("M{:.1} {:.1}H{:.1}", plot.x, plot.bottom(), plot.right()));
    canvas.text("", (plot.x + 0.5 * plot.width, plot.bottom() + 38.0), Anchor::Middle, unit);
    canvas.height = plot.bottom() + 46.0;
}

/// The lap's number; where a fit begins, of several, with the fit's.
fn tick_label(lap: &Lap, before: Option<&Lap>, report: &Report) -> String {
    let begins = before.is_none_or(|before| before.fit != lap.fit);
    if report.fits.len() > 1 && begins {
        return format!("fit {}", lap.fit + 1);
    }
    units::count(u64::from(lap.number))
}

fn draw_lap(
    canvas: &mut Canvas,
    lap: &Lap,
    stages: &[String],
    (x, width): (f64, f64),
    plot: Area,
    measure: &Measure,
) {
    let mut y = plot.bottom();
    let so_far = if lap.complete { "" } else { " so far" };
    for stage in stages {
        let seconds =
            if stage == OTHER { other(lap, stages) } else { lap.stages.get(stage).copied().unwrap_or(0.0) };
        let height = measure.share(seconds) * plot.height;
        y -= height;
        let share = if lap.wall_s > 0.0 { seconds / lap.wall_s } else { 0.0 };
        let tip = format!(
            "{}: {}{so_far}\n{} {}, {}",
            lap.name,
            units::duration(lap.wall_s),
            stage_name(stage),
            units::duration(seconds),
            units::percent(share)
        );
        let at = Area { x, y, width, height };
        if lap.complete { canvas.stage(stage, at, &tip, None) } else { canvas.open_stage(stage, at, &tip) }
    }
    y -= APART;
    for (stage, seconds) in &lap.after {
        let height = measure.share(*seconds) * plot.height;
        y -= height;
        let tip = format!("{}\nfollowed by {} {}", lap.name, stage_name(stage), units::duration(*seconds));
        canvas.stage(stage, Area { x, y, width, height }, &tip, None);
    }
}

/// What the stages without a colour of their own took.
fn other(lap: &Lap, stages: &[String]) -> f64 {
    let small = lap.stages.iter().filter(|(stage, _)| *stage == OTHER || !stages.contains(stage));
    small.map(|(_, seconds)| seconds).sum()
}

fn numbers(report: &Report, unit: &str) -> Numbers {
    let rows = fewer_laps(&report.epochs, MOST_BARS);
    let several_fits = report.fits.len() > 1;
    let mut stages: Vec<&str> = rows.iter().flat_map(|lap| lap.stages.keys()).map(String::as_str).collect();
    stages.sort_by_key(|stage| (stage_order(stage), *stage));
    stages.dedup();
    let names: Vec<String> = stages.iter().map(|stage| stage_name(stage)).collect();
    let fixed = [unit, "wall", "steps", "samples/s", "loss", "evaluation after", "checkpoint after"];
    let mut numbers = Numbers::new(fixed.into_iter().chain(names.iter().map(String::as_str)));
    for lap in &rows {
        let seconds =
            |value: f64| if value > 0.0 { units::duration(value) } else { units::UNKNOWN.to_owned() };
        let name = if lap.count > 1 && lap.kind != LapKind::Window {
            lap_name(lap, several_fits).replace(", mean", "")
        } else {
            lap_name(lap, several_fits)
        };
        let fixed = [
            name,
            units::duration(lap.wall_s),
            units::count(lap.steps),
            units::or_unknown(lap.samples_per_s, units::per_second),
            units::or_unknown(lap.loss, units::number),
            seconds(lap.evaluate_s),
            seconds(lap.checkpoint_s),
        ];
        let of_stages = stages.iter().map(|stage| seconds(lap.stages.get(*stage).copied().unwrap_or(0.0)));
        numbers.row(fixed.into_iter().chain(of_stages));
    }
    numbers
}
