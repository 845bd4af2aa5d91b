//! How a file as a whole is packed, by the ending of its name.

use std::ffi::OsStr;
use std::path::Path;

use serde::Serialize;

/// What a file has to be unpacked by before it has its format.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "lowercase")]
#[non_exhaustive]
pub enum Compression {
    /// Gzip: deflate, in one member or in several one after the other.
    Gzip,
    /// Zstandard, in one frame or in several.
    Zstd,
}

impl Compression {
    /// The ending that people know it by.
    #[must_use]
    pub fn ending(self) -> &'static str {
        match self {
            Self::Gzip => "gz",
            Self::Zstd => "zst",
        }
    }

    /// By a name's last ending, and the name without it.
    pub(crate) fn of_name(name: &OsStr) -> Option<(Self, &OsStr)> {
        let path = Path::new(name);
        let ending = path.extension()?;
        let known = [("gz", Self::Gzip), ("gzip", Self::Gzip), ("zst", Self::Zstd), ("zstd", Self::Zstd)];
        let (_, found) = known.into_iter().find(|(known, _)| ending.eq_ignore_ascii_case(known))?;
        Some((found, path.file_stem()?))
    }
}
