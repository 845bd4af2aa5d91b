//! A chart as SVG: one file that needs nothing else, readable on light and on dark.

use std::fmt::Write;

use laptime_core::{display_name, units};

use super::canvas::Canvas;
use super::frame::{Frame, Tick, without_overlap};
use super::numbers::Numbers;
use super::theme::{SERIES, style_alone};
use super::{Axis, Chart, Mark, Place, Series};
use crate::markup::{cut, escaped};

/// The picture's size, in its own units.
const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 420.0;
/// Room on the right and below the plot.
const RIGHT: f64 = 24.0;
const BELOW: f64 = 56.0;
/// Room for the title above.
const TITLE: f64 = 30.0;
/// The height of a line of text.
const LINE: f64 = 20.0;
/// The mean width of a letter of 12 units in the usual fonts for screens; wide ones reach 0.65.
const LETTER: f64 = 7.2;
/// Letters of a title or a name that always fit.
const LONGEST_TITLE: usize = 76;
const LONGEST_NAME: usize = 40;
/// Series beyond these share colours with the first, but not marks.
const COLORS: usize = SERIES.len();

/// The chart as the text of an SVG file.
#[must_use]
pub fn svg(chart: &Chart) -> String {
    let mut body = Picture { width: WIDTH, ..Picture::default() };
    let shown = escaped(&cut(&chart.title, LONGEST_TITLE));
    body.add(format_args!("<text class=\"title\" x=\"20\" y=\"28\">{shown}</text>"));
    body.chart(chart, HEIGHT, TITLE);
    let mut picture = Picture { width: WIDTH, ..Picture::default() };
    picture.head(chart, &body.text);
    format!("{}{}</svg>\n", picture.text, body.text)
}

/// The chart without its title on a canvas.
pub(super) fn plot(canvas: &mut Canvas, chart: &Chart) {
    let mut picture = Picture { width: canvas.width, ..Picture::default() };
    let height = if canvas.is_narrow() { 300.0 } else { 340.0 };
    picture.chart(chart, height, 0.0);
    canvas.height = height;
    canvas.add(format_args!("{}", picture.text));
}

/// The part of the picture where values are drawn.
struct Plot {
    left: f64,
    top: f64,
    right: f64,
    bottom: f64,
    frame: Frame,
}

impl Plot {
    fn across(&self, share: f64) -> f64 {
        self.left + share * (self.right - self.left)
    }

    fn up(&self, share: f64) -> f64 {
        self.bottom - share * (self.bottom - self.top)
    }

    fn place(&self, x: f64, y: f64) -> Option<(f64, f64)> {
        let (x, y) = self.frame.place(x, y)?;
        Some((self.across(x), self.up(y)))
    }

    fn height(&self, y: f64) -> Option<f64> {
        self.frame.y.share(y).map(|share| self.up(share))
    }
}

/// A name in the legend, with its series and how far right it stands.
type Entry = (usize, String, f64);

/// The names, in as many rows as they need.
fn legend_rows(chart: &Chart, width: f64) -> Vec<Vec<Entry>> {
    let mut rows: Vec<Vec<Entry>> = Vec::new();
    let mut at = f64::INFINITY;
    for (index, series) in chart.series.iter().enumerate().filter(|(_, series)| !series.name.is_empty()) {
        let name = cut(&series.name, LONGEST_NAME);
        let wanted = text_width(&name) + 42.0;
        if at + wanted > width - RIGHT {
            rows.push(Vec::new());
            at = 20.0;
        }
        if let Some(row) = rows.last_mut() {
            row.push((index, name, at));
        }
        at += wanted;
    }
    rows
}

#[derive(Default)]
struct Picture {
    text: String,
    width: f64,
}

impl Picture {
    fn add(&mut self, text: std::fmt::Arguments) {
        // Writing into memory does not fail.
        let _ = self.text.write_fmt(text);
        self.text.push('\n');
    }

    /// All but the title, which takes `head` above.
    fn chart(&mut self, chart: &Chart, height: f64, head: f64) {
        let frame = Frame::of(chart);
        let legend = legend_rows(chart, self.width);
        let y_ticks = frame.y_ticks(chart, 6);
        let widest = y_ticks.iter().map(|tick| text_width(&tick.label)).fold(0.0, f64::max);
        let left = (widest + 22.0).max(56.0);
        let above = head + 32.0 + LINE * legend.len() as f64;
        let plot = Plot { left, top: above, right: self.width - RIGHT, bottom: height - BELOW, frame };
        self.legend(&legend, head);
        self.axes(chart, &plot, &y_ticks);
        for (at, series) in chart.series.iter().enumerate() {
            self.series(chart, series, at, &plot);
        }
    }

    fn head(&mut self, chart: &Chart, body: &str) {
        let title = escaped(&display_name(&chart.title));
        self.add(format_args!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"lt\" role=\"img\" aria-label=\"{title}\" \
             viewBox=\"0 0 {WIDTH} {HEIGHT}\" width=\"{WIDTH}\" height=\"{HEIGHT}\">"
        ));
        self.add(format_args!("<title>{title}</title>"));
        self.add(format_args!("<desc>{}</desc>", escaped(&display_name(&described(chart)))));
        self.add(format_args!("<style>{}</style>", style_alone(body)));
        self.add(format_args!("<rect class=\"paper\" width=\"{WIDTH}\" height=\"{HEIGHT}\"/>"));
    }

    fn legend(&mut self, rows: &[Vec<Entry>], head: f64) {
        for (row, entries) in rows.iter().enumerate() {
            let y = head + 20.0 + LINE * row as f64;
            for (index, name, x) in entries {
                self.add(format_args!(
                    "<g class=\"c{}\">{}",
                    index % COLORS,
                    sign(*index, (x + 6.0, y - 4.0), "")
                ));
                self.add(format_args!("<text x=\"{:.1}\" y=\"{y}\">{}</text></g>", x + 18.0, escaped(name)));
            }
        }
    }

    fn axes(&mut self, chart: &Chart, plot: &Plot, y_ticks: &[Tick]) {
        let Plot { left, top, right, bottom, .. } = *plot;
        self.add(format_args!("<text x=\"20\" y=\"{:.1}\">{}</text>", top - 12.0, axis_label(&chart.y)));
        for tick in y_ticks {
            let (y, label) = (plot.up(tick.share), escaped(&tick.label));
            self.add(format_args!("<path class=\"grid\" d=\"M{left:.1} {y:.1}H{right:.1}\"/>"));
            self.add(format_args!(
                "<text text-anchor=\"end\" x=\"{:.1}\" y=\"{:.1}\">{label}</text>",
                left - 8.0,
                y + 4.0
            ));
        }
        self.add(format_args!("<path class=\"axis\" d=\"M{left:.1} {bottom:.1}H{right:.1}\"/>"));
        let width = right - left;
        let ticks = plot.frame.x_ticks(chart, 7);
        for tick in without_overlap(ticks, |label| (text_width(label) + 12.0) / width) {
            let (x, label) = (plot.across(tick.share), escaped(&tick.label));
            self.add(format_args!("<path class=\"axis\" d=\"M{x:.1} {bottom:.1}v5\"/>"));
            self.add(format_args!(
                "<text text-anchor=\"middle\" x=\"{x:.1}\" y=\"{:.1}\">{label}</text>",
                bottom + 20.0
            ));
        }
        self.add(format_args!(
            "<text text-anchor=\"middle\" x=\"{:.1}\" y=\"{:.1}\">{}</text>",
            0.5 * (left + right),
            bottom + BELOW - 14.0,
            axis_label(&chart.x)
        ));
    }

    fn series(&mut self, chart: &Chart, series: &Series, at: usize, plot: &Plot) {
        self.add(format_args!("<g class=\"c{}\">", at % COLORS));
        self.band(&series.curve, plot);
        for (run, beyond) in runs(&series.curve) {
            let places = run.iter().filter_map(|place| plot.place(place.x, place.y));
            self.line(places, if beyond { "line stroke beyond" } else { "line stroke" });
        }
        if series.joined {
            self.line(series.marks.iter().filter_map(|mark| plot.place(mark.x, mark.y)), "line stroke");
        }
        for mark in series.shown_marks(at) {
            self.mark(chart, mark, at, plot);
        }
        self.add(format_args!("</g>"));
    }

    fn band(&mut self, curve: &[Place], plot: &Plot) {
        let ends = curve.iter().filter_map(|place| {
            let (low, high) = place.interval?;
            let (x, _) = plot.place(place.x, place.y)?;
            Some((x, plot.height(low).unwrap_or(plot.bottom), plot.height(high)?))
        });
        let ends: Vec<(f64, f64, f64)> = ends.collect();
        if ends.len() < 2 {
            return;
        }
        let above = ends.iter().map(|(x, _, high)| (*x, *high));
        let below = ends.iter().rev().map(|(x, low, _)| (*x, *low));
        let around: Vec<(f64, f64)> = above.chain(below).collect();
        self.add(format_args!("<path class=\"band ink\" d=\"{}Z\"/>", path(&around)));
    }

    fn line(&mut self, places: impl Iterator<Item = (f64, f64)>, class: &str) {
        let places: Vec<(f64, f64)> = places.collect();
        if places.len() > 1 {
            self.add(format_args!("<path class=\"{class}\" d=\"{}\"/>", path(&places)));
        }
    }

    fn mark(&mut self, chart: &Chart, mark: &Mark, at: usize, plot: &Plot) {
        let Some((x, y)) = plot.place(mark.x, mark.y) else { return };
        if let Some((low, high)) = mark.interval
            && let Some(high) = plot.height(high)
        {
            // An end at zero or below has no place on a logarithmic axis: the line goes down to it.
            let low = plot.height(low).unwrap_or(plot.bottom);
            self.add(format_args!("<path class=\"ends stroke\" d=\"M{x:.1} {high:.1}V{low:.1}\"/>"));
        }
        let tip = tip(chart, &chart.series[at], mark);
        self.add(format_args!("{}", sign(at, (x, y), &tip)));
    }
}

/// The mark of a series: another form for another one, since not everybody sees colours.
fn sign(series: usize, (x, y): (f64, f64), tip: &str) -> String {
    let d = match series % 4 {
        0 => return format!("<circle class=\"ink\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"4\">{tip}</circle>"),
        1 => "m-3.6 -3.6h7.2v7.2h-7.2z",
        2 => "m0 -4.6l4.5 8h-9z",
        _ => "m0 -5l5 5l-5 5l-5 -5z",
    };
    format!("<path class=\"ink\" d=\"M{x:.1} {y:.1}{d}\">{tip}</path>")
}

/// What a mark says on hover.
fn tip(chart: &Chart, series: &Series, mark: &Mark) -> String {
    let (x, y) = (chart.x.unit.shown(mark.x), chart.y.unit.shown(mark.y));
    let name =
        if series.name.is_empty() { String::new() } else { format!("{}\n", display_name(&series.name)) };
    let interval = mark
        .interval
        .map(|(low, high)| format!(" ({} to {})", chart.y.unit.shown(low), chart.y.unit.shown(high)));
    let text =
        format!("{}: {x}\n{}: {y}{}", with_unit(&chart.x), with_unit(&chart.y), interval.unwrap_or_default());
    format!("<title>{}</title>", escaped(&format!("{name}{text}")))
}

/// Every mark as a row.
pub(super) fn numbers(chart: &Chart) -> Numbers {
    let (x, y) = (with_unit(&chart.x), with_unit(&chart.y));
    let mut numbers = Numbers::new([x.as_str(), "series", y.as_str(), "at least", "at most"]);
    for series in &chart.series {
        for mark in &series.marks {
            let end = |end: Option<f64>| units::or_unknown(end, |end| chart.y.unit.shown(end));
            let (low, high) = mark.interval.unzip();
            let value = chart.y.unit.shown(mark.y);
            numbers.row([chart.x.unit.shown(mark.x), display_name(&series.name), value, end(low), end(high)]);
        }
    }
    numbers
}

/// The measured part of a curve and the parts beyond, which share the place where they meet.
fn runs(curve: &[Place]) -> Vec<(&[Place], bool)> {
    let mut runs = Vec::new();
    let mut start = 0;
    for run in curve.chunk_by(|a, b| a.extrapolated == b.extrapolated) {
        let end = start + run.len();
        let beyond = run[0].extrapolated;
        // Of two runs that meet, the one beyond reaches over.
        let from = if beyond { start.saturating_sub(1) } else { start };
        let to = if beyond { (end + 1).min(curve.len()) } else { end };
        runs.push((&curve[from..to], beyond));
        start = end;
    }
    runs
}

fn path(places: &[(f64, f64)]) -> String {
    let mut path = String::new();
    for (at, (x, y)) in places.iter().enumerate() {
        let _ = write!(path, "{}{x:.1} {y:.1}", if at == 0 { 'M' } else { 'L' });
    }
    path
}

fn axis_label(axis: &Axis) -> String {
    escaped(&cut(&with_unit(axis), LONGEST_NAME))
}

fn with_unit(axis: &Axis) -> String {
    match axis.unit.beside_label() {
        Some(unit) => format!("{} ({unit})", axis.label),
        None => axis.label.clone(),
    }
}

/// The chart in words, for those who hear it.
pub(super) fn described(chart: &Chart) -> String {
    let names: Vec<&str> = chart.series.iter().map(|series| series.name.as_str()).collect();
    let marks: usize = chart.series.iter().map(|series| series.marks.len()).sum();
    // A single series is often named like its axis.
    let named = names.iter().any(|name| !name.is_empty() && **name != chart.y.label);
    let of = if named { format!(" of {}", names.join(", ")) } else { String::new() };
    format!("{}{of} against {}, {marks} points", with_unit(&chart.y), with_unit(&chart.x))
}

fn text_width(text: &str) -> f64 {
    LETTER * text.chars().count() as f64
}
