//! The `laptime` command.

fn main() -> std::process::ExitCode {
    // The first line: what comes before training is part of the run.
    let began = laptime_record::anchor();
    laptime_cli::run(&began, std::env::args_os())
}
