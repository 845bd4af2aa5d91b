//! What can go wrong before and during a training, and what to type next.

use std::path::PathBuf;

use laptime_load::LoadError;

use crate::loss::LossKind;
use crate::model_kind::{HEADS, IMAGE_SIDE, ModelKind};
use crate::unknown_name::UnknownName;

/// Why a training could not start or had to end.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum TrainError {
    /// A setting has no choice of this name.
    #[error(transparent)]
    UnknownName(#[from] UnknownName),
    /// A setting that counts something is zero.
    #[error("{setting} must be at least 1")]
    Zero {
        /// The setting's name, as in its flag.
        setting: &'static str,
    },
    /// A setting is of no use here.
    #[error("{setting} cannot be chosen for {place}")]
    NotChoosable {
        /// The setting's name, as in its flag.
        setting: &'static str,
        /// What has this setting fixed.
        place: String,
    },
    /// The loss compares what the model does not have.
    #[error("the {loss} loss does not fit the {model} model, which gives {}", gives(*.model))]
    LossMisfit {
        /// The loss.
        loss: LossKind,
        /// The model.
        model: ModelKind,
    },
    /// A number is outside of what its setting can be.
    #[error("invalid {setting} {value}: it must be {allowed}")]
    OutOfRange {
        /// The setting's name, as in its flag.
        setting: &'static str,
        /// What was asked for.
        value: f64,
        /// What it can be, such as `above 0`.
        allowed: &'static str,
    },
    /// An accuracy is asked of a model that has none.
    #[error("the {model} model gives numbers, not classes, so it has no accuracy to reach")]
    NoAccuracy {
        /// The model.
        model: ModelKind,
    },
    /// The width cannot be divided among the heads.
    #[error("a width of {width} cannot be divided among the transformer's {HEADS} heads")]
    Heads {
        /// What was asked for.
        width: usize,
    },
    /// The learning rate is not a number above zero.
    #[error("invalid learning rate {lr}: it must be a number above 0")]
    LearningRate {
        /// What was asked for.
        lr: f64,
    },
    /// The share to hold out is not in [0, 1).
    #[error("cannot hold out a share of {share}: it must be from 0 to below 1")]
    Validate {
        /// What was asked for.
        share: f64,
    },
    /// The split leaves one side without rows.
    #[error("holding out a share of {share} of {rows} rows leaves no rows to {starved}")]
    Split {
        /// The share asked for.
        share: f64,
        /// Rows there are.
        rows: u64,
        /// What cannot happen: `train on` or `validate on`.
        starved: &'static str,
    },
    /// There is nothing to train on.
    #[error("no rows to train on")]
    NoRows,
    /// A batch asks for more rows than there are.
    #[error("a batch of {batch} rows is larger than the {rows} rows to train on")]
    BatchTooLarge {
        /// Rows in a batch.
        batch: usize,
        /// Rows to train on.
        rows: u64,
    },
    /// The file's rows do not fit the model.
    #[error("the {model} model takes {expected} features a row and the data has {found}")]
    Width {
        /// The model.
        model: ModelKind,
        /// Features it takes.
        expected: usize,
        /// Features in the file.
        found: usize,
    },
    /// A label or a token is not one of those there are.
    #[error("row {row} has the {what} {value}, which is not a whole number from 0 to {}", count - 1)]
    Label {
        /// Number of the row, from 1, not counting a header.
        row: u64,
        /// `label` or `token`.
        what: &'static str,
        /// Its label.
        value: f32,
        /// How many there are.
        count: usize,
    },
    /// The convolution blocks leave nothing of the image.
    #[error("convolution block {block} with kernel {kernel} uses up the {IMAGE_SIDE}x{IMAGE_SIDE} image")]
    ImageUsedUp {
        /// The block, from 1, after which nothing is left.
        block: usize,
        /// Side of the kernel.
        kernel: usize,
    },
    /// The training would not fit in memory.
    #[error("this training needs about {needed_bytes} bytes of memory and {available_bytes} are available")]
    Memory {
        /// An estimate of what it needs.
        needed_bytes: u64,
        /// What the system says is available.
        available_bytes: u64,
    },
    /// More threads than anyone can use.
    #[error("cannot compute with {threads} threads: at most {most}")]
    TooManyThreads {
        /// What was asked for.
        threads: u32,
        /// The most that is allowed.
        most: u32,
    },
    /// The thread already computes with another number of threads.
    #[error("this thread already trains with {current} threads and cannot change to {asked}")]
    ThreadsFixed {
        /// Threads it trains with.
        current: u32,
        /// Threads asked for.
        asked: u32,
    },
    /// The threads could not be started.
    #[error("could not start {threads} threads")]
    Threads {
        /// What was asked for.
        threads: u32,
        /// Why.
        source: rayon::ThreadPoolBuildError,
    },
    /// The data could not be opened.
    #[error("could not open the data")]
    Open {
        /// The file.
        path: PathBuf,
        /// Why.
        source: LoadError,
    },
    /// A batch could not be read in the middle of an epoch.
    #[error("could not read batch {step} of epoch {epoch}")]
    Batch {
        /// The epoch, from 1.
        epoch: u64,
        /// The batch, from 1.
        step: u64,
        /// Why.
        source: LoadError,
    },
    /// The loss is no longer a finite number, so no later step can mean anything.
    #[error("the loss became {loss} in step {step} of epoch {epoch}")]
    Diverged {
        /// The epoch, from 1.
        epoch: u64,
        /// The step, from 1; 0 for the evaluation after the epoch.
        step: u64,
        /// The loss.
        loss: f64,
    },
    /// A checkpoint could not be written.
    #[error("could not write a checkpoint to {}: {reason}", folder.display())]
    Checkpoint {
        /// Where it was to be.
        folder: PathBuf,
        /// Why.
        reason: String,
    },
    /// A checkpoint could not be read.
    #[error("could not read the checkpoint {}: {reason}", path.display())]
    CheckpointUnreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        reason: String,
    },
    /// Checkpoints were asked for and the run that would keep them is not on disk.
    #[error("a checkpoint cannot be written, since this run is not kept")]
    CheckpointUnkept,
    /// Weights were given that are not those of the model.
    #[error("weights with shapes {found:?} do not fit the {model} model")]
    Weights {
        /// The model.
        model: ModelKind,
        /// Shapes that were given.
        found: Vec<Vec<usize>>,
    },
    /// The engine failed.
    #[error("the engine failed: {reason}")]
    Engine {
        /// What it said.
        reason: String,
    },
}

impl TrainError {
    /// The next thing to type, when there is one.
    #[must_use]
    pub fn hint(&self) -> Option<String> {
        if let Self::Open { source, .. } | Self::Batch { source, .. } = self {
            return source.hint();
        }
        Some(match self {
            Self::UnknownName(unknown) => unknown.hint(),
            Self::LossMisfit { model, .. } => {
                let fitting = LossKind::ALL.into_iter().filter(|loss| loss.fits(*model));
                let names: Vec<String> = fitting.map(|loss| format!("`--loss {loss}`")).collect();
                format!("choose {}", names.join(" or "))
            }
            Self::OutOfRange { setting, .. } => match *setting {
                "layers" => "choose fewer `--layers`".to_owned(),
                "dropout" => "`--dropout 0.1` drops a tenth".to_owned(),
                "clip" => "`--clip 1` is usual".to_owned(),
                "until-loss" => "`--until-loss 0.1` ends at a loss of 0.1".to_owned(),
                "until-accuracy" => "`--until-accuracy 0.95` ends at 95 %".to_owned(),
                other => format!("try `--{other} 0.01`"),
            },
            Self::NoAccuracy { .. } => "`--until-loss` ends a training at a loss".to_owned(),
            Self::Heads { width } => {
                format!("`--width {}` can", width.saturating_sub(width % HEADS).max(HEADS))
            }
            Self::Zero { setting } => format!("try `--{setting} 1`"),
            Self::NotChoosable { setting, .. } => format!("leave out `--{setting}`"),
            Self::LearningRate { .. } => "try `--lr 0.001`".to_owned(),
            Self::Validate { .. } => "`--validate 0.2` holds out a fifth".to_owned(),
            Self::Split { starved: "train on", .. } => "choose a smaller `--validate`".to_owned(),
            Self::Split { .. } => "choose a larger `--validate`, or leave it out".to_owned(),
            Self::BatchTooLarge { rows, .. } => format!("`--batch {rows}` takes all rows at once"),
            Self::Width { model: ModelKind::Cnn, .. } => {
                format!("a row is a {IMAGE_SIDE}x{IMAGE_SIDE} image and its label; or use `mlp`")
            }
            Self::CheckpointUnkept | Self::Checkpoint { .. } => {
                "leave out `--checkpoint-every`, or give a folder with room by `--dir`".to_owned()
            }
            Self::Width { found, .. } => format!("leave out `--features`, or make it {found}"),
            Self::Label { what: "token", count, .. } => {
                format!("a row is a sequence of tokens from 0 to {} and the next one", count - 1)
            }
            Self::Label { count, .. } => {
                format!("number the classes from 0 to {}, in the last column", count - 1)
            }
            Self::ImageUsedUp { .. } => "choose fewer `--layers` or a smaller `--kernel`".to_owned(),
            Self::Memory { .. } => {
                "choose fewer `--rows`, a smaller `--batch` or a smaller `--width`".to_owned()
            }
            Self::TooManyThreads { most, .. } => format!("the most is `--threads {most}`"),
            Self::Diverged { .. } => "choose a smaller `--lr`, and see that the data is scaled".to_owned(),
            _ => return None,
        })
    }

    /// Whether the request itself was wrong, so that nothing was trained or recorded.
    #[must_use]
    pub fn is_bad_request(&self) -> bool {
        !matches!(
            self,
            Self::Batch { .. }
                | Self::Diverged { .. }
                | Self::Engine { .. }
                | Self::Threads { .. }
                | Self::Checkpoint { .. }
                | Self::CheckpointUnreadable { .. }
                | Self::CheckpointUnkept
        )
    }
}

fn gives(model: ModelKind) -> &'static str {
    if model.classifies() { "classes" } else { "numbers" }
}
