//! The options of `laptime data`.

use std::path::PathBuf;

use clap::ValueEnum;
use laptime_data::survey::{ElementType, SurveyOptions};

use super::values::{parse_count, parse_side};

/// `laptime data`.
#[derive(Debug, clap::Args)]
#[command(before_help = "\
Examples:
  laptime data photos/                        images, their bytes, the least time of an epoch
  laptime data train.csv --epochs 20          rows from a glance, and what 20 epochs move
  laptime data photos/ --size 224 --dtype uint8
  laptime data shards/*.parquet --json        every number, for programs")]
pub(crate) struct DataArgs {
    /// Files and folders: CSV, TSV, JSON Lines, Parquet, Arrow, NPY, NPZ, JPEG, PNG; the rest by bytes
    #[arg(value_name = "PATH", required = true)]
    pub(crate) paths: Vec<PathBuf>,
    /// Passes over the data
    #[arg(long, value_name = "N", value_parser = parse_count, allow_negative_numbers = true, default_value = "1", help_heading = "Training")]
    pub(crate) epochs: u64,
    /// Type in which numbers move to the device
    #[arg(long, value_name = "TYPE", default_value = "float32", help_heading = "Training")]
    pub(crate) dtype: DtypeChoice,
    /// Side that images are resized to, in pixels [default: as they are]
    #[arg(long, value_name = "PIXELS", value_parser = parse_side, allow_negative_numbers = true, help_heading = "Training")]
    pub(crate) size: Option<u32>,
    /// Count every row and read every header, however long that takes
    #[arg(long, help_heading = "Measuring")]
    pub(crate) exact: bool,
    /// Do not measure the disk
    #[arg(long, help_heading = "Measuring")]
    pub(crate) no_disk: bool,
    /// Print one JSON document (laptime.dataset/1)
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
    /// Write a page with charts: one file that opens in any browser (`-` is standard output)
    #[arg(long, value_name = "FILE", conflicts_with = "json", help_heading = "Output")]
    pub(crate) html: Option<PathBuf>,
    /// Show no progress
    #[arg(long, short, help_heading = "Output")]
    pub(crate) quiet: bool,
}

impl DataArgs {
    pub(crate) fn options(&self) -> SurveyOptions {
        SurveyOptions {
            epochs: self.epochs,
            dtype: self.dtype.into(),
            size: self.size,
            exact: self.exact,
            measure_disk: !self.no_disk,
        }
    }
}

/// The types that can be named.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum DtypeChoice {
    Uint8,
    Float16,
    Bfloat16,
    Float32,
    Float64,
}

impl From<DtypeChoice> for ElementType {
    fn from(choice: DtypeChoice) -> Self {
        match choice {
            DtypeChoice::Uint8 => Self::Uint8,
            DtypeChoice::Float16 => Self::Float16,
            DtypeChoice::Bfloat16 => Self::Bfloat16,
            DtypeChoice::Float32 => Self::Float32,
            DtypeChoice::Float64 => Self::Float64,
        }
    }
}
