//! What was asked for, checked before anything runs.

use std::ffi::OsString;

use laptime_analyse::sweep::Plan;
use laptime_core::units;

use super::template::{filled, holes};
use crate::args::{self, Stop};
use crate::command::run::program;
use crate::failure::{EXIT_USAGE, Failure, closest};

/// Points that are measured without a word on how long that may take.
const MOST_POINTS: usize = 1_000;
/// Points that no sweep has more of: the order of a round is decided before it begins.
const MOST_POINTS_EVER: usize = 100_000;

/// Refuses a plan whose command and axes do not fit together, or whose command cannot be started.
pub(super) fn check(plan: &Plan, has_budget: bool) -> Result<(), Failure> {
    let asked = format!("could not sweep `{}`", plan.command.join(" "));
    names_fit(&asked, plan)?;
    grid_fits(&asked, plan.points(), has_budget)?;
    programs_exist(&asked, plan)
}

/// Every axis is used, every hole has an axis, and no axis is there twice.
fn names_fit(asked: &str, plan: &Plan) -> Result<(), Failure> {
    let failed = |because: String| Failure::usage(asked).because(because);
    let names: Vec<&str> = plan.parameters.iter().map(|axis| axis.name.as_str()).collect();
    let holes = holes(&plan.command);
    for (at, name) in names.iter().enumerate() {
        if names[..at].contains(name) {
            return Err(failed(format!("-p {name} was given twice"))
                .hint(format!("one list has all values: -p {name}=1,2,3")));
        }
    }
    if let Some(hole) = holes.iter().find(|hole| !names.contains(&hole.as_str())) {
        let failure = failed(format!("the command has {{{hole}}}, but there is no such axis"));
        return Err(match closest(hole, names.iter().copied()) {
            Some(meant) => failure.hint(format!("did you mean {{{meant}}}?")),
            None => {
                failure.hint(format!("add -p {hole}=VALUES, or write {{{{{hole}}}}} for the text itself"))
            }
        });
    }
    match names.iter().find(|name| !holes.iter().any(|hole| hole == *name)) {
        Some(unused) => Err(failed(format!("the command does not use the axis {unused}"))
            .hint(format!("put {{{unused}}} where its values go"))),
        None => Ok(()),
    }
}

fn grid_fits(asked: &str, points: usize, has_budget: bool) -> Result<(), Failure> {
    let most = if has_budget { MOST_POINTS_EVER } else { MOST_POINTS };
    if points <= most {
        return Ok(());
    }
    let grid = format!("the grid has {} points", units::count(points as u64));
    let most = units::count(most as u64);
    Err(if has_budget {
        Failure::usage(asked).because(format!("{grid}; no sweep has more than {most}"))
    } else {
        let because = format!("{grid}; more than {most} need --budget");
        Failure::usage(asked).because(because).hint("--budget 30m measures as many as fit")
    })
}

/// The program of every point is there; a `laptime` command is one that this program understands.
fn programs_exist(asked: &str, plan: &Plan) -> Result<(), Failure> {
    let Some(program) = plan.command.first() else { return Ok(()) };
    if program == "laptime" {
        return understood(asked, plan);
    }
    let varies = !holes(&plan.command[..1]).is_empty();
    for words in first_points(plan).take(if varies { MOST_POINTS } else { 1 }) {
        program::look_up(words[0].as_ref()).map_err(|failure| Failure {
            asked: asked.to_owned(),
            because: vec![format!("{}: {}", failure.asked, failure.because.join(", "))],
            hint: failure.hint.map(|hint| hint.replace("laptime run --", "laptime sweep … --")),
            exit: EXIT_USAGE,
            ..failure
        })?;
    }
    Ok(())
}

fn understood(asked: &str, plan: &Plan) -> Result<(), Failure> {
    for words in first_points(plan) {
        match args::parse(words.iter().map(OsString::from)) {
            Err(Stop::Refused(failure)) => return Err(Failure { asked: asked.to_owned(), ..failure }),
            Err(Stop::Show { .. }) => {
                return Err(Failure::usage(asked).because(format!("`{}` measures nothing", words.join(" "))));
            }
            Ok(_) => {}
        }
    }
    Ok(())
}

/// The commands of the points; of a huge grid those that are worth looking at beforehand.
fn first_points(plan: &Plan) -> impl Iterator<Item = Vec<String>> {
    let points = 0..plan.points().min(MOST_POINTS);
    points.map(|point| filled(&plan.command, &plan.parameters, &plan.values(point)))
}
