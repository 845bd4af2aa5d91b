//! Adds up what a source lists. However many objects there are, what is kept of them is a sample.

use std::ffi::OsStr;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use super::format::Format;
use super::group::{Found, FoundFile};
use super::limits::Limits;
use super::place::Place;
use super::problem::FileProblem;
use super::sample::name_hash;
use super::sized_file::SizedFile;
use super::watch::Watch;
use crate::source::{Object, Source, SourceError};

/// Objects after which the watchers are notified.
const NOTIFY_EVERY: u64 = 256;

/// Everything at the source. A listing that ends too early is a trouble; one that never began an error.
pub(crate) fn list(source: &dyn Source, limits: Limits, watch: &Watch) -> Result<Found, SourceError> {
    let mut listing = Listing { found: Found::new(limits), objects: 0, bytes: 0, folder: None, first: None };
    let ended = source.list(&mut |object| {
        listing.add(object, watch);
        if watch.stopped() { ControlFlow::Break(()) } else { ControlFlow::Continue(()) }
    });
    watch.found(listing.objects % NOTIFY_EVERY, std::mem::take(&mut listing.bytes));
    match ended {
        Err(error) if listing.objects == 0 => return Err(error),
        Err(error) => listing.found.troubles.add(Path::new(&source.place()), &FileProblem::Unlisted(error)),
        Ok(()) => {}
    }
    Ok(listing.into_found(Place::at(source, watch)))
}

struct Listing {
    found: Found,
    objects: u64,
    /// Bytes since the watchers were notified.
    bytes: u64,
    /// The folder of the object before, and its hash: most objects follow others of their folder.
    folder: Option<(String, u64)>,
    /// The first object of no known format, which is looked into if it is the only one.
    first: Option<SizedFile>,
}

impl Listing {
    fn add(&mut self, object: Object, watch: &Watch) {
        self.objects += 1;
        let Object { name, bytes } = object;
        let Some(bytes) = bytes else {
            return self.found.troubles.add(Path::new(&name), &FileProblem::UnknownLength);
        };
        self.bytes = self.bytes.saturating_add(bytes);
        if self.objects.is_multiple_of(NOTIFY_EVERY) {
            watch.found(NOTIFY_EVERY, std::mem::take(&mut self.bytes));
        }
        let (folder, base) = name.rsplit_once('/').unwrap_or(("", &name));
        let hash = self.folder_hash(folder);
        let file = FoundFile::new(OsStr::new(base), hash, bytes, bytes);
        if self.objects == 1 && file.format == Format::Other {
            self.first = Some(SizedFile { path: PathBuf::from(&name), bytes });
            return;
        }
        self.add_first();
        self.found.add(&file, || PathBuf::from(&name));
    }

    fn folder_hash(&mut self, folder: &str) -> u64 {
        match &self.folder {
            Some((before, hash)) if before == folder => *hash,
            _ => {
                let hash = name_hash(0, OsStr::new(folder));
                self.folder = Some((folder.to_owned(), hash));
                self.found.folders += 1;
                hash
            }
        }
    }

    /// Counts the first object as what its name says, once another has come.
    fn add_first(&mut self) {
        if let Some(first) = self.first.take() {
            let name = first.path.file_name().unwrap_or_default();
            let file = FoundFile::new(name, 0, first.bytes, first.bytes);
            self.found.add(&file, || first.path.clone());
        }
    }

    /// Looks at the first bytes of an object that is alone and whose name says nothing.
    fn into_found(mut self, place: Place<'_>) -> Found {
        let Some(first) = self.first.take() else { return self.found };
        let name = first.path.file_name().unwrap_or_default();
        let mut file = FoundFile::new(name, 0, first.bytes, first.bytes);
        let head = place.open(&first).map_err(FileProblem::from);
        match head.and_then(|stored| stored.take(0, first.bytes.min(8))) {
            Ok(head) => file.format = Format::of_beginning(&head),
            Err(problem) => self.found.troubles.add(&first.path, &problem),
        }
        self.found.add(&file, || first.path.clone());
        self.found
    }
}
