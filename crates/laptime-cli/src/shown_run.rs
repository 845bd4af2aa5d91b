//! A run as other programs get it: the document that `--json` writes and the text that a command shows.

use std::path::{Path, PathBuf};

use laptime_analyse::Report;
use laptime_launch::runs_folder;
use laptime_store::{Catalogue, Selected, StoreError, salvage_rings};

use crate::every_epoch::{has_folded_epochs, write_with_every_epoch};
use crate::html::{self, Shell};
use crate::one_line::shown_path;
use crate::run_story::RunStory;
use crate::screen::{ColorChoice, Screen};
use crate::study::Study;
use crate::text::{Style, report_text, summary_text};

/// One run, both ways.
#[derive(Clone, Debug)]
pub struct ShownRun {
    /// Its folder.
    pub path: PathBuf,
    /// The report as one JSON document.
    pub json: String,
    /// The report or summary as plain text.
    pub text: String,
}

/// The run that is meant, or the latest, of those in a folder, or in the one that settings name; with every epoch,
/// or with neighbours folded where there are very many.
///
/// # Errors
/// When there is no such run, or it cannot be read.
pub fn show_run(root: Option<&Path>, run: Option<&str>, every_epoch: bool) -> Result<ShownRun, StoreError> {
    salvage_rings();
    let catalogue = Catalogue::at(runs_folder(root.map(Path::to_owned)));
    let entry = catalogue.find(run.map_or(Selected::Latest, Selected::Named))?;
    shown(entry.path, report_text, every_epoch)
}

/// The run in a folder as far as it is recorded, with the text that `laptime run` shows at its end.
///
/// # Errors
/// When it cannot be read.
pub fn summarize_run(run: &Path) -> Result<ShownRun, StoreError> {
    shown(run.to_owned(), summary_text, false)
}

/// The page of the run in a folder as far as it is recorded, in one file.
///
/// # Errors
/// When it cannot be read.
pub fn run_page(run: &Path) -> Result<String, StoreError> {
    let story = RunStory::read(&mut Study::open(run)?)?;
    Ok(html::run_page(&story, &Shell::ALONE))
}

/// The most important of that page, to stand in another page such as a notebook.
///
/// # Errors
/// When it cannot be read.
pub fn run_card(run: &Path) -> Result<String, StoreError> {
    Ok(html::run_card(&RunStory::read(&mut Study::open(run)?)?))
}

fn shown(
    path: PathBuf,
    text_of: fn(&Report, Option<&str>, &Style) -> String,
    every_epoch: bool,
) -> Result<ShownRun, StoreError> {
    let mut study = Study::open(&path)?;
    let report = study.report()?;
    // Whoever asks may put the text anywhere, so it has the terminal's width but not its colours.
    let style = Screen::new(ColorChoice::Never).style;
    let text = text_of(&report, Some(&shown_path(&path)), &style).trim_end().to_owned();
    let mut json = Vec::new();
    if every_epoch && has_folded_epochs(&report) {
        write_with_every_epoch(report, &study, &mut json)?;
    } else {
        json = serde_json::to_vec(&report).unwrap_or_default();
    }
    Ok(ShownRun { path, json: String::from_utf8(json).unwrap_or_default(), text })
}
