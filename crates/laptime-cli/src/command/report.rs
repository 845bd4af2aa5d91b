//! `laptime report`: shows a run again, also one that is still running.

mod live;

use std::path::Path;

use laptime_analyse::Report;
use laptime_store::{
    Catalogue, Collection, CollectionKind, Collections, RunEntry, Selected, StoreError, salvage_rings,
};

use super::sweep::{self, SweepState};
use crate::Ending;
use crate::args::{ReportArgs, WhichEpochs};
use crate::chart::run_charts;
use crate::every_epoch::{has_folded_epochs, write_with_every_epoch};
use crate::export::{self, Exported};
use crate::failure::Failure;
use crate::one_line::shown_path;
use crate::screen::Screen;
use crate::study::Study;
use crate::text::report_text;

pub(crate) fn run(args: &ReportArgs, screen: &Screen) -> Result<Ending, Failure> {
    let export = args.export.wanted()?;
    salvage_rings();
    match (shown(args).map_err(|error| not_shown(args, &error))?, export) {
        (Shown::Run(entry), Some((wanted, path))) => {
            let (study, report) = read(&entry, args)?;
            export::write(wanted, &path, &Exported { study, report, kept: shown_path(&entry.path) }, screen)
        }
        (Shown::Run(entry), None) if args.live => live::follow(&entry, args, screen),
        (Shown::Sweep(entry), None) if args.live => {
            Err(Failure::usage(format!("could not show sweep {} live", entry.id))
                .because("--live follows runs")
                .hint("laptime runs"))
        }
        (Shown::Run(entry), None) => show_run(&entry, args, screen),
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
    Run(Box<RunEntry>),
    Sweep(Collection),
}

/// The word that stands for the latest sweep, unless a run is called so.
const LATEST_SWEEP: &str = "sweep";

/// Runs come first: a sweep is meant where no run is, and where both could be, neither is guessed.
fn shown(args: &ReportArgs) -> Result<Shown, StoreError> {
    let root = args.place.folder();
    let (runs, sweeps) = (Catalogue::at(&root), Collections::at(&root, CollectionKind::Sweep));
    let Some(wanted) = args.run.as_deref() else {
        return runs.find(Selected::Latest).map(|run| Shown::Run(Box::new(run)));
    };
    match (runs.find(Selected::Named(wanted)), sweeps.find(Selected::Named(wanted))) {
        (Ok(run), Ok(sweep)) if run.meta.name != wanted => {
            Err(StoreError::AmbiguousRun { wanted: wanted.into(), matches: vec![run.meta.id, sweep.id] })
        }
        (Ok(run), _) => Ok(Shown::Run(Box::new(run))),
        (Err(_), Ok(sweep)) => Ok(Shown::Sweep(sweep)),
        (Err(_), Err(_)) if wanted == LATEST_SWEEP => sweeps.find(Selected::Latest).map(Shown::Sweep),
        (
            Err(StoreError::UnknownRun { .. } | StoreError::NoRuns(_)),
            Err(error @ StoreError::AmbiguousRun { .. }),
        ) => Err(error),
        (Err(error), Err(_)) => Err(error),
    }
}

fn show_run(entry: &RunEntry, args: &ReportArgs, screen: &Screen) -> Result<Ending, Failure> {
    if args.form.csv || args.form.md {
        let asked = format!("could not show run {} in this format", entry.meta.id);
        return Err(Failure::usage(asked)
            .because("--csv and --md show sweeps")
            .hint(format!("laptime report {} --json", entry.meta.id)));
    }
    let (study, report) = read(entry, args)?;
    if let Some(folder) = &args.form.svg {
        draw(&report, folder, screen)?;
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

/// Writes what the run measured over time as charts.
fn draw(report: &Report, folder: &Path, screen: &Screen) -> Result<(), Failure> {
    let charts = run_charts(report);
    if charts.is_empty() {
        return Err(Failure::usage(format!("could not draw charts of run {}", report.run.id))
            .because("no epoch of it has a loss or an accuracy")
            .hint("in the script, after each epoch: laptime.measured(\"validation_accuracy\", value)"));
    }
    sweep::show_charts(&charts, folder, screen)
}

fn read(entry: &RunEntry, args: &ReportArgs) -> Result<(Study, Report), Failure> {
    let read = Study::open(&entry.path).and_then(|study| {
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
