//! Settings: what is given beats the environment, which beats `[tool.laptime]` in pyproject.toml of the
//! current folder or the nearest one above it. The command and the Python package both ask here.

use std::env;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use laptime_record::RUN_VARIABLE;
use toml::{Table, Value};

const PROJECT_FILE: &str = "pyproject.toml";
const DEFAULT_DIR: &str = ".laptime";
/// Words that switch something off; any other switches it on.
const OFF: [&str; 4] = ["0", "false", "no", "off"];

/// What was typed or passed; all may be missing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Given {
    /// Where runs are kept.
    pub dir: Option<PathBuf>,
    /// What the run is called.
    pub name: Option<String>,
    /// Whether to say nothing of our own.
    pub quiet: Option<bool>,
    /// Whether nothing is to be recorded.
    pub disabled: Option<bool>,
}

/// What is in force once everything is weighed.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {
    /// Where runs are kept, when that is set anywhere.
    pub dir: Option<PathBuf>,
    /// What the run is called, when that is set anywhere.
    pub name: Option<String>,
    /// Whether to say nothing of our own.
    pub quiet: bool,
    /// Whether nothing is to be recorded.
    pub disabled: bool,
    /// What of the file is not used, and why.
    pub trouble: Option<String>,
}

impl Settings {
    /// The settings in force, given these.
    #[must_use]
    pub fn read(given: Given) -> Self {
        let (file, trouble) = env::current_dir().map_or((Given::default(), None), |from| project(&from));
        Self { trouble, ..Self::weigh(given, &|name| env::var_os(name), file) }
    }

    fn weigh(given: Given, variable: &dyn Fn(&str) -> Option<OsString>, file: Given) -> Self {
        let set = |name: &str| variable(name).filter(|value| !value.is_empty());
        let switch = |name: &str| set(name).and_then(|value| switched(&value));
        let name = || set("LAPTIME_NAME").map(|name| name.to_string_lossy().into_owned());
        Self {
            dir: given.dir.or_else(|| set("LAPTIME_DIR").map(PathBuf::from)).or(file.dir),
            name: given.name.or_else(name).or(file.name),
            quiet: given.quiet.or_else(|| switch("LAPTIME_QUIET")).or(file.quiet).unwrap_or(false),
            disabled: given
                .disabled
                .or_else(|| switch("LAPTIME_DISABLED"))
                .or(file.disabled)
                .unwrap_or(false),
            trouble: None,
        }
    }

    /// Where runs are kept.
    #[must_use]
    pub fn runs_folder(&self) -> PathBuf {
        self.dir.clone().unwrap_or_else(|| PathBuf::from(DEFAULT_DIR))
    }
}

/// Where runs are kept, given this folder or none.
#[must_use]
pub fn runs_folder(dir: Option<PathBuf>) -> PathBuf {
    Settings::read(Given { dir, ..Given::default() }).runs_folder()
}

/// Where laptime keeps what it learns about this machine: LAPTIME_DATA_DIR, else `laptime` in the user's data folder;
/// `None` where neither is known.
#[must_use]
pub fn data_folder() -> Option<PathBuf> {
    data_folder_by(&|name| env::var_os(name))
}

fn data_folder_by(variable: &dyn Fn(&str) -> Option<OsString>) -> Option<PathBuf> {
    let set = |name: &str| variable(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    // The specification of these folders has a relative one ignored.
    let data = || set("XDG_DATA_HOME").filter(|folder| folder.is_absolute());
    let home = || set("HOME").map(|home| home.join(".local/share"));
    set("LAPTIME_DATA_DIR").or_else(|| Some(data().or_else(home)?.join("laptime")))
}

/// Whether a variable's value means on or off; `None` for an empty one, which is as good as none.
#[must_use]
pub fn switched(value: &OsStr) -> Option<bool> {
    let value = value.to_string_lossy().trim().to_lowercase();
    (!value.is_empty()).then(|| !OFF.contains(&value.as_str()))
}

/// Whether a `laptime run` above this process has a run that is to be joined.
#[must_use]
pub fn is_inside_a_run() -> bool {
    env::var_os(RUN_VARIABLE).map(PathBuf::from).is_some_and(|run| run.join("run.json").exists())
}

/// What the nearest file says, and what of it is not used.
fn project(from: &Path) -> (Given, Option<String>) {
    let nearest = from.ancestors().map(|folder| folder.join(PROJECT_FILE)).find(|path| path.is_file());
    let Some(path) = nearest else { return Default::default() };
    let Ok(text) = std::fs::read_to_string(&path) else { return Default::default() };
    let (mut file, because) = match table(&text) {
        Ok(table) => from_table(&table),
        Err(because) => (Given::default(), Some(because)),
    };
    // A path in a file is meant from where the file is.
    file.dir = file.dir.map(|dir| path.with_file_name(dir));
    let because = because.map(|because| format!("[tool.laptime] in {}: {because}", path.display()));
    (file, because)
}

/// The table `[tool.laptime]`; empty where there is none.
fn table(text: &str) -> Result<Table, String> {
    // Most projects have none, and need not wait for the file to be parsed.
    if !text.contains("laptime") {
        return Ok(Table::new());
    }
    let file: Table = text.parse().map_err(|error: toml::de::Error| {
        format!("not used: {}", error.message().lines().next().unwrap_or_default())
    })?;
    match file.get("tool").and_then(|tool| tool.get("laptime")) {
        None => Ok(Table::new()),
        Some(Value::Table(table)) => Ok(table.clone()),
        Some(other) => Err(format!("not used: {} instead of a table", other.type_str())),
    }
}

/// A value of the wrong kind is left out, and the others are used; keys that later versions know are
/// passed over.
fn from_table(table: &Table) -> (Given, Option<String>) {
    let mut invalid = None;
    let mut text = |key: &str| match table.get(key) {
        Some(Value::String(text)) if !text.is_empty() => Some(text.clone()),
        Some(Value::String(_)) | None => None,
        Some(other) => {
            invalid.get_or_insert(format!("invalid value for `{key}`: {} instead of text", other.type_str()));
            None
        }
    };
    let (dir, name) = (text("dir").map(PathBuf::from), text("name"));
    let mut switch = |key: &str| match table.get(key) {
        Some(Value::Boolean(on)) => Some(*on),
        None => None,
        Some(other) => {
            invalid
                .get_or_insert(format!("invalid value for `{key}`: {} instead of boolean", other.type_str()));
            None
        }
    };
    let (quiet, disabled) = (switch("quiet"), switch("disabled"));
    (Given { dir, name, quiet, disabled }, invalid)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn weigh(given: Given, variables: &[(&str, &str)]) -> Settings {
        let value = |name: &str| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| OsString::from(value))
        };
        let file = Given {
            dir: Some("from-file".into()),
            name: Some("file".into()),
            quiet: Some(true),
            disabled: None,
        };
        Settings::weigh(given, &value, file)
    }

    fn settings(dir: &str, name: &str, quiet: bool) -> Settings {
        Settings { dir: Some(dir.into()), name: Some(name.into()), quiet, ..Settings::default() }
    }

    #[test]
    fn what_is_given_beats_the_environment_which_beats_the_file() {
        let set = [("LAPTIME_DIR", "from-env"), ("LAPTIME_NAME", "env"), ("LAPTIME_QUIET", "0")];
        assert_eq!(weigh(Given::default(), &[]), settings("from-file", "file", true));
        assert_eq!(weigh(Given::default(), &set), settings("from-env", "env", false));
        let given =
            Given { dir: Some("given".into()), name: Some("g".into()), quiet: Some(true), disabled: None };
        assert_eq!(weigh(given, &set), settings("given", "g", true));
    }

    #[test]
    fn an_empty_variable_is_as_good_as_none() {
        let empty = ["DIR", "NAME", "QUIET", "DISABLED"].map(|key| format!("LAPTIME_{key}"));
        let set: Vec<(&str, &str)> = empty.iter().map(|name| (name.as_str(), "")).collect();
        assert_eq!(weigh(Given::default(), &set), settings("from-file", "file", true));
        assert_eq!(Settings::default().runs_folder(), Path::new(".laptime"));
    }

    #[test]
    fn what_is_learned_goes_to_the_data_folder_of_the_user() {
        let folder = |variables: &[(&str, &str)]| {
            data_folder_by(&|name| {
                variables.iter().find(|(known, _)| *known == name).map(|(_, value)| OsString::from(value))
            })
        };
        assert_eq!(folder(&[]), None);
        assert_eq!(folder(&[("HOME", "/h")]), Some("/h/.local/share/laptime".into()));
        assert_eq!(folder(&[("HOME", "/h"), ("XDG_DATA_HOME", "/x")]), Some("/x/laptime".into()));
        assert_eq!(folder(&[("HOME", "/h"), ("XDG_DATA_HOME", "x")]), Some("/h/.local/share/laptime".into()));
        assert_eq!(folder(&[("LAPTIME_DATA_DIR", "/d"), ("HOME", "/h")]), Some("/d".into()));
    }

    #[test]
    fn the_same_words_switch_everything_off() {
        for word in ["0", "false", "no", "off", "OFF", " No\n"] {
            assert_eq!(switched(word.as_ref()), Some(false), "{word}");
        }
        for word in ["1", "true", "yes", "on", "anything"] {
            assert_eq!(switched(word.as_ref()), Some(true), "{word}");
        }
        assert_eq!((switched("".as_ref()), switched(" ".as_ref())), (None, None));
        assert!(weigh(Given::default(), &[("LAPTIME_DISABLED", "yes")]).disabled);
        assert!(!weigh(Given::default(), &[("LAPTIME_DISABLED", "off")]).disabled);
    }

    #[test]
    fn the_nearest_file_counts_and_its_folder_is_meant_from_there() {
        let outer = tempfile::tempdir().unwrap();
        let inner = outer.path().join("a/b");
        std::fs::create_dir_all(&inner).unwrap();
        let write = |text: &str| std::fs::write(outer.path().join(PROJECT_FILE), text).unwrap();
        assert_eq!(project(&inner), Default::default());
        write("[project]\nname = \"x\"\n");
        assert_eq!(project(&inner), Default::default());
        write("[tool.laptime]\ndir = \"d\"\nname = \"n\"\nquiet = true\nlater = 1\n");
        let expected = Given {
            dir: Some(outer.path().join("d")),
            name: Some("n".into()),
            quiet: Some(true),
            disabled: None,
        };
        assert_eq!(project(&inner), (expected, None));
        std::fs::write(outer.path().join("a").join(PROJECT_FILE), "").unwrap();
        assert_eq!(project(&inner), Default::default());
    }

    #[test]
    fn of_a_file_with_an_invalid_value_the_rest_is_used_and_a_broken_one_says_why() {
        let folder = tempfile::tempdir().unwrap();
        let read = |text: &str| {
            std::fs::write(folder.path().join(PROJECT_FILE), text).unwrap();
            project(folder.path())
        };
        let (file, trouble) = read("[tool.laptime]\ndir = 3\nname = \"n\"\n");
        assert_eq!((file.dir, file.name.as_deref()), (None, Some("n")));
        assert!(
            trouble.unwrap().ends_with("pyproject.toml: invalid value for `dir`: integer instead of text")
        );
        assert!(read("[tool.laptime\n").1.unwrap().contains("[tool.laptime] in "));
        assert!(read("[tool]\nlaptime = 3\n").1.unwrap().ends_with("not used: integer instead of a table"));
    }
}
