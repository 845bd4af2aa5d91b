//! How hard files are looked into.

use std::time::Duration;

use super::SurveyOptions;
use super::looking::Patience;
use super::place::Place;
use super::watch::Watch;

/// How long the files of one kind are looked into: of those not looked into by then the others are a fair sample.
const LOOKING: Duration = Duration::from_secs(5);

/// Bytes that may be read on the way to a count, where a share of the bytes is less: of each file of this machine,
/// and of all at a source.
const NEAR_BYTES: u64 = 64 << 20;
const FAR_BYTES: u64 = 64_000_000;

/// The least of that for one file of many: a few headers and what is around them.
const LEAST_BYTES: u64 = 256 << 10;

/// The share of a file that may be read of it otherwise.
const MOST_SHARE: u64 = 50;

/// What files are looked into with.
#[derive(Clone, Copy)]
pub(crate) struct Looking<'a> {
    pub(crate) options: &'a SurveyOptions,
    pub(crate) place: Place<'a>,
    pub(crate) watch: &'a Watch,
}

impl Looking<'_> {
    /// How hard each of so many files is looked into.
    pub(crate) fn effort(&self, files: usize) -> Effort {
        Effort::of(self.options, files, self.place.is_far())
    }
}

/// How hard files are looked into.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Effort {
    /// Whether everything is counted, however long that takes.
    pub(crate) exact: bool,
    /// How long counting one file may take where an estimate would do.
    pub(crate) patience: Duration,
    /// How long all files are looked into.
    pub(crate) looking: Patience,
    /// Bytes that may be read of each file in any case.
    pub(crate) in_any_case: u64,
    /// Whether a read costs a way through a network.
    pub(crate) far: bool,
    /// The side that images are resized to before they are moved to a device.
    pub(crate) side: Option<u32>,
}

impl Effort {
    /// For so many files, each of which gets its part of the time.
    pub(crate) fn of(options: &SurveyOptions, files: usize, far: bool) -> Self {
        let shares = u32::try_from(files).unwrap_or(u32::MAX).max(1);
        let each = options.patience / shares;
        let bytes = if far { (FAR_BYTES / u64::from(shares)).max(LEAST_BYTES) } else { NEAR_BYTES };
        // Less than this is no time to read anything.
        let least = Duration::from_millis(20).min(options.patience);
        Self {
            exact: options.exact,
            patience: each.max(least),
            looking: Patience::of(LOOKING.max(options.patience)),
            in_any_case: bytes,
            far,
            side: options.size,
        }
    }

    /// Bytes that may be read of a file of that size.
    pub(crate) fn bytes(&self, file_bytes: u64) -> u64 {
        if self.exact { u64::MAX } else { (file_bytes / MOST_SHARE).max(self.in_any_case) }
    }

    /// When counting one file ends that begins now.
    pub(crate) fn for_one(&self) -> Patience {
        if self.exact { Patience::ENDLESS } else { Patience::of(self.patience) }
    }
}
