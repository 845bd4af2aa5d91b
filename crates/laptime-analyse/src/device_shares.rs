//! Device shares: where the time of the steps went on the device once they are warm, all fits together.

use std::collections::BTreeMap;

use crate::report::{FitSummary, Report};

/// What a fit does beside its steps, even where it does so in the middle of a pass.
const BESIDE: [&str; 2] = ["evaluate", "checkpoint"];
/// Rows in which nothing is computed.
const NOT_COMPUTING: [&str; 5] = ["copy", "idle_data", "idle_host", "idle_sync", "unexplained"];
/// How busy a device is cannot be said where more than this share of the steps is unexplained.
const UNEXPLAINED: f64 = 0.05;

/// Seconds of the rows of the steps.
#[derive(Clone, Debug, Default)]
pub(crate) struct DeviceShares<'a> {
    rows: BTreeMap<&'a str, f64>,
    seconds: f64,
}

impl<'a> DeviceShares<'a> {
    /// The steps of all fits; `None` where no device has times of any.
    pub(crate) fn of_run(report: &'a Report) -> Option<Self> {
        let mut shares = Self::default();
        report.fits.iter().for_each(|fit| shares.add_fit(report, fit));
        (shares.seconds > 0.0).then_some(shares)
    }

    /// The steps of one fit; `None` where no device has times of it.
    pub(crate) fn of_fit(report: &'a Report, fit: &'a FitSummary) -> Option<Self> {
        let mut shares = Self::default();
        shares.add_fit(report, fit);
        (shares.seconds > 0.0).then_some(shares)
    }

    fn add_fit(&mut self, report: &'a Report, fit: &'a FitSummary) {
        let laps: Vec<_> = report.epochs.iter().filter(|lap| lap.fit == fit.index).collect();
        // In the first one kernels are loaded, libraries set up and functions compiled, while the device waits.
        let warm_up = usize::from(laps.len() > 1);
        let of_laps = laps.iter().skip(warm_up).filter_map(|lap| lap.device_stages.as_ref());
        let of_fit = fit.device_stages.iter().filter(|_| laps.is_empty());
        for (row, seconds) in of_laps.chain(of_fit).flatten() {
            if !BESIDE.contains(&row.as_str()) && seconds.is_finite() {
                *self.rows.entry(row).or_default() += seconds;
                self.seconds += seconds;
            }
        }
    }

    /// The share of a row, 0 to 1.
    pub(crate) fn of(&self, row: &str) -> f64 {
        (self.rows.get(row).copied().unwrap_or(0.0) / self.seconds).clamp(0.0, 1.0)
    }

    /// Seconds of all steps.
    pub(crate) fn seconds(&self) -> f64 {
        self.seconds
    }

    /// Stages that it computed, from the largest.
    pub(crate) fn computing(&self) -> Vec<(&'a str, f64)> {
        let stages = self.rows.keys().copied().filter(|row| !NOT_COMPUTING.contains(row));
        let mut shares: Vec<_> = stages.map(|stage| (stage, self.of(stage))).collect();
        shares.sort_by(|a, b| b.1.total_cmp(&a.1));
        shares
    }

    /// The share in which it computed, for sure.
    pub(crate) fn busy(&self) -> f64 {
        self.computing().iter().map(|stage| stage.1).sum::<f64>().min(1.0)
    }

    /// The same, where it is known.
    pub(crate) fn known_busy(&self) -> Option<f64> {
        Some(self.busy()).filter(|busy| self.of("unexplained") <= UNEXPLAINED || *busy >= 1.0 - UNEXPLAINED)
    }
}
