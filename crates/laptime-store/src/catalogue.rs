//! The catalogue: the runs in a folder.

use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

use laptime_core::RunMeta;

use crate::disk::Disk;
use crate::error::StoreError;
use crate::process::ProcessIdentity;
use crate::random_name::random_name;
use crate::reader::RunReader;

const LATEST: &str = "latest";

/// The folder that holds runs, one folder each, and `latest`, which points to the last.
#[derive(Clone, Debug)]
pub struct Catalogue {
    root: PathBuf,
}

/// One run of a catalogue.
#[derive(Clone, Debug)]
pub struct RunEntry {
    /// The run's folder.
    pub path: PathBuf,
    /// What was written about it when it started.
    pub meta: RunMeta,
    /// Bytes its files take.
    pub bytes: u64,
}

/// Which run is meant.
#[derive(Clone, Copy, Debug)]
pub enum Selected<'a> {
    /// The one that started last.
    Latest,
    /// An id, the beginning of one, or a name.
    Named(&'a str),
}

impl Catalogue {
    /// The catalogue in a folder, which need not exist yet.
    #[must_use]
    pub fn at(root: impl Into<PathBuf>) -> Self {
        Self { root: root.into() }
    }

    /// The folder.
    #[must_use]
    pub fn root(&self) -> &Path {
        &self.root
    }

    /// Makes the folder of a new run, gives the run its id, and points `latest` to it.
    ///
    /// # Errors
    /// When the folder or the run's description cannot be written.
    pub fn create(&self, disk: &mut dyn Disk, meta: &mut RunMeta) -> io::Result<PathBuf> {
        describe_start(meta)?;
        let run = self.root.join(&meta.id);
        let is_ours = self.holds_nothing();
        disk.create_folder(&run)?;
        let description = serde_json::to_vec_pretty(meta)?;
        disk.publish(&run.join("run.json"), &description)?;
        // Conveniences: a run is complete without them.
        if is_ours {
            let _ = self.keep_out_of_git();
        }
        let _ = self.point_latest_to(&meta.id);
        Ok(run)
    }

    /// Whether the folder is not there yet or empty, so that nothing in it is anybody else's.
    pub(crate) fn holds_nothing(&self) -> bool {
        match fs::read_dir(&self.root) {
            Ok(mut entries) => entries.next().is_none(),
            Err(error) => error.kind() == io::ErrorKind::NotFound,
        }
    }

    /// Lets git pass over the folder; only for one that held nothing.
    pub(crate) fn keep_out_of_git(&self) -> io::Result<()> {
        fs::write(self.root.join(".gitignore"), "*\n")
    }

    pub(crate) fn point_latest_to(&self, id: &str) -> io::Result<()> {
        let unfinished = self.root.join(format!("{LATEST}-{id}"));
        symlink(id, &unfinished)?;
        fs::rename(&unfinished, self.root.join(LATEST))
    }

    /// Every run that can be described, oldest first.
    ///
    /// # Errors
    /// When the folder exists and cannot be read.
    pub fn list(&self) -> Result<Vec<RunEntry>, StoreError> {
        let entries = match fs::read_dir(&self.root) {
            Ok(entries) => entries,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(error) => return Err(StoreError::io("reading", &self.root, error)),
        };
        let mut runs: Vec<RunEntry> = entries
            .flatten()
            // A link is not a run of this catalogue, whatever it points to.
            .filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()))
            .filter_map(|entry| RunEntry::at(&entry.path()))
            .collect();
        runs.sort_by(|a, b| (a.meta.started_real_ns, &a.meta.id).cmp(&(b.meta.started_real_ns, &b.meta.id)));
        Ok(runs)
    }

    /// The run that is meant.
    ///
    /// # Errors
    /// When there is none, or more than one.
    pub fn find(&self, selected: Selected<'_>) -> Result<RunEntry, StoreError> {
        let mut runs = self.list()?;
        let Selected::Named(wanted) = selected else {
            return runs.pop().ok_or_else(|| StoreError::NoRuns(self.root.clone()));
        };
        if runs.is_empty() {
            return Err(StoreError::NoRuns(self.root.clone()));
        }
        if let Some(exact) = runs.iter().position(|run| run.meta.id == wanted) {
            return Ok(runs.swap_remove(exact));
        }
        // Several runs may share a name; the newest is meant.
        if let Some(named) = runs.iter().rposition(|run| run.meta.name == wanted) {
            return Ok(runs.swap_remove(named));
        }
        runs.retain(|run| !wanted.is_empty() && run.matches_part_of_id(wanted));
        match runs.len() {
            0 => Err(StoreError::UnknownRun { wanted: wanted.into() }),
            1 => Ok(runs.swap_remove(0)),
            _ => Err(StoreError::AmbiguousRun {
                wanted: wanted.into(),
                matches: runs.into_iter().map(|run| run.meta.id).collect(),
            }),
        }
    }

    /// Removes a run that is not running, and points `latest` to the newest that is left.
    ///
    /// # Errors
    /// When it is running or its files cannot be removed.
    pub fn remove(&self, run: &RunEntry) -> Result<(), StoreError> {
        if run.is_running()? {
            return Err(StoreError::StillRunning(run.meta.id.clone()));
        }
        self.discard(&run.path)
    }

    /// Removes a run's folder without a question: one whose command could not be started.
    ///
    /// # Errors
    /// When its files cannot be removed.
    pub fn discard(&self, run: &Path) -> Result<(), StoreError> {
        fs::remove_dir_all(run).map_err(|error| StoreError::io("removing", run, error))?;
        self.forget_launches_of(run);
        match self.list()?.pop() {
            Some(newest) => self.point_latest_to(&newest.meta.id),
            None => fs::remove_file(self.root.join(LATEST)),
        }
        // `latest` is a convenience; the run itself is gone as asked.
        .or(Ok(()))
    }
}

impl RunEntry {
    /// The run in a folder; `None` where it holds none.
    #[must_use]
    pub fn at(path: &Path) -> Option<Self> {
        let reader = RunReader::open(path).ok()?;
        let folder_name = path.file_name()?.to_str()?;
        // The folder's name is the id: what the description says may have been copied from elsewhere.
        let meta = RunMeta { id: folder_name.to_owned(), ..reader.meta().clone() };
        let bytes =
            fs::read_dir(path).ok()?.flatten().filter_map(|file| Some(file.metadata().ok()?.len())).sum();
        Some(Self { path: path.to_owned(), meta, bytes })
    }

    fn matches_part_of_id(&self, part: &str) -> bool {
        let random = self.meta.id.rsplit('-').next().unwrap_or_default();
        self.meta.id.starts_with(part) || random.starts_with(part)
    }

    fn is_running(&self) -> Result<bool, StoreError> {
        let mut running = false;
        RunReader::open(&self.path)?.poll(&mut |_, record| {
            running |=
                matches!(record, laptime_core::Record::Ended { status: laptime_core::Status::Running });
        })?;
        Ok(running)
    }
}

/// Gives a new run its id, and says who starts it.
pub(crate) fn describe_start(meta: &mut RunMeta) -> io::Result<()> {
    meta.id = new_id(meta.started_real_ns)?;
    let starter = ProcessIdentity::current();
    (meta.pid, meta.boot_id, meta.pid_start) = (starter.pid, starter.boot_id, starter.pid_start);
    Ok(())
}

/// An id that sorts by time and that nothing else has.
pub(crate) fn new_id(started_real_ns: u64) -> io::Result<String> {
    let random = random_name()?;
    Ok(format!("{}-{}", utc(started_real_ns), random.get(..8).unwrap_or(&random)))
}

/// The second in UTC, in a form that sorts by time and is safe in a path.
fn utc(real_ns: u64) -> String {
    let seconds = i64::try_from(real_ns / 1_000_000_000).unwrap_or(0);
    jiff::Timestamp::from_second(seconds)
        .map_or_else(|_| "unknown".into(), |at| at.strftime("%Y%m%dT%H%M%SZ").to_string())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::disk::RealDisk;

    #[test]
    fn git_passes_over_a_folder_of_ours_and_nothing_is_hidden_in_one_that_was_there() {
        let folder = tempfile::tempdir().unwrap();
        let create =
            |root: &Path| Catalogue::at(root).create(&mut RealDisk, &mut RunMeta::default()).unwrap();
        let (new, theirs) = (folder.path().join("new"), folder.path().join("theirs"));
        fs::create_dir(&theirs).unwrap();
        fs::write(theirs.join("train.py"), "").unwrap();
        for root in [&new, &theirs] {
            create(root);
            create(root);
        }
        assert_eq!(fs::read_to_string(new.join(".gitignore")).unwrap(), "*\n");
        assert!(!theirs.join(".gitignore").exists());
    }
}
