//! `laptime report --live`: a page that follows a run, until it ends or somebody leaves.

use std::io::{self, IsTerminal};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use laptime_analyse::Report;
use laptime_core::Status;
use laptime_store::RunEntry;

use super::{not_shown, show_report};
use crate::Ending;
use crate::args::ReportArgs;
use crate::failure::Failure;
use crate::live_page::{INTERVAL, Page, REST, Wanted};
use crate::screen::Screen;
use crate::study::Study;

/// Follows a run. One that is over is reported on as without `--live`.
pub(super) fn follow(parts: &[RunEntry], args: &ReportArgs, screen: &Screen) -> Result<Ending, Failure> {
    let [entry, ..] = parts else { return Ok(Ending::Done) };
    let folders: Vec<&Path> = parts.iter().map(|part| part.path.as_path()).collect();
    let study = Study::open_parts(&folders).map_err(|error| not_shown(args, &error))?;
    let mut study = study.with_lap(args.lap.lap).with_pulse();
    let mut report = study.report().map_err(|error| not_shown(args, &error))?;
    if report.run.status != Status::Running {
        screen.note(&format!("run {} is not running: this is its report", entry.meta.id));
        show_report(&report, entry, screen);
        return Ok(Ending::Done);
    }
    match on_page(&mut study, &mut report, entry, screen)? {
        Wanted::More => show_report(&report, entry, screen),
        Wanted::Leave => {}
        Wanted::Stop => return Ok(Ending::Interrupted),
    }
    Ok(Ending::Done)
}

/// Shows the page until the run has ended or somebody leaves; what the page had is gone from the terminal then.
fn on_page(
    study: &mut Study,
    report: &mut Report,
    entry: &RunEntry,
    screen: &Screen,
) -> Result<Wanted, Failure> {
    let mut page = page(entry, screen)?;
    let stop = stop_on_signals();
    let failed = |error: &dyn std::error::Error| {
        Failure::new(format!("could not follow run {}", entry.meta.id)).caused_by(error)
    };
    let mut took = Duration::ZERO;
    while report.run.status == Status::Running {
        let began = Instant::now();
        page.draw(report, &study.pulse()).map_err(|error| failed(&error))?;
        took += began.elapsed();
        match page.wait(INTERVAL.max(took * REST), &stop).map_err(|error| failed(&error))? {
            Wanted::More => {}
            leaves => return Ok(leaves),
        }
        let began = Instant::now();
        *report = study.report().map_err(|error| failed(&error))?;
        took = began.elapsed();
    }
    Ok(Wanted::More)
}

fn page(entry: &RunEntry, screen: &Screen) -> Result<Page, Failure> {
    let asked = format!("could not show run {} live", entry.meta.id);
    let hint = format!("laptime report {}", entry.meta.id);
    if !io::stdout().is_terminal() {
        return Err(Failure::usage(asked).because("standard output is not a terminal").hint(hint));
    }
    Page::with_keys(screen.page_style()).map_err(|error| {
        Failure::usage(asked).because(format!("there is no terminal to draw on: {error}")).hint(hint)
    })
}

/// Whoever ends this process by a signal finds the terminal as it was.
fn stop_on_signals() -> Arc<AtomicBool> {
    let stop = Arc::new(AtomicBool::new(false));
    let asked = Arc::clone(&stop);
    // Without it the page still ends by its keys.
    let _ = ctrlc::set_handler(move || asked.store(true, Ordering::Release));
    stop
}
