//! Series: the marks and lines of one thing in a chart.

/// Marks on a joined line, at most.
const MOST_JOINED: usize = 10;

/// One thing shown in a chart.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Series {
    /// Its name in the legend.
    pub name: String,
    /// What was measured.
    pub marks: Vec<Mark>,
    /// Whether a line joins the marks, as for a loss over time.
    pub joined: bool,
    /// The law through them, from left to right.
    pub curve: Vec<Place>,
}

/// A measured value.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Mark {
    /// Where along the axis.
    pub x: f64,
    /// Its value.
    pub y: f64,
    /// The ends of its interval.
    pub interval: Option<(f64, f64)>,
}

/// A place of a curve.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Place {
    /// Where along the axis.
    pub x: f64,
    /// The curve's value.
    pub y: f64,
    /// The ends of its interval.
    pub interval: Option<(f64, f64)>,
    /// Whether it lies beyond what was measured: drawn dashed.
    pub extrapolated: bool,
}

impl Series {
    /// The marks to draw: all of a sweep, some of a long joined line, which they distinguish from others without
    /// hiding it. Lines of different number have them at different places.
    pub(super) fn shown_marks(&self, number: usize) -> impl Iterator<Item = &Mark> {
        let every = if self.joined { self.marks.len().div_ceil(MOST_JOINED) } else { 1 };
        let first = if every > 1 { (number * every / 4 + every / 2) % every } else { 0 };
        self.marks.iter().skip(first).step_by(every.max(1))
    }
}

impl Mark {
    /// A mark without interval.
    #[must_use]
    pub fn new(x: f64, y: f64) -> Self {
        Self { x, y, interval: None }
    }
}
