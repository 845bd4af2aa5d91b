//! Repeats for a sweep that is conducted elsewhere: a line with a request in, a line with the repeat out.

use std::io::{BufRead, Write};
use std::path::PathBuf;
use std::time::Duration;

use laptime_analyse::sweep::{Plan, Repeat, Turn};
use laptime_launch::{Apart, Attach, Blocked, RealMachine, Watcher};
use serde::{Deserialize, Serialize};

use super::conduct::Attempt;
use super::execute::Executor;

/// One repeat that is asked for.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Request {
    pub(super) plan: Plan,
    pub(super) round: u32,
    pub(super) point: usize,
    pub(super) limit_s: Option<f64>,
    pub(super) no_hooks: bool,
    /// The folder that its run is made in; whoever passes the request on fills it in.
    pub(super) runs: PathBuf,
}

/// What came of it; no repeat when it was interrupted.
#[derive(Debug, Default, Serialize, Deserialize)]
pub(super) struct Answer {
    pub(super) repeat: Option<Box<Repeat>>,
}

/// Makes the repeats that standard input asks for, until it ends. To be called before this process has a second
/// thread.
///
/// # Errors
/// When standard output takes no more, or a request cannot be read.
pub fn answer_repeats() -> std::io::Result<()> {
    let signals = Blocked::all();
    let watcher = Watcher::start();
    for line in std::io::stdin().lock().lines() {
        let request: Request = serde_json::from_str(&line?)?;
        let mut executor = Executor {
            runs: request.runs.clone(),
            attach: Attach { hooks: !request.no_hooks, ..Attach::default() },
            apart: Apart { signals: &signals, watcher: watcher.as_ref() },
            machine: Box::new(RealMachine::new()),
        };
        let turn = Turn { round: request.round, point: request.point };
        let limit = request.limit_s.and_then(|limit| Duration::try_from_secs_f64(limit).ok());
        let answer = match executor.measure(&request.plan, turn, limit, &mut || ()) {
            Attempt::Made(repeat) => Answer { repeat: Some(repeat) },
            Attempt::Interrupted => Answer::default(),
        };
        let mut out = std::io::stdout().lock();
        serde_json::to_writer(&mut out, &answer)?;
        out.write_all(b"\n")?;
        out.flush()?;
    }
    Ok(())
}
