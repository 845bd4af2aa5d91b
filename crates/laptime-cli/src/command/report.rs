//! `laptime report`: shows a run again, also one that is still running.

mod live;
mod page;

use std::path::{Path, PathBuf};

use laptime_analyse::Report;
use laptime_store::{
    Catalogue, Collection, CollectionKind, Collections, RunEntry, Selected, StoreError, parts_of_run,
    salvage_rings,
};

use super::sweep::{self, SweepState, show_drawings};
use crate::Ending;
use crate::args::{ReportArgs, WhichEpochs};
use crate::chart::{Figure, laps_figure, ledger_figures, run_charts, timeline_figure};
use crate::every_epoch::{has_folded_epochs, write_with_every_epoch};
use crate::export::{self, Exported};
use crate::failure::Failure;
use crate::one_line::shown_path;
use crate::page_file::write_picture;
use crate::screen::Screen;
use crate::study::Study;
use crate::text::report_text;

pub(crate) fn run(args: &ReportArgs, screen: &Screen) -> Result<Ending, Failure> {
    let export = args.export.wanted()?;
    salvage_rings();
    match (shown(args).map_err(|error| not_shown(args, &error))?, export) {
        (Shown::Run(parts), Some((wanted, path))) => {
            let (study, report) = read(&parts, args)?;
            let kept = parts.first().map(|entry| shown_path(&entry.path)).unwrap_or_default();
            export::write(wanted, &path, &Exported { study, report, kept }, screen)
        }
        (Shown::Run(parts), None) if args.live => live::follow(&parts, args, screen),
        (Shown::Sweep(entry), None) if args.live => {
            Err(Failure::usage(format!("could not show sweep {} live", entry.id))
                .because("--live follows runs")
                .hint("laptime runs"))
        }
        (Shown::Run(parts), None) if args.form.page.html.is_some() => page::write(&parts, args, screen),
        (Shown::Run(parts), None) => show_run(&parts, args, screen),
        (Shown::Sweep(entry), Some(_)) => Err(Failure::usage(format!("could not export sweep {}", entry.id))
            .because("--export writes runs")
            .hint(format!("laptime report {} --csv", entry.id))),
        (Shown::Sweep(entry), None) => {
            sweep::show(&SweepState::read(&entry)?.document(), &entry, &args.form, screen)?;
            Ok(Ending::Done)
        }
    }
}

/// What is to be shown.
enum Shown {
    /// Its parts: one, unless its machines share no disk.
    Run(Vec<RunEntry>),
    Sweep(Collection),
}

/// The word that stands for the latest sweep, unless a run is called so.
const LATEST_SWEEP: &str = "sweep";

/// Runs come first: a sweep is meant where no run is, and where both could be, neither is guessed.
fn shown(args: &ReportArgs) -> Result<Shown, StoreError> {
    let folders = folders(args);
    if !folders.is_empty() {
        return parts_of_run(&folders).map(Shown::Run);
    }
    let root = args.place.folder();
    let (runs, sweeps) = (Catalogue::at(&root), Collections::at(&root, CollectionKind::Sweep));
    let Some(wanted) = args.run.as_deref() else {
        return runs.find(Selected::Latest).map(|run| Shown::Run(vec![run]));
    };
    match (runs.find(Selected::Named(wanted)), sweeps.find(Selected::Named(wanted))) {
        (Ok(run), Ok(sweep)) if run.meta.name != wanted => {
            Err(StoreError::AmbiguousRun { wanted: wanted.into(), matches: vec![run.meta.id, sweep.id] })
        }
        (Ok(run), _) => Ok(Shown::Run(vec![run])),
        (Err(_), Ok(sweep)) => Ok(Shown::Sweep(sweep)),
        (Err(_), Err(_)) if wanted == LATEST_SWEEP => sweeps.find(Selected::Latest).map(Shown::Sweep),
        (
            Err(StoreError::UnknownRun { .. } | StoreError::NoRuns(_)),
            Err(error @ StoreError::AmbiguousRun { .. }),
        ) => Err(error),
        (Err(error), Err(_)) => Err(error),
    }
}

/// The folders that are meant; none where a run is meant by its name or id.
fn folders(args: &ReportArgs) -> Vec<PathBuf> {
    let Some(wanted) = args.run.as_deref() else { return Vec::new() };
    // A name is never a path: only what looks like one is taken for a folder where there are no others.
    let is_folder = !args.others.is_empty() || wanted.contains('/') && Path::new(wanted).is_dir();
    let first = is_folder.then(|| PathBuf::from(wanted));
    first.into_iter().chain(args.others.iter().cloned()).collect()
}

fn show_run(parts: &[RunEntry], args: &ReportArgs, screen: &Screen) -> Result<Ending, Failure> {
    let [entry, ..] = parts else { return Ok(Ending::Done) };
    if args.form.csv || args.form.md {
        let asked = format!("could not show run {} in this format", entry.meta.id);
        return Err(Failure::usage(asked)
            .because("--csv and --md show sweeps")
            .hint(format!("laptime report {} --json", entry.meta.id)));
    }
    let (study, report) = read(parts, args)?;
    if let Some(folder) = &args.form.svg {
        draw((&study, &report), folder, screen)?;
    }
    if args.form.json && args.epochs == Some(WhichEpochs::All) && has_folded_epochs(&report) {
        let written = write_with_every_epoch(report, &study, std::io::stdout().lock());
        written.map_err(|error| not_shown(args, &error))?;
    } else if args.form.json {
        screen.show_json(&report)?;
    } else {
        show_report(&report, entry, screen);
    }
    Ok(Ending::Done)
}

fn show_report(report: &Report, entry: &RunEntry, screen: &Screen) {
    let kept = shown_path(&entry.path);
    screen.show(report_text(report, Some(&kept), &screen.style).trim_end());
}

/// Writes the run's laps as one picture, or every chart of it into a folder.
fn draw((study, report): (&Study, &Report), path: &Path, screen: &Screen) -> Result<(), Failure> {
    let laps = laps_figure(report);
    if path.extension().is_some_and(|ending| ending == "svg") {
        let asked = format!("could not draw the laps of run {}", report.run.id);
        let laps = laps.ok_or_else(|| Failure::new(&asked).because("no lap of it began"))?;
        return write_picture(&laps.svg(), path, &asked, screen);
    }
    let figures = laps.into_iter().chain(study.step_timeline().as_ref().map(timeline_figure));
    let figures: Vec<Figure> = figures.chain(ledger_figures(report)).collect();
    show_drawings(&figures, &run_charts(report), path, screen)
}

fn read(parts: &[RunEntry], args: &ReportArgs) -> Result<(Study, Report), Failure> {
    let paths: Vec<&Path> = parts.iter().map(|part| part.path.as_path()).collect();
    let read = Study::open_parts(&paths).and_then(|study| {
        let mut study = study.with_lap(args.lap.lap);
        let report = study.report()?;
        Ok((study, report))
    });
    read.map_err(|error| not_shown(args, &error))
}

fn not_shown(args: &ReportArgs, error: &StoreError) -> Failure {
    let asked = match &args.run {
        Some(run) => format!("could not report on `{run}`"),
        None => "could not report on the latest run".to_owned(),
    };
    refused(asked, error)
}

/// A failure to find or change runs: nothing was written.
pub(crate) fn refused(asked: String, error: &StoreError) -> Failure {
    let failure = match error {
        StoreError::Io { .. } | StoreError::StillRunning(_) => Failure::new(asked),
        _ => Failure::usage(asked),
    };
    Failure { hint: error.hint(), ..failure.caused_by(error) }
}
