//! Walks folders with a few threads and adds up what lies in them.
//!
//! Links are followed, because training follows them: data folders are often full of links into a cache. Every
//! folder is entered once, whatever leads to it, so that no loop has an end to wait for.

use std::collections::HashSet;
use std::fs::{self, DirEntry, Metadata};
use std::io;
use std::num::NonZero;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

use super::format::Format;
use super::group::{Found, FoundFile, storage_bytes};
use super::limits::Limits;
use super::problem::FileProblem;
use super::sample::name_hash;
use super::stored::{Stored, StoredFile};
use super::watch::Watch;

/// More threads do not make a disk faster, and each holds a buffer.
const MOST_THREADS: usize = 8;

/// Files after which the watchers are notified.
const NOTIFY_EVERY: u64 = 256;

/// Everything below the paths.
pub(crate) fn walk(paths: &[PathBuf], limits: Limits, watch: &Watch) -> Found {
    let mut found = Found::new(limits);
    let queue = Queue::default();
    for (index, path) in paths.iter().enumerate() {
        visit_root(path, index as u64, &queue, &mut found, watch);
    }
    let threads = std::thread::available_parallelism().map_or(1, NonZero::get).min(MOST_THREADS);
    std::thread::scope(|scope| {
        let worker = || {
            let mut found = Found::new(limits);
            while let Some(folder) = queue.next() {
                visit_folder(&folder, &queue, &mut found, watch);
                queue.done();
            }
            found
        };
        // Where the system gives no more threads, fewer do the same.
        let another = |_| std::thread::Builder::new().spawn_scoped(scope, worker).ok();
        let others: Vec<_> = (1..threads).filter_map(another).collect();
        found.merge(worker());
        for other in others {
            // A panic is a bug of ours: it goes on as one instead of becoming a result that lacks files.
            found.merge(other.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic)));
        }
    });
    found
}

/// A folder, and a hash of the names that lead to it from the path that was named: what is sampled is then the
/// same wherever the data lie.
struct Folder {
    path: PathBuf,
    hash: u64,
}

/// Folders that are still to be visited.
#[derive(Default)]
struct Queue {
    state: Mutex<QueueState>,
    changed: Condvar,
}

#[derive(Default)]
struct QueueState {
    /// The newest first: a tree then takes the memory of its depth and not of its breadth.
    folders: Vec<Folder>,
    /// Device and number of every folder that was entered.
    entered: HashSet<(u64, u64)>,
    busy: usize,
}

impl Queue {
    fn state(&self) -> MutexGuard<'_, QueueState> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds a folder unless it was entered before.
    fn add(&self, folder: Folder, metadata: &Metadata) -> Result<(), FileProblem> {
        let mut state = self.state();
        if !state.entered.insert((metadata.dev(), metadata.ino())) {
            return Err(FileProblem::CountedAlready);
        }
        state.folders.push(folder);
        self.changed.notify_one();
        Ok(())
    }

    /// The next folder; waits while others may still find some.
    fn next(&self) -> Option<Folder> {
        let mut state = self.state();
        loop {
            if let Some(folder) = state.folders.pop() {
                state.busy += 1;
                return Some(folder);
            }
            if state.busy == 0 {
                return None;
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    fn done(&self) {
        let mut state = self.state();
        state.busy -= 1;
        if state.busy == 0 {
            self.changed.notify_all();
        }
    }
}

/// A path that was named: a file is looked into even when its name says nothing.
fn visit_root(path: &Path, hash: u64, queue: &Queue, found: &mut Found, watch: &Watch) {
    let visited = fs::metadata(path).map_err(FileProblem::from).and_then(|metadata| {
        if metadata.is_dir() {
            return queue.add(Folder { path: path.to_owned(), hash }, &metadata);
        }
        if !metadata.is_file() {
            return Err(FileProblem::NotAFile);
        }
        watch.found(1, metadata.len());
        let name = path.file_name().unwrap_or_default();
        let mut file = FoundFile::new(name, hash, metadata.len(), storage_bytes(&metadata));
        if file.format == Format::Other {
            file.format = sniffed(path)?;
        }
        found.add(&file, || path.to_owned());
        Ok(())
    });
    if let Err(problem) = visited {
        found.troubles.add(path, &problem);
    }
}

fn sniffed(path: &Path) -> Result<Format, FileProblem> {
    let stored = StoredFile::open(path)?;
    Ok(Format::of_beginning(&stored.take(0, stored.bytes().min(8))?))
}

fn visit_folder(folder: &Folder, queue: &Queue, found: &mut Found, watch: &Watch) {
    found.folders += 1;
    let entries = match fs::read_dir(&folder.path) {
        Ok(entries) => entries,
        Err(error) => return found.troubles.add(&folder.path, &error.into()),
    };
    let (mut files, mut bytes) = (0, 0);
    for entry in entries {
        if watch.stopped() {
            break;
        }
        match entry.map_err(FileProblem::from).and_then(|entry| Ok((look_at(&entry)?, entry))) {
            Ok((Seen::File(metadata), entry)) => {
                let name = entry.file_name();
                files += 1;
                bytes += metadata.len();
                let file = FoundFile::new(&name, folder.hash, metadata.len(), storage_bytes(&metadata));
                found.add(&file, || entry.path());
            }
            Ok((Seen::Folder(metadata), entry)) => {
                let hash = name_hash(folder.hash, &entry.file_name());
                if let Err(problem) = queue.add(Folder { path: entry.path(), hash }, &metadata) {
                    found.troubles.add(&entry.path(), &problem);
                }
            }
            Ok((Seen::Nothing(problem), entry)) => found.troubles.add(&entry.path(), &problem),
            Err(problem) => found.troubles.add(&folder.path, &problem),
        }
        if files == NOTIFY_EVERY {
            watch.found(std::mem::take(&mut files), std::mem::take(&mut bytes));
        }
    }
    watch.found(files, bytes);
}

enum Seen {
    File(Metadata),
    Folder(Metadata),
    Nothing(FileProblem),
}

/// What an entry is, links followed.
fn look_at(entry: &DirEntry) -> io::Result<Seen> {
    let kind = entry.file_type()?;
    let metadata = if kind.is_symlink() {
        match fs::metadata(entry.path()) {
            Ok(metadata) => metadata,
            Err(error) if error.kind() == io::ErrorKind::NotFound => {
                return Ok(Seen::Nothing(FileProblem::DeadLink));
            }
            // A link to itself, or to where one may not look.
            Err(error) => return Ok(Seen::Nothing(error.into())),
        }
    } else {
        match entry.metadata() {
            Ok(metadata) => metadata,
            Err(error) => return Ok(Seen::Nothing(error.into())),
        }
    };
    Ok(match metadata.file_type() {
        kind if kind.is_file() => Seen::File(metadata),
        kind if kind.is_dir() => Seen::Folder(metadata),
        _ => Seen::Nothing(FileProblem::NotAFile),
    })
}
