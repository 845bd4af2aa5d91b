//! A training as a framework's hooks see it: fits, epochs and steps, made of the calls of one thread.
//!
//! A hook makes one call when its work begins and one when it ends; what that means is decided here, because
//! a step of a small model has time for little else. Objects are known by their address: whoever hooks says
//! when a new one may stand there. What must stay true: an event that nothing expects changes the numbers,
//! never the training.

mod arrived;
mod boundaries;
mod call;
mod device_work;
mod framework_fit;
mod late_steps;
mod modules;
mod pass;
mod progress;
mod update;

use std::cell::{Cell, RefCell};

use laptime_core::{StageId, Ticks};

use crate::clock::now;
use crate::explicit::{cut, enter, exit};
use crate::mark::{MarkId, mark, mark_again};
use crate::stretch::Stretch;
use crate::thread_lane::existing_lane;
use boundaries::Boundaries;
use framework_fit::FrameworkFit;
use modules::Modules;
use pass::Pass;
use progress::Progress;

pub use boundaries::{current_stream, streams_from};
pub use call::{Call, Modes};
pub use device_work::Before;
pub use modules::ModuleKind;
pub use pass::{PassId, Request};
pub use update::{MANUAL, Update};

thread_local! {
    /// Depth of calls whose inner module calls are no stages of their own. Apart from the rest, because every
    /// module of a model reads it.
    static INSIDE: Cell<u32> = const { Cell::new(0) };
    static TRAINING: RefCell<Training> = const { RefCell::new(Training::new()) };
}

/// Whether this thread is inside a call that is a stage already.
#[inline]
#[must_use]
pub fn is_inside() -> bool {
    INSIDE.get() > 0
}

fn go_inside() {
    INSIDE.set(INSIDE.get() + 1);
}

fn come_out() {
    INSIDE.set(INSIDE.get().saturating_sub(1));
}

/// Runs `body` on the training of the calling thread.
#[inline]
pub fn training<T>(body: impl FnOnce(&mut Training) -> T) -> T {
    TRAINING.with_borrow_mut(body)
}

/// Forgets what this thread trains: a loader's worker does not go on with what its parent did.
///
/// Its module calls are `stage` from here on.
pub fn training_in_worker(stage: StageId) {
    INSIDE.set(0);
    training(|training| {
        *training = Training::new();
        training.worker_stage = Some(stage);
    });
}

/// The address of an object a hook was called with.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Address(pub usize);

/// What one thread trains.
pub struct Training {
    passes: Vec<Pass>,
    next_pass: u32,
    /// The pass this epoch trains on.
    primary: Option<PassId>,
    /// The pass that is booked as an evaluation already, while it goes on.
    evaluating: Option<PassId>,
    modules: Modules,
    /// The stage of the outermost call under way.
    called: StageId,
    /// Optimizers that are alive.
    alive: Vec<Address>,
    /// When the newest optimizer was made.
    created_at: Ticks,
    /// Optimizers of the fit.
    optimizers: Vec<Address>,
    /// Optimizers that may use gradients in a way of their own before they throw them away.
    foreign: Vec<Address>,
    in_update: bool,
    backwards: u64,
    updates: u64,
    calls_to_train: u64,
    calls_to_evaluate: u64,
    calls_since_backward: u64,
    /// The first module called since the last backward pass. One that is called again before gradients are
    /// computed may have seen other samples each time, or the same.
    first_called: Option<Address>,
    samples_unsure: bool,
    /// Whether the last model was called in eval mode: gradients are then of its input, not to train it.
    last_call_evaluates: bool,
    /// Whether the last step called no module: the model may be inside a compiled function, or written without
    /// modules. Then the forward pass is what lies between the batch and the backward pass.
    functional: bool,
    before_forward: Option<MarkId>,
    /// Since a batch came, or without a loader since the last update: until the model is called, the script
    /// prepares its input.
    preparing: Option<Stretch>,
    /// Since the model's call ended: until the backward pass, the script computes the loss.
    computed: Option<Stretch>,
    /// Since a backward pass: until the update, gradients are clipped and checked.
    differentiated: Option<Stretch>,
    /// Since an update of a step that a loader counts: until the next batch is requested, the script logs and
    /// measures.
    updated: Option<Stretch>,
    /// Since a backward pass ended that no optimizer follows: the script updates the model itself.
    updating: Option<Stretch>,
    /// Since the data of a pass has ended: its iterator is taken down, which may wait for threads.
    lingering: Option<Stretch>,
    /// When the hooks began to look for the fit and the epoch of an update, which is part of it.
    settling: Option<MarkId>,
    /// The first thing that happened since the last update.
    first_event: Option<(MarkId, Ticks)>,
    last_update: Option<MarkId>,
    last_update_at: Ticks,
    /// When an epoch, an evaluation or a checkpoint last ended.
    pause: Option<MarkId>,
    paused_at: Ticks,
    /// Whether no step has gone on since then.
    paused: bool,
    pending_samples: u32,
    samples: u32,
    worker_stage: Option<StageId>,
    boundaries: Boundaries,
    /// Whether what the script does is captured into a graph, and not computed.
    is_capturing: bool,
    progress: Progress,
    /// The fit of a framework that runs its loop itself.
    framework_fit: Option<FrameworkFit>,
}

impl Training {
    const fn new() -> Self {
        Self {
            passes: Vec::new(),
            next_pass: 0,
            primary: None,
            evaluating: None,
            modules: Modules::new(),
            called: StageId::OTHER,
            alive: Vec::new(),
            created_at: Ticks(0),
            optimizers: Vec::new(),
            foreign: Vec::new(),
            in_update: false,
            backwards: 0,
            updates: 0,
            calls_to_train: 0,
            calls_to_evaluate: 0,
            calls_since_backward: 0,
            first_called: None,
            samples_unsure: false,
            last_call_evaluates: false,
            functional: true,
            before_forward: None,
            preparing: None,
            computed: None,
            differentiated: None,
            updated: None,
            updating: None,
            lingering: None,
            settling: None,
            first_event: None,
            last_update: None,
            last_update_at: Ticks(0),
            pause: None,
            paused_at: Ticks(0),
            paused: false,
            pending_samples: 0,
            samples: 0,
            worker_stage: None,
            boundaries: Boundaries::new(),
            is_capturing: false,
            progress: Progress::new(),
            framework_fit: None,
        }
    }

    /// An evaluation without a loader, or a checkpoint, begins.
    pub fn begin_pause(&mut self, stage: StageId) {
        self.pause_steps();
        self.boundaries.begin_pause(stage);
        enter(stage);
    }

    /// The evaluation or checkpoint has ended.
    pub fn end_pause(&mut self, stage: StageId) {
        self.boundaries.end_pause();
        exit(stage);
        self.record_activity();
    }

    /// Something that is no step is about to begin: the lap of steps ends before it.
    pub fn pause_steps(&mut self) {
        self.settle_exhausted(|is_used_up| is_used_up);
        if !self.paused && self.progress.is_steps_only() {
            self.end_lap();
        }
    }

    /// The lap of steps ends with the last one.
    fn end_lap(&mut self) {
        if self.primary.is_some() {
            if self.progress.has_updates() {
                self.interrupt_step();
            }
            cut(None);
        } else {
            cut(self.last_update);
        }
    }

    /// An evaluation without a loader, or a checkpoint, has ended.
    pub fn record_activity(&mut self) {
        self.boundaries.mark(StageId::BETWEEN_EPOCHS);
        self.pause = Some(mark_again(self.pause));
        self.paused_at = now();
        self.paused = true;
        self.first_event = None;
    }

    /// When the fit last did something; it ends there.
    fn activity(&self) -> Option<MarkId> {
        if self.paused_at >= self.last_update_at { self.pause } else { self.last_update }
    }

    /// Something of a training step happens; the first after an update may begin an epoch.
    fn record_event(&mut self) {
        if self.first_event.is_none() && self.primary.is_none() && self.passes.is_empty() {
            self.boundaries.mark(StageId::PREPARE);
            self.first_event = Some((mark(), now()));
            self.resume_steps();
        }
    }

    /// Steps go on after an evaluation or a checkpoint: that was no part of them.
    fn resume_steps(&mut self) {
        if std::mem::take(&mut self.paused) {
            if self.progress.is_steps_only() {
                cut(self.pause);
            }
            self.progress.restart_step(self.paused_at);
        }
    }

    /// Begins a stretch that is named when it ends.
    fn stretch(&self) -> Option<Stretch> {
        existing_lane().map(|lane| Stretch::begin(lane, now()))
    }
}

/// Books a stretch on a stage, unless the stage around it has changed since.
fn book(stretch: Option<Stretch>, stage: StageId) {
    if let (Some(stretch), Some(lane)) = (stretch, existing_lane()) {
        stretch.end_if_under_way(lane, stage, now());
    }
}
