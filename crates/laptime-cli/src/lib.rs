//! The `laptime` command: composes the other crates and presents what they find.

mod args;
pub mod chart;
mod command;
mod due;
mod earlier_runs;
mod every_epoch;
mod export;
mod failure;
mod html;
mod listed_run;
mod live;
mod live_page;
mod markup;
mod one_line;
mod outlook;
mod packed;
mod page_file;
mod prediction;
mod run_story;
mod screen;
mod serve;
mod shown_run;
mod stage_words;
mod study;
mod text;

use std::ffi::OsString;
use std::process::ExitCode;

pub use laptime_launch::keep_broken_pipes_silent;
use laptime_launch::{Ended, end_like};
use laptime_record::ProgramStart;

use args::{Args, Command, Stop};
use screen::{ColorChoice, Screen};

pub use command::pack::BlockServer;
pub use command::sweep::answer_repeats;
pub use export::tensorboard::{EpochFeed, EpochPoint};
pub use shown_run::{ShownRun, run_card, run_page, show_run, summarize_run};

/// How a command ended when nothing went wrong with the command itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ending {
    Done,
    /// Stopped by Ctrl-C or a request to end, after what was done so far was shown.
    Interrupted,
    /// A condition that was asked for is not met; what was found was shown.
    NotMet,
    /// A command was run that ended so; laptime ends like it.
    Like(Ended),
}

/// Runs a command line; `began` is where the program did.
#[must_use]
pub fn run(began: &ProgramStart, command_line: impl IntoIterator<Item = OsString>) -> ExitCode {
    ExitCode::from(exit_code_of(began, command_line))
}

/// Like [`run`], with the exit code as a number. The only place that turns outcomes into exit codes.
#[must_use]
pub fn exit_code_of(began: &ProgramStart, command_line: impl IntoIterator<Item = OsString>) -> u8 {
    let args = match args::parse(command_line) {
        Ok(args) => args,
        Err(stop) => return explain(&stop),
    };
    let screen = Screen::new(args.color);
    match dispatch(began, &args, &screen) {
        Ok(Ending::Done) => 0,
        // What a shell reports for a command that Ctrl-C ended.
        Ok(Ending::Interrupted) => 130,
        Ok(Ending::NotMet) => failure::EXIT_NOT_MET,
        Ok(Ending::Like(ended)) => end_like(ended),
        Err(failure) => {
            screen.error(&failure);
            failure.exit
        }
    }
}

fn dispatch(began: &ProgramStart, args: &Args, screen: &Screen) -> Result<Ending, failure::Failure> {
    match &args.command {
        Command::Demo(demo) => command::demo::run(began, demo, screen),
        Command::Run(run) => command::run::run(run, screen),
        Command::Train(train) => command::train::run(began, train, screen),
        Command::Sweep(sweep) => command::sweep::run(sweep, screen),
        Command::Data(data) => command::data::run(data, screen),
        Command::Pack(pack) => command::pack::run(pack, screen),
        Command::Report(report) => command::report::run(report, screen),
        Command::Advise(advise) => command::advise::run(advise, screen),
        Command::Predict(predict) => command::predict::run(predict, screen),
        Command::Compare(compare) => command::compare::run(compare, screen),
        Command::Runs(runs) => command::runs::run(runs, screen),
        Command::Serve(serve) => serve::run(serve, screen),
    }
}

fn explain(stop: &Stop) -> u8 {
    let screen = Screen::new(ColorChoice::Auto);
    match stop {
        Stop::Show { text, exit: 0 } => {
            screen.show(text.trim_end());
            0
        }
        Stop::Show { text, exit } => {
            screen.note(text.trim_end());
            *exit
        }
        Stop::Refused(failure) => {
            screen.error(failure);
            failure.exit
        }
    }
}
