//! A plain axis: values to places, with its ticks.

use super::Scale;
use super::canvas::{Anchor, Area, Canvas, text_width};
use super::tick::{Unit, ticks};

/// Values from `low` to `high` along an axis.
#[derive(Clone, Debug)]
pub(super) struct Measure {
    pub(super) low: f64,
    pub(super) high: f64,
    pub(super) scale: Scale,
    pub(super) unit: Unit,
}

impl Measure {
    /// An axis that begins at zero.
    pub(super) fn from_zero(high: f64, unit: Unit) -> Self {
        let high = if high.is_finite() && high > 0.0 { high } else { 1.0 };
        Self { low: 0.0, high, scale: Scale::Linear, unit }
    }

    /// How far along a value lies, 0 to 1.
    pub(super) fn share(&self, value: f64) -> f64 {
        let share = match self.scale {
            Scale::Linear => (value - self.low) / (self.high - self.low),
            Scale::Log => (value / self.low).ln() / (self.high / self.low).ln(),
        };
        if share.is_finite() { share.clamp(0.0, 1.0) } else { 0.0 }
    }

    fn labelled(&self, wanted: usize) -> Vec<(f64, String)> {
        let mut ticks: Vec<(f64, String)> = ticks(&self.unit, self.scale, (self.low, self.high), wanted)
            .into_iter()
            .filter(|value| (self.low..=self.high).contains(value))
            .map(|value| (self.share(value), self.unit.shown(value)))
            .collect();
        // Two places that read the same would lie about one of them.
        ticks.dedup_by(|later, earlier| later.1 == earlier.1);
        ticks
    }

    /// Room for the labels of an axis that goes up.
    pub(super) fn label_width(&self, wanted: usize) -> f64 {
        let widest = self.labelled(wanted).iter().map(|(_, label)| text_width(label)).fold(0.0, f64::max);
        widest + 12.0
    }

    /// Labels and grid of the axis that goes up, left of the plot.
    pub(super) fn draw_up(&self, canvas: &mut Canvas, plot: Area, wanted: usize) {
        for (share, label) in self.labelled(wanted) {
            let y = plot.bottom() - share * plot.height;
            canvas.path("grid", &format!("M{:.1} {y:.1}H{:.1}", plot.x, plot.right()));
            canvas.text("", (plot.x - 8.0, y + 4.0), Anchor::End, &label);
        }
    }

    /// Labels and ticks of the axis that goes right, below the plot.
    pub(super) fn draw_right(&self, canvas: &mut Canvas, plot: Area, wanted: usize) {
        let bottom = plot.bottom();
        canvas.path("axis", &format!("M{:.1} {bottom:.1}H{:.1}", plot.x, plot.right()));
        let mut free = f64::NEG_INFINITY;
        for (share, label) in self.labelled(wanted) {
            let (x, half) = (plot.x + share * plot.width, 0.5 * text_width(&label));
            // A label at either end stays within the picture.
            let middle = x.clamp(half.min(0.5 * canvas.width), (canvas.width - half).max(0.5 * canvas.width));
            canvas.path("axis", &format!("M{x:.1} {bottom:.1}v5"));
            if middle - half >= free {
                canvas.text("", (middle, bottom + 19.0), Anchor::Middle, &label);
                free = middle + half + 8.0;
            }
        }
    }
}
