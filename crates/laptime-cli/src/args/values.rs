//! The values of options: counts as people write them, batch sizes, data sources.

use std::path::{Path, PathBuf};
use std::str::FromStr;

/// The largest count taken: beyond it a number with a decimal point is no longer exact.
const LARGEST_COUNT: f64 = (1_u64 << 53) as f64;

/// Rows in a batch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum BatchSize {
    /// That many.
    Rows(u64),
    /// All rows at once.
    Full,
}

impl FromStr for BatchSize {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if text == "full" {
            return Ok(Self::Full);
        }
        parse_count(text).map(Self::Rows).map_err(|because| format!("{because}, or `full`"))
    }
}

/// Where the rows come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum DataChoice {
    /// Made from the seed.
    Generated,
    /// A file of rows.
    File(PathBuf),
}

/// Reads `generated` or the path of a file laptime can read.
pub(super) fn parse_data(text: &str) -> Result<DataChoice, String> {
    if text == "generated" {
        return Ok(DataChoice::Generated);
    }
    let ending = Path::new(text).extension().and_then(|ending| ending.to_str()).unwrap_or_default();
    if ["csv", "npy", "pack"].contains(&ending.to_lowercase().as_str()) {
        return Ok(DataChoice::File(text.into()));
    }
    Err("expected `generated` or a file that ends in .csv, .npy or .pack".to_owned())
}

/// Reads a count of at least one: `5000`, `1e5`, `100_000`.
pub(super) fn parse_count(text: &str) -> Result<u64, String> {
    let expected = "expected a count such as 5000, 1e5 or 100_000";
    if text.len() == 3 && text.starts_with('0') {
        return Err("a comma separates values; for a hundred thousand write 100_000 or 1e5".to_owned());
    }
    let plain = text.replace('_', "");
    let count = match plain.parse::<u64>() {
        Ok(count) => count,
        Err(_) => whole(plain.parse().map_err(|_| expected.to_owned())?).ok_or(expected)?,
    };
    if count == 0 { Err(format!("it must be at least 1; {expected}")) } else { Ok(count) }
}

fn whole(number: f64) -> Option<u64> {
    let counts = number.fract() == 0.0 && (0.0..=LARGEST_COUNT).contains(&number);
    counts.then_some(number as u64)
}

/// Reads a count that has to fit into memory.
pub(super) fn parse_size(text: &str) -> Result<usize, String> {
    usize::try_from(parse_count(text)?).map_err(|_| "it is too large".to_owned())
}

/// Reads the side of an image in pixels.
pub(super) fn parse_side(text: &str) -> Result<u32, String> {
    match u32::try_from(parse_count(text)?) {
        Ok(side) if side <= 65_535 => Ok(side),
        _ => Err("it is too large; expected at most 65,535 pixels".to_owned()),
    }
}

/// Reads a number of threads.
pub(super) fn parse_threads(text: &str) -> Result<u32, String> {
    match u32::try_from(parse_count(text)?) {
        Ok(threads) if threads <= 4096 => Ok(threads),
        _ => Err("it is too large; expected at most 4096".to_owned()),
    }
}

/// Reads a seed: any whole number, 0 too.
pub(super) fn parse_seed(text: &str) -> Result<u64, String> {
    text.replace('_', "").parse().map_err(|_| "expected a whole number of at least 0".to_owned())
}

/// Reads a learning rate: above 0.
pub(super) fn parse_learning_rate(text: &str) -> Result<f64, String> {
    let rate = text.parse::<f64>().ok().filter(|rate| rate.is_finite() && *rate > 0.0);
    rate.ok_or_else(|| "expected a number above 0, such as 0.001 or 1e-3".to_owned())
}

/// Reads a share of rows: from 0 to below 1.
pub(super) fn parse_validation_share(text: &str) -> Result<f64, String> {
    let share = text.parse::<f64>().ok().filter(|share| (0.0..1.0).contains(share));
    share.ok_or_else(|| "expected a share from 0 to below 1, such as 0.2".to_owned())
}

/// Reads a share of values to drop: from 0 to below 1.
pub(super) fn parse_share(text: &str) -> Result<f64, String> {
    let share = text.parse::<f64>().ok().filter(|share| (0.0..1.0).contains(share));
    share.ok_or_else(|| "expected a share from 0 to below 1, such as 0.1".to_owned())
}

/// Reads a share of right answers: above 0 and at most 1.
pub(super) fn parse_accuracy(text: &str) -> Result<f64, String> {
    let share = text.parse::<f64>().ok().filter(|share| *share > 0.0 && *share <= 1.0);
    share.ok_or_else(|| "expected a share above 0 and at most 1, such as 0.95".to_owned())
}

/// Reads a number above 0.
pub(super) fn parse_above_zero(text: &str) -> Result<f64, String> {
    let number = text.parse::<f64>().ok().filter(|number| number.is_finite() && *number > 0.0);
    number.ok_or_else(|| "expected a number above 0, such as 1.0".to_owned())
}

/// Reads a number of at least 0.
pub(super) fn parse_from_zero(text: &str) -> Result<f64, String> {
    let number = text.parse::<f64>().ok().filter(|number| number.is_finite() && *number >= 0.0);
    number.ok_or_else(|| "expected a number of at least 0, such as 0.01".to_owned())
}
