//! The options of a loader as Python says them.

use std::time::Duration;

use laptime_load::loader::{LoaderOptions, Shuffle, Subset};
use pyo3::prelude::*;

use super::image::transform;

/// The options that `laptime.Loader` has checked, by their names.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub(super) struct Options<'py> {
    batch_size: usize,
    shuffle: String,
    seed: u64,
    drop_last: bool,
    rank: u64,
    world_size: u64,
    threads: Option<usize>,
    prefetch_bytes: u64,
    verify: bool,
    subset: Samples,
    columns: Option<Vec<String>>,
    transform: Option<Bound<'py, PyAny>>,
    normalize: Option<([f32; 3], [f32; 3])>,
    pad_value: f64,
    warn_after: f64,
    fail_after: f64,
    pub(super) output: String,
}

impl Options<'_> {
    /// The same for the engine.
    pub(super) fn engine(self) -> PyResult<LoaderOptions> {
        let image = match &self.transform {
            Some(object) => Some(transform(object, self.normalize)?),
            None => None,
        };
        Ok(LoaderOptions {
            batch_size: self.batch_size,
            shuffle: match self.shuffle.as_str() {
                "exact" => Shuffle::Exact,
                "window" => Shuffle::Window { blocks: 64 },
                _ => Shuffle::None,
            },
            seed: self.seed,
            drop_last: self.drop_last,
            rank: self.rank,
            world: self.world_size,
            threads: self.threads,
            prefetch_bytes: self.prefetch_bytes,
            verify: self.verify,
            subset: self.subset.engine(),
            columns: self.columns,
            image,
            pad: self.pad_value,
            warn_after: seconds(self.warn_after),
            fail_after: seconds(self.fail_after),
        })
    }
}

/// Which samples are loaded: all, those from the first number up to the second, or the listed ones.
#[derive(FromPyObject)]
enum Samples {
    Range((u64, u64)),
    Listed(Option<Vec<u64>>),
}

impl Samples {
    fn engine(self) -> Subset {
        match self {
            Self::Range((begin, end)) => Subset::Range(begin, end),
            Self::Listed(None) => Subset::All,
            Self::Listed(Some(samples)) => Subset::Samples(samples),
        }
    }
}

/// A length of time; one that no clock can measure is for ever.
fn seconds(seconds: f64) -> Duration {
    Duration::try_from_secs_f64(seconds).unwrap_or(Duration::MAX)
}
