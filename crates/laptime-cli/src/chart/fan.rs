//! The forecast fan: when the training was expected to end, as every lap ended, and what happened.

use laptime_analyse::{EpochSummary, Estimate, FitSummary, Report};
use laptime_core::{Status, units};

use super::Scale;
use super::canvas::{Anchor, Area, Canvas, text_width};
use super::figure::Figure;
use super::numbers::Numbers;
use super::scale::Measure;
use super::tick::Unit;

const HEIGHT: f64 = 220.0;
/// Forecasts drawn; of more, evenly spread ones.
const MOST: usize = 120;

/// What was expected at one moment, all counted from the fit's begin.
#[derive(Clone, Copy)]
struct Expected {
    at_s: f64,
    end: Estimate,
}

/// The forecasts of the newest fit that has some; `None` of fewer than two.
pub(crate) fn fan_figure(report: &Report) -> Option<Figure> {
    let fit = report.fits.iter().rev().find(|fit| expected(report, fit).len() > 1)?;
    let all = expected(report, fit);
    let every = all.len().div_ceil(MOST);
    let drawn: Vec<Expected> = all.iter().copied().step_by(every).collect();
    let is_over = report.run.status == Status::Finished
        || report.fits.last().is_some_and(|last| last.index > fit.index);
    let happened = Some(fit.wall_s).filter(|_| is_over);
    let truth = match happened {
        Some(end) => format!("it took {}", units::duration(end)),
        None => "it is not over".to_owned(),
    };
    let described = format!(
        "How long the training was expected to take, as each of {} ended; {truth}",
        units::counted(all.len() as u64, "lap")
    );
    let figure = Figure::new(
        "forecast",
        "Forecast and what happened",
        described,
        numbers(&drawn, happened),
        |canvas| {
            draw(canvas, &drawn, happened);
        },
    );
    Some(figure)
}

fn expected(report: &Report, fit: &FitSummary) -> Vec<Expected> {
    let laps = report.epochs.iter().filter(|lap| lap.fit == fit.index);
    let end = |lap: &EpochSummary| {
        let (at_s, left) = (lap.ended_s?, lap.time_left?);
        let end = Estimate { mean: at_s + left.mean, low: at_s + left.low, high: at_s + left.high, ..left };
        Some(Expected { at_s, end })
    };
    laps.filter_map(end).collect()
}

fn draw(canvas: &mut Canvas, all: &[Expected], happened: Option<f64>) {
    let ends = || all.iter().flat_map(|one| [one.end.low, one.end.high, one.end.mean]).chain(happened);
    let (low, high) = ends().fold((f64::INFINITY, 0.0_f64), |(low, high), end| (low.min(end), high.max(end)));
    let room = (0.08 * (high - low)).max(0.01 * high);
    let up =
        Measure { low: (low - room).max(0.0), high: high + room, scale: Scale::Linear, unit: Unit::Seconds };
    let last = all.last().map_or(1.0, |one| one.at_s).max(happened.unwrap_or(0.0));
    let right = Measure::from_zero(last, Unit::Seconds);
    let left = up.label_width(4);
    let plot = Area { x: left, y: 24.0, width: canvas.width - left - 8.0, height: HEIGHT };
    up.draw_up(canvas, plot, 4);
    let place = |at: f64, end: f64| {
        (plot.x + right.share(at) * plot.width, plot.bottom() - up.share(end) * plot.height)
    };
    let above = all.iter().map(|one| place(one.at_s, one.end.high));
    let below = all.iter().rev().map(|one| place(one.at_s, one.end.low));
    canvas.add(format_args!("<g class=\"c0\">"));
    canvas.path("band ink", &format!("{}Z", path(above.chain(below))));
    canvas.path("line stroke", &path(all.iter().map(|one| place(one.at_s, one.end.mean))));
    canvas.add(format_args!("</g>"));
    if let Some(end) = happened {
        let (_, y) = place(0.0, end);
        canvas.path("rule", &format!("M{:.1} {y:.1}H{:.1}", plot.x, plot.right()));
        let label = format!("it took {}", units::duration(end));
        let x = (plot.right() - text_width(&label)).max(plot.x);
        canvas.text("strong", (x, 14.0), Anchor::Start, &label);
    }
    let mut from = plot.x;
    for (at, one) in all.iter().enumerate() {
        let next = all
            .get(at + 1)
            .map_or(plot.right(), |next| 0.5 * (place(one.at_s, 0.0).0 + place(next.at_s, 0.0).0));
        let hit = Area { x: from, y: plot.y, width: next - from, height: plot.height };
        canvas.rect("hit", hit, &tip(one));
        from = next;
    }
    right.draw_right(canvas, plot, if canvas.is_narrow() { 3 } else { 7 });
    canvas.text(
        "",
        (plot.x + 0.5 * plot.width, plot.bottom() + 38.0),
        Anchor::Middle,
        "time since the training began",
    );
    canvas.height = plot.bottom() + 46.0;
}

fn tip(one: &Expected) -> String {
    let end = one.end;
    format!(
        "after {}: {} in all\n{} % of the time {}",
        units::duration(one.at_s),
        units::duration(end.mean),
        (end.level * 100.0).round(),
        units::interval(end.low, end.high)
    )
}

fn path(places: impl Iterator<Item = (f64, f64)>) -> String {
    let word =
        |(at, (x, y)): (usize, (f64, f64))| format!("{}{x:.1} {y:.1}", if at == 0 { 'M' } else { 'L' });
    places.enumerate().map(word).collect()
}

fn numbers(all: &[Expected], happened: Option<f64>) -> Numbers {
    let mut numbers = Numbers::new(["after", "expected in all", "at least", "at most"]);
    for one in all {
        numbers.row([one.at_s, one.end.mean, one.end.low, one.end.high].map(units::duration));
    }
    if let Some(end) = happened {
        let unknown = || units::UNKNOWN.to_owned();
        numbers.row(["what happened".to_owned(), units::duration(end), unknown(), unknown()]);
    }
    numbers
}
