//! A forecast with what the command knows beside it: the clock, the deadline and the probe.

use laptime_analyse::forecast::{EpochsWithin, Forecast};
use laptime_analyse::rfc3339;
use serde::Serialize;

use crate::due::Due;

/// What `laptime predict` found.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct Prediction {
    #[serde(flatten)]
    pub(crate) forecast: Forecast,
    /// When it is done, if it is started now or as it is running; RFC 3339 in UTC.
    pub(crate) finish_at: String,
    /// What is done by the deadline; absent without one.
    pub(crate) deadline: Option<DeadlineOutlook>,
    /// How the command was probed; absent where a kept run was asked.
    pub(crate) probe: Option<Probed>,
    /// When this was computed, seconds since 1970.
    #[serde(skip)]
    pub(crate) now_s: f64,
    /// Seconds from then to the end: expected, the interval's lower end, its upper end.
    #[serde(skip)]
    pub(crate) left_s: (f64, f64, f64),
}

/// What is done by a deadline.
#[derive(Clone, Debug, Serialize)]
pub(crate) struct DeadlineOutlook {
    /// The deadline, RFC 3339 in UTC.
    pub(crate) at: String,
    /// From now to the deadline, seconds.
    pub(crate) left_s: f64,
    /// Whether all of it is expected to be done by then.
    pub(crate) met: bool,
    /// Whether it is done even if it takes as long as the interval allows.
    pub(crate) surely: bool,
    /// Epochs that are expected to be done; absent of a training without epochs.
    pub(crate) epochs: Option<u64>,
    /// Epochs that are done even then.
    pub(crate) epochs_surely: Option<u64>,
    /// Epochs of the whole training.
    pub(crate) planned_epochs: Option<u64>,
    #[serde(skip)]
    pub(crate) due: Due,
}

/// How a command was probed.
#[derive(Clone, Debug, Default, Serialize)]
pub(crate) struct Probed {
    /// How long it ran, seconds.
    pub(crate) seconds: f64,
    /// Whether it ended by itself meanwhile.
    pub(crate) ended: bool,
    /// Whether the user's files were kept from it: a command whose Pythons took no hooks writes as ever.
    pub(crate) guarded: bool,
    /// Files it opened for writing where they are.
    pub(crate) opened: Vec<String>,
    /// The batch of a second probe, for what another batch makes of the training; absent where there was none.
    pub(crate) second_batch: Option<u64>,
}

impl Prediction {
    /// A forecast as it stands at an instant, seconds since 1970.
    pub(crate) fn new(forecast: Forecast, now_s: f64, due: Option<Due>, probe: Option<Probed>) -> Self {
        let left = forecast.left_s.unwrap_or(forecast.total_s);
        let deadline = due.map(|due| DeadlineOutlook::new(&forecast, due, now_s));
        Self {
            finish_at: utc(now_s + left.mean),
            deadline,
            probe,
            now_s,
            left_s: (left.mean, left.low, left.high),
            forecast,
        }
    }
}

impl DeadlineOutlook {
    fn new(forecast: &Forecast, due: Due, now_s: f64) -> Self {
        let left = forecast.left_s.unwrap_or(forecast.total_s);
        // Epochs are counted from the command's start.
        let elapsed_s = (forecast.total_s.mean - left.mean).max(0.0);
        let left_s = due.left_s(now_s);
        let within = forecast.epochs_within(elapsed_s + left_s);
        let epochs = |of: fn(EpochsWithin) -> u64| within.map(of);
        Self {
            at: utc(due.at_s),
            left_s,
            met: left.mean <= left_s,
            surely: left.high <= left_s,
            epochs: epochs(|within| within.expected),
            epochs_surely: epochs(|within| within.surely),
            planned_epochs: epochs(|within| within.planned),
            due,
        }
    }
}

fn utc(at_s: f64) -> String {
    rfc3339((at_s.max(0.0) * 1e9) as u64)
}
