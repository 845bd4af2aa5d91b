//! Python's hooks: how they reach the Pythons that the command starts, and what became of them there.
//!
//! A folder with our `sitecustomize.py` and the list of frameworks comes first on PYTHONPATH. That file runs in every Python
//! of the command, imports the laptime that Python has or else the package this command belongs to, and writes
//! into a file of the run what it did. What that file does not say is deduced from the processes that were seen.

use std::collections::BTreeMap;
use std::env;
use std::ffi::OsString;
use std::fs::{self, DirBuilder, OpenOptions};
use std::io;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use laptime_core::{Change, Trouble};
use laptime_store::LOG_VERSION;

use crate::pythons::{self, Said, Seen};
use crate::settings::switched;
use crate::supervisor::Supervisor;

/// Set to 0 so that Python's hooks stay away.
const HOOKS_VARIABLE: &str = "LAPTIME_HOOKS";
/// Set to 1 so that the hooks time each layer of a model.
const LAYERS_VARIABLE: &str = "LAPTIME_LAYERS";
/// Lists what the hooks change of a training: `name=value`, separated by commas.
const CHANGES_VARIABLE: &str = "LAPTIME_CHANGES";
/// Names the folder into which a script that is only probed writes its checkpoints and models.
const PROBE_VARIABLE: &str = "LAPTIME_PROBE";
/// Names the folder of the Python package that this command belongs to; set by the package itself.
const PACKAGE_VARIABLE: &str = "LAPTIME_PACKAGE";
/// Names the file in which Pythons say what became of the hooks.
const REPORT_VARIABLE: &str = "LAPTIME_PYTHONS";

const START_UP: &str = include_str!("../../../python/laptime/_hook/sitecustomize.py");
const START_UP_FILE: &str = "sitecustomize.py";
/// What the start-up hook waits for; no module, so that a script cannot import it by accident.
const REGISTRY: &str = include_str!("../../../python/laptime/_hook/frameworks.txt");
const REGISTRY_FILE: &str = "frameworks.txt";
/// What it waits for besides, so that a script that is only probed leaves the user's files as they are.
const GUARDED: &str = include_str!("../../../python/laptime/_hook/guarded.txt");
const GUARDED_FILE: &str = "guarded.txt";

/// The first look at the command's processes; each next one comes half as much later again.
const FIRST_LOOK: Duration = Duration::from_millis(20);
/// Processes that are looked at; which Python one of thousands is does not matter.
const MOST_LOOKED_AT: usize = 256;

/// What is attached to the Pythons of a command.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Attach {
    /// Hooks of the frameworks; without them the command is measured from outside, and nothing below counts.
    pub hooks: bool,
    /// Hooks of a model's modules on some steps.
    pub layers: bool,
    /// What is changed of the training.
    pub changes: Vec<Change>,
    /// Where checkpoints and models are written instead of where the script says, where it is only probed.
    pub probe: Option<PathBuf>,
}

/// The hooks of one command.
pub(crate) struct Hooks {
    variables: Vec<(&'static str, OsString)>,
    /// The folder of the run and where Pythons report; `None` when there are no hooks.
    places: Option<Places>,
    seen: BTreeMap<u32, Seen>,
    began: Instant,
    due: Instant,
}

struct Places {
    run: PathBuf,
    report: PathBuf,
    /// A folder that was made for this command alone.
    made: Option<PathBuf>,
}

impl Hooks {
    /// Lays out what the command's Pythons need. Without a run on disk there is nothing to join, and the hooks
    /// stay away.
    pub(crate) fn prepare(supervisor: &Supervisor, attach: &Attach) -> Self {
        let off =
            !attach.hooks || env::var_os(HOOKS_VARIABLE).is_some_and(|value| switched(&value) != Some(true));
        let run = supervisor.run().filter(|_| !off);
        let prepared = run.and_then(|run| lay_out(run, supervisor.rank()).ok());
        let (variables, places) = prepared.unzip();
        let mut variables = variables.unwrap_or_else(|| vec![(HOOKS_VARIABLE, "0".into())]);
        if attach.layers {
            variables.push((LAYERS_VARIABLE, "1".into()));
        }
        if !attach.changes.is_empty() {
            let changes: Vec<String> = attach.changes.iter().map(Change::to_string).collect();
            variables.push((CHANGES_VARIABLE, changes.join(",").into()));
        }
        variables.extend(attach.probe.iter().map(|folder| (PROBE_VARIABLE, folder.into())));
        let began = Instant::now();
        Self { variables, places, seen: BTreeMap::new(), began, due: began + FIRST_LOOK }
    }

    /// What is to be added to the command's environment.
    pub(crate) fn variables(&self) -> &[(&'static str, OsString)] {
        &self.variables
    }

    /// How long it is until the processes are looked at again.
    pub(crate) fn left(&self) -> Duration {
        match self.places {
            Some(_) => self.due.saturating_duration_since(Instant::now()),
            None => Duration::MAX,
        }
    }

    /// Looks at the command's processes, when that is due: one whose Python ignores the hooks says nothing.
    pub(crate) fn look(&mut self, supervisor: &mut Supervisor) {
        if !self.left().is_zero() {
            return;
        }
        for pid in supervisor.processes().into_iter().take(MOST_LOOKED_AT) {
            self.seen.extend(Seen::look(pid).map(|seen| (pid, seen)));
        }
        self.due = Instant::now() + (self.began.elapsed() / 2).max(FIRST_LOOK);
    }

    /// What the command's Pythons could not be given; `words` is how it was started. It has ended by now.
    pub(crate) fn troubles(self, words: &[OsString]) -> Vec<Trouble> {
        let Some(places) = self.places else { return Vec::new() };
        let said = fs::read(&places.report).unwrap_or_default();
        let said: Vec<Said> = String::from_utf8_lossy(&said).lines().filter_map(Said::parse).collect();
        let started = pythons::words_of_python(words);
        let troubles = pythons::troubles(&said, &self.seen, started.as_ref(), has_recorded(&places.run));
        places.clear();
        troubles
    }
}

impl Places {
    /// What was there for the command alone goes with it; what is left over is only untidy.
    fn clear(self) {
        let _ = fs::remove_file(&self.report);
        if let Some(folder) = self.made {
            let _ = fs::remove_dir_all(folder);
        }
    }
}

/// Whether a process of the command has a log in the run.
fn has_recorded(run: &Path) -> bool {
    let is_log = |entry: fs::DirEntry| entry.file_name().to_string_lossy().starts_with("rank-");
    fs::read_dir(run).is_ok_and(|entries| entries.flatten().any(is_log))
}

fn lay_out(run: &Path, rank: u32) -> io::Result<(Vec<(&'static str, OsString)>, Places)> {
    let package = env::var_os(PACKAGE_VARIABLE).map(PathBuf::from).filter(|folder| is_ours(folder));
    let report = run.join(format!("pythons-{rank:05}"));
    OpenOptions::new().create_new(true).write(true).mode(0o600).open(&report)?;
    let (folder, made) = match package.as_deref().map(|package| package.join("_hook")) {
        Some(folder) if holds_start_up(&folder) => (folder, None),
        _ => {
            let folder = write_start_up(run, rank)?;
            (folder.clone(), Some(folder))
        }
    };
    let variables = vec![
        ("PYTHONPATH", python_path(&folder, env::var_os("PYTHONPATH"))),
        (REPORT_VARIABLE, report.clone().into()),
        // One that was inherited from a laptime around this one is not this one's.
        (PACKAGE_VARIABLE, package.map(OsString::from).unwrap_or_default()),
        ("LAPTIME_LOG_VERSION", LOG_VERSION.to_string().into()),
        ("LAPTIME_PLATFORM", platform().into()),
    ];
    Ok((variables, Places { run: run.to_owned(), report, made }))
}

/// Whether a folder is the package of this version: its log is the one that this command reads.
fn is_ours(package: &Path) -> bool {
    let version = fs::read_to_string(package.join("_log_version"));
    version.is_ok_and(|version| version.trim() == LOG_VERSION.to_string())
}

fn holds_start_up(folder: &Path) -> bool {
    let holds = |file, wanted| fs::read_to_string(folder.join(file)).is_ok_and(|text| text == wanted);
    holds(START_UP_FILE, START_UP) && holds(REGISTRY_FILE, REGISTRY) && holds(GUARDED_FILE, GUARDED)
}

fn write_start_up(run: &Path, rank: u32) -> io::Result<PathBuf> {
    let folder = run.join(format!("hook-{rank:05}"));
    DirBuilder::new().mode(0o700).create(&folder)?;
    fs::write(folder.join(REGISTRY_FILE), REGISTRY)?;
    fs::write(folder.join(GUARDED_FILE), GUARDED)?;
    fs::write(folder.join(START_UP_FILE), START_UP)?;
    Ok(folder)
}

/// Where Python looks for modules: the hook's folder first, then where it looked already.
fn python_path(hook: &Path, known: Option<OsString>) -> OsString {
    let mut path = OsString::from(hook);
    if let Some(known) = known.filter(|known| !known.is_empty()) {
        path.push(":");
        path.push(known);
    }
    path
}

/// What this program was built for, as Python names it.
fn platform() -> String {
    let arch = match env::consts::ARCH {
        "x86" => "i386",
        "powerpc64" if cfg!(target_endian = "little") => "powerpc64le",
        arch => arch,
    };
    let library = if cfg!(target_env = "musl") { "musl" } else { "gnu" };
    format!("{arch}-{}-{library}", env::consts::OS)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_hook_comes_first_and_what_was_there_stays() {
        let path = |known: &str| python_path(Path::new("/hook"), Some(known.into()));
        assert_eq!(path("/a:/b"), OsString::from("/hook:/a:/b"));
        assert_eq!(path(""), OsString::from("/hook"));
    }

    #[test]
    fn the_package_says_the_version_of_the_log_that_it_writes() {
        let package = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../python/laptime");
        assert!(is_ours(&package));
        assert!(holds_start_up(&package.join("_hook")));
    }
}
