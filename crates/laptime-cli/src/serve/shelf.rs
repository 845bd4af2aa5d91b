//! The shelf: all runs of a folder as the list shows them, read by a thread of its own and kept in memory, so that a
//! page never waits for a thousand logs. Nothing is ever written into the folder.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::{Duration, Instant};

use laptime_core::Status;
use laptime_launch::give_way;
use laptime_store::{Catalogue, RunEntry};

use super::shelved::Shelved;
use crate::study::Study;

/// Between two looks at the folder, at least; nobody asks, nobody looks.
const REST: Duration = Duration::from_secs(1);
/// Looking must leave the machine to the training: so many times as long as a look took nothing is looked at.
const REST_AFTER_LOOK: u32 = 10;
/// How long a page waits for the runs that are not read yet: then it shows those that are.
const PATIENCE: Duration = Duration::from_millis(400);
/// How long it waits for the names of the runs: without them there is nothing to show.
const PATIENCE_FOR_NAMES: Duration = Duration::from_secs(10);
/// Threads that read at a time.
const READERS: usize = 4;

/// The runs of a folder, kept up to date while somebody asks.
pub(super) struct Shelf {
    shared: Arc<Shared>,
}

/// What the list shows at a moment.
#[derive(Clone, Default)]
pub(super) struct Listing {
    /// Whether the folder was looked at; else nothing is known of it yet.
    pub(super) looked_at: bool,
    /// Newest first.
    pub(super) runs: Vec<Arc<Shelved>>,
    /// Folders that look like runs and cannot be read as ones.
    pub(super) unreadable: Vec<String>,
    /// Why the folder itself cannot be read.
    pub(super) trouble: Option<String>,
}

struct Shared {
    catalogue: Catalogue,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    listing: Listing,
    /// When the last look ended.
    looked: Option<Instant>,
    asked: bool,
    closed: bool,
}

impl Shelf {
    /// Begins with the runs of a folder.
    pub(super) fn of(catalogue: Catalogue) -> Self {
        let shared = Arc::new(Shared { catalogue, state: Mutex::default(), changed: Condvar::new() });
        // Those who start a server look at it next.
        shared.lock().asked = true;
        let reading = Arc::clone(&shared);
        let body = move || read_while_asked(&reading);
        // Without a thread to read them, runs are listed by name.
        let _ = thread::Builder::new().name("laptime-shelf".into()).spawn(body);
        Self { shared }
    }

    /// The folder's runs; those that were not read in time are listed by name.
    pub(super) fn listing(&self) -> Listing {
        let began = Instant::now();
        let mut state = self.shared.lock();
        state.asked = true;
        self.shared.changed.notify_all();
        loop {
            let is_new = state.looked.is_some_and(|looked| looked.elapsed() <= 3 * REST);
            let patience = if state.listing.looked_at { PATIENCE } else { PATIENCE_FOR_NAMES };
            let left = patience.saturating_sub(began.elapsed());
            if is_new || left.is_zero() {
                break;
            }
            state = self.shared.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
        state.listing.clone()
    }

    /// A run of the folder, as it was when somebody last looked.
    pub(super) fn entry(&self, id: &str) -> Option<RunEntry> {
        let state = self.shared.lock();
        let known = state.listing.runs.iter().find(|run| run.entry.meta.id == id);
        known.map(|run| run.entry.clone())
    }
}

impl Drop for Shelf {
    fn drop(&mut self) {
        self.shared.lock().closed = true;
        self.shared.changed.notify_all();
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Waits until somebody asks; `false` when the server ends.
    fn wait_for_a_question(&self) -> bool {
        let mut state = self.lock();
        while !state.asked && !state.closed {
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
        state.asked = false;
        !state.closed
    }

    fn rest(&self, time: Duration) {
        let until = Instant::now() + time;
        let mut state = self.lock();
        while !state.closed {
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                break;
            }
            state = self.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }
}

/// A run as it was read last.
struct Known {
    /// The state of its files then.
    files: u64,
    shelved: Arc<Shelved>,
    /// Where to read on; only of a run that goes on.
    study: Option<Study>,
}

fn read_while_asked(shared: &Shared) {
    let mut known = HashMap::new();
    while shared.wait_for_a_question() {
        let began = Instant::now();
        look(shared, &mut known);
        shared.rest(REST.max(began.elapsed() * REST_AFTER_LOOK).min(10 * REST));
    }
}

/// Reads what is new in the folder.
fn look(shared: &Shared, known: &mut HashMap<String, Known>) {
    let (mut entries, trouble) = match shared.catalogue.list() {
        Ok(entries) => (entries, None),
        Err(error) => (Vec::new(), Some(with_source(&error))),
    };
    entries.reverse();
    let mut runs: Vec<Arc<Shelved>> = Vec::with_capacity(entries.len());
    let mut stale = Vec::new();
    let mut kept = HashMap::with_capacity(entries.len());
    for entry in entries {
        let files = state_of_files(&entry.path);
        match known.remove(&entry.meta.id) {
            Some(one) if one.files == files && one.study.is_none() => {
                runs.push(Arc::clone(&one.shelved));
                kept.insert(entry.meta.id.clone(), one);
            }
            older => {
                let shown = older.as_ref().map(|one| Arc::clone(&one.shelved));
                runs.push(shown.unwrap_or_else(|| Arc::new(Shelved::unread(&entry))));
                stale.push(Mutex::new(Some((runs.len() - 1, entry, files, older.and_then(|one| one.study)))));
            }
        }
    }
    *known = kept;
    let listed: HashSet<&str> = runs.iter().map(|run| run.row.id.as_str()).collect();
    let unreadable = unreadable(&shared.catalogue, &listed);
    shared.lock().listing = Listing { looked_at: true, runs, unreadable, trouble };
    shared.changed.notify_all();
    for (id, one) in read_all(shared, &stale) {
        known.insert(id, one);
    }
    shared.lock().looked = Some(Instant::now());
    shared.changed.notify_all();
}

/// A run that is to be read: its place in the list, the state of its files, and where its reader stands.
type Stale = Mutex<Option<(usize, RunEntry, u64, Option<Study>)>>;

/// Reads runs on a few threads, newest first; each is in the list as soon as it is read.
fn read_all(shared: &Shared, stale: &[Stale]) -> Vec<(String, Known)> {
    let next = AtomicUsize::new(0);
    let read_some = || {
        let mut read = Vec::new();
        while let Some(one) = stale.get(next.fetch_add(1, Ordering::Relaxed)) {
            if shared.lock().closed {
                break;
            }
            let taken = one.lock().unwrap_or_else(PoisonError::into_inner).take();
            let Some((place, entry, files, study)) = taken else { continue };
            let (shelved, study) = Shelved::read(&entry, study);
            let shelved = Arc::new(shelved);
            shared.lock().listing.runs[place] = Arc::clone(&shelved);
            let goes_on = shelved.row.status == Status::Running;
            read.push((entry.meta.id, Known { files, shelved, study: study.filter(|_| goes_on) }));
        }
        read
    };
    let threads = thread::available_parallelism().map_or(1, usize::from).min(READERS).min(stale.len());
    thread::scope(|scope| {
        let reader = || {
            give_way();
            read_some()
        };
        let readers: Vec<_> = (0..threads).map(|_| scope.spawn(reader)).collect();
        readers.into_iter().filter_map(|reader| reader.join().ok()).flatten().collect()
    })
}

/// Names, sizes and ages of a run's files as one number.
fn state_of_files(run: &Path) -> u64 {
    let files = fs::read_dir(run).into_iter().flatten().flatten();
    let mut files: Vec<_> = files
        .filter_map(|file| {
            let facts = file.metadata().ok()?;
            Some((file.file_name(), facts.len(), facts.modified().ok()?))
        })
        .collect();
    files.sort();
    let mut state = DefaultHasher::new();
    files.hash(&mut state);
    state.finish()
}

/// Folders beside the runs that have logs or a description and yet are none.
fn unreadable(catalogue: &Catalogue, listed: &HashSet<&str>) -> Vec<String> {
    let is_of_a_run = |path: &Path| {
        let mut files = fs::read_dir(path).into_iter().flatten().flatten();
        files.any(|file| {
            let path = file.path();
            path.extension().is_some_and(|end| end == "ltlog") || path.ends_with("run.json")
        })
    };
    let folders = fs::read_dir(catalogue.root()).into_iter().flatten().flatten();
    let folders = folders.filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    let mut names: Vec<String> = folders
        .map(|entry| (entry.file_name().to_string_lossy().into_owned(), entry.path()))
        .filter(|(name, path)| !listed.contains(name.as_str()) && is_of_a_run(path))
        .map(|(name, _)| name)
        .collect();
    names.sort();
    names
}

fn with_source(error: &dyn std::error::Error) -> String {
    match error.source() {
        Some(source) => format!("{error}: {source}"),
        None => error.to_string(),
    }
}
