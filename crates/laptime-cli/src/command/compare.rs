//! `laptime compare`: whether the runs of one side are faster than those of another.

mod revision;
mod revision_trial;

use laptime_analyse::compare::{Asked, Cause, ComparedRun, Comparison, compare, compare_machines};
use laptime_store::{Catalogue, RunEntry, Selected, StoreError, salvage_rings};

use super::report::refused;
use crate::Ending;
use crate::args::{CompareArgs, Compared};
use crate::failure::Failure;
use crate::html::{Shell, compare_page};
use crate::page_file::write_page;
use crate::screen::Screen;
use crate::study::Study;
use crate::text::{compare_markdown, compare_text};

/// The word that stands for the latest run, unless a run is called so.
const LATEST: &str = "latest";

/// The framework that runs of reference models have.
const REFERENCE: &str = "laptime";

pub(crate) fn run(args: &CompareArgs, screen: &Screen) -> Result<Ending, Failure> {
    match args.compared()? {
        Compared::Kept(a, b) => kept(args, (a, b), screen),
        Compared::Base(revision, command) => revision_trial::run(args, revision, &command, screen),
    }
}

/// Compares runs that were kept.
fn kept(args: &CompareArgs, typed: (&str, &str), screen: &Screen) -> Result<Ending, Failure> {
    salvage_rings();
    let catalogue = Catalogue::at(args.place.folder());
    let (a, b) = (found(&catalogue, typed.0)?, found(&catalogue, typed.1)?);
    refuse_twice(&a, &b)?;
    let comparison = comparison(&catalogue, (typed.0, &a), (typed.1, &b), &args.asked())?;
    show(args, &comparison, screen)
}

/// Compares two sides, each the word that was typed for it and its runs.
pub(crate) fn comparison(
    catalogue: &Catalogue,
    a: (&str, &[RunEntry]),
    b: (&str, &[RunEntry]),
    asked: &Asked,
) -> Result<Comparison, Failure> {
    let (name_a, name_b) = names(a, b);
    let (a, b) = (read(a.1)?, read(b.1)?);
    let mut comparison = compare((&name_a, &a), (&name_b, &b), asked);
    if comparison.because == Some(Cause::DifferentMachines) {
        compare_machines(&mut comparison, &a, &b, &references(catalogue));
    }
    Ok(comparison)
}

/// Shows a comparison, and ends as its condition says.
fn show(args: &CompareArgs, comparison: &Comparison, screen: &Screen) -> Result<Ending, Failure> {
    if let Some(path) = &args.html {
        let page = compare_page(comparison, &Shell::ALONE);
        write_page(&page, path, "could not write the page of the comparison", screen)?;
    } else if args.json {
        screen.show_json(comparison)?;
    } else if args.md {
        screen.show(compare_markdown(comparison).trim_end());
    } else {
        screen.show(compare_text(comparison, &screen.style).trim_end());
    }
    let met = comparison.gate.is_none_or(|gate| gate.met);
    Ok(if met { Ending::Done } else { Ending::NotMet })
}

/// The runs of reference models that are kept; those that cannot be read say nothing.
fn references(catalogue: &Catalogue) -> Vec<ComparedRun> {
    let is_reference = |entry: &RunEntry| entry.meta.frameworks.iter().any(|name| name == REFERENCE);
    let entries = catalogue.list().unwrap_or_default();
    let of = |entry: &RunEntry| Study::open(&entry.path).ok()?.without_profile().compared_run().ok();
    entries.iter().filter(|entry| is_reference(entry)).filter_map(of).collect()
}

/// The runs of a side.
fn found(catalogue: &Catalogue, side: &str) -> Result<Vec<RunEntry>, Failure> {
    let one = |wanted: &str| {
        let entry = match catalogue.find(Selected::Named(wanted)) {
            Err(StoreError::UnknownRun { .. }) if wanted == LATEST => catalogue.find(Selected::Latest),
            found => found,
        };
        entry.map_err(|error| refused(format!("could not compare `{wanted}`"), &error))
    };
    if side.split(',').any(|wanted| wanted.trim().is_empty()) {
        return Err(Failure::usage(format!("could not compare `{side}`"))
            .because("a name is missing beside a comma")
            .hint("laptime compare --help"));
    }
    side.split(',').map(|wanted| one(wanted.trim())).collect()
}

/// A run that is compared with itself says nothing, and one that counts twice hides the noise.
fn refuse_twice(a: &[RunEntry], b: &[RunEntry]) -> Result<(), Failure> {
    let all: Vec<&String> = a.iter().chain(b).map(|entry| &entry.meta.id).collect();
    let twice = all.iter().enumerate().find(|(at, id)| all[..*at].contains(id));
    let Some((at, id)) = twice else { return Ok(()) };
    let within = at < a.len() || a.iter().all(|entry| entry.meta.id != **id);
    let because = match within {
        true => format!("run {id} is named twice"),
        false => format!("both sides are run {id}"),
    };
    Err(Failure::usage("could not compare a run with itself")
        .because(because)
        .hint("`laptime runs` lists them"))
}

fn read(side: &[RunEntry]) -> Result<Vec<ComparedRun>, Failure> {
    let one = |entry: &RunEntry| {
        let read = Study::open(&entry.path).and_then(|study| study.without_profile().compared_run());
        read.map_err(|error| refused(format!("could not compare run {}", entry.meta.id), &error))
    };
    side.iter().map(one).collect()
}

/// What the sides are shown by: the word that was typed where it is a name, else the short part of the id; `A` and
/// `B` where those are the same or there are several.
fn names(a: (&str, &[RunEntry]), b: (&str, &[RunEntry])) -> (String, String) {
    let name = |(typed, runs): (&str, &[RunEntry])| -> Option<String> {
        let first = runs.first()?;
        let one_name = runs.iter().all(|run| run.meta.name == first.meta.name);
        if runs.len() > 1 {
            return Some(first.meta.name.clone()).filter(|name| one_name && !name.is_empty());
        }
        let id = first.meta.id.rsplit('-').next().unwrap_or(&first.meta.id);
        Some(if typed == first.meta.name || typed == LATEST { typed.to_owned() } else { id.to_owned() })
    };
    match (name(a), name(b)) {
        (Some(a), Some(b)) if a != b => (a, b),
        _ => ("A".to_owned(), "B".to_owned()),
    }
}
