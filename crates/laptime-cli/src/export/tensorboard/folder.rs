//! Folders: where the event files of a run lie. TensorBoard shows their names as those of its runs.

use std::fs;
use std::path::{Path, PathBuf};

use laptime_analyse::{FitSummary, Report, RunSummary};

use crate::failure::{EXIT_USAGE, Failure};

/// Longer names only push the rest out of TensorBoard's list.
const LONGEST_NAME: usize = 40;

/// Makes the folder where it is missing, and makes sure that files can be written there.
pub(crate) fn check_folder(dir: &Path, asked: impl Into<String>) -> Result<(), Failure> {
    let probe = dir.join(format!(".laptime-{}", std::process::id()));
    fs::create_dir_all(dir)
        .and_then(|()| fs::write(&probe, []))
        .and_then(|()| fs::remove_file(&probe))
        .map_err(|error| {
            let failure = Failure { exit: EXIT_USAGE, ..Failure::new(asked) };
            failure
                .because(format!("cannot write into the TensorBoard folder {}: {error}", dir.display()))
                .hint("name a folder that can be written")
        })
}

/// The folder of one fit. One that is there for the same fit stays, whatever is known of the fit by now.
pub(super) fn folder_of(dir: &Path, report: &Report, fit: u32) -> PathBuf {
    let of_run = dir.join(run_folder(&report.run));
    let number = format!("fit-{}", u64::from(fit) + 1);
    let longer = format!("{number}-");
    let entries = fs::read_dir(&of_run).into_iter().flatten().flatten();
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let known = names.filter(|name| *name == number || name.starts_with(&longer)).min();
    let facts = report.fits.iter().find(|known| known.index == fit).zip(report.fits.first());
    let differences = facts.map(|(fit, first)| differences(fit, first)).unwrap_or_default();
    of_run.join(known.unwrap_or_else(|| joined([number, differences])))
}

/// The run's name and the random part of its id: `mlp-f3ad63bb`.
fn run_folder(run: &RunSummary) -> String {
    let random = run.id.rsplit('-').next().unwrap_or_default();
    joined([plain(&run.name), plain(random)])
}

/// What sets a fit apart from the first of its run, such as `rows-3000`. Of the first it is nothing: most runs have
/// one fit, and charts have little room for names.
fn differences(fit: &FitSummary, first: &FitSummary) -> String {
    let number = |name: &str, value: Option<u64>, of_first: Option<u64>| {
        value.filter(|_| value != of_first).map(|value| format!("{name}-{value}")).unwrap_or_default()
    };
    let label = if fit.label == first.label { String::new() } else { plain(&fit.label) };
    joined([label, number("rows", fit.rows, first.rows), number("batch", fit.batch, first.batch)])
}

fn joined<const N: usize>(parts: [String; N]) -> String {
    parts.into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join("-")
}

/// A text as part of a folder's name: letters, digits, dots and dashes, and no dot in front.
fn plain(text: &str) -> String {
    let plain =
        |letter: char| if letter.is_alphanumeric() || letter == '.' || letter == '_' { letter } else { '-' };
    let text: String = text.trim().chars().map(plain).take(LONGEST_NAME).collect();
    text.trim_matches(['-', '.']).to_owned()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::text::sample;

    #[test]
    fn a_fit_has_a_folder_that_says_what_it_is() {
        let folder = tempfile::tempdir().unwrap();
        let mut report = sample::several();
        report.run.name = "../evil name".into();
        report.run.id = "20261115T104749Z-f1363edf".into();
        report.fits[1].rows = Some(3_000);
        let first = folder_of(folder.path(), &report, 1);
        let shown = first.strip_prefix(folder.path()).unwrap().display().to_string();
        insta::assert_snapshot!(shown, @"evil-name-f1363edf/fit-2-rows-3000");
        fs::create_dir_all(&first).unwrap();
        report.fits[1].rows = None;
        assert_eq!(folder_of(folder.path(), &report, 1), first, "what became known later moves nothing");
        assert_ne!(folder_of(folder.path(), &report, 11), first);
        assert!(folder_of(folder.path(), &report, 0).ends_with("evil-name-f1363edf/fit-1"));
    }

    #[test]
    fn a_folder_that_cannot_be_written_is_refused_before_anything_is_done() {
        let folder = tempfile::tempdir().unwrap();
        let in_the_way = folder.path().join("file");
        fs::write(&in_the_way, "").unwrap();
        for dir in [in_the_way.clone(), in_the_way.join("below")] {
            let failure = check_folder(&dir, "could not run `true`").unwrap_err();
            assert_eq!(failure.exit, EXIT_USAGE);
            assert!(failure.because[0].contains(&dir.display().to_string()), "{failure}");
        }
        let fine = folder.path().join("a/b");
        check_folder(&fine, "").unwrap();
        assert_eq!(fs::read_dir(fine).unwrap().count(), 0, "nothing is left behind");
    }

    proptest! {
        #[test]
        fn no_name_leads_out_of_the_folder(name in "\\PC{0,60}") {
            let plain = plain(&name);
            prop_assert!(!plain.contains(['/', '\\', '\0']) && !plain.starts_with('.'));
            prop_assert!(plain.chars().count() <= LONGEST_NAME);
        }
    }
}
