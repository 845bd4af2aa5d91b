//! How the times of steps are spread: a histogram with its median and 95th percentile.

use laptime_analyse::{StepBin, StepStatistics, StepTimes};
use laptime_core::units;

use super::Scale;
use super::canvas::{Anchor, Area, Canvas, text_width};
use super::figure::Figure;
use super::numbers::Numbers;
use super::scale::Measure;
use super::tick::Unit;

/// Times that span this many times themselves are spread by their ratios.
const WIDE: f64 = 4.0;
const HEIGHT: f64 = 190.0;

/// The step times of one fit; `statistics` are marked where they are of these steps.
pub(crate) fn spread_figure(times: &StepTimes, statistics: Option<StepStatistics>) -> Option<Figure> {
    let (first, last) = (times.spread.first()?, times.spread.last()?);
    let count: u64 = times.spread.iter().map(|bin| bin.count).sum();
    let scale =
        if first.low_s > 0.0 && last.high_s > WIDE * first.low_s { Scale::Log } else { Scale::Linear };
    let measure = Measure { low: first.low_s, high: last.high_s, scale, unit: Unit::Seconds };
    let marks = statistics.map(|all| vec![("median", all.p50_s), ("p95", all.p95_s)]).unwrap_or_default();
    let said: String =
        marks.iter().map(|(name, value)| format!(", {name} {}", units::duration(*value))).collect();
    let described = format!(
        "How long {} took, from {} to {}{said}",
        units::counted(count, "step"),
        units::duration(first.low_s),
        units::duration(last.high_s)
    );
    let figure = Figure::new(
        &format!("spread-{}", times.fit + 1),
        "How long steps take",
        described,
        numbers(&times.spread, count),
        |canvas| draw(canvas, &times.spread, count, &measure, &marks),
    );
    Some(figure)
}

/// Steps for each unit of the axis: bins are not all as wide.
fn density(bin: &StepBin, scale: Scale) -> f64 {
    let wide = match scale {
        Scale::Linear => bin.high_s - bin.low_s,
        Scale::Log => (bin.high_s / bin.low_s).ln(),
    };
    if wide > 0.0 { bin.count as f64 / wide } else { 0.0 }
}

fn draw(canvas: &mut Canvas, bins: &[StepBin], count: u64, measure: &Measure, marks: &[(&str, f64)]) {
    let plot = Area { x: 0.0, y: 24.0, width: canvas.width, height: HEIGHT };
    let highest =
        bins.iter().map(|bin| density(bin, measure.scale)).fold(0.0, f64::max).max(f64::MIN_POSITIVE);
    for bin in bins.iter().filter(|bin| bin.count > 0) {
        let (from, to) = (measure.share(bin.low_s), measure.share(bin.high_s));
        // A single stall still shows.
        let height = (density(bin, measure.scale) / highest * plot.height).max(2.0);
        let tip = format!(
            "{}: {}, {}",
            units::interval(bin.low_s, bin.high_s),
            units::counted(bin.count, "step"),
            units::percent(bin.count as f64 / count.max(1) as f64)
        );
        let at = Area {
            x: plot.x + from * plot.width,
            y: plot.bottom() - height,
            width: ((to - from) * plot.width - 1.0).max(1.0),
            height,
        };
        canvas.rect("c0 ink", at, &tip);
    }
    let mut free = f64::NEG_INFINITY;
    for (name, value) in marks {
        let x = plot.x + measure.share(*value) * plot.width;
        let label = format!("{name} {}", units::duration(*value));
        canvas.path("rule", &format!("M{x:.1} {:.1}V{:.1}", plot.y - 4.0, plot.bottom()));
        let half = 0.5 * text_width(&label);
        let middle = x.clamp(half, canvas.width - half).max(free + half);
        if middle + half <= canvas.width {
            canvas.text("strong", (middle, 12.0), Anchor::Middle, &label);
        }
        free = middle + half + 10.0;
    }
    measure.draw_right(canvas, plot, if canvas.is_narrow() { 4 } else { 8 });
    canvas.height = plot.bottom() + 28.0;
}

fn numbers(bins: &[StepBin], count: u64) -> Numbers {
    let mut numbers = Numbers::new(["step time", "steps", "share"]);
    for bin in bins.iter().filter(|bin| bin.count > 0) {
        numbers.row([
            units::interval(bin.low_s, bin.high_s),
            units::count(bin.count),
            units::percent_in_column(bin.count as f64 / count.max(1) as f64),
        ]);
    }
    numbers
}
