//! Frame: the part of the plane a chart shows.

use super::tick::ticks;
use super::{Axis, Chart, Scale};

/// Beyond this no measurement lies, and sums would overflow.
const LARGEST: f64 = 1e200;
/// More different values than this along an axis are not labelled one by one.
const MOST_OWN_TICKS: usize = 12;

/// The values an axis shows.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Span {
    scale: Scale,
    low: f64,
    high: f64,
}

impl Span {
    /// The span that holds all values that can be drawn; around one value where there is only one.
    fn holding(scale: Scale, values: impl Iterator<Item = f64>) -> Self {
        let drawable = values.filter(|value| is_drawable(scale, *value));
        let ends = drawable.fold(None, |ends: Option<(f64, f64)>, value| {
            Some(ends.map_or((value, value), |(low, high)| (low.min(value), high.max(value))))
        });
        let (low, high) = match (ends, scale) {
            (None, Scale::Linear) => (0.0, 1.0),
            (None, Scale::Log) => (1.0, 10.0),
            (Some((low, high)), Scale::Linear) if high - low <= 1e-9 * high.abs() => widened(low, high),
            (Some((low, high)), Scale::Log) if high / low <= 1.0 + 1e-9 => (low / 2.0, high * 2.0),
            (Some(ends), _) => ends,
        };
        Self { scale, low, high }
    }

    /// With room at the ends, and from zero where that is not far: lengths should not deceive.
    fn roomy(self, share: f64) -> Self {
        match self.scale {
            Scale::Linear => {
                let room = share * (self.high - self.low);
                let from_zero = self.low >= 0.0 && self.low <= 0.5 * self.high;
                let low = if from_zero { 0.0 } else { self.low - room };
                Self { low, high: self.high + room, ..self }
            }
            Scale::Log => {
                let room = (self.high / self.low).powf(share).min(1e50);
                Self { low: self.low / room, high: self.high * room, ..self }
            }
        }
    }

    fn ticks(&self, axis: &Axis, wanted: usize) -> Vec<f64> {
        ticks(&axis.unit, self.scale, (self.low, self.high), wanted)
    }

    /// How far along the axis a value lies, 0 to 1; `None` where it cannot be drawn.
    pub(super) fn share(&self, value: f64) -> Option<f64> {
        if !is_drawable(self.scale, value) {
            return None;
        }
        let share = match self.scale {
            Scale::Linear => (value - self.low) / (self.high - self.low),
            Scale::Log => (value.ln() - self.low.ln()) / (self.high.ln() - self.low.ln()),
        };
        share.is_finite().then(|| share.clamp(0.0, 1.0))
    }
}

fn is_drawable(scale: Scale, value: f64) -> bool {
    let size = value.abs();
    let in_reach = value.is_finite() && size <= LARGEST;
    in_reach && (scale == Scale::Linear || value >= 1.0 / LARGEST)
}

fn widened(low: f64, high: f64) -> (f64, f64) {
    let room = if high == 0.0 { 1.0 } else { 0.5 * high.abs() };
    (low - room, high + room)
}

/// What a chart shows of both axes.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Frame {
    pub(super) x: Span,
    pub(super) y: Span,
}

/// A labelled place along an axis.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Tick {
    /// How far along, 0 to 1.
    pub(super) share: f64,
    pub(super) label: String,
}

impl Frame {
    pub(super) fn of(chart: &Chart) -> Self {
        let (right, up) = (chart.x.scale, chart.y.scale);
        let drawn = |x: f64, y: f64| is_drawable(right, x) && is_drawable(up, y);
        let marks = chart.series.iter().flat_map(|series| &series.marks);
        let marks = marks.map(|mark| (mark.x, mark.y, mark.interval));
        let places = chart.series.iter().flat_map(|series| &series.curve);
        // A curve's interval widens without end beyond the points; a mark's must be seen whole.
        let places = places.map(|place| (place.x, place.y, None));
        let all: Vec<_> = marks.chain(places).filter(|(x, y, _)| drawn(*x, *y)).collect();
        let xs = all.iter().map(|(x, ..)| *x);
        let ys = all.iter().flat_map(|(_, y, interval)| {
            let (low, high) = interval.unwrap_or((*y, *y));
            [*y, low, high]
        });
        Self {
            x: Span::holding(chart.x.scale, xs).roomy(0.04),
            y: Span::holding(chart.y.scale, ys).roomy(0.06),
        }
    }

    /// Where a value lies, both 0 to 1, from the lower left.
    pub(super) fn place(&self, x: f64, y: f64) -> Option<(f64, f64)> {
        Some((self.x.share(x)?, self.y.share(y)?))
    }

    /// Ticks along the axis that goes right: on a logarithmic axis the measured values themselves where they are
    /// few, because those are what a person chose.
    pub(super) fn x_ticks(&self, chart: &Chart, wanted: usize) -> Vec<Tick> {
        let marks = chart.series.iter().flat_map(|series| &series.marks);
        let drawn = marks.filter(|mark| self.place(mark.x, mark.y).is_some()).map(|mark| mark.x);
        let ends = chart.series.iter().filter_map(|series| series.curve.last());
        let mut own: Vec<f64> = drawn.chain(ends.map(|place| place.x)).collect();
        own.retain(|x| is_drawable(self.x.scale, *x));
        own.sort_by(f64::total_cmp);
        own.dedup();
        let few = chart.x.scale == Scale::Log && (2..=MOST_OWN_TICKS).contains(&own.len());
        let values = if few { own } else { self.x.ticks(&chart.x, wanted) };
        labelled(&self.x, &chart.x, &values)
    }

    pub(super) fn y_ticks(&self, chart: &Chart, wanted: usize) -> Vec<Tick> {
        labelled(&self.y, &chart.y, &self.y.ticks(&chart.y, wanted))
    }
}

fn labelled(span: &Span, axis: &Axis, values: &[f64]) -> Vec<Tick> {
    let tick = |value: &f64| Some(Tick { share: span.share(*value)?, label: axis.unit.shown(*value) });
    let mut ticks: Vec<Tick> = values.iter().filter_map(tick).collect();
    // Two places that read the same would lie about one of them.
    ticks.dedup_by(|later, earlier| later.label == earlier.label);
    ticks
}

/// The ticks whose labels, so wide in shares of the axis, leave a gap between each other.
pub(super) fn without_overlap(ticks: Vec<Tick>, width: impl Fn(&str) -> f64) -> Vec<Tick> {
    let mut kept: Vec<Tick> = Vec::new();
    let mut end = f64::NEG_INFINITY;
    for tick in ticks {
        let half = 0.5 * width(&tick.label);
        if tick.share - half >= end {
            end = tick.share + half;
            kept.push(tick);
        }
    }
    kept
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_span_holds_what_can_be_drawn_and_nothing_else() {
        let values = [f64::NAN, 3.0, -1.0, f64::INFINITY, 5.0];
        let log = Span::holding(Scale::Log, values.into_iter());
        assert_eq!((log.low, log.high), (3.0, 5.0));
        let linear = Span::holding(Scale::Linear, values.into_iter());
        assert_eq!((linear.low, linear.high), (-1.0, 5.0));
        assert_eq!(linear.share(f64::NAN), None);
        assert_eq!(log.share(-1.0), None);
    }

    #[test]
    fn one_value_stands_in_the_middle() {
        for scale in [Scale::Linear, Scale::Log] {
            let span = Span::holding(scale, [7.0].into_iter());
            assert!((span.share(7.0).unwrap() - 0.5).abs() < 0.01);
        }
        assert_eq!(Span::holding(Scale::Linear, [0.0].into_iter()).share(0.0), Some(0.5));
    }

    #[test]
    fn times_that_nearly_reach_zero_begin_there() {
        let span = |values: [f64; 2]| Span::holding(Scale::Linear, values.into_iter()).roomy(0.05);
        assert_eq!(span([1.0, 10.0]).low, 0.0);
        assert!(span([9.0, 10.0]).low > 8.0);
    }

    #[test]
    fn labels_that_would_touch_are_left_out() {
        let tick = |share| Tick { share, label: "12 us".to_owned() };
        let kept = without_overlap(vec![tick(0.0), tick(0.05), tick(0.3)], |_| 0.1);
        assert_eq!(kept.iter().map(|tick| tick.share).collect::<Vec<_>>(), [0.0, 0.3]);
    }
}
