//! The sweeps in a folder of runs: `sweeps/ID/sweep.json`, with the runs of their repeats in `runs` beside it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::catalogue::{Catalogue, Selected, new_id};
use crate::disk::{Disk, RealDisk};
use crate::error::StoreError;

const FOLDER: &str = "sweeps";
const STATE: &str = "sweep.json";

/// The sweeps beside the runs of a folder.
#[derive(Clone, Debug)]
pub struct SweepCatalogue {
    root: PathBuf,
}

/// One sweep of a catalogue.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SweepEntry {
    /// Its id: its folder's name.
    pub id: String,
    /// Its folder.
    pub path: PathBuf,
}

impl SweepCatalogue {
    /// The sweeps in a folder of runs, which need not exist yet.
    #[must_use]
    pub fn at(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// Makes the folder of a new sweep.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn create(&self, started_real_ns: u64) -> io::Result<SweepEntry> {
        let id = new_id(started_real_ns)?;
        // Absolute, since the runs in it outlive a change of directory.
        let path = std::path::absolute(self.root.join(FOLDER).join(&id))?;
        let runs = Catalogue::at(&self.root);
        let is_ours = runs.holds_nothing();
        RealDisk.create_folder(&path)?;
        if is_ours {
            // A convenience: a sweep is complete without it.
            let _ = runs.keep_out_of_git();
        }
        Ok(SweepEntry { id, path })
    }

    /// Every sweep, oldest first.
    ///
    /// # Errors
    /// When the folder exists and cannot be read.
    pub fn list(&self) -> Result<Vec<SweepEntry>, StoreError> {
        let folder = self.root.join(FOLDER);
        let entries = match fs::read_dir(&folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(StoreError::io("reading", &folder, error)),
        };
        let sweep = |path: PathBuf| {
            let id = path.file_name()?.to_str()?.to_owned();
            path.join(STATE).is_file().then_some(SweepEntry { id, path })
        };
        let mut sweeps: Vec<SweepEntry> = entries.flatten().filter_map(|entry| sweep(entry.path())).collect();
        sweeps.sort_by_cached_key(SweepEntry::age);
        Ok(sweeps)
    }

    /// The sweep that is meant: the newest, or one by its id or the beginning of it.
    ///
    /// # Errors
    /// When there is none, or more than one.
    pub fn find(&self, selected: Selected<'_>) -> Result<SweepEntry, StoreError> {
        let mut sweeps = self.list()?;
        if sweeps.is_empty() {
            return Err(StoreError::NoSweeps(self.root.clone()));
        }
        if let Selected::Named(wanted) = selected {
            sweeps.retain(|sweep| sweep.matches(wanted));
            if sweeps.len() > 1 {
                let matches = sweeps.into_iter().map(|sweep| sweep.id).collect();
                return Err(StoreError::AmbiguousRun { wanted: wanted.into(), matches });
            }
            return sweeps.pop().ok_or_else(|| StoreError::UnknownSweep { wanted: wanted.into() });
        }
        sweeps.pop().ok_or_else(|| StoreError::NoSweeps(self.root.clone()))
    }
}

impl SweepEntry {
    /// Where the runs of its repeats are kept.
    #[must_use]
    pub fn runs(&self) -> PathBuf {
        self.path.join("runs")
    }

    /// Keeps its state, which appears at once or not at all; `durable` waits until it survives a power cut.
    ///
    /// # Errors
    /// What the system says.
    pub fn keep(&self, state: &[u8], durable: bool) -> io::Result<()> {
        let path = self.path.join(STATE);
        if durable {
            return RealDisk.publish(&path, state);
        }
        let unfinished = path.with_extension("unfinished");
        fs::write(&unfinished, state)?;
        fs::rename(&unfinished, &path)
    }

    /// Its state as it was kept last.
    ///
    /// # Errors
    /// When it cannot be read.
    pub fn state(&self) -> Result<Vec<u8>, StoreError> {
        let path: &Path = &self.path.join(STATE);
        fs::read(path).map_err(|error| StoreError::io("reading", path, error))
    }

    /// The second it was made in, and for those of one second when they were last kept.
    fn age(&self) -> (String, Option<SystemTime>, String) {
        let second = self.id.split('-').next().unwrap_or_default().to_owned();
        let kept = fs::metadata(self.path.join(STATE)).and_then(|state| state.modified()).ok();
        (second, kept, self.id.clone())
    }

    fn matches(&self, part: &str) -> bool {
        let random = self.id.rsplit('-').next().unwrap_or_default();
        !part.is_empty() && (self.id.starts_with(part) || random.starts_with(part))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sweeps_are_found_by_age_and_by_the_beginning_of_their_id() {
        let folder = tempfile::tempdir().unwrap();
        let sweeps = SweepCatalogue::at(folder.path());
        assert!(matches!(sweeps.find(Selected::Latest), Err(StoreError::NoSweeps(_))));
        let (old, new) = (sweeps.create(1).unwrap(), sweeps.create(9_000_000_000).unwrap());
        assert!(sweeps.list().unwrap().is_empty(), "a sweep is there once its state is");
        old.keep(b"old", true).unwrap();
        new.keep(b"new", false).unwrap();
        assert_eq!(sweeps.find(Selected::Latest).unwrap(), new);
        let random = old.id.rsplit('-').next().unwrap();
        assert_eq!(sweeps.find(Selected::Named(random)).unwrap().state().unwrap(), b"old");
        assert_eq!(sweeps.find(Selected::Named(&new.id)).unwrap(), new);
        assert!(matches!(sweeps.find(Selected::Named("1970")), Err(StoreError::AmbiguousRun { .. })));
        assert!(matches!(sweeps.find(Selected::Named("x")), Err(StoreError::UnknownSweep { .. })));
    }

    #[test]
    fn sweeps_are_no_runs() {
        let folder = tempfile::tempdir().unwrap();
        SweepCatalogue::at(folder.path()).create(1).unwrap().keep(b"{}", true).unwrap();
        assert!(Catalogue::at(folder.path()).list().unwrap().is_empty());
    }
}
