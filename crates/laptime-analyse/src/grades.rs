//! Grades: how good forecasts were, by the point of the run at which they were made; `laptime.grades/1`.

use serde::Serialize;

use crate::statistics::median;

/// The version of [`Grades`]; fields may be added to it, none changes meaning.
pub const GRADES_SCHEMA: &str = "laptime.grades/1";

/// The standard normal deviate of a two-sided 95 % interval.
const Z_95: f64 = 1.959_964;

/// A forecast whose run has finished, seconds.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct GradedForecast {
    /// The point of the run at which it was asked for, 0 to 1.
    pub mark: f64,
    /// What was expected.
    pub predicted_s: f64,
    /// The interval's lower end.
    pub low_s: f64,
    /// The interval's upper end.
    pub high_s: f64,
    /// What the run took.
    pub took_s: f64,
}

/// How good forecasts were.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Grades {
    /// Always [`GRADES_SCHEMA`].
    pub schema: &'static str,
    /// The share of intervals that should hold the truth.
    pub level: f64,
    /// By the point of the run, earliest first.
    pub marks: Vec<MarkGrades>,
}

/// How good the forecasts at one point of their runs were.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct MarkGrades {
    /// The point, 0 to 1.
    pub mark: f64,
    /// How many there are.
    pub forecasts: u64,
    /// Median of how far they were off, as a share of what was expected.
    pub median_error: f64,
    /// The same with its sign: above 0 where runs took longer.
    pub median_bias: f64,
    /// The share of intervals that held what the run took.
    pub coverage: f64,
    /// A 95 % interval of that share.
    pub coverage_low: f64,
    /// Its upper end.
    pub coverage_high: f64,
    /// Median width of the intervals, as a share of what was expected.
    pub median_width: f64,
}

/// Grades forecasts that were made with intervals of this level.
#[must_use]
pub fn grade(forecasts: &[GradedForecast], level: f64) -> Grades {
    let mut marks: Vec<f64> = forecasts.iter().map(|forecast| forecast.mark).collect();
    marks.sort_by(f64::total_cmp);
    marks.dedup();
    let marks = marks.into_iter().filter_map(|mark| {
        let of_mark: Vec<&GradedForecast> = forecasts.iter().filter(|one| one.mark == mark).collect();
        MarkGrades::new(mark, &of_mark)
    });
    Grades { schema: GRADES_SCHEMA, level, marks: marks.collect() }
}

impl MarkGrades {
    fn new(mark: f64, forecasts: &[&GradedForecast]) -> Option<Self> {
        let median_of = |value: &dyn Fn(&GradedForecast) -> f64| {
            median(&forecasts.iter().map(|forecast| value(forecast)).collect::<Vec<_>>())
        };
        let bias = |forecast: &GradedForecast| forecast.took_s / forecast.predicted_s - 1.0;
        let covered = forecasts.iter().filter(|one| (one.low_s..=one.high_s).contains(&one.took_s)).count();
        let (coverage_low, coverage_high) = share_interval(covered as f64, forecasts.len() as f64);
        Some(Self {
            mark,
            forecasts: forecasts.len() as u64,
            median_error: median_of(&|forecast| bias(forecast).abs())?,
            median_bias: median_of(&bias)?,
            coverage: covered as f64 / forecasts.len() as f64,
            coverage_low,
            coverage_high,
            median_width: median_of(&|one| (one.high_s - one.low_s) / one.predicted_s)?,
        })
    }
}

/// Wilson's interval of a share, which stays within 0 and 1 however few there are.
fn share_interval(held: f64, all: f64) -> (f64, f64) {
    let (share, z) = (held / all, Z_95 * Z_95 / all);
    let middle = (share + z / 2.0) / (1.0 + z);
    let half = (share * (1.0 - share) * z + z * z / 4.0).sqrt() / (1.0 + z);
    ((middle - half).max(0.0), (middle + half).min(1.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn forecast(mark: f64, took_s: f64) -> GradedForecast {
        GradedForecast { mark, predicted_s: 100.0, low_s: 90.0, high_s: 110.0, took_s }
    }

    #[test]
    fn forecasts_are_graded_by_the_point_of_the_run() {
        let all = [forecast(0.2, 104.0), forecast(0.05, 120.0), forecast(0.05, 98.0), forecast(0.05, 103.0)];
        let grades = grade(&all, 0.9);
        let [early, late] = grades.marks.as_slice() else { panic!("{grades:?}") };
        assert_eq!((early.mark, early.forecasts, late.mark, late.forecasts), (0.05, 3, 0.2, 1));
        assert!((early.median_error - 0.03).abs() < 1e-12 && (early.median_bias - 0.03).abs() < 1e-12);
        assert!((early.coverage - 2.0 / 3.0).abs() < 1e-12 && (early.median_width - 0.2).abs() < 1e-12);
        assert!(grade(&[], 0.9).marks.is_empty());
    }

    #[test]
    fn the_interval_of_a_share_is_wilsons() {
        let (low, high) = share_interval(9.0, 10.0);
        assert!((low - 0.5958).abs() < 1e-3 && (high - 0.9821).abs() < 1e-3, "{low} {high}");
        assert_eq!(share_interval(0.0, 3.0).0, 0.0);
        assert_eq!(share_interval(3.0, 3.0).1, 1.0);
    }
}
