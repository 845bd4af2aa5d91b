//! Launches: processes that were started together find the run they share without talking to each other.
//!
//! The first of them to come makes a link that is named after the launch and points to a new run's id; a
//! link appears whole or not at all, so whoever comes later reads it. Nobody waits for anybody.

use std::fs;
use std::io::{self, Write};
use std::os::unix::fs::{OpenOptionsExt, symlink};
use std::path::{Path, PathBuf};

use laptime_core::RunMeta;

use crate::catalogue::{Catalogue, describe_start};
use crate::disk::Disk;
use crate::random_name::random_name;
use crate::segment::{LogName, segment_path};

/// How the links of launches begin; runs are folders with other names.
const LINK: &str = ".launch-";
/// Trainings that one launcher can start one after the other with the same words.
const MOST_TURNS: u32 = 10_000;

impl Catalogue {
    /// Makes the run of a launch, or finds the one that another process of the launch made.
    ///
    /// `launch` names the launch: the same in all its processes and in no others. A launcher may start
    /// several trainings one after the other: a run in which `log` is taken belongs to an earlier turn.
    ///
    /// # Errors
    /// When the folder or the run's description cannot be written.
    pub fn create_shared(
        &self,
        disk: &mut dyn Disk,
        meta: &mut RunMeta,
        launch: &str,
        log: LogName,
    ) -> io::Result<PathBuf> {
        let is_ours = self.holds_nothing();
        disk.create_folder(self.root())?;
        describe_start(meta)?;
        for turn in 0..MOST_TURNS {
            let link = self.root().join(format!("{LINK}{launch}-{turn}"));
            let id = id_behind(&link, &meta.id)?;
            let run = self.root().join(&id);
            if segment_path(&run, &log, 1).exists() {
                continue;
            }
            meta.id = id;
            disk.create_folder(&run)?;
            let first = describe(&run, meta)?;
            // Conveniences: a run is complete without them.
            if is_ours {
                let _ = self.keep_out_of_git();
            }
            if first {
                let _ = self.point_latest_to(&meta.id);
            }
            return Ok(run);
        }
        Err(io::Error::other("too many runs of one launch"))
    }

    /// Removes the links of launches to a run that is gone.
    pub(crate) fn forget_launches_of(&self, run: &Path) {
        let Ok(entries) = fs::read_dir(self.root()) else { return };
        let links = entries.flatten().filter(|entry| entry.file_name().to_string_lossy().starts_with(LINK));
        for link in links {
            let points_here = fs::read_link(link.path()).is_ok_and(|id| self.root().join(id) == run);
            if points_here {
                // A link that stays behind names a run that would be made again; that is all.
                let _ = fs::remove_file(link.path());
            }
        }
    }
}

/// The id that a launch's link points to; it is made to point to `proposed` when it is not there yet.
fn id_behind(link: &Path, proposed: &str) -> io::Result<String> {
    match symlink(proposed, link) {
        Ok(()) => Ok(proposed.to_owned()),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
            let id = fs::read_link(link)?;
            let plain = id.file_name().filter(|name| *name == id.as_os_str()).and_then(|name| name.to_str());
            plain.map(str::to_owned).ok_or_else(|| io::Error::other("the launch's link leads elsewhere"))
        }
        Err(error) => Err(error),
    }
}

/// Writes the run's description unless another process has; says whether it was the first.
fn describe(run: &Path, meta: &RunMeta) -> io::Result<bool> {
    let path = run.join("run.json");
    if path.exists() {
        return Ok(false);
    }
    let own = run.join(format!("run.{}.unfinished", random_name()?));
    let mut file = fs::OpenOptions::new().write(true).create_new(true).mode(0o600).open(&own)?;
    file.write_all(&serde_json::to_vec_pretty(meta)?)?;
    // A hard link never replaces what is there; where there are none, the last description stands.
    let linked = match fs::hard_link(&own, &path) {
        Ok(()) => Ok(true),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Ok(false),
        Err(_) => return fs::rename(&own, &path).map(|()| true),
    };
    fs::remove_file(&own)?;
    linked
}

#[cfg(test)]
mod tests {
    use std::thread;

    use super::*;
    use crate::disk::RealDisk;

    fn share(root: &Path, launch: &str, rank: u32) -> PathBuf {
        let mut meta = RunMeta { name: format!("rank {rank}"), ..RunMeta::default() };
        let log = LogName::Supervisor { rank };
        let run = Catalogue::at(root).create_shared(&mut RealDisk, &mut meta, launch, log).unwrap();
        fs::write(segment_path(&run, &log, 1), "").unwrap();
        run
    }

    #[test]
    fn ranks_that_come_at_once_meet_in_one_run_and_another_launch_has_its_own() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path();
        let runs: Vec<PathBuf> = thread::scope(|scope| {
            let ranks: Vec<_> = (0..8).map(|rank| scope.spawn(move || share(root, "a", rank))).collect();
            ranks.into_iter().map(|rank| rank.join().unwrap()).collect()
        });
        assert!(runs.iter().all(|run| *run == runs[0]), "{runs:?}");
        assert!(fs::read_dir(&runs[0]).unwrap().flatten().all(|file| {
            let name = file.file_name();
            name == "run.json" || name.to_string_lossy().starts_with("supervisor")
        }));
        assert_ne!(share(root, "b", 0), runs[0]);
        let catalogue = Catalogue::at(root);
        assert_eq!(catalogue.list().unwrap().len(), 2);
    }

    #[test]
    fn the_next_training_of_the_same_launch_is_another_run_for_all_its_ranks() {
        let folder = tempfile::tempdir().unwrap();
        let first = [share(folder.path(), "a", 0), share(folder.path(), "a", 1)];
        let second = [share(folder.path(), "a", 1), share(folder.path(), "a", 0)];
        assert_eq!((&first[0], &second[0]), (&first[1], &second[1]));
        assert_ne!(first[0], second[0]);
    }

    #[test]
    fn a_run_that_is_removed_takes_its_links_along() {
        let folder = tempfile::tempdir().unwrap();
        let run = share(folder.path(), "a", 0);
        Catalogue::at(folder.path()).discard(&run).unwrap();
        let left = fs::read_dir(folder.path()).unwrap().flatten();
        assert!(left.map(|entry| entry.file_name()).all(|name| name == ".gitignore"));
        assert!(share(folder.path(), "a", 0).join("run.json").exists());
    }
}
