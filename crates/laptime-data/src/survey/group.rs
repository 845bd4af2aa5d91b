//! What the files of one kind add up to while they are listed.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::Metadata;
use std::os::unix::fs::MetadataExt;
use std::path::PathBuf;

use super::compression::Compression;
use super::format::{Format, ending_of};
use super::limits::Limits;
use super::pairs::name_without_role;
use super::problem::Troubles;
use super::sample::{Sample, name_hash};
use super::sized_file::SizedFile;
use super::splits::{Descriptions, is_cache};

/// Files that the disk's rate is measured on.
const PROBED_FILES: usize = 256;

/// Endings distinguished among files of no known format; a folder that has more has them as one.
const MOST_ENDINGS: usize = 200;

/// A page: what the system reads of a file from storage, and the least of it.
const PAGE_BYTES: u64 = 4096;

/// What is distinguished: a format, how it is packed, and among the others the ending.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Kind {
    pub(crate) format: Format,
    pub(crate) compression: Option<Compression>,
    pub(crate) ending: String,
}

/// All files of one kind.
#[derive(Debug)]
pub(crate) struct Group {
    pub(crate) files: u64,
    pub(crate) bytes: u64,
    /// Bytes that storage has to deliver: whole pages, and none for holes.
    pub(crate) storage_bytes: u64,
    /// Files to look into later.
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
    /// Files that may describe a dataset.
    pub(crate) descriptions: Descriptions,
    limits: Limits,
}

/// A file as it is found.
pub(crate) struct FoundFile<'a> {
    pub(crate) format: Format,
    pub(crate) compression: Option<Compression>,
    pub(crate) name: &'a OsStr,
    pub(crate) hash: u64,
    pub(crate) bytes: u64,
    pub(crate) storage_bytes: u64,
}

impl<'a> FoundFile<'a> {
    /// By its name, in a folder of that hash.
    pub(crate) fn new(name: &'a OsStr, folder: u64, bytes: u64, storage_bytes: u64) -> Self {
        let (format, compression) = match Format::of_packed_name(name) {
            (Format::Arrow, _) if is_cache(name) => (Format::Other, None),
            known => known,
        };
        let hash = match format {
            // Arrays that belong together are looked into together or not at all.
            Format::Npy => name_hash(folder, OsStr::new(&name_without_role(name))),
            _ => name_hash(folder, name),
        };
        Self { format, compression, name, hash, bytes, storage_bytes }
    }
}

impl Found {
    pub(crate) fn new(limits: Limits) -> Self {
        Self {
            groups: BTreeMap::new(),
            folders: 0,
            troubles: Troubles::default(),
            probed: Sample::new(PROBED_FILES),
            descriptions: Descriptions::default(),
            limits,
        }
    }

    /// Adds a file; its path is asked for only if somebody needs it.
    pub(crate) fn add(&mut self, file: &FoundFile<'_>, path: impl Fn() -> PathBuf) {
        let bytes = file.bytes;
        let kind = self.kind(file);
        let most = self.limits.of(&kind);
        let group = self.groups.entry(kind).or_insert_with(|| Group::new(most));
        group.files += 1;
        group.bytes = group.bytes.saturating_add(bytes);
        group.storage_bytes = group.storage_bytes.saturating_add(file.storage_bytes);
        let kept = || SizedFile { path: path(), bytes };
        if bytes >= PAGE_BYTES {
            self.probed.offer(file.hash, kept);
        }
        if file.format != Format::Other {
            group.sample.offer(file.hash, kept);
        } else if Descriptions::is_name(file.name) {
            self.descriptions.add(kept());
        }
    }

    fn kind(&self, file: &FoundFile<'_>) -> Kind {
        let known = Kind { format: file.format, compression: file.compression, ending: String::new() };
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
        self.descriptions.merge(other.descriptions);
    }
}

impl Group {
    fn new(most: usize) -> Self {
        Self { files: 0, bytes: 0, storage_bytes: 0, sample: Sample::new(most) }
    }

    fn merge(&mut self, other: Self) {
        self.files += other.files;
        self.bytes = self.bytes.saturating_add(other.bytes);
        self.storage_bytes = self.storage_bytes.saturating_add(other.storage_bytes);
        self.sample.merge(other.sample);
    }
}

/// What the kernel reads of a file from storage: whole pages, and none for holes.
pub(crate) fn storage_bytes(metadata: &Metadata) -> u64 {
    let pages = metadata.len().div_ceil(PAGE_BYTES).saturating_mul(PAGE_BYTES);
    pages.min(metadata.blocks().saturating_mul(512).next_multiple_of(PAGE_BYTES))
}
