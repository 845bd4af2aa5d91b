//! Runs that belong together or are none of the user's: `sweeps/ID/sweep.json`, `trials/ID/trial.json` or
//! `probes/ID/probe.json`, with their runs in `runs` beside it.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use crate::catalogue::{Catalogue, Selected, new_id};
use crate::disk::{Disk, RealDisk};
use crate::error::StoreError;

/// What the runs of a collection were made for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum CollectionKind {
    /// A command over a grid of settings.
    Sweep,
    /// Two commands in alternation.
    Trial,
    /// The beginning of a command, to predict the rest.
    Probe,
}

impl CollectionKind {
    fn folder(self) -> &'static str {
        match self {
            Self::Sweep => "sweeps",
            Self::Trial => "trials",
            Self::Probe => "probes",
        }
    }

    fn state(self) -> &'static str {
        match self {
            Self::Sweep => "sweep.json",
            Self::Trial => "trial.json",
            Self::Probe => "probe.json",
        }
    }
}

/// The collections of one kind beside the runs of a folder.
#[derive(Clone, Debug)]
pub struct Collections {
    root: PathBuf,
    kind: CollectionKind,
}

/// One sweep, trial or probe.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Collection {
    /// Its id: its folder's name.
    pub id: String,
    /// Its folder.
    pub path: PathBuf,
    kind: CollectionKind,
}

impl Collections {
    /// The collections in a folder of runs, which need not exist yet.
    #[must_use]
    pub fn at(root: impl Into<PathBuf>, kind: CollectionKind) -> Self {
        Self { root: root.into(), kind }
    }

    /// Makes the folder of a new one.
    ///
    /// # Errors
    /// When it cannot be made.
    pub fn create(&self, started_real_ns: u64) -> io::Result<Collection> {
        let id = new_id(started_real_ns)?;
        // Absolute, since the runs in it outlive a change of directory.
        let path = std::path::absolute(self.root.join(self.kind.folder()).join(&id))?;
        let runs = Catalogue::at(&self.root);
        let is_ours = runs.holds_nothing();
        RealDisk.create_folder(&path)?;
        if is_ours {
            // A convenience: a collection is complete without it.
            let _ = runs.keep_out_of_git();
        }
        Ok(Collection { id, path, kind: self.kind })
    }

    /// Every one, oldest first.
    ///
    /// # Errors
    /// When the folder exists and cannot be read.
    pub fn list(&self) -> Result<Vec<Collection>, StoreError> {
        let folder = self.root.join(self.kind.folder());
        let entries = match fs::read_dir(&folder) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(StoreError::io("reading", &folder, error)),
        };
        let kind = self.kind;
        let one = |path: PathBuf| {
            let id = path.file_name()?.to_str()?.to_owned();
            path.join(kind.state()).is_file().then_some(Collection { id, path, kind })
        };
        let mut all: Vec<Collection> = entries.flatten().filter_map(|entry| one(entry.path())).collect();
        all.sort_by_cached_key(Collection::age);
        Ok(all)
    }

    /// The one that is meant: the newest, or one by its id or the beginning of it.
    ///
    /// # Errors
    /// When there is none, or more than one.
    pub fn find(&self, selected: Selected<'_>) -> Result<Collection, StoreError> {
        let mut all = self.list()?;
        if all.is_empty() {
            return Err(StoreError::NoSweeps(self.root.clone()));
        }
        if let Selected::Named(wanted) = selected {
            all.retain(|one| one.matches(wanted));
            if all.len() > 1 {
                let matches = all.into_iter().map(|one| one.id).collect();
                return Err(StoreError::AmbiguousRun { wanted: wanted.into(), matches });
            }
            return all.pop().ok_or_else(|| StoreError::UnknownSweep { wanted: wanted.into() });
        }
        all.pop().ok_or_else(|| StoreError::NoSweeps(self.root.clone()))
    }
}

impl Collection {
    /// Where its runs are kept.
    #[must_use]
    pub fn runs(&self) -> PathBuf {
        self.path.join("runs")
    }

    /// Keeps its state, which appears at once or not at all; `durable` waits until it survives a power cut.
    ///
    /// # Errors
    /// What the system says.
    pub fn keep(&self, state: &[u8], durable: bool) -> io::Result<()> {
        let path = self.path.join(self.kind.state());
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
        let path: &Path = &self.path.join(self.kind.state());
        fs::read(path).map_err(|error| StoreError::io("reading", path, error))
    }

    /// The second it was made in, and for those of one second when they were last kept.
    fn age(&self) -> (String, Option<SystemTime>, String) {
        let second = self.id.split('-').next().unwrap_or_default().to_owned();
        let kept = fs::metadata(self.path.join(self.kind.state())).and_then(|state| state.modified()).ok();
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
        let sweeps = Collections::at(folder.path(), CollectionKind::Sweep);
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
        Collections::at(folder.path(), CollectionKind::Sweep).create(1).unwrap().keep(b"{}", true).unwrap();
        assert!(Catalogue::at(folder.path()).list().unwrap().is_empty());
    }
}
