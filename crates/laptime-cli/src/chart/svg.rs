//! A chart as SVG: one file that needs nothing else, readable on light and on dark.

use std::fmt::Write;

use laptime_core::display_name;

use super::frame::{Frame, Tick, without_overlap};
use super::{Axis, Chart, Mark, Place, Series};
use crate::markup::{cut, escaped};

/// The picture's size, in its own units.
const WIDTH: f64 = 720.0;
const HEIGHT: f64 = 420.0;
/// Room on the right and below the plot.
const RIGHT: f64 = 24.0;
const BELOW: f64 = 56.0;
/// The height of a line of text.
const LINE: f64 = 20.0;
/// The mean width of a letter of 12 units in the usual fonts for screens; wide ones reach 0.65.
const LETTER: f64 = 7.2;
/// Letters of a title or a name that always fit.
const LONGEST_TITLE: usize = 76;
const LONGEST_NAME: usize = 40;
/// Series beyond these share colours with the first, but not marks.
const COLORS: usize = 8;

const STYLE: &str = "\
.lt text{font:12px system-ui,-apple-system,'Segoe UI',Roboto,sans-serif;fill:#3d444d}\
.lt .title{font-size:15px;font-weight:600;fill:#1f2328}\
.lt .paper{fill:#fff}.lt .grid{stroke:#d8dee4;stroke-width:1}.lt .axis{stroke:#818b98;stroke-width:1}\
.lt .line{fill:none;stroke-width:2;stroke-linejoin:round}.lt .beyond{stroke-dasharray:6 5}\
.lt .ends{stroke-width:1.5}.lt .band{opacity:.15;stroke:none}\
.lt .c0{color:#0b62c4}.lt .c1{color:#c2410c}.lt .c2{color:#15803d}.lt .c3{color:#8b2fd6}\
.lt .c4{color:#a16207}.lt .c5{color:#0e7490}.lt .c6{color:#be185d}.lt .c7{color:#5b6470}\
.lt .ink{fill:currentColor}.lt .stroke{stroke:currentColor}\
@media (prefers-color-scheme:dark){.lt text{fill:#b6bfc9}.lt .title{fill:#f0f3f6}.lt .paper{fill:#0d1117}\
.lt .grid{stroke:#2a313a}.lt .axis{stroke:#6e7781}\
.lt .c0{color:#6cb2ff}.lt .c1{color:#ff9d5c}.lt .c2{color:#5fd38a}.lt .c3{color:#c99bff}\
.lt .c4{color:#f2c14e}.lt .c5{color:#5fd0e0}.lt .c6{color:#ff8fc0}.lt .c7{color:#aab4bf}}";

/// The chart as the text of an SVG file.
#[must_use]
pub fn svg(chart: &Chart) -> String {
    let frame = Frame::of(chart);
    let legend = legend_rows(chart);
    let y_ticks = frame.y_ticks(chart, 6);
    let widest = y_ticks.iter().map(|tick| text_width(&tick.label)).fold(0.0, f64::max);
    let left = (widest + 22.0).max(56.0);
    let above = 62.0 + LINE * legend.len() as f64;
    let plot = Plot { left, top: above, right: WIDTH - RIGHT, bottom: HEIGHT - BELOW, frame };
    let mut picture = Picture::default();
    picture.head(chart);
    picture.legend(&legend);
    picture.axes(chart, &plot, &y_ticks);
    for (at, series) in chart.series.iter().enumerate() {
        picture.series(series, at, &plot);
    }
    picture.0.push_str("</svg>\n");
    picture.0
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
fn legend_rows(chart: &Chart) -> Vec<Vec<Entry>> {
    let mut rows: Vec<Vec<Entry>> = Vec::new();
    let mut at = f64::INFINITY;
    for (index, series) in chart.series.iter().enumerate().filter(|(_, series)| !series.name.is_empty()) {
        let name = cut(&series.name, LONGEST_NAME);
        let width = text_width(&name) + 42.0;
        if at + width > WIDTH - RIGHT {
            rows.push(Vec::new());
            at = 20.0;
        }
        if let Some(row) = rows.last_mut() {
            row.push((index, name, at));
        }
        at += width;
    }
    rows
}

#[derive(Default)]
struct Picture(String);

impl Picture {
    fn add(&mut self, text: std::fmt::Arguments) {
        // Writing into memory does not fail.
        let _ = self.0.write_fmt(text);
        self.0.push('\n');
    }

    fn head(&mut self, chart: &Chart) {
        let title = escaped(&display_name(&chart.title));
        self.add(format_args!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"lt\" role=\"img\" aria-label=\"{title}\" \
             viewBox=\"0 0 {WIDTH} {HEIGHT}\" width=\"{WIDTH}\" height=\"{HEIGHT}\">"
        ));
        self.add(format_args!("<title>{title}</title>"));
        self.add(format_args!("<desc>{}</desc>", escaped(&display_name(&described(chart)))));
        self.add(format_args!("<style>{STYLE}</style>"));
        self.add(format_args!("<rect class=\"paper\" width=\"{WIDTH}\" height=\"{HEIGHT}\"/>"));
        let shown = escaped(&cut(&chart.title, LONGEST_TITLE));
        self.add(format_args!("<text class=\"title\" x=\"20\" y=\"28\">{shown}</text>"));
    }

    fn legend(&mut self, rows: &[Vec<Entry>]) {
        for (row, entries) in rows.iter().enumerate() {
            let y = 50.0 + LINE * row as f64;
            for (index, name, x) in entries {
                self.add(format_args!("<g class=\"c{}\">{}", index % COLORS, sign(*index, x + 6.0, y - 4.0)));
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
            HEIGHT - 14.0,
            axis_label(&chart.x)
        ));
    }

    fn series(&mut self, series: &Series, at: usize, plot: &Plot) {
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
            self.mark(mark, at, plot);
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

    fn mark(&mut self, mark: &Mark, at: usize, plot: &Plot) {
        let Some((x, y)) = plot.place(mark.x, mark.y) else { return };
        if let Some((low, high)) = mark.interval
            && let Some(high) = plot.height(high)
        {
            // An end at zero or below has no place on a logarithmic axis: the line goes down to it.
            let low = plot.height(low).unwrap_or(plot.bottom);
            self.add(format_args!("<path class=\"ends stroke\" d=\"M{x:.1} {high:.1}V{low:.1}\"/>"));
        }
        self.add(format_args!("{}", sign(at, x, y)));
    }
}

/// The mark of a series: another form for another one, since not everybody sees colours.
fn sign(series: usize, x: f64, y: f64) -> String {
    let d = match series % 4 {
        0 => return format!("<circle class=\"ink\" cx=\"{x:.1}\" cy=\"{y:.1}\" r=\"4\"/>"),
        1 => "m-3.6 -3.6h7.2v7.2h-7.2z",
        2 => "m0 -4.6l4.5 8h-9z",
        _ => "m0 -5l5 5l-5 5l-5 -5z",
    };
    format!("<path class=\"ink\" d=\"M{x:.1} {y:.1}{d}\"/>")
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
fn described(chart: &Chart) -> String {
    let names: Vec<&str> = chart.series.iter().map(|series| series.name.as_str()).collect();
    let marks: usize = chart.series.iter().map(|series| series.marks.len()).sum();
    let of = if names.iter().all(|name| name.is_empty()) {
        String::new()
    } else {
        format!(" of {}", names.join(", "))
    };
    format!("{}{of} against {}, {marks} points", with_unit(&chart.y), with_unit(&chart.x))
}

fn text_width(text: &str) -> f64 {
    LETTER * text.chars().count() as f64
}
