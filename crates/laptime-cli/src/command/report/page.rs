//! `laptime report --html FILE`: a run as a page.

use std::path::Path;

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

/// Writes the page of a run, which may lie in several folders.
pub(super) fn write(parts: &[RunEntry], args: &ReportArgs, screen: &Screen) -> Result<Ending, Failure> {
    let ([entry, ..], Some(path)) = (parts, &args.form.page.html) else { return Ok(Ending::Done) };
    let folders: Vec<&Path> = parts.iter().map(|part| part.path.as_path()).collect();
    let story = Study::open_parts(&folders).and_then(|study| {
        let mut study = study.with_lap(args.lap.lap);
        RunStory::read(&mut study)
    });
    let story = story.map_err(|error| not_shown(args, &error))?;
    let asked = format!("could not write the page of run {}", entry.meta.id);
    write_page(&run_page(&story, &Shell::ALONE), path, &asked, screen)?;
    Ok(Ending::Done)
}
