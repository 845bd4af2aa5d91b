//! `laptime report --html FILE`: a run as a page.

use laptime_store::RunEntry;

use super::not_shown;
use crate::Ending;
use crate::args::ReportArgs;
use crate::failure::Failure;
use crate::html::{Shell, run_page};
use crate::page_file::write_page;
use crate::run_story::RunStory;
use crate::screen::Screen;
use crate::study::Study;

/// Writes the page of a run.
pub(super) fn write(entry: &RunEntry, args: &ReportArgs, screen: &Screen) -> Result<Ending, Failure> {
    let Some(path) = &args.form.page.html else { return Ok(Ending::Done) };
    let story = Study::open(&entry.path).and_then(|study| {
        let mut study = study.with_lap(args.lap.lap);
        RunStory::read(&mut study)
    });
    let story = story.map_err(|error| not_shown(args, &error))?;
    let asked = format!("could not write the page of run {}", entry.meta.id);
    write_page(&run_page(&story, &Shell::ALONE), path, &asked, screen)?;
    Ok(Ending::Done)
}
