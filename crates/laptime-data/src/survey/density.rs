//! How densely records lie in a file, by blocks drawn from equal strata of it.

use super::amount::REACH;

/// Enough is known when the interval reaches that far to both sides, as a share of the records.
const GOOD_ENOUGH: f64 = 0.005;

/// What one round of draws gave: the mean density of records, and the square of its error.
///
/// Two neighbouring strata differ little by where they are, so the differences of neighbours give the error.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Round {
    pub(crate) draws: f64,
    pub(crate) density: f64,
    pub(crate) variance: f64,
}

impl Round {
    /// By the densities in the order of their strata; `None` for less than two.
    pub(crate) fn of(densities: &[f64]) -> Option<Self> {
        let draws = densities.len() as f64;
        let density = densities.iter().sum::<f64>() / draws;
        let steps: f64 = densities.windows(2).map(|pair| (pair[1] - pair[0]).powi(2)).sum();
        (densities.len() > 1).then(|| Self {
            draws,
            density,
            variance: steps / (2.0 * (draws - 1.0)) / draws,
        })
    }

    /// Both rounds as one: every draw counts the same.
    pub(crate) fn with(self, other: Self) -> Self {
        let draws = self.draws + other.draws;
        let (mine, its) = (self.draws / draws, other.draws / draws);
        Self {
            draws,
            density: mine * self.density + its * other.density,
            variance: mine.powi(2) * self.variance + its.powi(2) * other.variance,
        }
    }

    /// The standard error as a share of the density.
    pub(crate) fn relative_error(&self) -> f64 {
        if self.density > 0.0 { self.variance.sqrt() / self.density } else { 0.0 }
    }

    pub(crate) fn good_enough(&self) -> bool {
        REACH * self.variance.sqrt() <= GOOD_ENOUGH * self.density
    }
}
