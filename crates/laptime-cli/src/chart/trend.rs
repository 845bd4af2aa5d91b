//! How the times of steps went: their mean along the run, the part that waits for data, and where the level moved.

use laptime_analyse::{StepChange, StepGroup, StepTimes};
use laptime_core::units;

use super::canvas::{Anchor, Area, Canvas, text_width};
use super::figure::Figure;
use super::numbers::Numbers;
use super::scale::Measure;
use super::theme::stage_class;
use super::tick::Unit;

const HEIGHT: f64 = 220.0;
/// Groups are cut off at so many times the median, so that one stall does not flatten all else.
const TALLEST: f64 = 4.0;

/// The step times of one fit along the run; `None` of a single group.
pub(crate) fn trend_figure(times: &StepTimes) -> Option<Figure> {
    let last = times.trend.last().filter(|_| times.trend.len() > 1)?;
    let steps = last.first_step + last.steps;
    let moved: Vec<String> = times.changes.iter().map(change_text).collect();
    let changes = if moved.is_empty() { "no lasting change".to_owned() } else { moved.join("; ") };
    let described = format!("The mean time along {}: {changes}", units::counted(steps, "step"));
    let id = format!("trend-{}", times.fit + 1);
    let figure = Figure::new(&id, "Step times along the run", described, numbers(times), |canvas| {
        draw(canvas, times, steps);
    });
    Some(figure)
}

fn change_text(change: &StepChange) -> String {
    format!(
        "from step {} on {} instead of {}",
        units::count(change.step + 1),
        units::duration(change.after_s),
        units::duration(change.before_s)
    )
}

fn draw(canvas: &mut Canvas, times: &StepTimes, steps: u64) {
    let groups = &times.trend;
    let mut means: Vec<f64> = groups.iter().map(|group| group.mean_s).collect();
    means.sort_by(f64::total_cmp);
    let (middle, highest) = (means[means.len() / 2], means[means.len() - 1]);
    let highest = if highest > TALLEST * middle { TALLEST * middle } else { highest };
    let up = Measure::from_zero(highest * 1.1, Unit::Seconds);
    let right = Measure::from_zero(steps as f64, Unit::Number);
    let waits = groups.iter().any(|group| group.wait_s > 0.01 * group.mean_s);
    let top = if waits { canvas.legend(["data_wait"], 0.0) } else { 0.0 };
    let left = up.label_width(4);
    let plot = Area { x: left, y: top + 24.0, width: canvas.width - left - 8.0, height: HEIGHT };
    up.draw_up(canvas, plot, 4);
    draw_waits(canvas, groups, plot, (&right, &up));
    let at = |group: &StepGroup| plot.bottom() - up.share(group.mean_s) * plot.height;
    let line = stepped(groups, plot, &right, at);
    canvas.add(format_args!("<g class=\"c0\"><path class=\"line stroke\" d=\"{line}\"/></g>"));
    for group in groups {
        let (x, width) = across(group, plot, &right);
        let tall = if up.share(group.mean_s) >= 1.0 { " (higher than drawn)" } else { "" };
        let hit = Area { x, y: plot.y, width, height: plot.height };
        canvas.rect("hit", hit, &tip(group, tall));
    }
    for change in &times.changes {
        let x = plot.x + right.share(change.step as f64) * plot.width;
        canvas.path("rule", &format!("M{x:.1} {:.1}V{:.1}", plot.y - 6.0, plot.bottom()));
        let label = format!("{} → {}", units::duration(change.before_s), units::duration(change.after_s));
        let half = 0.5 * text_width(&label);
        let middle = x.clamp(half, (canvas.width - half).max(half));
        canvas.text("strong", (middle, plot.y - 10.0), Anchor::Middle, &label);
    }
    right.draw_right(canvas, plot, if canvas.is_narrow() { 3 } else { 7 });
    canvas.text("", (plot.x + 0.5 * plot.width, plot.bottom() + 38.0), Anchor::Middle, "step");
    canvas.height = plot.bottom() + 46.0;
}

/// Where some steps lie, and how wide they are.
fn across(group: &StepGroup, plot: Area, right: &Measure) -> (f64, f64) {
    let from = right.share(group.first_step as f64) * plot.width;
    let to = right.share(group.first_step as f64 + group.steps as f64) * plot.width;
    (plot.x + from, to - from)
}

/// A line from left to right that stays at the height of each group.
fn stepped(groups: &[StepGroup], plot: Area, right: &Measure, height: impl Fn(&StepGroup) -> f64) -> String {
    let part = |(at, group): (usize, &StepGroup)| {
        let ((x, width), y) = (across(group, plot, right), height(group));
        let begin = if at == 0 { format!("M{x:.1} {y:.1}") } else { format!("V{y:.1}") };
        format!("{begin}H{:.1}", x + width)
    };
    groups.iter().enumerate().map(part).collect()
}

/// What they waited for data, as an area at the bottom.
fn draw_waits(canvas: &mut Canvas, groups: &[StepGroup], plot: Area, (right, up): (&Measure, &Measure)) {
    let at = |group: &StepGroup| plot.bottom() - up.share(group.wait_s) * plot.height;
    let line = stepped(groups, plot, right, at);
    let bottom = plot.bottom();
    let (class, _) = stage_class("data_wait");
    let area = format!("{line}V{bottom:.1}H{:.1}Z", plot.x);
    canvas.add(format_args!("<g class=\"{class}\"><path class=\"ink\" d=\"{area}\"/></g>"));
}

fn tip(group: &StepGroup, tall: &str) -> String {
    let waited = match group.wait_s {
        wait if wait > 0.0 => format!("\nof it waiting for data {}", units::duration(wait)),
        _ => String::new(),
    };
    format!("{}: {}{tall}{waited}", steps_name(group), units::duration(group.mean_s))
}

fn steps_name(group: &StepGroup) -> String {
    let first = group.first_step + 1;
    if group.steps == 1 {
        return format!("step {}", units::count(first));
    }
    format!("steps {} to {}", units::count(first), units::count(group.first_step + group.steps))
}

fn numbers(times: &StepTimes) -> Numbers {
    let mut numbers = Numbers::new(["steps", "mean time", "of it waiting for data"]);
    for group in &times.trend {
        numbers.row([steps_name(group), units::duration(group.mean_s), units::duration(group.wait_s)]);
    }
    for change in &times.changes {
        numbers.row([
            format!("change at step {}", units::count(change.step + 1)),
            format!("{} → {}", units::duration(change.before_s), units::duration(change.after_s)),
            units::UNKNOWN.to_owned(),
        ]);
    }
    numbers
}
