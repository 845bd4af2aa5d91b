//! Settings from outside the command line: the environment, and `[tool.laptime]` in ./pyproject.toml.
//!
//! What is typed beats the environment, which beats the file.

use std::env;
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use serde::Deserialize;

use crate::args::RunArgs;

const PROJECT_FILE: &str = "pyproject.toml";
const DEFAULT_DIR: &str = ".laptime";

/// What a command goes by once everything is weighed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Settings {
    /// Where runs are kept.
    pub(crate) dir: PathBuf,
    /// What the run is called, when that was said anywhere.
    pub(crate) name: Option<String>,
    /// Whether to say nothing of our own.
    pub(crate) quiet: bool,
    /// Why the file was not read, when it is there.
    pub(crate) trouble: Option<String>,
}

/// The table `[tool.laptime]`; keys that later versions know are passed over.
#[derive(Clone, Debug, Default, Deserialize, PartialEq, Eq)]
#[serde(default)]
pub(crate) struct ProjectTable {
    dir: Option<PathBuf>,
    name: Option<String>,
    quiet: Option<bool>,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct ProjectFile {
    tool: Tools,
}

#[derive(Default, Deserialize)]
#[serde(default)]
struct Tools {
    laptime: ProjectTable,
}

impl Settings {
    /// For `laptime run`.
    pub(crate) fn read(args: &RunArgs) -> Self {
        let (table, trouble) = match read_project(Path::new(PROJECT_FILE)) {
            Ok(table) => (table, None),
            Err(because) => (ProjectTable::default(), Some(because)),
        };
        Self { trouble, ..Self::weigh(args, &|name| env::var_os(name), table) }
    }

    fn weigh(args: &RunArgs, variable: &dyn Fn(&str) -> Option<OsString>, table: ProjectTable) -> Self {
        let told = |name: &str| variable(name).filter(|value| !value.is_empty());
        let name = told("LAPTIME_NAME").map(|name| name.to_string_lossy().into_owned());
        let quiet = told("LAPTIME_QUIET").map(|value| is_on(&value)).or(table.quiet).unwrap_or(false);
        Self {
            dir: folder(args.place.dir.clone(), told("LAPTIME_DIR"), table.dir),
            name: args.name.clone().or(name).or(table.name),
            quiet: args.quiet || quiet,
            trouble: None,
        }
    }
}

/// Where runs are kept: what was typed, else the variable LAPTIME_DIR, else the project's file.
pub(crate) fn folder(typed: Option<PathBuf>, variable: Option<OsString>, file: Option<PathBuf>) -> PathBuf {
    let variable = variable.filter(|dir| !dir.is_empty()).map(PathBuf::from);
    let file = file.filter(|dir| !dir.as_os_str().is_empty());
    typed.or(variable).or(file).unwrap_or_else(|| PathBuf::from(DEFAULT_DIR))
}

/// The folder that the project's file names.
pub(crate) fn project_folder() -> Option<PathBuf> {
    read_project(Path::new(PROJECT_FILE)).ok()?.dir
}

/// Whether laptime is switched off: a command is then run and nothing else.
pub(crate) fn disabled() -> bool {
    env::var_os("LAPTIME_DISABLED").is_some_and(|value| is_on(&value))
}

/// Whether another `laptime run` above us has a run that the command joins. One that is given a name, a
/// folder or a place for TensorBoard of its own wants a run of its own.
pub(crate) fn joined(args: &RunArgs) -> bool {
    let run = env::var_os(laptime_record::RUN_VARIABLE).map(PathBuf::from);
    let own = args.name.is_some() || args.place.dir.is_some() || args.board.tensorboard.is_some();
    !own && run.is_some_and(|run| run.join("run.json").exists())
}

/// Whether a variable's value means yes; the same words as in the Python package.
pub(crate) fn is_on(value: &OsString) -> bool {
    let value = value.to_string_lossy().to_lowercase();
    !["", "0", "false", "no", "off"].contains(&value.trim())
}

fn read_project(path: &Path) -> Result<ProjectTable, String> {
    let Ok(text) = std::fs::read_to_string(path) else { return Ok(ProjectTable::default()) };
    let file: ProjectFile = toml::from_str(&text).map_err(|error| {
        let because = error.message().lines().next().unwrap_or_default();
        format!("[tool.laptime] in {} is not used: {because}", path.display())
    })?;
    Ok(file.tool.laptime)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::args::{BoardArgs, LapArgs, Place};

    fn args(dir: Option<&str>, name: Option<&str>, quiet: bool) -> RunArgs {
        RunArgs {
            name: name.map(str::to_owned),
            quiet,
            no_hooks: false,
            board: BoardArgs::default(),
            lap: LapArgs::default(),
            profile: false,
            place: Place { dir: dir.map(PathBuf::from) },
            command: vec!["true".into()],
        }
    }

    fn table() -> ProjectTable {
        ProjectTable { dir: Some("from-file".into()), name: Some("file".into()), quiet: Some(true) }
    }

    fn weigh(args: &RunArgs, variables: &[(&str, &str)]) -> (PathBuf, Option<String>, bool) {
        let value = |name: &str| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| OsString::from(value))
        };
        let settings = Settings::weigh(args, &value, table());
        (settings.dir, settings.name, settings.quiet)
    }

    #[test]
    fn what_is_typed_beats_the_environment_which_beats_the_file() {
        let told = [("LAPTIME_DIR", "from-env"), ("LAPTIME_NAME", "env"), ("LAPTIME_QUIET", "0")];
        assert_eq!(weigh(&args(None, None, false), &[]), ("from-file".into(), Some("file".into()), true));
        assert_eq!(weigh(&args(None, None, false), &told), ("from-env".into(), Some("env".into()), false));
        assert_eq!(
            weigh(&args(Some("typed"), Some("t"), true), &told),
            ("typed".into(), Some("t".into()), true)
        );
        assert_eq!(weigh(&args(None, None, false), &[("LAPTIME_DIR", "")]).0, PathBuf::from("from-file"));
    }

    #[test]
    fn a_file_without_our_table_says_nothing_and_a_broken_one_says_why() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(PROJECT_FILE);
        assert_eq!(read_project(&path), Ok(ProjectTable::default()));
        std::fs::write(&path, "[project]\nname = \"x\"\n").unwrap();
        assert_eq!(read_project(&path), Ok(ProjectTable::default()));
        std::fs::write(&path, "[tool.laptime]\ndir = \"d\"\nlater = 1\n").unwrap();
        assert_eq!(read_project(&path).unwrap().dir, Some("d".into()));
        std::fs::write(&path, "[tool.laptime]\ndir = 3\n").unwrap();
        assert!(read_project(&path).unwrap_err().contains("[tool.laptime]"));
    }
}
