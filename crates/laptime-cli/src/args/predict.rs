//! The options of `laptime predict`.

use std::ffi::OsString;
use std::time::Duration;

use laptime_analyse::forecast::{Plan, Rows, WhatIf};
use laptime_core::Change;

use super::Place;
use super::change::parse_change;
use super::deadline::parse_deadline;
use super::sweep_values::parse_time;
use super::values::{parse_count, parse_from_zero, parse_seed};
use crate::due::Deadline;

/// More rows than this many times those there are is a slip of the finger.
const MOST_TIMES: f64 = 1e9;

/// `laptime predict`.
#[derive(Debug, clap::Args)]
#[command(before_help = "\
Examples:
  laptime predict -- python train.py                    when would it be done?
  laptime predict --epochs 90 -- python train.py        with 90 epochs?
  laptime predict --until-loss 0.2 -- python train.py   when is the loss low enough?
  laptime predict --deadline 06:00 -- python train.py   how many epochs fit? exit code 3: not all
  laptime predict --from mlp --rows 10x                 from a kept run: with ten times the rows?
  laptime predict --grades                              how good were forecasts on this machine?

The command is run for 20 to 60 s and ended as by Ctrl-C. Meanwhile what its Pythons write goes
into a folder that is removed again, so that your files stay as they are.")]
pub(crate) struct PredictArgs {
    /// Epochs of the whole training [default: what the script says]
    #[arg(long, value_name = "N", value_parser = parse_count, conflicts_with = "steps", help_heading = "Training")]
    pub(crate) epochs: Option<u64>,
    /// Steps of the whole training [default: what the script says]
    #[arg(long, value_name = "N", value_parser = parse_count, help_heading = "Training")]
    pub(crate) steps: Option<u64>,
    /// Say when the loss is at most this, by the losses so far: of held-out data where they are known
    #[arg(long, value_name = "LOSS", value_parser = parse_from_zero, allow_negative_numbers = true, conflicts_with_all = ["epochs", "steps"], help_heading = "Training")]
    pub(crate) until_loss: Option<f64>,
    /// Say how much of it is done by then, such as 55m from now or 06:00
    #[arg(long, value_name = "TIME", value_parser = parse_deadline, help_heading = "Training")]
    pub(crate) deadline: Option<Deadline>,
    /// Predict from a kept run instead of a probe: its name, its id or the beginning of it
    #[arg(long, value_name = "RUN", conflicts_with_all = ["command", "seconds", "grades"])]
    pub(crate) from: Option<String>,
    /// What if an epoch had so many rows, or `10x` as many?
    #[arg(long, value_name = "ROWS", value_parser = parse_rows, help_heading = "What if")]
    pub(crate) rows: Option<Rows>,
    /// What if a batch had so many samples?
    #[arg(long, value_name = "SAMPLES", value_parser = parse_count, help_heading = "What if")]
    pub(crate) batch: Option<u64>,
    /// What if so many processes loaded the data?
    #[arg(long, value_name = "N", value_parser = parse_seed, help_heading = "What if")]
    pub(crate) workers: Option<u64>,
    /// Probe with a change that laptime makes by itself; `repeat_batch=1` shows what it takes if data were free
    #[arg(long, value_name = "NAME=VALUE", value_parser = parse_change, conflicts_with_all = ["from", "grades"], help_heading = "What if")]
    pub(crate) change: Vec<Change>,
    /// Probe for this long, such as 90s or 5m [default: 20 to 60 s of steps]
    #[arg(long, value_name = "TIME", value_parser = parse_time)]
    pub(crate) seconds: Option<Duration>,
    /// Show how good the forecasts on this machine were
    #[arg(long, conflicts_with_all = ["command", "epochs", "steps", "until_loss", "deadline", "rows", "batch", "workers", "seconds"])]
    pub(crate) grades: bool,
    /// Print one JSON document (laptime.forecast/1; of grades laptime.grades/1)
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
    /// Show no progress while it probes
    #[arg(long, short, help_heading = "Output")]
    pub(crate) quiet: bool,
    #[command(flatten)]
    pub(crate) place: Place,
    /// The command to probe, after `--`
    #[arg(value_name = "COMMAND", last = true, required_unless_present_any = ["from", "grades"])]
    pub(crate) command: Vec<OsString>,
}

impl PredictArgs {
    /// How much there is to do, as far as it was given.
    pub(crate) fn plan(&self) -> Plan {
        Plan { epochs: self.epochs, steps: self.steps, until_loss: self.until_loss }
    }

    /// What is to be different.
    pub(crate) fn what_if(&self) -> WhatIf {
        WhatIf { rows: self.rows, batch: self.batch, workers: self.workers }
    }
}

/// Reads `50000` or `10x`.
fn parse_rows(text: &str) -> Result<Rows, String> {
    let expected = || "expected a count such as 50000, or a multiple such as 10x".to_owned();
    let Some(times) = text.strip_suffix(['x', '×']) else {
        return parse_count(text).map(Rows::Count).map_err(|_| expected());
    };
    let times = times.parse::<f64>().ok().filter(|times| *times > 0.0 && *times <= MOST_TIMES);
    times.map(Rows::Times).ok_or_else(expected)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_are_a_count_or_a_multiple() {
        assert_eq!(parse_rows("50_000"), Ok(Rows::Count(50_000)));
        assert_eq!((parse_rows("10x"), parse_rows("0.5x")), (Ok(Rows::Times(10.0)), Ok(Rows::Times(0.5))));
        for text in ["", "x", "0x", "-1x", "nanx", "infx", "ten"] {
            assert!(parse_rows(text).is_err(), "{text}");
        }
    }
}
