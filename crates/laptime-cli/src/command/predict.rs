//! `laptime predict`: when a training would be done, from a short probe of the real command or from a kept run.

mod grades;
mod probe;
mod progress;
mod watch;

use laptime_analyse::compare::ComparedRun;
use laptime_analyse::forecast::{CannotForecast, Known, forecast};
use laptime_core::{command_line, units};
use laptime_launch::now_s;
use laptime_store::{Catalogue, Selected, salvage_rings};

use super::report::refused;
use crate::Ending;
use crate::args::PredictArgs;
use crate::due::Due;
use crate::earlier_runs::earlier_runs;
use crate::failure::Failure;
use crate::outlook::scores;
use crate::prediction::{Prediction, Probed};
use crate::screen::Screen;
use crate::study::Study;
use crate::text::{prediction_text, shown};

pub(crate) fn run(args: &PredictArgs, screen: &Screen) -> Result<Ending, Failure> {
    if args.grades {
        return grades::run(args, screen);
    }
    // A deadline counts from when it was asked for, not from the end of the probe.
    let due = args.deadline.map(|deadline| Due::from_now(deadline).ok_or_else(unknown_time)).transpose()?;
    match &args.from {
        Some(run) => from_run(args, run, due, screen),
        None => from_probe(args, due, screen),
    }
}

fn unknown_time() -> Failure {
    Failure::usage("could not tell when the deadline is").because("the local time is not known")
}

/// What is asked, and what it is asked of.
struct Question<'a> {
    args: &'a PredictArgs,
    run: &'a ComparedRun,
    earlier: &'a [ComparedRun],
}

impl Question<'_> {
    /// Asks it.
    fn ask(&self) -> Result<laptime_analyse::forecast::Forecast, CannotForecast> {
        let scores = scores();
        let known = Known { run: self.run, earlier: self.earlier, scores: &scores };
        forecast(&known, &self.args.plan(), &self.args.what_if())
    }
}

fn from_run(args: &PredictArgs, wanted: &str, due: Option<Due>, screen: &Screen) -> Result<Ending, Failure> {
    salvage_rings();
    let asked = || format!("could not predict from `{wanted}`");
    let catalogue = Catalogue::at(args.place.folder());
    let selected = if wanted == "latest" { Selected::Latest } else { Selected::Named(wanted) };
    let entry = catalogue.find(selected).map_err(|error| refused(asked(), &error))?;
    let run = Study::open(&entry.path).and_then(|mut study| study.compared_run());
    let run = run.map_err(|error| refused(asked(), &error))?;
    let earlier = earlier_runs(&catalogue, &entry.meta);
    let found = Question { args, run: &run, earlier: &earlier }.ask();
    let found = found.map_err(|because| impossible(asked(), &because))?;
    let basis = &found.basis;
    let source = format!(
        "from run {} ({}): {} in {}",
        run.report.run.id,
        shown(&run.report.run.name),
        units::counted(basis.steps_seen, "step"),
        units::duration(basis.seen_s)
    );
    show(args, &Prediction::new(found, now_s(), due, None), &source, screen)
}

fn from_probe(args: &PredictArgs, due: Option<Due>, screen: &Screen) -> Result<Ending, Failure> {
    let Some(probe) = probe::run(args, screen)? else { return Ok(Ending::Interrupted) };
    let found = Question { args, run: &probe.run, earlier: &probe.earlier }.ask();
    let found = found.map_err(|because| probe.impossible(&because))?;
    let source = source(&probe.probed, &found.basis);
    let prediction = Prediction::new(found, now_s(), due, Some(probe.probed));
    probe.place.keep(&prediction, screen);
    show(args, &prediction, &source, screen)
}

/// `probed 44 s of the real script: 812 steps in 3 blocks`
fn source(probed: &Probed, basis: &laptime_analyse::forecast::Basis) -> String {
    let seconds = units::duration(probed.seconds);
    let seen =
        format!("{} in {}", units::counted(basis.steps_seen, "step"), units::counted(basis.blocks, "block"));
    match probed.ended {
        true => format!("the command ended by itself after {seconds}: {seen}"),
        false => match probed.second_batch {
            Some(batch) => {
                format!("probed {seconds} of the real script: {seen}, and some with a batch of {batch}")
            }
            None => format!("probed {seconds} of the real script: {seen}"),
        },
    }
}

fn show(
    args: &PredictArgs,
    prediction: &Prediction,
    source: &str,
    screen: &Screen,
) -> Result<Ending, Failure> {
    if args.json {
        screen.show_json(prediction)?;
    } else {
        screen.show(prediction_text(prediction, source, &screen.style).trim_end());
    }
    let is_missed = prediction.deadline.as_ref().is_some_and(|outlook| !outlook.met);
    Ok(if is_missed { Ending::NotMet } else { Ending::Done })
}

/// Why nothing can be predicted from a run.
fn impossible(asked: String, because: &CannotForecast) -> Failure {
    let failure = Failure::new(asked).caused_by(because);
    match because {
        // A run that is over cannot be looked at for longer.
        CannotForecast::TooFewSteps { .. } => failure.hint("laptime predict -- python train.py"),
        _ => Failure { hint: because.hint().map(str::to_owned), ..failure },
    }
}

/// A command as it was typed, to be shown.
fn typed_text(typed: &[String]) -> String {
    shown(&command_line::join(typed))
}
