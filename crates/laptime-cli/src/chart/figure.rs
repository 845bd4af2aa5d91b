//! Figures: a chart drawn for wide and for narrow pages, with its words and its numbers.

use super::Chart;
use super::canvas::Canvas;
use super::numbers::Numbers;
use super::svg::{described, numbers, plot};
use super::theme::style_alone;
use crate::markup::{cut, escaped};

/// How wide a figure is drawn: on a screen or on paper, and on a phone.
const WIDE: f64 = 960.0;
const NARROW: f64 = 400.0;
/// Letters of a title that fit above a figure that stands alone.
const LONGEST_TITLE: usize = 100;
/// Room for that title.
const HEAD: f64 = 44.0;

/// A chart of any kind.
#[derive(Clone, Debug)]
pub struct Figure {
    /// A short name, such as `laps`: of its file, and of places in a page.
    pub(crate) id: String,
    /// What it shows.
    pub(crate) title: String,
    /// The same in a sentence, for those who hear it and below the chart.
    pub(crate) described: String,
    /// Its numbers.
    pub(crate) numbers: Numbers,
    wide: Canvas,
    narrow: Canvas,
}

impl Figure {
    /// A figure that is drawn by `draw` on a canvas of either width, and says how tall it became.
    pub(super) fn new(
        id: &str,
        title: impl Into<String>,
        described: impl Into<String>,
        numbers: Numbers,
        draw: impl Fn(&mut Canvas),
    ) -> Self {
        let drawn = |width: f64, name: &str| {
            let mut canvas = Canvas::new(width, format!("{id}-{name}"));
            draw(&mut canvas);
            canvas
        };
        let (wide, narrow) = (drawn(WIDE, "w"), drawn(NARROW, "n"));
        Self { id: id.to_owned(), title: title.into(), described: described.into(), numbers, wide, narrow }
    }

    /// A chart of series.
    pub(crate) fn of_chart(id: &str, chart: &Chart) -> Self {
        Self::new(id, &chart.title, described(chart), numbers(chart), |canvas| plot(canvas, chart))
    }

    /// Both drawings as markup of a page, which shows the one it has room for.
    pub(crate) fn markup(&self) -> String {
        format!("{}{}", self.drawing(&self.wide, "wide"), self.drawing(&self.narrow, "narrow"))
    }

    fn drawing(&self, canvas: &Canvas, class: &str) -> String {
        let (width, height, label) = (canvas.width, canvas.height, escaped(&self.described));
        format!(
            "<svg class=\"lt {class}\" role=\"img\" aria-label=\"{label}\" \
             viewBox=\"0 0 {width:.0} {height:.0}\">{}</svg>\n",
            canvas.markup()
        )
    }

    /// The figure as the text of an SVG file, which needs nothing else.
    #[must_use]
    pub fn svg(&self) -> String {
        let (width, height) = (self.wide.width, self.wide.height + HEAD);
        self.alone(&format!("width=\"{width:.0}\" height=\"{height:.0}\""))
    }

    /// The same as wide as its place in a page that knows nothing of charts.
    pub(crate) fn svg_in_page(&self) -> String {
        self.alone("width=\"100%\"")
    }

    fn alone(&self, size: &str) -> String {
        let (width, height) = (self.wide.width, self.wide.height + HEAD);
        let (title, label) = (escaped(&cut(&self.title, LONGEST_TITLE)), escaped(&self.described));
        let body = self.wide.markup();
        format!(
            "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"lt\" role=\"img\" aria-label=\"{label}\" \
             viewBox=\"0 0 {width:.0} {height:.0}\" {size}><title>{title}</title>\n<style>{}</style>\n\
             <rect class=\"paper\" width=\"{width:.0}\" height=\"{height:.0}\"/>\n\
             <text class=\"title\" x=\"16\" y=\"28\">{title}</text>\n\
             <g transform=\"translate(16 {HEAD:.0}) scale({:.4})\">{body}</g></svg>\n",
            style_alone(&body),
            (width - 32.0) / width
        )
    }
}
