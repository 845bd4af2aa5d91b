//! Fastest: the value of an axis with the most samples a second, and the smallest that is almost as fast.

use laptime_core::Estimate;
use serde::Serialize;

use super::law::{Certainty, LEVEL, ScalingLaw};
use super::model::Model;

/// Almost as fast: the share of the best throughput at which more of the axis stops paying.
const ENOUGH: f64 = 0.95;
/// Places looked at along the axis.
const PLACES: usize = 512;

/// Where an axis is fastest.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Best {
    /// The measured value with the most throughput.
    pub x: f64,
    /// The measured value with the least throughput.
    pub slowest: f64,
    /// How many times the throughput of the slowest that is.
    pub times_slowest: f64,
    /// The smallest value within the measured ones that reaches 95 % of the best, by the law.
    pub enough: f64,
}

impl ScalingLaw {
    /// Where it is fastest; `None` where no value is faster than another or it is unclear.
    #[must_use]
    pub fn best(&self) -> Option<Best> {
        let follows = self.certainty == Certainty::Follows;
        if self.spots.len() < 2 || !(follows || self.work_grows_for_free()) {
            return None;
        }
        let measured = self.spots.iter().map(|spot| (spot.x, self.axis.throughput(spot.x, spot.y)));
        let fastest = measured.clone().max_by(|a, b| a.1.total_cmp(&b.1))?;
        let slowest = measured.min_by(|a, b| a.1.total_cmp(&b.1))?;
        Some(Best {
            x: fastest.0,
            slowest: slowest.0,
            times_slowest: fastest.1 / slowest.1,
            enough: self.enough()?,
        })
    }

    /// Where the law turns: the knee of a hinge, the number of workers beyond which more are slower.
    #[must_use]
    pub fn knee(&self) -> Option<Estimate> {
        match self.model {
            Model::Hinge => self.coefficient("knee"),
            Model::Usl => self.peak(),
            _ => None,
        }
    }

    /// The value of a coefficient by its name.
    #[must_use]
    pub fn coefficient(&self, name: &str) -> Option<Estimate> {
        self.coefficients.iter().find(|known| known.name == name).map(|known| known.value)
    }

    /// Whether more work is done in the same time.
    fn work_grows_for_free(&self) -> bool {
        self.axis == super::Axis::Work && matches!(self.certainty, Certainty::Unchanged { .. })
    }

    fn peak(&self) -> Option<Estimate> {
        let [alone, waiting, agreeing] = self.shape.linear;
        let mean = ((alone - waiting) / agreeing).sqrt();
        let by_alone = 0.5 / (mean * agreeing);
        let half = self.spread.half_width(&[by_alone, -by_alone, -0.5 * mean / agreeing]);
        let factor = (half / mean).exp();
        let peak = Estimate { mean, low: mean / factor, high: mean * factor, level: LEVEL };
        (mean >= 1.0 && peak.high.is_finite()).then_some(peak)
    }

    fn enough(&self) -> Option<f64> {
        let places = self.places();
        let throughput = |x: f64| self.axis.throughput(x, self.shape.at(x));
        let best = places.iter().map(|x| throughput(*x)).fold(0.0, f64::max);
        let reaches = |x: f64| throughput(x) >= ENOUGH * best;
        let first = places.iter().position(|x| reaches(*x))?;
        let (mut below, mut above) = (places[first.saturating_sub(1)], places[first]);
        for _ in 0..60 {
            let middle = 0.5 * (below + above);
            if reaches(middle) { above = middle } else { below = middle }
        }
        let whole = self.spots.iter().all(|spot| spot.x.fract() == 0.0);
        let rounded = (above - 1e-6).ceil();
        Some(if whole && reaches(rounded) { rounded } else { above })
    }

    /// Values along the measured part of the axis, closer together where the axis begins.
    fn places(&self) -> Vec<f64> {
        let (low, high) = self.range;
        let at = |place: usize| {
            let share = place as f64 / (PLACES - 1) as f64;
            if low > 0.0 { low * (high / low).powf(share) } else { low + (high - low) * share }
        };
        (0..PLACES).map(at).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Axis, Point};
    use super::*;

    fn law(axis: Axis, model: Model, xs: &[f64], time: impl Fn(f64) -> f64) -> ScalingLaw {
        let point = |x: &f64| Point::new(*x, &[0.999, 1.001, 1.0].map(|factor| factor * time(*x)));
        ScalingLaw::of_model(&xs.iter().map(point).collect::<Vec<_>>(), axis, model).unwrap()
    }

    #[test]
    fn the_fastest_batch_is_the_largest_and_a_smaller_one_is_almost_as_fast() {
        let line = |batch: f64| 41e-6 + 0.11e-6 * batch;
        let best = law(Axis::Work, Model::Linear, &[32.0, 128.0, 512.0], line).best().unwrap();
        assert_eq!((best.x, best.slowest), (512.0, 32.0));
        // 32 a step of 44.5 us against 512 a step of 97.3 us.
        assert!((best.times_slowest - 7.32).abs() < 0.01, "{best:?}");
        // x / (41 + 0.11 x) = 0.95 · 512 / 97.32 at x = 455.8.
        assert_eq!(best.enough, 456.0);
    }

    #[test]
    fn more_workers_are_fastest_at_the_peak_of_their_law() {
        let usl = |n: f64| 0.2 * (1.0 + 0.05 * (n - 1.0) + 0.01 * n * (n - 1.0)) / n;
        let law = law(Axis::Workers, Model::Usl, &[1.0, 2.0, 4.0, 8.0, 16.0], usl);
        let peak = law.knee().unwrap();
        assert!((peak.mean - 95f64.sqrt()).abs() < 0.01 && peak.low < peak.mean && peak.mean < peak.high);
        let best = law.best().unwrap();
        assert_eq!((best.x, best.slowest), (8.0, 1.0));
        assert!(best.enough < 8.0, "{best:?}");
    }

    #[test]
    fn a_width_that_costs_nothing_has_no_best() {
        let flat = law(Axis::Setting, Model::Constant, &[1.0, 2.0, 4.0], |_| 3e-3);
        assert_eq!(flat.best(), None);
        assert_eq!(flat.knee(), None);
    }

    #[test]
    fn a_knee_is_reported_with_its_interval() {
        let hinge = |x: f64| 8e-3 + 1.7e-4 * (x - 40.0).max(0.0);
        let law = law(Axis::Work, Model::Hinge, &[8.0, 16.0, 32.0, 64.0, 128.0, 256.0], hinge);
        let knee = law.knee().unwrap();
        assert!(knee.low < 40.0 && 40.0 < knee.high && (knee.mean - 40.0).abs() < 1.0, "{knee:?}");
    }
}
