//! What the files of one kind add up to while folders are walked.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use super::columnar::{Contents, Measured, measure_arrow, measure_npy, measure_npz, measure_parquet};
use super::format::{Format, ending_of};
use super::problem::{FileProblem, Troubles};
use super::sample::Sample;
use super::sized_file::SizedFile;
use super::stored::StoredFile;

/// Images whose headers are read where there are more: the mean size of so many is known to a few per cent.
const IMAGES_LOOKED_INTO: usize = 1_000;

/// Text files that rows are sampled from where there are more.
const TEXT_FILES: usize = 50_000;

/// Files that the disk's rate is measured on.
const PROBED_FILES: usize = 256;

/// Endings distinguished among files of no known format; a folder that has more has them as one.
const MOST_ENDINGS: usize = 200;

/// A page: what the system reads of a file from storage, and the least of it.
const PAGE_BYTES: u64 = 4096;

/// What is distinguished: a format, and among the others the ending.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Kind {
    pub(crate) format: Format,
    pub(crate) ending: String,
}

/// All files of one kind.
#[derive(Debug)]
pub(crate) struct Group {
    pub(crate) files: u64,
    pub(crate) bytes: u64,
    /// Bytes that storage has to deliver: whole pages, and none for holes.
    pub(crate) storage_bytes: u64,
    /// What columnar files declare, added up.
    pub(crate) contents: Contents,
    /// Files that gave no answer.
    pub(crate) broken: u64,
    /// Files to look into later: images and text.
    pub(crate) sample: Sample<SizedFile>,
}

/// Everything found by one thread, or by all of them.
#[derive(Debug)]
pub(crate) struct Found {
    pub(crate) groups: BTreeMap<Kind, Group>,
    pub(crate) folders: u64,
    pub(crate) troubles: Troubles,
    /// Files to measure the disk on.
    pub(crate) probed: Sample<SizedFile>,
    exact: bool,
}

/// A file as a walk finds it.
pub(crate) struct FoundFile<'a> {
    pub(crate) format: Format,
    pub(crate) name: &'a OsStr,
    pub(crate) hash: u64,
    pub(crate) metadata: &'a Metadata,
}

impl Found {
    pub(crate) fn new(exact: bool) -> Self {
        Self {
            groups: BTreeMap::new(),
            folders: 0,
            troubles: Troubles::default(),
            probed: Sample::new(PROBED_FILES),
            exact,
        }
    }

    /// Adds a file; its path is asked for only if somebody needs it.
    pub(crate) fn add(&mut self, file: &FoundFile<'_>, path: impl Fn() -> PathBuf) {
        let bytes = file.metadata.len();
        let kind = self.kind(file);
        let exact = self.exact;
        let group = self.groups.entry(kind).or_insert_with(|| Group::new(file.format, exact));
        group.files += 1;
        group.bytes = group.bytes.saturating_add(bytes);
        group.storage_bytes = group.storage_bytes.saturating_add(storage_bytes(file.metadata));
        let kept = || SizedFile { path: path(), bytes };
        if bytes >= PAGE_BYTES {
            self.probed.offer(file.hash, kept);
        }
        if file.format == Format::Images || file.format.is_text() {
            group.sample.offer(file.hash, kept);
        } else if file.format != Format::Other {
            let path = path();
            match measure(&path, file.format) {
                Ok(measured) => {
                    group.contents = sum(group.contents, measured.contents);
                    if let Some(problem) = measured.missing {
                        self.troubles.add(&path, &problem);
                    }
                }
                Err(problem) => {
                    group.broken += 1;
                    self.troubles.add(&path, &problem);
                }
            }
        }
    }

    fn kind(&self, file: &FoundFile<'_>) -> Kind {
        let known = Kind { format: file.format, ending: String::new() };
        if file.format != Format::Other {
            return known;
        }
        let own = Kind { ending: ending_of(file.name), ..known.clone() };
        if self.groups.len() < MOST_ENDINGS || self.groups.contains_key(&own) { own } else { known }
    }

    pub(crate) fn merge(&mut self, other: Self) {
        for (kind, group) in other.groups {
            match self.groups.entry(kind) {
                std::collections::btree_map::Entry::Vacant(place) => drop(place.insert(group)),
                std::collections::btree_map::Entry::Occupied(mut place) => place.get_mut().merge(group),
            }
        }
        self.folders += other.folders;
        self.troubles.merge(other.troubles);
        self.probed.merge(other.probed);
    }
}

impl Group {
    fn new(format: Format, exact: bool) -> Self {
        let most = match format {
            _ if exact => usize::MAX,
            Format::Images => IMAGES_LOOKED_INTO,
            _ => TEXT_FILES,
        };
        Self {
            files: 0,
            bytes: 0,
            storage_bytes: 0,
            contents: Contents { decoded_exactly: true, ..Contents::default() },
            broken: 0,
            sample: Sample::new(most),
        }
    }

    fn merge(&mut self, other: Self) {
        self.files += other.files;
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.storage_bytes = self.storage_bytes.saturating_add(other.storage_bytes);
        self.contents = sum(self.contents, other.contents);
        self.broken += other.broken;
        self.sample.merge(other.sample);
    }
}

fn measure(path: &Path, format: Format) -> Result<Measured, FileProblem> {
    let stored = StoredFile::open(path)?;
    match format {
        Format::Parquet => measure_parquet(&stored),
        Format::Arrow => measure_arrow(&stored),
        Format::Npy => measure_npy(&stored),
        _ => measure_npz(&stored),
    }
}

fn sum(a: Contents, b: Contents) -> Contents {
    Contents {
        rows: a.rows.saturating_add(b.rows),
        decoded_bytes: a.decoded_bytes.saturating_add(b.decoded_bytes),
        decoded_exactly: a.decoded_exactly && b.decoded_exactly,
        numbers: a.numbers.saturating_add(b.numbers),
        other_columns: a.other_columns.max(b.other_columns),
    }
}

fn storage_bytes(metadata: &Metadata) -> u64 {
    let pages = metadata.len().div_ceil(PAGE_BYTES).saturating_mul(PAGE_BYTES);
    pages.min(metadata.blocks().saturating_mul(512).next_multiple_of(PAGE_BYTES))
}
