//! `laptime data`: how large a dataset is, and what an epoch over it moves and must take.

mod comparison;
mod copy;
mod elsewhere;
mod progress;

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use laptime_data::remote::Place;
use laptime_data::survey::{Survey, Watch};

use crate::Ending;
use crate::args::DataArgs;
use crate::failure::Failure;
use crate::html::{Shell, data_page};
use crate::page_file::write_page;
use crate::screen::Screen;
use crate::text::dataset_text;

use progress::Progress;

pub(crate) fn run(args: &DataArgs, screen: &Screen) -> Result<Ending, Failure> {
    if args.compare {
        return comparison::run(args, screen);
    }
    if let [path] = args.paths.as_slice()
        && let Some(url) = path.to_str().filter(|text| Place::is_url(text))
    {
        return elsewhere::run(url, args, screen);
    }
    if args.time {
        return Err(Failure::usage("could not time a copy")
            .because("what lies on this machine is not copied from elsewhere")
            .hint("laptime data --time https://host/path"));
    }
    for path in &args.paths {
        check_there(path)?;
    }
    let watch = Arc::new(Watch::default());
    stop_on_request(&watch);
    let progress = Progress::follow(&watch, args.quiet, screen);
    let survey = Survey::of(&args.paths, &args.options(), &watch);
    drop(progress);
    if let Some(path) = &args.html {
        let asked = format!("could not write the page of {}", survey.source);
        write_page(&data_page(&survey, &Shell::ALONE), path, &asked, screen)?;
    } else if args.json {
        screen.show_json(&survey)?;
    } else {
        screen.show(dataset_text(&survey, &screen.style).trim_end());
    }
    if !survey.complete {
        return Ok(Ending::Interrupted);
    }
    match survey.files {
        // Nothing that was asked for could be read; the troubles say why.
        0 if survey.trouble_count > 0 => Err(nothing_read(args, &survey)),
        _ => Ok(Ending::Done),
    }
}

/// Refuses what is not there before anything is looked at.
fn check_there(path: &PathBuf) -> Result<(), Failure> {
    let Err(error) = std::fs::metadata(path) else { return Ok(()) };
    let shown = path.display();
    let asked = format!("could not read the data in {shown}");
    if shown.to_string().contains("://") {
        return Err(Failure::usage(asked)
            .because("a URL is looked at alone")
            .hint("laptime data URL, without other paths"));
    }
    Err(match error.kind() {
        io::ErrorKind::NotFound if path.is_relative() => Failure::usage(asked)
            .because(format!("no such file or folder: {shown}"))
            .hint("the path is relative: check it against the directory you are in"),
        io::ErrorKind::NotFound => {
            Failure::usage(asked).because(format!("no such file or folder: {shown}")).hint("check the path")
        }
        _ => Failure::usage(asked).caused_by(&error).hint("check its permissions"),
    })
}

fn nothing_read(args: &DataArgs, survey: &Survey) -> Failure {
    let named: Vec<String> = args.paths.iter().map(|path| path.display().to_string()).collect();
    let failure = Failure::new(format!("could not read the data in {}", named.join(", ")));
    let first = survey.troubles.iter().take(3);
    let failure = first
        .fold(failure, |failure, trouble| failure.because(format!("{} {}", trouble.path, trouble.problem)));
    failure.hint("check its permissions")
}

/// The first Ctrl-C ends the survey with what is known; a second ends the program at once.
fn stop_on_request(watch: &Arc<Watch>) {
    let watch = Arc::clone(watch);
    // Where no handler can be installed, Ctrl-C ends the program.
    let _ = ctrlc::set_handler(move || {
        if watch.stopped() {
            std::process::abort();
        }
        watch.stop();
    });
}
