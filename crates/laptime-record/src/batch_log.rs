//! A loop over batches, reported by whoever runs the loop: waits, steps, and the epoch they make.

use std::cell::Cell;

use laptime_core::{StageId, Ticks};

use crate::active::wake_flusher;
use crate::clock::now;
use crate::explicit::{epoch_begin, epoch_end, epoch_is_open};
use crate::lane::{Lane, Pushed};
use crate::lap::begin_lap;
use crate::thread_lane::{current_lane, existing_lane};

thread_local! {
    static LOOPS: Cell<u32> = const { Cell::new(0) };
}

/// Whether a loop over batches is under way on this thread, so that hooks leave steps and epochs to it.
#[must_use]
pub(crate) fn in_batches() -> bool {
    LOOPS.get() > 0
}

/// One loop over batches on one thread.
///
/// Outside an epoch it is an epoch of its own; inside an evaluation its turns are no steps.
#[derive(Default)]
pub struct BatchLog {
    /// When the batch under way was requested, and its samples.
    step: Option<(Ticks, u32)>,
    /// Steps that were taken at one request beside the first: some frameworks fuse several.
    fused: u32,
    /// Where the wait under way is on record.
    waiting: Option<Lane>,
    state: State,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    NotBegun,
    InEpoch,
    OwnEpoch,
    Evaluation,
    Ended,
}

impl BatchLog {
    /// The next batch is requested: the step before ends, and the wait begins.
    #[inline]
    pub fn request(&mut self) {
        let Some(lane) = current_lane() else { return };
        let at = self.begin_step(lane);
        lane.enter(StageId::DATA_WAIT, at);
        self.waiting = Some(lane);
    }

    /// The loop turns: the step before ends, and the next begins without a wait.
    #[inline]
    pub fn turn(&mut self) {
        if let Some(lane) = current_lane() {
            self.begin_step(lane);
        }
    }

    /// The wait for the batch of the step under way begins.
    #[inline]
    pub fn wait(&mut self) {
        if let Some(lane) = current_lane() {
            lane.enter(StageId::DATA_WAIT, now());
            self.waiting = Some(lane);
        }
    }

    #[inline]
    fn begin_step(&mut self, lane: Lane) -> Ticks {
        if self.state == State::NotBegun {
            self.begin(lane);
        }
        let at = now();
        if self.state != State::Evaluation {
            self.end_step(lane, at);
        }
        self.step = Some((at, 0));
        at
    }

    /// The batch is here.
    #[inline]
    pub fn arrived(&mut self, samples: u32) {
        // The lane of the request: a loop requests and gets on one thread, and a lane's memory is never freed.
        let Some(lane) = self.waiting.take() else { return };
        let at = now();
        if lane.exit(StageId::DATA_WAIT, at) == Pushed::Wake {
            wake_flusher();
        }
        begin_lap(lane, at);
        if let Some(step) = &mut self.step {
            step.1 = samples;
        }
    }

    /// There is no further batch, or waiting for it failed: what was requested is no step.
    pub fn ran_out(&mut self) {
        if let Some(lane) = self.waiting.take() {
            let _ = lane.exit(StageId::DATA_WAIT, now());
        }
        self.step = None;
        self.end();
    }

    /// The loop is left.
    pub fn end(&mut self) {
        let before = std::mem::replace(&mut self.state, State::Ended);
        if [State::NotBegun, State::Ended].contains(&before) {
            return;
        }
        LOOPS.set(LOOPS.get().saturating_sub(1));
        let Some(lane) = existing_lane() else { return };
        if before != State::Evaluation {
            self.end_step(lane, now());
        }
        self.step = None;
        if before == State::OwnEpoch {
            epoch_end(None);
        }
    }

    #[cold]
    fn begin(&mut self, lane: Lane) {
        LOOPS.set(LOOPS.get() + 1);
        self.state = if lane.in_evaluation() {
            State::Evaluation
        } else if epoch_is_open() {
            State::InEpoch
        } else {
            epoch_begin(None);
            State::OwnEpoch
        };
    }

    /// The step under way is `steps` of them in one, with this many samples in all.
    ///
    /// Where one ends and the next begins cannot be seen, so each counts for an equal part of the time.
    pub fn takes(&mut self, samples: u32, steps: u32) {
        if let Some(step) = &mut self.step {
            step.1 = samples;
            self.fused = steps.saturating_sub(1);
        }
    }

    #[inline]
    fn end_step(&mut self, lane: Lane, end: Ticks) {
        let Some((start, samples)) = self.step else { return };
        let pushed = match std::mem::take(&mut self.fused) {
            0 => lane.push_step(start, end, samples),
            fused => push_parts(lane, (start, end), samples, fused + 1),
        };
        if pushed == Pushed::Wake {
            wake_flusher();
        }
    }
}

/// Puts equal parts of a stretch on record, each a step.
#[cold]
fn push_parts(lane: Lane, whole: (Ticks, Ticks), samples: u32, parts: u32) -> Pushed {
    equal_parts(whole, samples, parts)
        .map(|(start, end, samples)| lane.push_step(start, end, samples))
        .fold(Pushed::Calm, |so_far, pushed| if pushed == Pushed::Wake { pushed } else { so_far })
}

/// Start, end and samples of each of a stretch's equal parts.
pub(crate) fn equal_parts(
    (start, end): (Ticks, Ticks),
    samples: u32,
    parts: u32,
) -> impl Iterator<Item = (Ticks, Ticks, u32)> {
    let share = move |whole: u64, part: u32| whole * u64::from(part) / u64::from(parts);
    let edge = move |part| start.plus(Ticks(share(end.since(start).0, part)));
    let taken = move |part| share(u64::from(samples), part) as u32;
    (0..parts).map(move |part| (edge(part), edge(part + 1), taken(part + 1) - taken(part)))
}
