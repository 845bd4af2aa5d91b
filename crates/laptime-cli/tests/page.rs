//! `--html FILE`: pages, and what a browser makes of them.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod laptime;
#[path = "page/stories.rs"]
mod stories;

use std::path::{Path, PathBuf};
use std::process::Command;

use laptime_core::Status;

use laptime::{copied, run};
use stories::Story;

/// Names that a page must show as they are.
const HOSTILE: [&str; 6] = [
    "<script>window.hacked=1</script>",
    "\"><img src=x onerror=window.hacked=1>",
    "</svg></title></style><script>window.hacked=1</script>",
    "\x1b[31mred\x1b[0m\x07",
    "אימון של הרשת",
    "gnp.\u{202e}lanif & 'quoted'",
];

/// Every kind of run, by the name of its page.
fn stories() -> Vec<(&'static str, Story)> {
    let plain = Story::default();
    let hostile = HOSTILE.map(str::to_owned).to_vec();
    vec![
        ("three", plain.clone()),
        ("growing", Story { status: None, epochs: 6, planned_epochs: 20, ..plain.clone() }),
        ("failed", Story { status: Some(Status::Failed), epochs: 2, ..plain.clone() }),
        ("million", Story { epochs: 10, planned_epochs: 10, steps: 100_000, spans: false, ..plain.clone() }),
        ("ranks", Story { ranks: 64, steps: 20, ..plain.clone() }),
        ("gpu", Story { device: true, epochs: 5, planned_epochs: 5, ..plain.clone() }),
        ("hostile", Story { name: HOSTILE[0], stages: hostile, ..plain }),
    ]
}

/// Writes a run and its page; gives the page.
fn page_of(folder: &Path, name: &str, story: &Story) -> PathBuf {
    let id = story
        .write(&folder.join(".laptime"), &format!("{:0>8}", name.len() * 7919 + name.as_bytes()[0] as usize));
    let said = run(folder, &format!("report {id} --html {name}.html"));
    assert_eq!(said.code, Some(0), "{}", said.err);
    folder.join(format!("{name}.html"))
}

#[test]
fn a_page_is_one_file_that_has_all_of_the_run_and_loads_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let said = {
        let page = page_of(folder.path(), "three", &Story::default());
        std::fs::read_to_string(page).unwrap()
    };
    for heading in ["Verdict", "Laps", "One step", "Steps", "Where the time went", "Forecast", "Environment"]
    {
        assert!(said.contains(&format!(">{heading}</h2>")), "{heading}");
    }
    assert!(!said.contains("src=") && !said.contains("url(http") && !said.contains("@import"));
}

#[test]
fn names_are_text_wherever_they_stand() {
    let folder = tempfile::tempdir().unwrap();
    let story = Story { name: HOSTILE[2], stages: HOSTILE.map(str::to_owned).to_vec(), ..Story::default() };
    let page = std::fs::read_to_string(page_of(folder.path(), "hostile", &story)).unwrap();
    let own = page.matches("<script>").count();
    assert_eq!(own, 1, "only the page's own script");
    assert!(!page.contains("<img") && !page.contains('\x1b') && !page.contains('\u{202e}'));
    assert!(page.contains("&lt;script&gt;") && page.contains("אימון"));
}

#[test]
fn every_recorded_run_has_a_page() {
    let folder = copied();
    for run_folder in std::fs::read_dir(folder.path().join(".laptime")).unwrap().flatten() {
        let id = run_folder.file_name().into_string().unwrap();
        let said = run(folder.path(), &format!("report {id} --html -"));
        assert_eq!(said.code, Some(0), "{}", said.err);
        assert!(said.out.starts_with("<!doctype html>") && said.out.contains("</html>"), "{id}");
    }
}

#[test]
fn what_cannot_be_written_is_said_with_the_reason() {
    let folder = copied();
    let said = run(folder.path(), "report --html no/such/folder/run.html");
    assert_eq!(said.code, Some(1));
    assert!(said.err.contains("could not write the page") && said.err.contains("because:"), "{}", said.err);
}

/// Where `make` puts what Node needs to look at pages.
fn packages() -> PathBuf {
    PathBuf::from(std::env::var_os("HOME").unwrap_or_default()).join(".cache/laptime/npm")
}

/// The first of these programs that is on the path.
fn found(programs: &[&str]) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let folders: Vec<PathBuf> = std::env::split_paths(&path).collect();
    let places = programs.iter().flat_map(|program| folders.iter().map(move |folder| folder.join(program)));
    places.into_iter().find(|place| place.is_file())
}

/// A browser and the packages to drive it; else what is missing.
fn browser() -> Result<PathBuf, &'static str> {
    let chromium = found(&["chromium", "chromium-browser"]).ok_or("no Chromium here")?;
    found(&["node"]).ok_or("no Node here")?;
    let both = ["puppeteer-core", "axe-core"].map(|name| packages().join("node_modules").join(name));
    both.iter().all(|folder| folder.is_dir()).then_some(chromium).ok_or("no puppeteer-core and axe-core here")
}

/// Wide and on a phone, light and dark, by keyboard, and what axe-core finds. With LAPTIME_PICTURES a folder, pictures
/// of all of it are put there for a person to look at.
#[test]
fn a_browser_shows_every_kind_of_run() {
    let chromium = match browser() {
        Ok(chromium) => chromium,
        Err(why) => {
            return eprintln!("skipped: {why}; `make programs page-tools` installs them where it can");
        }
    };
    let folder = tempfile::tempdir().unwrap();
    let pages: Vec<PathBuf> =
        stories().iter().map(|(name, story)| page_of(folder.path(), name, story)).collect();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/page/look.mjs");
    let pictures = std::env::var_os("LAPTIME_PICTURES").unwrap_or_else(|| "-".into());
    let mut look = Command::new("node");
    look.arg(script).args([chromium.as_os_str(), packages().as_os_str(), &pictures]).args(&pages);
    let looked = look.output().unwrap();
    let (wrong, trouble) = (String::from_utf8_lossy(&looked.stdout), String::from_utf8_lossy(&looked.stderr));
    assert!(looked.status.success() && wrong.is_empty(), "{wrong}\n{trouble}");
}
