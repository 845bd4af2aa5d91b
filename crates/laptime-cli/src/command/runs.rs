//! `laptime runs`: lists and removes runs.

use laptime_analyse::Report;
use laptime_core::Status;
use laptime_store::{Catalogue, RunEntry, Selected, salvage_rings};
use serde::Serialize;

use super::report::refused;
use crate::Ending;
use crate::args::{RemoveArgs, RunsAction, RunsArgs};
use crate::failure::Failure;
use crate::listed_run::listed_run;
use crate::screen::Screen;
use crate::study::Study;
use crate::text::{RunRow, runs_text};

/// The list of runs for programs.
#[derive(Serialize)]
struct RunList<'a> {
    schema: &'static str,
    runs: Vec<ListedRun<'a>>,
}

#[derive(Serialize)]
struct ListedRun<'a> {
    id: &'a str,
    name: &'a str,
    status: Status,
    started: &'a str,
    wall_s: Option<f64>,
    epochs: Option<u64>,
    steps: Option<u64>,
    loss: Option<f64>,
    disk_bytes: u64,
}

/// What was removed, for programs.
#[derive(Serialize)]
struct Removed {
    schema: &'static str,
    removed: Vec<String>,
}

pub(crate) fn run(args: &RunsArgs, screen: &Screen) -> Result<Ending, Failure> {
    salvage_rings();
    let catalogue = Catalogue::at(args.place.folder());
    match &args.action {
        None | Some(RunsAction::List) => list(&catalogue, args.json, screen),
        Some(RunsAction::Remove(remove)) => remove_runs(&catalogue, remove, args.json, screen),
    }
}

fn list(catalogue: &Catalogue, json: bool, screen: &Screen) -> Result<Ending, Failure> {
    let entries = catalogue.list().map_err(|error| refused("could not list the runs".into(), &error))?;
    let rows: Vec<RunRow> = entries.iter().map(row).collect();
    if json {
        let runs = rows.iter().map(listed).collect();
        screen.show_json(&RunList { schema: "laptime.runs/1", runs })?;
    } else {
        let folder = catalogue.root().display().to_string();
        screen.show(runs_text(&rows, &folder, &screen.style).trim_end());
    }
    Ok(Ending::Done)
}

fn listed(row: &RunRow) -> ListedRun<'_> {
    ListedRun {
        id: &row.id,
        name: &row.name,
        status: row.status,
        started: &row.started,
        wall_s: row.wall_s,
        epochs: row.epochs,
        steps: row.steps,
        loss: row.loss,
        disk_bytes: row.disk_bytes,
    }
}

fn report(entry: &RunEntry) -> Option<Report> {
    Study::open(&entry.path).and_then(|study| study.without_profile().report()).ok()
}

fn row(entry: &RunEntry) -> RunRow {
    listed_run(entry, report(entry).as_ref())
}

fn remove_runs(
    catalogue: &Catalogue,
    args: &RemoveArgs,
    json: bool,
    screen: &Screen,
) -> Result<Ending, Failure> {
    let doomed = selected(catalogue, args)?;
    let mut removed = Vec::new();
    for entry in &doomed {
        catalogue
            .remove(entry)
            .map_err(|error| refused(format!("could not remove {}", entry.meta.id), &error))?;
        removed.push(entry.meta.id.clone());
    }
    if json {
        screen.show_json(&Removed { schema: "laptime.runs.removed/1", removed })?;
    } else if removed.is_empty() {
        screen.show("nothing to remove");
    } else {
        screen.show(&removed.iter().map(|id| format!("removed {id}")).collect::<Vec<_>>().join("\n"));
    }
    Ok(Ending::Done)
}

/// The runs to remove: every one that was named must exist before any is removed.
fn selected(catalogue: &Catalogue, args: &RemoveArgs) -> Result<Vec<RunEntry>, Failure> {
    if !args.runs.is_empty() {
        let find = |run: &String| {
            let failed = |error| refused(format!("could not remove `{run}`"), &error);
            catalogue.find(Selected::Named(run)).map_err(failed)
        };
        return args.runs.iter().map(find).collect();
    }
    let mut entries = catalogue.list().map_err(|error| refused("could not list the runs".into(), &error))?;
    if args.failed {
        entries.retain(|entry| {
            let status = report(entry).map_or(Status::Killed, |report| report.run.status);
            matches!(status, Status::Failed | Status::Killed)
        });
    }
    Ok(entries)
}
