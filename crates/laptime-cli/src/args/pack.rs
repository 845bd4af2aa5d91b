//! The options of `laptime pack`.

use std::path::PathBuf;

use clap::ValueEnum;
use laptime_data::pack::{OpenOptions, PythonCommand, TableOptions, TargetType};

use super::cluster::ClusterArgs;
use super::values::{parse_side, parse_threads};

/// Side of decoded images, as most models take them.
const DEFAULT_SIDE: u32 = 224;

/// `laptime pack`.
#[derive(Debug, clap::Args)]
#[command(before_help = "\
Examples:
  laptime pack train.csv                      into train.pack: features x, target y
  laptime pack x.npy                          y.npy beside it is the target
  laptime pack images/ --decode --size 224    decoded once; a folder in it is a class
  laptime pack data.py:dataset -o x.pack      any Python dataset, transforms applied once
  laptime pack big.npy --map prep.py:clean    a function over chunks, in processes
  laptime pack --verify train.pack            is every byte as it was written?")]
pub(crate) struct PackArgs {
    /// A .csv, .npy, .npz, .parquet, .arrow or .tar file, a folder of images or of a Hugging Face dataset, or
    /// FILE.py:DATASET; several .tar, .parquet or .arrow files are one dataset
    #[arg(value_name = "SOURCE", required = true)]
    pub(crate) sources: Vec<PathBuf>,
    /// The pack to write [default: the name of the source, ending in .pack]
    #[arg(long, short, value_name = "PACK", conflicts_with = "verify")]
    pub(crate) output: Option<PathBuf>,
    /// Replace a pack that is there already
    #[arg(long, conflicts_with = "verify")]
    pub(crate) force: bool,
    /// Check every byte of a pack against its checksums instead of writing one
    #[arg(long)]
    pub(crate) verify: bool,
    /// Target column of a table, by its name or its number counted from 1 [default: the last]
    #[arg(long, value_name = "COLUMN", conflicts_with = "verify", help_heading = "Tables")]
    target: Option<String>,
    /// Type of the target
    #[arg(
        long,
        value_name = "TYPE",
        default_value = "float32",
        conflicts_with = "verify",
        help_heading = "Tables"
    )]
    target_type: TargetChoice,
    /// Keep missing features as NaN
    #[arg(long, conflicts_with = "verify", help_heading = "Tables")]
    allow_nan: bool,
    /// Decode images once, instead of at every epoch
    #[arg(long, conflicts_with = "verify", help_heading = "Images")]
    decode: bool,
    /// Side of decoded images in pixels: the shorter side is resized to it, the rest cropped [default: 224]
    #[arg(long, value_name = "PIXELS", value_parser = parse_side, requires = "decode", help_heading = "Images")]
    size: Option<u32>,
    /// Apply a function to chunks of rows: one array a column in, arrays out
    #[arg(long, value_name = "FILE.py:FUNCTION", value_parser = parse_function, conflicts_with = "verify", help_heading = "Python")]
    map: Option<String>,
    #[command(flatten)]
    pub(crate) cluster: ClusterArgs,
    /// Threads that read, or Python processes [default: one a CPU]
    #[arg(long, value_name = "N", value_parser = parse_threads, conflicts_with = "verify")]
    pub(crate) threads: Option<u32>,
    /// Print one JSON document (laptime.pack/1)
    #[arg(long, help_heading = "Output")]
    pub(crate) json: bool,
    /// Show no progress
    #[arg(long, short, help_heading = "Output")]
    pub(crate) quiet: bool,
}

impl PackArgs {
    pub(crate) fn options(&self, python: PythonCommand) -> OpenOptions {
        OpenOptions {
            table: TableOptions {
                target: self.target.clone(),
                target_type: self.target_type.into(),
                allow_nan: self.allow_nan,
            },
            decode: self.decode.then(|| self.size.unwrap_or(DEFAULT_SIDE) as usize),
            map: self.map.clone(),
            python,
        }
    }
}

/// The types of a target that can be named.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(crate) enum TargetChoice {
    Float32,
    Int64,
}

impl From<TargetChoice> for TargetType {
    fn from(choice: TargetChoice) -> Self {
        match choice {
            TargetChoice::Float32 => Self::Float32,
            TargetChoice::Int64 => Self::Int64,
        }
    }
}

fn parse_function(text: &str) -> Result<String, String> {
    let named = text.rsplit_once(':').is_some_and(|(file, name)| file.ends_with(".py") && !name.is_empty());
    if named {
        Ok(text.to_owned())
    } else {
        Err("expected a file and a function, such as prep.py:clean".to_owned())
    }
}
