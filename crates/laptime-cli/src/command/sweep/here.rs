//! A sweep on this machine.

use std::time::{Duration, Instant};

use laptime_analyse::sweep::{SweepStatus, Turn};
use laptime_launch::{Apart, Attach, Blocked, RealMachine, Watcher};
use laptime_store::Collection;

use super::conduct::{Attempt, World, conduct};
use super::execute::Executor;
use super::keeper::Keeper;
use super::progress::Progress;
use super::state::SweepState;

/// Measures what is wanted, one repeat after the other.
pub(super) fn measure(state: &mut SweepState, entry: &Collection, signals: &Blocked, progress: Progress<'_>) {
    let watcher = Watcher::start();
    let executor = Executor {
        runs: entry.runs(),
        attach: Attach { hooks: !state.no_hooks, ..Attach::default() },
        apart: Apart { signals, watcher: watcher.as_ref() },
        machine: Box::new(RealMachine::new()),
    };
    let mut world = Here { executor, keeper: Keeper::new(entry), began: Instant::now(), progress };
    conduct(state, &mut world);
    world.progress.clear();
}

/// The world as it is.
struct Here<'a> {
    executor: Executor<'a>,
    keeper: Keeper<'a>,
    began: Instant,
    progress: Progress<'a>,
}

impl World for Here<'_> {
    fn measure(&mut self, state: &SweepState, turn: Turn, limit: Option<Duration>) -> Attempt {
        let Self { executor, progress, began, .. } = self;
        let began = *began;
        progress.begin(state, turn);
        executor.measure(&state.plan, turn, limit, &mut || progress.beat(state, turn, began.elapsed()))
    }

    fn elapsed(&self) -> Duration {
        self.began.elapsed()
    }

    fn keep(&mut self, state: &SweepState) {
        if let Some(trouble) = self.keeper.keep(state, state.status != SweepStatus::Running) {
            self.progress.warn(&trouble);
        }
        self.progress.made(state, self.began.elapsed());
    }
}
