//! How many files of each kind are looked into; where there are more, a fair sample stands for them.

use super::SurveyOptions;
use super::format::Format;
use super::group::Kind;

/// Images whose headers are read where there are more: the mean size of so many is known to a few per cent.
const IMAGES: usize = 1_000;

/// Text files that rows are sampled from where there are more.
const TEXT_FILES: usize = 50_000;

/// Other files that declare what they hold: a footer takes 50 us.
const OTHERS: usize = 100_000;

/// Files of any kind where each costs a way through a network; text costs one only for a block that falls into it.
const FAR_FILES: usize = 500;

/// How many files are looked into.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Limits {
    /// As a person has asked for it.
    pub(crate) most: Option<usize>,
    /// Whether all are.
    pub(crate) exact: bool,
    /// Whether they lie at a source.
    pub(crate) far: bool,
}

impl Limits {
    pub(crate) fn of_options(options: &SurveyOptions, far: bool) -> Self {
        Self { most: options.max_files, exact: options.exact, far }
    }

    /// The most files of a kind that are kept to be looked into.
    pub(crate) fn of(&self, kind: &Kind) -> usize {
        let is_plain_text = kind.format.is_text() && kind.compression.is_none();
        match (self.most, kind.format) {
            _ if self.exact => usize::MAX,
            (Some(most), _) => most.max(2),
            _ if is_plain_text => TEXT_FILES,
            _ if self.far => FAR_FILES,
            (None, Format::Images) => IMAGES,
            _ => OTHERS,
        }
    }
}
