//! `laptime advise`: what to change of a training, and the proof of it.

mod ceiling;
mod loader;
mod machine;
mod pairs;
mod prove;

use std::path::Path;

use laptime_analyse::advise::{Advice, Proof, advise, advise_machine};
use laptime_store::{Catalogue, CollectionKind, Collections, Selected, StoreError, salvage_rings};

use super::report::refused;
use super::trial::state::TrialState;
use crate::Ending;
use crate::args::AdviseArgs;
use crate::failure::Failure;
use crate::screen::Screen;
use crate::study::Study;
use crate::text::{advice_text, machine_advice_text};

pub(crate) fn run(args: &AdviseArgs, screen: &Screen) -> Result<Ending, Failure> {
    if let Some(request) = args.loader.request(args.place.folder(), args.json) {
        return loader::search(&request, screen);
    }
    salvage_rings();
    if args.ceiling {
        // A command that is given needs no run.
        let advice = if args.command.is_empty() { Some(advice_on(args)?) } else { None };
        return ceiling::run(args, advice.as_ref(), screen);
    }
    let folder = args.place.folder();
    let nothing_ran = || matches!(Catalogue::at(&folder).find(Selected::Latest), Err(StoreError::NoRuns(_)));
    if args.machine || args.run.is_none() && args.prove.is_none() && nothing_ran() {
        return on_machine(args, &folder, screen);
    }
    let advice = advice_on(args)?;
    if let Some(wanted) = &args.prove {
        return prove::run(args, wanted, &advice, screen);
    }
    if args.json {
        screen.show_json(&advice)?;
    } else {
        screen.show(advice_text(&advice, &screen.style).trim_end());
    }
    Ok(Ending::Done)
}

/// What to change of this computer.
fn on_machine(args: &AdviseArgs, folder: &Path, screen: &Screen) -> Result<Ending, Failure> {
    let advice = advise_machine(&machine::facts(folder));
    if args.json {
        screen.show_json(&advice)?;
    } else {
        screen.show(machine_advice_text(&advice, args.machine, &screen.style).trim_end());
    }
    Ok(Ending::Done)
}

/// The advice on the run that is meant.
fn advice_on(args: &AdviseArgs) -> Result<Advice, Failure> {
    let folder = args.place.folder();
    let selected = args.run.as_deref().map_or(Selected::Latest, Selected::Named);
    let asked = || match &args.run {
        Some(run) => format!("could not advise on `{run}`"),
        None => "could not advise on the latest run".to_owned(),
    };
    let entry = Catalogue::at(&folder).find(selected).map_err(|error| refused(asked(), &error))?;
    let run = Study::open(&entry.path).and_then(|mut study| study.compared_run());
    let run = run.map_err(|error| refused(asked(), &error))?;
    Ok(advise(&run, proofs(&Collections::at(folder, CollectionKind::Trial))))
}

/// Proofs that were made before, oldest first; what cannot be read is no proof.
fn proofs(trials: &Collections) -> Vec<Proof> {
    let trials = trials.list().unwrap_or_default();
    trials.iter().filter_map(|trial| TrialState::read(trial)?.proof).collect()
}
