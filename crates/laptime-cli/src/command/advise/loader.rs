//! `laptime advise --loader`: measures a loader with one setting after the other, and chooses.

mod limits;
mod need;
mod progress;
mod trial;

use std::time::Instant;

use laptime_analyse::advise::loader_search::{LoaderReport, Need, Search, Trial};
use laptime_launch::{Blocked, Watcher};

use crate::Ending;
use crate::args::LoaderRequest;
use crate::failure::Failure;
use crate::screen::Screen;
use crate::text::loader_text;
use need::need;
use progress::Progress;
use trial::{About, Stop, Trials};

/// Measures the loader until the choice is clear, the budget is spent or somebody asks to end.
pub(crate) fn search(request: &LoaderRequest, screen: &Screen) -> Result<Ending, Failure> {
    let began = Instant::now();
    let need = need(request);
    let signals = Blocked::all();
    let watcher = Watcher::start();
    let mut progress = Progress::new(screen, request.budget);
    let mut trials = Trials::start(request, &signals, watcher.as_ref())?;
    let about = match trials.about(&mut progress) {
        Ok(about) => about,
        Err(Stop::Interrupted) => return Ok(Ending::Interrupted),
        Err(Stop::Failed(failure)) => return Err(failure),
    };
    let search = plan(request, need.as_ref(), &about);
    let mut made = Vec::new();
    let interrupted = match conduct(&search, &mut trials, &mut made, &mut progress) {
        Ok(()) => false,
        Err(Stop::Interrupted) => true,
        Err(Stop::Failed(failure)) => {
            progress.clear();
            return Err(with_kept(failure, &search, &made));
        }
    };
    progress.clear();
    drop(trials);
    let report = LoaderReport {
        loader: request.loader.clone(),
        needs: need,
        seconds: began.elapsed().as_secs_f64(),
        interrupted,
        out_of_time: !interrupted && search.next(&made).is_some(),
        ..LoaderReport::of(&search, &made)
    };
    show(&report, request, screen)?;
    Ok(if interrupted { Ending::Interrupted } else { Ending::Done })
}

fn plan(request: &LoaderRequest, need: Option<&Need>, about: &About) -> Search {
    let mut batches = request.batches.clone();
    // The loader's own size first: the workers are chosen for it.
    batches.sort_by_key(|size| Some(*size) != about.batch);
    batches.dedup();
    Search {
        host: limits::host(about.cuda),
        needs: need.map(|need| need.samples_per_s),
        batches,
        batches_per_pass: about.batches,
    }
}

fn conduct(
    search: &Search,
    trials: &mut Trials<'_>,
    made: &mut Vec<Trial>,
    progress: &mut Progress,
) -> Result<(), Stop> {
    while let Some((setting, aim)) = search.next(made) {
        // One measurement there always is: without any there is nothing to say.
        if !made.is_empty() && progress.is_over() {
            break;
        }
        progress.begin(search, setting, made);
        made.push(trials.measure(setting, &aim, progress)?);
    }
    Ok(())
}

/// The failure, with what was measured before it.
fn with_kept(failure: Failure, search: &Search, made: &[Trial]) -> Failure {
    let Some(choice) = search.choice(made) else { return failure };
    let rate = laptime_core::units::rate(choice.point.samples_per_s);
    failure.kept(format!("num_workers={} measured {rate}", choice.point.setting.workers))
}

fn show(report: &LoaderReport, request: &LoaderRequest, screen: &Screen) -> Result<(), Failure> {
    if request.json {
        return screen.show_json(report);
    }
    screen.show(loader_text(report, &screen.style).trim_end());
    Ok(())
}
