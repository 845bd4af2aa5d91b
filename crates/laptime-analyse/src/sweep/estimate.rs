//! A mean over repeats, with the interval that repeats allow.

use serde::Serialize;

use crate::statistics::{mean, t_width, variance};

/// The level of every interval of a sweep.
pub(crate) const LEVEL: f64 = 0.95;

/// The mean of repeats of something that is never below zero; one alone has no interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Repeated {
    /// The mean.
    pub mean: f64,
    /// The interval's lower end.
    pub low: Option<f64>,
    /// The interval's upper end.
    pub high: Option<f64>,
    /// The share of such intervals that hold the truth.
    pub level: f64,
}

impl Repeated {
    /// The mean of values with Student's interval; `None` of nothing.
    #[must_use]
    pub fn of(values: &[f64]) -> Option<Self> {
        let mean = mean(values)?;
        let half = variance(values).map(|variance| {
            let count = values.len() as f64;
            t_width(LEVEL, count - 1.0) * (variance / count).sqrt()
        });
        Some(Self {
            mean,
            low: half.map(|half| (mean - half).max(0.0)),
            high: half.map(|half| mean + half),
            level: LEVEL,
        })
    }

    /// Half the width of the interval as a share of the mean; `None` without an interval.
    #[must_use]
    pub fn precision(&self) -> Option<f64> {
        let half = self.high? - self.mean;
        (self.mean > 0.0).then(|| half / self.mean)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn three_repeats_have_the_printed_interval_and_one_has_none() {
        let three = Repeated::of(&[9.0, 10.0, 11.0]).unwrap();
        // 4.303 standard errors of 1/sqrt(3).
        assert!((three.high.unwrap() - 12.484).abs() < 1e-3, "{three:?}");
        assert!((three.precision().unwrap() - 0.2484).abs() < 1e-4);
        let one = Repeated::of(&[5.0]).unwrap();
        assert_eq!((one.mean, one.low, one.precision()), (5.0, None, None));
        assert_eq!(Repeated::of(&[]), None);
        assert_eq!(Repeated::of(&[0.1, 9.0]).unwrap().low, Some(0.0));
    }
}
