//! Sentences: a law, its best value and a comparison, each as one line with numbers and units.

use laptime_core::{Estimate, units};

use super::law::{Certainty, ScalingLaw};
use super::model::Model;
use super::settings::{Comparison, Verdict};
use crate::wording::times;

impl ScalingLaw {
    /// The law in words, such as `epoch time = 900 us + 12.4 us × rows   (95 %: 12.2–12.6 us)`, for a time and
    /// an axis of these names.
    #[must_use]
    pub fn sentence(&self, time: &str, axis: &str) -> String {
        match self.certainty {
            Certainty::Follows => self.formula(time, axis),
            Certainty::Unchanged { within } => {
                format!("{time} does not depend on {axis} (within {})", units::percent(within))
            }
            Certainty::CannotTell { up_to } => {
                // A time that may double or vanish may be anything.
                let hidden = match up_to {
                    share if share > 1.0 => "any change".to_owned(),
                    share => format!("changes up to {}", units::percent(share)),
                };
                format!("cannot tell whether {time} depends on {axis}: the noise hides {hidden}")
            }
        }
    }

    fn formula(&self, time: &str, axis: &str) -> String {
        let [a, b, c] = self.shape.linear;
        let duration = units::duration;
        match self.model {
            Model::Constant => format!("{time} = {}", duration(a)),
            Model::Proportional => {
                format!("{time} = {} × {axis}{}", duration(a), self.ends("slope", true))
            }
            Model::Linear => format!("{time} = {}{}", line(a, b, axis), self.ends("slope", true)),
            Model::Power => {
                let exponent = units::number(self.shape.bend);
                format!("{time} = {} × {axis}^{exponent}{}", duration(a), self.ends("exponent", false))
            }
            Model::Hinge => {
                let (knee, begin) = (value_of(self.shape.bend), a - b * self.shape.bend);
                let law = match begin {
                    // The line behind the knee may begin below zero, but no time does.
                    begin if begin < 0.0 => {
                        format!("{} + {} × ({axis} - {knee})", duration(a), duration(b))
                    }
                    begin => line(begin, b, axis),
                };
                format!("{time} = {law}, flat below {knee}{}", self.ends("slope", true))
            }
            Model::Staircase => {
                let width = value_of(self.shape.bend);
                let step = format!("{} for every {width} of {axis} begun", duration(b));
                format!("{time} = {} + {step}{}", duration(a), self.ends("step", true))
            }
            Model::Usl => {
                let (sigma, kappa) = (units::number(b / a), units::number(c / a));
                let most = self.knee().map(|peak| format!(", least at {}", units::number(peak.mean)));
                let hindered = format!("1 + {sigma} (n-1) + {kappa} n (n-1)");
                format!("{time} = {} / n × ({hindered}), n {axis}{}", duration(a), most.unwrap_or_default())
            }
        }
    }

    /// The interval of a coefficient, as it stands behind a formula.
    fn ends(&self, name: &str, is_time: bool) -> String {
        let Some(Estimate { low, high, level, .. }) = self.coefficient(name) else { return String::new() };
        let ends = if is_time {
            units::interval(low, high)
        } else {
            format!("{}–{}", units::number(low), units::number(high))
        };
        format!("   ({}: {ends})", units::percent(level))
    }

    /// Where the axis is fastest, such as `batch: fastest is 512 (4.1× samples/s of 32); 192 reaches 95 % of
    /// it`, with a rate of that name; `None` where nothing is.
    #[must_use]
    pub fn best_sentence(&self, axis: &str, rate: &str) -> Option<String> {
        let best = self.best()?;
        let (x, slowest) = (value_of(best.x), value_of(best.slowest));
        let gain = times(best.times_slowest);
        let enough = if best.enough < best.x {
            format!("; {} reaches 95 % of it", value_of(best.enough))
        } else {
            String::new()
        };
        Some(format!("{axis}: fastest is {x} ({gain} {rate} of {slowest}){enough}"))
    }
}

/// A value of the axis: whole where it is, else in three digits.
fn value_of(x: f64) -> String {
    let is_whole = (0.0..1e15).contains(&x) && (x - x.round()).abs() <= 1e-6 * x;
    if is_whole { units::count(x.round() as u64) } else { units::number(x) }
}

fn line(intercept: f64, slope: f64, axis: &str) -> String {
    if intercept == 0.0 {
        return format!("{} × {axis}", units::duration(slope));
    }
    let sign = if slope < 0.0 { "-" } else { "+" };
    format!("{} {sign} {} × {axis}", units::duration(intercept), units::duration(slope.abs()))
}

impl Comparison {
    /// The verdict in words for settings of these names, such as `adam takes 1.41× the time of momentum
    /// (95 %: 1.32–1.51)`.
    #[must_use]
    pub fn sentence(&self, setting: &str, with: &str) -> String {
        let Estimate { mean, low, high, level } = self.ratio;
        let shown = units::three_digits;
        let ends = format!("({}: {}–{})", units::percent(level), shown(low), shown(high));
        match self.verdict {
            Verdict::Faster | Verdict::Slower => {
                format!("{setting} takes {}× the time of {with} {ends}", shown(mean))
            }
            Verdict::Same => format!("{setting} takes the same time as {with} {ends}"),
            Verdict::CannotTell => {
                format!("cannot tell {setting} and {with} apart: {}× the time {ends}", shown(mean))
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Axis, Point, compare};
    use super::*;

    fn law(axis: Axis, model: Model, xs: &[f64], time: impl Fn(f64) -> f64) -> ScalingLaw {
        let point = |x: &f64| Point::new(*x, &[0.99, 1.01, 1.0].map(|factor| factor * time(*x)));
        ScalingLaw::of_model(&xs.iter().map(point).collect::<Vec<_>>(), axis, model).unwrap()
    }

    #[test]
    fn every_law_is_one_sentence_with_units() {
        let doubling = [16.0, 32.0, 64.0, 128.0, 256.0, 512.0];
        let even = [16.0, 32.0, 48.0, 64.0, 80.0, 96.0, 112.0, 128.0];
        let line = law(Axis::Work, Model::Linear, &doubling, |x| 9e-4 + 1.24e-5 * x);
        assert_eq!(
            line.sentence("epoch time", "rows"),
            "epoch time = 900 us + 12.4 us × rows   (95 %: 12.3–12.5 us)"
        );
        let hinge = law(Axis::Work, Model::Hinge, &doubling, |x| 41e-6 + 2e-6 * x.max(50.0));
        assert_eq!(
            hinge.sentence("step time", "batch"),
            "step time = 41.0 us + 2.00 us × batch, flat below 50   (95 %: 1.98–2.02 us)"
        );
        let steep = law(Axis::Work, Model::Hinge, &doubling, |x| 41e-6 + 2e-6 * (x - 50.0).max(0.0));
        assert_eq!(
            steep.sentence("step time", "batch"),
            "step time = 41.0 us + 2.00 us × (batch - 50), flat below 50   (95 %: 1.98–2.02 us)"
        );
        let power = law(Axis::Work, Model::Power, &doubling, |x| 2e-5 * x.powf(0.7));
        assert_eq!(
            power.sentence("step time", "width"),
            "step time = 20.0 us × width^0.700   (95 %: 0.696–0.704)"
        );
        let stairs = law(Axis::Work, Model::Staircase, &even, |x| 2e-3 + 5e-3 * (x / 32.0).ceil());
        assert_eq!(
            stairs.sentence("step time", "batch"),
            "step time = 2.00 ms + 5.00 ms for every 32 of batch begun   (95 %: 4.96–5.04 ms)"
        );
        let usl = |n: f64| 0.2 * (1.0 + 0.05 * (n - 1.0) + 0.01 * n * (n - 1.0)) / n;
        let workers = law(Axis::Workers, Model::Usl, &[1.0, 2.0, 4.0, 8.0, 16.0], usl);
        assert_eq!(
            workers.sentence("epoch time", "workers"),
            "epoch time = 200 ms / n × (1 + 0.0500 (n-1) + 0.0100 n (n-1)), n workers, least at 9.75"
        );
    }

    #[test]
    fn time_that_does_not_change_or_is_hidden_by_noise_is_said_so() {
        let flat = law(Axis::Setting, Model::Constant, &[1.0, 2.0, 4.0], |_| 3e-3);
        assert_eq!(flat.sentence("step time", "rows"), "step time does not depend on rows (within 1.8 %)");
        let loud = [Point::new(1.0, &[1.0, 1.9]), Point::new(2.0, &[1.7, 1.1])];
        let loud = ScalingLaw::of_model(&loud, Axis::Setting, Model::Constant).unwrap();
        assert_eq!(
            loud.sentence("step time", "rows"),
            "cannot tell whether step time depends on rows: the noise hides any change"
        );
        let noisy = [Point::new(1.0, &[1.0, 1.1]), Point::new(2.0, &[1.1, 1.0])];
        let noisy = ScalingLaw::of_model(&noisy, Axis::Setting, Model::Constant).unwrap();
        let expected = "cannot tell whether step time depends on rows: the noise hides changes up to 29 %";
        assert_eq!(noisy.sentence("step time", "rows"), expected);
    }

    #[test]
    fn no_law_has_a_constant_below_zero() {
        // Each a little dearer than the one before: the straight line would begin at -598 us.
        let point = |x: f64, mean: f64| Point::new(x, &[0.97, 1.03, 1.0].map(|factor| factor * mean));
        let points = [point(1e3, 53.5e-3), point(2e3, 107.5e-3), point(4e3, 215.5e-3)];
        let law = ScalingLaw::through(&points, Axis::Work).unwrap();
        let text = law.sentence("epoch time", "rows");
        assert!(text.starts_with("epoch time = 53.") && text.contains(" us × rows   (95 %: "), "{text}");
        assert!(!text.contains('-'), "{text}");
        let line = ScalingLaw::of_model(&points, Axis::Work, Model::Linear).unwrap();
        let intercept = line.coefficient("intercept").unwrap();
        assert!(intercept.mean == 0.0 && intercept.low == 0.0 && intercept.high > 0.0, "{intercept:?}");
    }

    #[test]
    fn the_best_is_one_sentence() {
        let line = law(Axis::Work, Model::Linear, &[32.0, 128.0, 512.0], |x| 41e-6 + 0.11e-6 * x);
        assert_eq!(
            line.best_sentence("batch", "samples/s").unwrap(),
            "batch: fastest is 512 (7.3× samples/s of 32); 456 reaches 95 % of it"
        );
    }

    #[test]
    fn a_comparison_is_one_sentence() {
        let (fast, slow) = (vec![1.0, 1.01, 0.99, 1.0], vec![1.5, 1.52, 1.49, 1.5]);
        let sentence = |settings: &[Vec<f64>]| compare(settings)[0].sentence("adam", "momentum");
        assert_eq!(
            sentence(&[slow.clone(), fast.clone()]),
            "adam takes 1.50× the time of momentum (95 %: 1.48–1.52)"
        );
        assert_eq!(
            sentence(&[fast.clone(), fast]),
            "adam takes the same time as momentum (95 %: 0.986–1.01)"
        );
        assert_eq!(
            sentence(&[vec![1.0, 1.4, 0.8], vec![1.1, 0.9, 1.5]]),
            "cannot tell adam and momentum apart: 0.914× the time (95 %: 0.490–1.71)"
        );
    }
}
