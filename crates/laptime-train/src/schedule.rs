//! How the learning rate changes from epoch to epoch.

use std::f64::consts::PI;
use std::fmt;
use std::str::FromStr;

use crate::unknown_name::UnknownName;

/// A step of the step schedule multiplies the rate by this.
const STEP_FACTOR: f64 = 0.1;

/// The step schedule divides a training into so many parts.
const STEP_PARTS: u64 = 3;

/// The learning rate's way through a training; it changes between epochs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Schedule {
    /// The same in every epoch.
    #[default]
    Constant,
    /// Half a cosine, from the whole rate in the first epoch towards none after the last.
    Cosine,
    /// A tenth of the rate after each third of the epochs.
    Step,
}

impl Schedule {
    /// Every schedule, in the order they are listed to a user.
    pub const ALL: [Self; 3] = [Self::Constant, Self::Cosine, Self::Step];

    /// The name a user types.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Constant => "constant",
            Self::Cosine => "cosine",
            Self::Step => "step",
        }
    }

    /// The learning rate of an epoch, counted from 0, of so many.
    #[must_use]
    pub fn rate(self, lr: f64, epoch: u64, epochs: u64) -> f64 {
        match self {
            Self::Constant => lr,
            Self::Cosine => lr * (1.0 + (PI * epoch as f64 / epochs as f64).cos()) / 2.0,
            Self::Step => {
                let steps = epoch / epochs.div_ceil(STEP_PARTS).max(1);
                lr * STEP_FACTOR.powf(steps as f64)
            }
        }
    }
}

impl fmt::Display for Schedule {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.name())
    }
}

impl FromStr for Schedule {
    type Err = UnknownName;

    fn from_str(name: &str) -> Result<Self, UnknownName> {
        UnknownName::find("schedule", Self::ALL, Self::name, name)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rates(schedule: Schedule, epochs: u64) -> Vec<f64> {
        (0..epochs).map(|epoch| schedule.rate(0.2, epoch, epochs)).collect()
    }

    fn assert_near(found: &[f64], expected: &[f64]) {
        assert_eq!(found.len(), expected.len());
        for (found, expected) in found.iter().zip(expected) {
            assert!((found - expected).abs() < 1e-12, "{found} is not {expected}");
        }
    }

    #[test]
    fn rates_are_those_of_pytorchs_schedulers_stepped_once_an_epoch() {
        assert_near(&rates(Schedule::Constant, 3), &[0.2, 0.2, 0.2]);
        // CosineAnnealingLR(T_max=4): the cosine of 0, 45, 90 and 135 degrees.
        let half = 0.5_f64.sqrt();
        assert_near(&rates(Schedule::Cosine, 4), &[0.2, 0.1 * (1.0 + half), 0.1, 0.1 * (1.0 - half)]);
        // StepLR(step_size=2, gamma=0.1), a third of five epochs rounded up.
        assert_near(&rates(Schedule::Step, 5), &[0.2, 0.2, 0.02, 0.02, 0.002]);
        assert_near(&rates(Schedule::Step, 1), &[0.2]);
    }

    #[test]
    fn every_schedule_is_found_by_its_name() {
        for schedule in Schedule::ALL {
            assert_eq!(schedule.name().parse::<Schedule>().unwrap(), schedule);
        }
        assert!("linear".parse::<Schedule>().is_err());
    }
}
