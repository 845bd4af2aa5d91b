//! The options of `laptime advise --loader`.

use std::ffi::OsString;
use std::path::PathBuf;
use std::time::Duration;

use super::sweep_values::parse_time;

/// More samples in a batch than anybody loads.
const LARGEST_BATCH: u64 = 1 << 30;

/// What a search for a loader's settings is asked.
#[derive(Clone, Debug, Default, clap::Args)]
pub(crate) struct LoaderArgs {
    /// Measure the PyTorch loader that a function makes, and choose its workers and prefetching
    #[arg(long, value_name = "FILE:FUNCTION", value_parser = parse_loader, help_heading = "Loader")]
    pub(crate) loader: Option<String>,
    /// Samples a second that the model takes [default: what the latest run shows]
    #[arg(long, value_name = "RATE", value_parser = parse_rate, requires = "loader", help_heading = "Loader")]
    pub(crate) needs: Option<f64>,
    /// Batch sizes to try, such as 32,64,128 [default: the loader's own]
    #[arg(long, value_name = "SIZES", value_delimiter = ',', value_parser = parse_batch, requires = "loader", help_heading = "Loader")]
    pub(crate) batch: Vec<u64>,
    /// Begin no more measurements after this long, such as 90s or 5m
    #[arg(long, value_name = "TIME", value_parser = parse_time, requires = "loader", help_heading = "Loader")]
    pub(crate) budget: Option<Duration>,
    /// The Python that has torch [default: the one that laptime runs in, else python3]
    #[arg(long, value_name = "PATH", requires = "loader", help_heading = "Loader")]
    pub(crate) python: Option<OsString>,
}

/// A search for the settings of one loader.
#[derive(Clone, Debug)]
pub(crate) struct LoaderRequest {
    /// `train.py:make_loader` or `module:make_loader`.
    pub(crate) loader: String,
    pub(crate) needs: Option<f64>,
    pub(crate) batches: Vec<u64>,
    pub(crate) budget: Option<Duration>,
    pub(crate) python: Option<OsString>,
    /// Where the runs are that may show what the model needs.
    pub(crate) runs: PathBuf,
    pub(crate) json: bool,
}

impl LoaderArgs {
    /// The search that is asked for, if any; runs are in that folder.
    pub(crate) fn request(&self, runs: PathBuf, json: bool) -> Option<LoaderRequest> {
        Some(LoaderRequest {
            loader: self.loader.clone()?,
            needs: self.needs,
            batches: self.batch.clone(),
            budget: self.budget,
            python: self.python.clone(),
            runs,
            json,
        })
    }
}

/// Checks for `train.py:make_loader` or `package.module:make_loader`.
fn parse_loader(text: &str) -> Result<String, String> {
    let expected = || "expected a file and its function, such as train.py:make_loader".to_owned();
    let (place, function) = text.rsplit_once(':').ok_or_else(expected)?;
    let is_name = function.chars().all(|letter| letter.is_alphanumeric() || letter == '_');
    if place.is_empty() || function.is_empty() || !is_name {
        return Err(expected());
    }
    Ok(text.to_owned())
}

fn parse_rate(text: &str) -> Result<f64, String> {
    let rate = text.replace(',', "").parse::<f64>().ok().filter(|rate| rate.is_finite() && *rate > 0.0);
    rate.ok_or_else(|| "expected samples a second, such as 1240".to_owned())
}

fn parse_batch(text: &str) -> Result<u64, String> {
    let size = text.trim().parse().ok().filter(|size| (1..=LARGEST_BATCH).contains(size));
    size.ok_or_else(|| "expected numbers of samples, such as 32,64,128".to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_loader_is_a_file_or_module_and_a_function() {
        for text in ["train.py:make_loader", "src/train.py:loader", "project.data:train_loader"] {
            assert_eq!(parse_loader(text).as_deref(), Ok(text));
        }
        for text in ["train.py", "train.py:", ":make", "train.py:make loader", "train.py:make()"] {
            assert!(parse_loader(text).is_err(), "{text}");
        }
    }

    #[test]
    fn rates_and_sizes_are_positive_numbers() {
        assert_eq!((parse_rate("1,240"), parse_rate("0.5")), (Ok(1240.0), Ok(0.5)));
        assert!(["0", "-1", "fast", "inf"].iter().all(|text| parse_rate(text).is_err()));
        assert_eq!(parse_batch("32"), Ok(32));
        assert!(["0", "x", "1.5"].iter().all(|text| parse_batch(text).is_err()));
    }
}
