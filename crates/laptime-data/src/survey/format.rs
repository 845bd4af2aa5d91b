//! The formats a survey knows, by the ending of a file's name.

use std::ffi::OsStr;
use std::path::Path;

use serde::Serialize;

use super::compression::Compression;

/// A format of data files.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Format {
    /// Fields separated by commas, semicolons, tabs or bars.
    Csv,
    /// Fields separated by tabs.
    Tsv,
    /// A JSON value on every line.
    #[serde(rename = "jsonl")]
    JsonLines,
    /// Apache Parquet.
    Parquet,
    /// Arrow IPC, as a file (also called Feather) or as a stream.
    Arrow,
    /// One NumPy array.
    Npy,
    /// Several NumPy arrays in an archive.
    Npz,
    /// JPEG and PNG images, one sample a file.
    Images,
    /// Records of TensorFlow, each with its length and checksums.
    #[serde(rename = "tfrecord")]
    TfRecord,
    /// A tar archive as WebDataset writes it: files that share a name up to the first dot are a sample.
    Tar,
    /// Anything else, of which only the bytes are known.
    Other,
}

impl Format {
    /// By the ending of the name, whichever its case.
    pub(crate) fn of_name(name: &OsStr) -> Self {
        Path::new(name).extension().map_or(Self::Other, Self::of_ending)
    }

    fn of_ending(ending: &OsStr) -> Self {
        let known: [(&str, Self); 16] = [
            ("jpg", Self::Images),
            ("jpeg", Self::Images),
            ("png", Self::Images),
            ("csv", Self::Csv),
            ("tsv", Self::Tsv),
            ("tab", Self::Tsv),
            ("jsonl", Self::JsonLines),
            ("ndjson", Self::JsonLines),
            ("parquet", Self::Parquet),
            ("pq", Self::Parquet),
            ("arrow", Self::Arrow),
            ("arrows", Self::Arrow),
            ("feather", Self::Arrow),
            ("npy", Self::Npy),
            ("npz", Self::Npz),
            ("tar", Self::Tar),
        ];
        let found = known.into_iter().find(|(known, _)| ending.eq_ignore_ascii_case(known));
        let found = found.map(|(_, format)| format);
        // TensorFlow numbers its shards behind the ending: `train.tfrecord-00000-of-01024`.
        let is_records = || {
            ending.as_encoded_bytes().get(..8).is_some_and(|start| start.eq_ignore_ascii_case(b"tfrecord"))
        };
        found.or_else(|| is_records().then_some(Self::TfRecord)).unwrap_or(Self::Other)
    }

    /// By the ending of the name, also of text that is packed; other packed files are known by their bytes only.
    pub(crate) fn of_packed_name(name: &OsStr) -> (Self, Option<Compression>) {
        match Compression::of_name(name) {
            Some((compression, inner)) if Self::of_name(inner).is_text() => {
                (Self::of_name(inner), Some(compression))
            }
            _ => (Self::of_name(name), None),
        }
    }

    /// By the first bytes, for a file whose name says nothing.
    pub(crate) fn of_beginning(head: &[u8]) -> Self {
        let known: [(&[u8], Self); 5] = [
            (b"PAR1", Self::Parquet),
            (b"ARROW1", Self::Arrow),
            (b"\x93NUMPY", Self::Npy),
            (b"\x89PNG\r\n", Self::Images),
            (b"\xff\xd8\xff", Self::Images),
        ];
        known.into_iter().find(|(magic, _)| head.starts_with(magic)).map_or(Self::Other, |(_, format)| format)
    }

    /// Whether one record is one line of text.
    pub(crate) fn is_text(self) -> bool {
        matches!(self, Self::Csv | Self::Tsv | Self::JsonLines)
    }

    /// The name people know it by.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Csv => "CSV",
            Self::Tsv => "TSV",
            Self::JsonLines => "JSON Lines",
            Self::Parquet => "Parquet",
            Self::Arrow => "Arrow",
            Self::Npy => "NPY",
            Self::Npz => "NPZ",
            Self::Images => "images",
            Self::TfRecord => "TFRecord",
            Self::Tar => "WebDataset",
            Self::Other => "other",
        }
    }
}

/// The ending of a name as a row of the result is called: in lower case, and short.
pub(crate) fn ending_of(name: &OsStr) -> String {
    let ending = Path::new(name).extension().map(|ending| ending.to_string_lossy().to_lowercase());
    match ending {
        Some(ending) if ending.chars().count() <= 16 => ending,
        _ => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_tell_the_format_in_any_case() {
        let format = |name: &str| Format::of_name(OsStr::new(name));
        assert_eq!(format("a.CSV"), Format::Csv);
        assert_eq!(format("photo.JPEG"), Format::Images);
        assert_eq!(format("train-00000.parquet"), Format::Parquet);
        assert_eq!(format("x.csv.gz"), Format::Other);
        assert_eq!(format("train.tfrecord-00000-of-00010"), Format::TfRecord);
        assert_eq!(format("shard-000.TAR"), Format::Tar);
        assert_eq!(format("Makefile"), Format::Other);
        assert_eq!(format(".csv"), Format::Other);
    }

    #[test]
    fn text_is_known_also_when_it_is_packed() {
        let format = |name: &str| Format::of_packed_name(OsStr::new(name));
        assert_eq!(format("x.csv.gz"), (Format::Csv, Some(Compression::Gzip)));
        assert_eq!(format("c4.00.JSONL.zst"), (Format::JsonLines, Some(Compression::Zstd)));
        assert_eq!(format("x.tar.gz"), (Format::Other, None));
        assert_eq!(format("x.csv"), (Format::Csv, None));
    }

    #[test]
    fn endings_are_short_and_in_lower_case() {
        assert_eq!(ending_of(OsStr::new("a.BIN")), "bin");
        assert_eq!(ending_of(OsStr::new("README")), "");
        assert_eq!(ending_of(OsStr::new("a.this-is-a-sentence-not-an-ending")), "");
    }
}
