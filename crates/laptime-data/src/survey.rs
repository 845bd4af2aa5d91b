//! What a dataset on disk amounts to, found out by reading as little of it as possible.
//!
//! ```
//! use laptime_data::survey::{Survey, SurveyOptions, Watch};
//!
//! let folder = tempfile::tempdir()?;
//! std::fs::write(folder.path().join("points.csv"), "x,y\n1,2\n3,4\n")?;
//! let survey = Survey::of(&[folder.path().into()], &SurveyOptions::default(), &Watch::default());
//! assert_eq!(survey.samples.map(|rows| rows.mean), Some(2.0));
//! # Ok::<(), std::io::Error>(())
//! ```
//!
//! Readers of Parquet, Arrow, ZIP, JPEG and PNG are our own, because only sizes are wanted of a file nobody
//! vouches for: they read descriptions, never data, and no number in a file decides how much memory they take.

mod amount;
mod columnar;
mod compressed;
mod compression;
mod density;
mod disk;
mod effort;
mod format;
mod group;
mod image;
mod least;
mod limits;
mod listing;
mod looking;
mod measured;
mod memory;
mod pairs;
mod part;
mod pictures;
mod place;
mod problem;
mod records;
mod sample;
mod sized_file;
mod splits;
mod stored;
mod stored_object;
mod text;
mod walk;
mod watch;

use std::path::PathBuf;
use std::time::Duration;

use serde::Serialize;

use crate::source::{Source, SourceError};
use effort::Looking;
use group::Found;
use limits::Limits;
use place::Place;

pub use amount::Amount;
pub use compression::Compression;
pub(crate) use disk::measure_file;
pub use disk::{Link, Origin};
pub use format::Format;
pub use least::{EpochBytes, Least};
pub use memory::Memory;
pub use part::Part;
pub use pictures::Sides;
pub use problem::{FileProblem, Trouble};
pub use splits::Split;
pub use watch::Watch;

/// How numbers are held when they are moved to a device.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum ElementType {
    /// Pixels as they are in files.
    Uint8,
    /// Half precision.
    Float16,
    /// Half precision with the range of single.
    Bfloat16,
    /// Single precision, which training computes with by default.
    #[default]
    Float32,
    /// Double precision.
    Float64,
}

impl ElementType {
    /// All of them, the smallest first.
    pub const ALL: [Self; 5] = [Self::Uint8, Self::Float16, Self::Bfloat16, Self::Float32, Self::Float64];

    /// The name that NumPy and PyTorch use.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Uint8 => "uint8",
            Self::Float16 => "float16",
            Self::Bfloat16 => "bfloat16",
            Self::Float32 => "float32",
            Self::Float64 => "float64",
        }
    }

    /// Bytes of one number.
    #[must_use]
    pub fn bytes(self) -> u64 {
        match self {
            Self::Uint8 => 1,
            Self::Float16 | Self::Bfloat16 => 2,
            Self::Float32 => 4,
            Self::Float64 => 8,
        }
    }
}

/// What is assumed about the training, and how hard to look.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SurveyOptions {
    /// Passes over the data.
    pub epochs: u64,
    /// How numbers are moved to the device.
    pub dtype: ElementType,
    /// The side that images are brought to before they are moved; as they are without it.
    pub size: Option<u32>,
    /// Whether every row is counted and every header read, whatever that takes.
    pub exact: bool,
    /// Whether the rate of the storage is measured.
    pub measure_disk: bool,
    /// Files of each format that are looked into at most, as a sample of all; `None` for what is usual.
    pub max_files: Option<usize>,
    /// How long counting may take where an estimate would do.
    pub patience: Duration,
}

impl Default for SurveyOptions {
    fn default() -> Self {
        Self {
            epochs: 1,
            dtype: ElementType::default(),
            size: None,
            exact: false,
            measure_disk: true,
            max_files: None,
            patience: Duration::from_secs(1),
        }
    }
}

/// What a dataset amounts to. Serialized it is `laptime.dataset/1`.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Survey {
    /// `laptime.dataset/1`.
    pub schema: &'static str,
    /// What was looked at, as it was named.
    pub source: String,
    /// The format that most of the bytes are in; `None` where there are no files.
    pub format: Option<Format>,
    /// Files, of whatever kind.
    pub files: u64,
    /// Folders that were entered.
    pub folders: u64,
    /// Bytes of all files.
    pub bytes: u64,
    /// Rows or images of the main format.
    pub samples: Option<Amount>,
    /// Bytes of a sample in its file, the mean.
    pub sample_bytes_stored: Option<f64>,
    /// Bytes of a sample in memory, the mean.
    pub sample_bytes_decoded: Option<f64>,
    /// Bytes of everything in memory, as far as it is known.
    pub decoded_bytes: Option<Amount>,
    /// What one pass moves.
    pub epoch_bytes: EpochBytes,
    /// The rate of the storage; `None` where it was not or could not be measured.
    pub link: Option<Link>,
    /// The time in which the storage delivers one pass.
    pub transfer_s: Option<Amount>,
    /// What all passes must take at least.
    pub least: Least,
    /// The memory there is; `None` where the system does not say.
    pub memory: Option<Memory>,
    /// How numbers are moved to the device.
    pub dtype: ElementType,
    /// The side that images are brought to.
    pub size: Option<u32>,
    /// Passes that were asked about.
    pub epochs: u64,
    /// One entry for each format, and for each ending among the rest; the largest first.
    pub parts: Vec<Part>,
    /// What a Hugging Face datasets folder declares of itself.
    pub declared: Vec<Split>,
    /// Files and folders that gave no answer, or only part of one.
    pub trouble_count: u64,
    /// The first hundred of them.
    pub troubles: Vec<Trouble>,
    /// Whether everything was seen; `false` when it was stopped.
    pub complete: bool,
    /// Bytes that were read to find out, without those that measured the disk.
    pub read_bytes: u64,
}

impl Survey {
    /// Looks at the files and folders; a path that cannot be read is listed among the troubles.
    #[must_use]
    pub fn of(paths: &[PathBuf], options: &SurveyOptions, watch: &Watch) -> Self {
        let found = walk::walk(paths, Limits::of_options(options, false), watch);
        let names: Vec<String> = paths.iter().map(|path| path.display().to_string()).collect();
        let looking = Looking { options, place: Place::here(watch), watch };
        let (mut survey, probed) = Self::look_into(found, names.join(", "), looking);
        if options.measure_disk && !watch.stopped() {
            survey.link = disk::measure_link(&probed, watch);
        }
        survey.complete = !watch.stopped();
        survey.with_times()
    }

    /// Looks at a place of any kind, reading ranges of what lies there; how fast it delivers is not measured.
    ///
    /// # Errors
    /// When nothing can be listed there; what fails later is listed among the troubles.
    pub fn of_source(
        source: &dyn Source,
        options: &SurveyOptions,
        watch: &Watch,
    ) -> Result<Self, SourceError> {
        let found = listing::list(source, Limits::of_options(options, true), watch)?;
        let looking = Looking { options, place: Place::at(source, watch), watch };
        let (survey, _) = Self::look_into(found, source.place(), looking);
        Ok(survey.with_times())
    }

    /// The same with the rate of the way that data take, and the times that follow from it.
    #[must_use]
    pub fn with_link(mut self, link: Link) -> Self {
        self.link = Some(link);
        self.with_times()
    }

    /// Looks into what was found; also gives the files to measure a disk on.
    fn look_into(
        mut found: Found,
        source: String,
        looking: Looking<'_>,
    ) -> (Self, Vec<sized_file::SizedFile>) {
        let (options, watch) = (looking.options, looking.watch);
        let mut parts = Vec::new();
        for (kind, group) in std::mem::take(&mut found.groups) {
            parts.push(part::measure(&kind, group, looking, &mut found.troubles));
        }
        parts.sort_by(|a, b| {
            let name = |part: &Part| (part.format, part.compression, part.ending.clone());
            b.bytes.cmp(&a.bytes).then_with(|| name(a).cmp(&name(b)))
        });
        let survey = Self {
            schema: "laptime.dataset/1",
            source,
            format: parts.first().map(|part| part.format),
            files: parts.iter().map(|part| part.files).sum(),
            folders: found.folders,
            bytes: parts.iter().map(|part| part.bytes).fold(0, u64::saturating_add),
            samples: None,
            sample_bytes_stored: None,
            sample_bytes_decoded: None,
            decoded_bytes: part::total(&parts, |part| part.decoded_bytes),
            epoch_bytes: EpochBytes::of(&parts),
            link: None,
            transfer_s: None,
            least: Least::default(),
            memory: Memory::of_this_machine(),
            dtype: options.dtype,
            size: options.size,
            epochs: options.epochs,
            parts,
            declared: found.descriptions.splits(looking.place),
            trouble_count: found.troubles.count,
            troubles: found.troubles.listed,
            complete: !watch.stopped(),
            read_bytes: watch.read_bytes(),
        };
        (survey.with_samples(), found.probed.into_kept())
    }

    /// Takes the samples from the format that has most of the bytes: labels beside images are not more samples.
    fn with_samples(mut self) -> Self {
        let main = self.parts.iter().find(|part| part.samples.is_some());
        let Some((main, samples)) = main.and_then(|part| Some((part, part.samples?))) else { return self };
        let each = |bytes: f64| (samples.mean > 0.0).then(|| bytes / samples.mean);
        self.format = Some(main.format);
        self.sample_bytes_stored = each(main.bytes as f64);
        self.sample_bytes_decoded = main.decoded_bytes.and_then(|bytes| each(bytes.mean));
        self.samples = Some(samples);
        self
    }

    fn with_times(mut self) -> Self {
        let storage = self.epoch_bytes.storage as f64;
        self.transfer_s = self.link.map(|link| link.bytes_per_s.dividing(storage));
        self.least = Least::of(&self);
        self
    }
}

#[cfg(test)]
mod tests;
