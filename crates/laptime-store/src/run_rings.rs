//! The rings of a run's processes, followed while they come and go.

use std::collections::HashMap;
use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime};

use crate::ring::{Ring, RingIdentity};
use crate::shared_memory::ring_directory;

/// The kernel's clock for files is this coarse at most.
const CLOCK_TICK: Duration = Duration::from_millis(10);

/// The rings of one run, each opened once.
pub struct RunRings {
    run: PathBuf,
    /// By file name; `None` for one that is not of this run or cannot be read.
    known: HashMap<OsString, Option<(RingIdentity, Ring)>>,
    /// When the folder was last changed, as far as it was read.
    changed: Option<SystemTime>,
}

impl RunRings {
    /// The rings of the run in a folder; none is open yet.
    #[must_use]
    pub fn of(run: &Path) -> Self {
        let run = std::path::absolute(run).unwrap_or_else(|_| run.to_owned());
        Self { run, known: HashMap::new(), changed: None }
    }

    /// Opens what is new and forgets what is gone; says whether anything was to do. It is cheap when not.
    pub fn refresh(&mut self) -> bool {
        let changed = fs::metadata(ring_directory()).and_then(|folder| folder.modified()).ok();
        if changed.is_none() || changed == self.changed {
            return false;
        }
        // The kernel's clock for files ticks: what comes within its tick would be missed.
        let settled = |at: &SystemTime| at.elapsed().is_ok_and(|age| age > CLOCK_TICK);
        self.changed = changed.filter(settled);
        self.read_folder();
        true
    }

    fn read_folder(&mut self) {
        let beginning = format!("{}.", self.run.file_name().unwrap_or_default().to_string_lossy());
        let entries = fs::read_dir(ring_directory()).into_iter().flatten().flatten();
        let names = entries.map(|entry| entry.file_name());
        let listed: Vec<OsString> = names
            .filter(|name| {
                let name = name.to_string_lossy();
                name.starts_with(&beginning) && name.ends_with(".ring")
            })
            .collect();
        self.known.retain(|name, _| listed.contains(name));
        for name in listed {
            let run = &self.run;
            self.known.entry(name).or_insert_with_key(|name| open_of(run, name));
        }
    }

    /// Every ring that is open, and whose it is.
    pub fn iter(&self) -> impl Iterator<Item = (&RingIdentity, &Ring)> {
        self.known.values().flatten().map(|(identity, ring)| (identity, ring))
    }
}

fn open_of(run: &Path, name: &OsString) -> Option<(RingIdentity, Ring)> {
    let ring = Ring::open(&ring_directory().join(name)).ok()?;
    let identity = ring.header().identity();
    (identity.run == run).then_some((identity, ring))
}

/// The rings of this user's processes that record into a run.
pub(crate) fn rings_of(run: &Path) -> Vec<Ring> {
    let Ok(entries) = fs::read_dir(ring_directory()) else { return Vec::new() };
    let beginning = format!("{}.", run.file_name().unwrap_or_default().to_string_lossy());
    let of_run =
        entries.flatten().filter(|entry| entry.file_name().to_string_lossy().starts_with(&beginning));
    let rings = of_run.filter_map(|entry| Ring::open(&entry.path()).ok());
    rings.filter(|ring| ring.header().identity().run == run).collect()
}
