//! Where the samples of a pack come from.

use serde::{Deserialize, Serialize};

/// Where the samples of a pack come from, and how they were made.
///
/// An interrupted pack is taken up again only by a writer with the same provenance.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Provenance {
    /// The file, folder or dataset.
    pub source: String,
    /// Bytes of the source.
    pub source_bytes: u64,
    /// When the source was changed last, in nanoseconds since 1970.
    pub source_modified_ns: Option<i64>,
    /// How samples were made of it: options, a function that was applied.
    pub how: String,
    /// The version of laptime that wrote the pack; set by the writer.
    pub laptime_version: String,
}
