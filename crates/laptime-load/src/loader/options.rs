//! How samples are loaded.

use std::time::Duration;

use super::epoch_order::Shuffle;
use super::error::LoaderError;
use crate::image::ImageTransform;

/// Bytes of batches that are made ahead: enough for a few large ones of images.
const PREFETCH_BYTES: u64 = 256 << 20;

/// Largest batch and world, so that no product of them overflows.
const MOST: u64 = 1 << 31;

/// Most threads: more than any machine has use for.
const MOST_THREADS: usize = 4096;

/// Which samples are loaded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Subset {
    /// All.
    #[default]
    All,
    /// Those from the first up to, not including, the second.
    Range(u64, u64),
    /// These, in this order before shuffling. Window shuffle is fastest if they ascend.
    Samples(Vec<u64>),
}

/// How samples are loaded.
#[derive(Clone, Debug, PartialEq)]
pub struct LoaderOptions {
    /// Samples of a batch.
    pub batch_size: usize,
    /// How samples are shuffled.
    pub shuffle: Shuffle,
    /// Which of the possible orders, crops and flips.
    pub seed: u64,
    /// Leave out the last samples where they fill no batch.
    pub drop_last: bool,
    /// Which of the ranks this one is, from 0.
    pub rank: u64,
    /// How many ranks share the samples.
    pub world: u64,
    /// Threads that load ahead. 0: batches are made when they are asked for. `None`: so where a batch is cheap, else
    /// as many as there are CPUs.
    pub threads: Option<usize>,
    /// Bytes of batches that are made ahead at most, though always one batch.
    pub prefetch_bytes: u64,
    /// Check the checksum of a record batch before the first of its samples is used.
    pub verify: bool,
    /// Which samples are loaded.
    pub subset: Subset,
    /// Which columns in which order; all as they are stored if `None`.
    pub columns: Option<Vec<String>>,
    /// What is done to encoded images and to decoded ones (columns of bytes, height × width × 3). A column of texts beside
    /// them, as its first sample shows, is left as it is.
    pub image: Option<ImageTransform>,
    /// What sequences are filled up with.
    pub pad: f64,
    /// A batch of a thread that was waited for this long is reported by [`Loader::poll`](super::Loader::poll).
    pub warn_after: Duration,
    /// A batch of a thread that was waited for this long is an error.
    pub fail_after: Duration,
}

impl Default for LoaderOptions {
    fn default() -> Self {
        Self {
            batch_size: 1,
            shuffle: Shuffle::None,
            seed: 0,
            drop_last: false,
            rank: 0,
            world: 1,
            threads: None,
            prefetch_bytes: PREFETCH_BYTES,
            verify: true,
            subset: Subset::All,
            columns: None,
            image: None,
            pad: 0.0,
            warn_after: Duration::from_secs(30),
            fail_after: Duration::from_secs(300),
        }
    }
}

impl LoaderOptions {
    pub(super) fn check(&self, rows: u64) -> Result<(), LoaderError> {
        let problem = if self.batch_size == 0 || self.batch_size as u64 > MOST {
            "a batch must have from 1 to 2^31 samples".to_owned()
        } else if self.world == 0 || self.world > MOST {
            "there must be from 1 to 2^31 ranks".to_owned()
        } else if self.rank >= self.world {
            format!("rank {} of {} ranks: the first has number 0", self.rank, self.world)
        } else if self.threads.is_some_and(|threads| threads > MOST_THREADS) {
            format!("there can be at most {MOST_THREADS} threads")
        } else if self.shuffle == (Shuffle::Window { blocks: 0 }) {
            "a window must have at least one block".to_owned()
        } else {
            return self.check_subset(rows);
        };
        Err(LoaderError::options(problem))
    }

    fn check_subset(&self, rows: u64) -> Result<(), LoaderError> {
        let outside = match &self.subset {
            Subset::All => None,
            Subset::Range(begin, end) if begin <= end && *end <= rows => None,
            Subset::Range(begin, end) => Some(format!("samples {begin} to {end}")),
            Subset::Samples(samples) => {
                samples.iter().find(|sample| **sample >= rows).map(|sample| format!("sample {sample}"))
            }
        };
        match outside {
            Some(what) => Err(LoaderError::options(format!("{what} of a pack with {rows} samples"))),
            None if self.samples(rows) == 0 => Err(LoaderError::options("there are no samples to load")),
            None => Ok(()),
        }
    }

    /// How many samples are loaded of a pack with this many.
    pub(super) fn samples(&self, rows: u64) -> u64 {
        match &self.subset {
            Subset::All => rows,
            Subset::Range(begin, end) => end.saturating_sub(*begin),
            Subset::Samples(samples) => samples.len() as u64,
        }
    }
}
