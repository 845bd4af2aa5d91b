//! The options of `laptime data`.

use std::path::PathBuf;
use std::time::Duration;

use clap::ValueEnum;
use laptime_data::link::ProbeLimits;
use laptime_data::survey::{ElementType, SurveyOptions};

use super::amount::parse_bytes;
use super::sweep_values::parse_time;
use super::values::{parse_count, parse_side};

/// `laptime data`.
#[derive(Debug, clap::Args)]
#[command(before_help = "\
Examples:
  laptime data photos/                        images, their bytes, the least time of an epoch
  laptime data train.csv --epochs 20          rows from a glance, and what 20 epochs move
  laptime data photos/ --size 224 --dtype uint8
  laptime data shards/*.parquet --json        every number, for programs
  laptime data https://host/train.csv         what lies elsewhere: also the link, and the way to get it
  laptime data s3://bucket/train --epochs 90 --to 8
  laptime data --compare sftp://host/set https://host/set")]
pub(crate) struct DataArgs {
    /// Files and folders: CSV, TSV, JSON Lines (also .gz, .zst), Parquet, Arrow, NPY, NPZ, JPEG, PNG, TFRecord, tar;
    /// the rest by bytes. Or a URL: http(s), ftp(s), sftp, s3, and what fsspec knows (hf, gs, az, hdfs …)
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
    /// Compare places that have the same data: which is copied from fastest
    #[arg(long, conflicts_with = "time", help_heading = "Link")]
    pub(crate) compare: bool,
    /// Make the copy with the command that is proposed, and hold it against the forecast
    #[arg(long, help_heading = "Link")]
    pub(crate) time: bool,
    /// Machines that read all of it at the same time over the same link
    #[arg(long, value_name = "N", value_parser = parse_count, allow_negative_numbers = true, default_value = "1", help_heading = "Link")]
    pub(crate) to: u64,
    /// Bytes that measuring the link may fetch
    #[arg(long, value_name = "BYTES", value_parser = parse_bytes, default_value = "64MB", help_heading = "Link")]
    pub(crate) probe_bytes: u64,
    /// Time that measuring the link may take
    #[arg(long, value_name = "TIME", value_parser = parse_time, default_value = "15s", help_heading = "Link")]
    pub(crate) probe_time: Duration,
    /// Look into at most this many files of a format; they stand for the others [default: by format]
    #[arg(long, value_name = "N", value_parser = parse_count, allow_negative_numbers = true, conflicts_with = "exact", help_heading = "Measuring")]
    pub(crate) max_files: Option<u64>,
    /// Do not measure the disk or the link
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
    /// What measuring a link may take; `None` where it is not wanted.
    pub(crate) fn probe_limits(&self) -> Option<ProbeLimits> {
        let limits = ProbeLimits { bytes: self.probe_bytes, time: self.probe_time };
        (!self.no_disk).then_some(limits)
    }

    pub(crate) fn options(&self) -> SurveyOptions {
        SurveyOptions {
            epochs: self.epochs,
            dtype: self.dtype.into(),
            size: self.size,
            exact: self.exact,
            measure_disk: !self.no_disk,
            max_files: self.max_files.map(|files| usize::try_from(files).unwrap_or(usize::MAX)),
            ..SurveyOptions::default()
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
