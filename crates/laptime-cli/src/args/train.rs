//! The options of `laptime train`.

use clap::builder::PossibleValuesParser;
use laptime_train::{Dtype, LossKind, OptimizerKind, Schedule};

use super::values::{
    BatchSize, DataChoice, parse_above_zero, parse_accuracy, parse_count, parse_data, parse_from_zero,
    parse_learning_rate, parse_seed, parse_share, parse_size, parse_threads, parse_validation_share,
};
use super::{BoardArgs, Output, Place};

/// `laptime train`. What is absent is left to the model's defaults.
#[derive(Debug, clap::Args)]
#[command(before_help = "\
Examples:
  laptime train mlp                         where does the time go?
  laptime train mlp --rows 1e3,1e4,1e5      how does it grow with the data?
  laptime train cnn --batch 16,64,256       which batch size is fastest?
  laptime train cnn --until-accuracy 0.95   how long until it is good enough?
  laptime train mlp --data points.csv       the same on your own rows")]
pub(crate) struct TrainArgs {
    /// Which model: linear, mlp, cnn, rnn, lstm, gru or transformer
    #[arg(value_name = "MODEL")]
    pub(crate) model: String,

    /// Where the rows come from: generated, or a .csv, .npy or .pack file with the target last
    #[arg(long, value_name = "SOURCE", value_parser = parse_data, default_value = "generated", help_heading = "Data")]
    pub(crate) data: DataChoice,
    /// Rows to generate; several train one after the other [default: 1_000, linear 100, mlp 10_000,
    /// transformer 320]
    #[arg(long, value_name = "N,…", value_parser = parse_count, allow_negative_numbers = true, value_delimiter = ',', help_heading = "Data")]
    pub(crate) rows: Vec<u64>,
    /// Numbers in a row, tokens in a sequence [default: linear 1, mlp 10, rnn, lstm and gru 50,
    /// transformer 64]
    #[arg(long, value_name = "N", value_parser = parse_size, allow_negative_numbers = true, help_heading = "Data")]
    pub(crate) features: Option<usize>,
    /// Share of the rows held out to validate on, such as 0.2 [default: 0]
    #[arg(long, value_name = "SHARE", value_parser = parse_validation_share, allow_negative_numbers = true, help_heading = "Data")]
    pub(crate) validate: Option<f64>,

    /// Hidden, convolution or recurrent layers, transformer blocks [default: 1, transformer 4]
    #[arg(long, value_name = "N", value_parser = parse_size, allow_negative_numbers = true, help_heading = "Model")]
    pub(crate) layers: Option<usize>,
    /// Units of a layer, channels of a convolution [default: 64, cnn 32, transformer 128]
    #[arg(long, value_name = "N", value_parser = parse_size, allow_negative_numbers = true, help_heading = "Model")]
    pub(crate) width: Option<usize>,
    /// Side of the cnn's kernel [default: 3]
    #[arg(long, value_name = "N", value_parser = parse_size, allow_negative_numbers = true, help_heading = "Model")]
    pub(crate) kernel: Option<usize>,
    /// Share of the values that dropout sets to zero, such as 0.1 [default: 0]
    #[arg(long, value_name = "SHARE", value_parser = parse_share, allow_negative_numbers = true, help_heading = "Model")]
    pub(crate) dropout: Option<f64>,
    /// Precision to compute in; f64 and bf16 are often slower on a CPU [default: f32]
    #[arg(long, value_name = "TYPE", value_parser = names(Dtype::ALL.map(Dtype::name)), help_heading = "Model")]
    pub(crate) dtype: Option<String>,

    /// Passes over the data [default: 10, at most 100 with --until-…]
    #[arg(long, value_name = "N", value_parser = parse_count, allow_negative_numbers = true, help_heading = "Training")]
    pub(crate) epochs: Option<u64>,
    /// Rows in a batch, or `full`; several train one after the other [default: 32, linear full]
    #[arg(long, value_name = "N|full,…", value_delimiter = ',', help_heading = "Training")]
    pub(crate) batch: Vec<BatchSize>,
    /// Which optimizer [default: adam, linear sgd]
    #[arg(long, value_name = "NAME", value_parser = names(OptimizerKind::ALL.map(OptimizerKind::name)), help_heading = "Training")]
    pub(crate) optimizer: Option<String>,
    /// Learning rate [default: the optimizer's own]
    #[arg(long, value_name = "RATE", value_parser = parse_learning_rate, allow_negative_numbers = true, help_heading = "Training")]
    pub(crate) lr: Option<f64>,
    /// How the learning rate changes from epoch to epoch [default: constant]
    #[arg(long, value_name = "NAME", value_parser = names(Schedule::ALL.map(Schedule::name)), help_heading = "Training")]
    pub(crate) schedule: Option<String>,
    /// Loss to minimize [default: mse where numbers are learned, else cross-entropy]
    #[arg(long, value_name = "NAME", value_parser = names(LossKind::ALL.map(LossKind::name)), help_heading = "Training")]
    pub(crate) loss: Option<String>,
    /// Batches whose gradients are accumulated into one step [default: 1]
    #[arg(long, value_name = "N", value_parser = parse_size, allow_negative_numbers = true, help_heading = "Training")]
    pub(crate) accumulate: Option<usize>,
    /// Clip the norm of all gradients to this [default: no limit]
    #[arg(long, value_name = "NORM", value_parser = parse_above_zero, allow_negative_numbers = true, help_heading = "Training")]
    pub(crate) clip: Option<f64>,
    /// Weight decay [default: 0, adamw 0.01]
    #[arg(long, value_name = "X", value_parser = parse_from_zero, allow_negative_numbers = true, help_heading = "Training")]
    pub(crate) weight_decay: Option<f64>,
    /// Seeds data, initial weights and the order of rows
    #[arg(
        long,
        value_name = "N",
        value_parser = parse_seed, default_value = "0",
        allow_negative_numbers = true,
        help_heading = "Training"
    )]
    pub(crate) seed: u64,
    /// Threads to compute with [default: 1]
    #[arg(long, value_name = "N", value_parser = parse_threads, help_heading = "Training")]
    pub(crate) threads: Option<u32>,

    /// Stop when the loss has not improved for so many epochs
    #[arg(long, value_name = "EPOCHS", value_parser = parse_count, allow_negative_numbers = true, help_heading = "Ending")]
    pub(crate) early_stop: Option<u64>,
    /// Stop at this loss or below; on held-out rows where there are any
    #[arg(long, value_name = "X", value_parser = parse_from_zero, allow_negative_numbers = true, help_heading = "Ending")]
    pub(crate) until_loss: Option<f64>,
    /// Stop at this accuracy or above; on held-out rows where there are any
    #[arg(
        long,
        value_name = "SHARE",
        value_parser = parse_accuracy,
        allow_negative_numbers = true,
        conflicts_with = "until_loss",
        help_heading = "Ending"
    )]
    pub(crate) until_accuracy: Option<f64>,
    /// Write weights and optimizer into the run's folder after every N epochs
    #[arg(long, value_name = "N", value_parser = parse_count, allow_negative_numbers = true, help_heading = "Ending")]
    pub(crate) checkpoint_every: Option<u64>,

    /// What to call the run [default: the model]
    #[arg(long, value_name = "NAME", help_heading = "Output")]
    pub(crate) name: Option<String>,
    #[command(flatten)]
    pub(crate) board: BoardArgs,
    #[command(flatten)]
    pub(crate) output: Output,
    #[command(flatten)]
    pub(crate) place: Place,
}

/// One of the names that laptime knows.
fn names<const N: usize>(known: [&'static str; N]) -> PossibleValuesParser {
    PossibleValuesParser::new(known)
}
