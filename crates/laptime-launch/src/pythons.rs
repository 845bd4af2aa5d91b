//! The Pythons of a command: what they said of the hooks, what was seen of them, and what that means.

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::fs;
use std::path::Path;

use laptime_core::Trouble;

/// A line that the start-up file wrote in a Python of the command.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Said {
    pid: u32,
    word: String,
    facts: Vec<String>,
}

/// A Python that was seen running.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Seen {
    /// Its command line, from the program on.
    words: Vec<String>,
}

impl Said {
    pub(crate) fn parse(line: &str) -> Option<Self> {
        let mut fields = line.split('\t');
        let (pid, word) = (fields.next()?.parse().ok()?, fields.next()?.to_owned());
        Some(Self { pid, word, facts: fields.map(str::to_owned).collect() })
    }

    fn fact(&self, at: usize) -> &str {
        self.facts.get(at).map_or("", String::as_str)
    }
}

impl Seen {
    /// A process, if it is a Python.
    pub(crate) fn look(pid: u32) -> Option<Self> {
        let program = fs::read_link(format!("/proc/{pid}/exe")).ok()?;
        if !is_python(&program) {
            return None;
        }
        let line = fs::read(format!("/proc/{pid}/cmdline")).ok()?;
        let words = line.split(|byte| *byte == 0).map(|word| String::from_utf8_lossy(word).into_owned());
        Some(Self { words: words.collect() })
    }
}

/// Whether a program is a Python, by its name.
fn is_python(program: &Path) -> bool {
    let name = program.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
    let version = name.strip_prefix("python").or_else(|| name.strip_prefix("pypy"));
    version.is_some_and(|version| version.chars().all(|one| one.is_ascii_digit() || one == '.' || one == 't'))
}

/// The words of a command that starts a Python itself; `None` for any other.
pub(crate) fn words_of_python(words: &[OsString]) -> Option<Vec<String>> {
    let words: Vec<String> = words.iter().map(|word| word.to_string_lossy().into_owned()).collect();
    is_python(Path::new(words.first()?)).then_some(words)
}

/// The option by which a Python ignores what the hooks come through.
fn isolation(words: &[String]) -> Option<char> {
    let mut words = words.iter().skip(1);
    while let Some(word) = words.next() {
        let options = word.strip_prefix('-').filter(|rest| !rest.is_empty() && !rest.starts_with('-'))?;
        for option in options.chars() {
            match option {
                'I' | 'E' | 'S' => return Some(option),
                // What follows is the program, and its own words.
                'c' | 'm' => return None,
                'W' | 'X' => {
                    if options.ends_with(option) {
                        words.next();
                    }
                    break;
                }
                _ => {}
            }
        }
    }
    None
}

/// What went wrong, as far as it matters: where something was recorded, only whose package did it.
pub(crate) fn troubles(
    said: &[Said],
    seen: &BTreeMap<u32, Seen>,
    started: Option<&Vec<String>>,
    has_recorded: bool,
) -> Vec<Trouble> {
    if has_recorded {
        let replaced = said.iter().find(|said| said.word == "replaced");
        return replaced.map(replaced_package).into_iter().collect();
    }
    let refused = said.iter().find_map(refusal).map(|(because, hint)| not_attached(because, hint));
    let isolated = || {
        let silent = seen.iter().filter(|(pid, _)| said.iter().all(|said| said.pid != **pid));
        let silent: Vec<&Vec<String>> = silent.map(|(_, seen)| &seen.words).collect();
        let option = started.into_iter().chain(silent.iter().copied()).find_map(|words| isolation(words));
        let attached = said.iter().any(|said| said.word == "attached");
        match option {
            Some(option) => Some(ignored(option)),
            None if !silent.is_empty() && !attached => Some(lost_on_the_way()),
            None => None,
        }
    };
    refused.or_else(isolated).or_else(|| nothing_to_record(said)).into_iter().collect()
}

fn not_attached(because: String, hint: String) -> Trouble {
    Trouble::HooksNotAttached { because, hint }
}

/// Why a Python could not be given the hooks, and what to do.
fn refusal(said: &Said) -> Option<(String, String)> {
    let python = said.fact(0);
    let install = |how: &str| format!("{} -m pip install {how}laptime", pasted(python));
    let newer = || "run the script with CPython 3.11 or newer".to_owned();
    Some(match (said.word.as_str(), said.fact(1)) {
        ("misfit", "old") => (format!("Python {} is older than 3.11", said.fact(2)), newer()),
        ("misfit", "free_threaded") => {
            let hint = "run the script with a build of Python that has the global lock";
            (format!("Python {} is a free-threaded build", said.fact(2)), hint.to_owned())
        }
        ("misfit", _) => (format!("the hooks need CPython, and {} ran the script", said.fact(2)), newer()),
        ("no_package", "") => {
            ("the script's Python has no laptime package".to_owned(), format!("install it: {}", install("")))
        }
        ("no_package", platform) => {
            (format!("the script's Python is for {platform}, and this laptime is not"), install(""))
        }
        ("log_version", _) => {
            let because = "the script's Python has a laptime of another version".to_owned();
            (because, format!("make them the same: {}", install("--upgrade ")))
        }
        ("broken", error) => {
            let because = format!("the laptime package of the script's Python cannot be loaded ({error})");
            (because, format!("reinstall it: {}", install("--force-reinstall ")))
        }
        ("name_taken", _) => {
            (format!("the script has a module named laptime of its own, {python}"), "rename it".to_owned())
        }
        _ => return None,
    })
}

fn ignored(option: char) -> Trouble {
    let what = if option == 'S' { "skips" } else { "ignores" };
    let because = format!("`python -{option}` {what} what the hooks start with");
    not_attached(because, format!("run the script without -{option}"))
}

fn lost_on_the_way() -> Trouble {
    let because = "the script's Python was started without the environment that the hooks need".to_owned();
    not_attached(because, "put `laptime run --` right before python".to_owned())
}

fn replaced_package(said: &Said) -> Trouble {
    let version = |at| match said.fact(at) {
        "" => "of an unknown version".to_owned(),
        version => format!("version {version}"),
    };
    Trouble::PackageReplaced { folder: said.fact(0).to_owned(), log: version(1), needed: version(2) }
}

/// The hooks were there and had nothing to do.
fn nothing_to_record(said: &[Said]) -> Option<Trouble> {
    let attached: Vec<&str> =
        said.iter().filter(|said| said.word == "attached").map(|said| said.fact(0)).collect();
    let because = match attached.first() {
        Some(framework) => format!("the script imported {framework} and trained nothing"),
        None if said.iter().any(|said| said.word == "ready") => {
            "the script used no framework that laptime knows".to_owned()
        }
        None => return None,
    };
    Some(Trouble::NothingToRecord { because })
}

/// A word as a shell takes it.
fn pasted(word: &str) -> String {
    let is_plain = |one: char| one.is_ascii_alphanumeric() || "/._-+".contains(one);
    match word {
        "" => "python".to_owned(),
        _ if word.chars().all(is_plain) => word.to_owned(),
        _ => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(line: &str) -> Vec<String> {
        line.split(' ').map(str::to_owned).collect()
    }

    fn found(lines: &[&str], seen: &[(u32, &str)], started: Option<&str>) -> Vec<Trouble> {
        let said: Vec<Said> = lines.iter().filter_map(|line| Said::parse(line)).collect();
        let seen = seen.iter().map(|(pid, line)| (*pid, Seen { words: words(line) })).collect();
        troubles(&said, &seen, started.map(words).as_ref(), false)
    }

    fn text(troubles: &[Trouble]) -> String {
        match troubles {
            [Trouble::HooksNotAttached { because, hint }] => format!("{because}; {hint}"),
            [Trouble::NothingToRecord { because }] => because.clone(),
            [] => String::new(),
            other => format!("{other:?}"),
        }
    }

    #[test]
    fn options_before_the_script_isolate_a_python_and_those_behind_it_do_not() {
        for isolated in
            ["python -I x.py", "python -uE x.py", "python -X dev -S x.py", "python -Werror -I -c x"]
        {
            assert!(isolation(&words(isolated)).is_some(), "{isolated}");
        }
        for open in [
            "python x.py -I",
            "python -m x -S",
            "python -c pass -E",
            "python -W I x.py",
            "python",
            "python -",
        ] {
            assert_eq!(isolation(&words(open)), None, "{open}");
        }
    }

    #[test]
    fn pythons_are_known_by_their_names() {
        for name in ["python", "/usr/bin/python3", "/a/python3.13t", "pypy3.10"] {
            assert!(is_python(Path::new(name)), "{name}");
        }
        for name in ["bash", "python-config", "pythonw.sh", "ipython", ""] {
            assert!(!is_python(Path::new(name)), "{name}");
        }
    }

    #[test]
    fn where_nothing_was_recorded_one_sentence_says_why() {
        let old = found(&["7\tmisfit\t/a/python\told\t3.10"], &[], None);
        assert_eq!(text(&old), "Python 3.10 is older than 3.11; run the script with CPython 3.11 or newer");
        let none = found(&["7\tready\t/a/python", "7\tno_package\t/a b/python\t"], &[], None);
        assert_eq!(
            text(&none),
            "the script's Python has no laptime package; install it: '/a b/python' -m pip install laptime"
        );
        let isolated = found(&[], &[], Some("python -I x.py"));
        assert_eq!(
            text(&isolated),
            "`python -I` ignores what the hooks start with; run the script without -I"
        );
        let in_a_shell = found(&[], &[(8, "python3 -S x.py")], None);
        assert!(text(&in_a_shell).ends_with("without -S"));
        let lost = found(&[], &[(8, "python3 x.py")], None);
        assert!(text(&lost).ends_with("right before python"));
    }

    #[test]
    fn a_python_that_had_the_hooks_and_no_use_for_them_is_no_trouble() {
        let plain = found(&["8\tready\t/a/python"], &[(8, "python x.py")], Some("python x.py"));
        assert_eq!(text(&plain), "the script used no framework that laptime knows");
        let idle = found(&["8\tready\t/a/python", "8\tattached\ttorch"], &[(8, "python x.py")], None);
        assert_eq!(text(&idle), "the script imported torch and trained nothing");
        assert_eq!(found(&[], &[], Some("python x.py")), []);
        assert_eq!(found(&["nonsense", "8\tlater words\tx"], &[], None), []);
    }

    #[test]
    fn of_what_was_recorded_only_another_package_is_worth_a_word() {
        let said: Vec<Said> = ["7\tmisfit\t/a\told\t2.7", "8\treplaced\t/own/laptime\t1\t2"]
            .into_iter()
            .filter_map(Said::parse)
            .collect();
        let found = troubles(&said, &BTreeMap::new(), None, true);
        assert!(matches!(&found[..], [Trouble::PackageReplaced { folder, .. }] if folder == "/own/laptime"));
    }
}
