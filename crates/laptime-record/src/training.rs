//! A training as a framework's hooks see it: fits, epochs and steps, told from the calls of one thread.
//!
//! A hook makes one call when its work begins and one when it ends; what that means is decided here, because
//! a step of a small model has time for little else. Objects are known by their address: whoever hooks says
//! when a new one may stand there. What must stay true: an event that nothing expects changes the numbers,
//! never the training.

mod modules;
mod pass;
mod progress;

use std::cell::{Cell, RefCell};

use laptime_core::{StageId, Ticks};

use crate::batch_log::in_batches;
use crate::clock::now;
use crate::explicit::{book_since, enter, exit};
use crate::mark::{MarkId, mark};
use modules::Modules;
use pass::Pass;
use progress::Progress;

pub use modules::ModuleKind;
pub use pass::PassId;

thread_local! {
    /// Depth of calls whose inner module calls are no stages of their own. Apart from the rest, because every
    /// module of a model asks.
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

/// How a module is called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Modes {
    /// The module is in training mode.
    pub trains: bool,
    /// Gradients are kept.
    pub grad_enabled: bool,
}

/// What a hook is to do about a call of a module.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Call {
    /// The call is no stage of its own.
    Silent,
    /// The call has begun as a span.
    Begun,
    /// As above; the samples of its input are wanted, since no loader tells them.
    BegunWithoutSamples,
    /// The module is seen for the first time: say of which kind it is, and begin the call again.
    NewModule,
    /// The model is to be trained for the first time: tell of it, and begin the call again.
    NewModel,
}

/// What a hook is to do about an optimizer's update; hooks know it by its number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Update {
    /// The update has begun.
    Begun,
    /// The optimizer or the epoch must be settled first; then [`Training::enter_update`] begins it.
    Unsettled,
    /// It is part of another update.
    Nested,
}

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
    /// Whether the last step called no module: the model may be inside a compiled function, or written without
    /// modules. Then the forward pass is what lies between the batch and the backward pass.
    functional: bool,
    before_forward: Option<MarkId>,
    /// The first thing that happened since the last update.
    first_event: Option<(MarkId, Ticks)>,
    last_update: Option<MarkId>,
    /// When the fit last did something; it ends there.
    activity: Option<MarkId>,
    pending_samples: u32,
    samples: u32,
    worker_stage: Option<StageId>,
    progress: Progress,
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
            optimizers: Vec::new(),
            foreign: Vec::new(),
            in_update: false,
            backwards: 0,
            updates: 0,
            calls_to_train: 0,
            calls_to_evaluate: 0,
            calls_since_backward: 0,
            functional: true,
            before_forward: None,
            first_event: None,
            last_update: None,
            activity: None,
            pending_samples: 0,
            samples: 0,
            worker_stage: None,
            progress: Progress::new(),
        }
    }

    // What a model does.

    /// A module is called, outermost.
    pub fn begin_call(&mut self, module: Address, modes: Modes) -> Call {
        let Some(known) = self.modules.find(module) else { return Call::NewModule };
        let (stage, wants_samples) = match (known.kind, self.worker_stage) {
            (ModuleKind::Silent, _) => return Call::Silent,
            (_, Some(stage)) => (stage, false),
            (ModuleKind::Loss, None) => (StageId::LOSS, false),
            (ModuleKind::Model, None) if !modes.trains => {
                (self.evaluate_call(known.trained, modes.grad_enabled), false)
            }
            (ModuleKind::Model, None) if modes.grad_enabled && !known.trained => return Call::NewModel,
            (ModuleKind::Model, None) => (StageId::FORWARD, self.train_call(modes.grad_enabled)),
        };
        self.begin_stage(stage);
        if wants_samples { Call::BegunWithoutSamples } else { Call::Begun }
    }

    /// A model is called, outermost, of a framework that tells by the call whether it is to be trained; says
    /// whether its samples are wanted.
    pub fn begin_model(&mut self, model: Address, trains: bool) -> bool {
        let was_trained = self.modules.find(model).is_some_and(|known| known.trained);
        let wants_samples = trains && self.train_call(true);
        let stage = if trains { StageId::FORWARD } else { self.evaluate_call(was_trained, false) };
        self.begin_stage(stage);
        wants_samples
    }

    fn begin_stage(&mut self, stage: StageId) {
        go_inside();
        self.called = stage;
        enter(stage);
    }

    /// Notes a call in training mode; says whether its samples are wanted.
    fn train_call(&mut self, grad_enabled: bool) -> bool {
        self.leave_evaluation();
        self.calls_to_train += 1;
        self.calls_since_backward += 1;
        if grad_enabled {
            self.see_event();
            self.pending_samples = 0;
        }
        grad_enabled && self.passes.is_empty()
    }

    /// A frozen teacher is in eval mode for ever; a model that was trained is being evaluated.
    fn evaluate_call(&mut self, was_trained: bool, grad_enabled: bool) -> StageId {
        self.calls_to_evaluate += 1;
        if !grad_enabled && self.evaluating.is_none() && was_trained {
            match self.training_pass() {
                None => return StageId::EVALUATE,
                Some(asked) if Some(asked) != self.primary => self.begin_evaluation(asked),
                Some(_) => {}
            }
        }
        self.calls_since_backward += 1;
        StageId::FORWARD
    }

    /// The outermost call has ended.
    pub fn end_call(&mut self) {
        exit(self.called);
        come_out();
        if self.called == StageId::EVALUATE {
            self.see_activity();
        }
    }

    /// A compiled function is called, outermost; `may_train` unless it is known not to.
    pub fn begin_function(&mut self, stage: StageId, may_train: bool) {
        if may_train {
            self.see_event();
        }
        go_inside();
        enter(stage);
    }

    /// The compiled function has returned.
    pub fn end_function(&mut self, stage: StageId) {
        exit(stage);
        come_out();
    }

    /// Samples in the input of the call under way.
    pub fn take_samples(&mut self, samples: u32) {
        self.pending_samples = samples;
    }

    /// The module is of this kind.
    pub fn know_module(&mut self, module: Address, kind: ModuleKind) {
        self.modules.know(module, kind);
    }

    /// The model is trained from here on.
    pub fn train_model(&mut self, model: Address) {
        self.modules.train(model);
    }

    /// The module is gone, and another may stand where it stood.
    pub fn forget_module(&mut self, module: Address) {
        self.modules.forget(module);
    }

    /// An evaluation without a loader, or a checkpoint, has ended.
    pub fn see_activity(&mut self) {
        self.activity = Some(mark());
        self.first_event = None;
    }

    /// A batch was copied to a device: the forward pass begins after it.
    pub fn moved_to_device(&mut self) {
        if self.functional {
            self.before_forward = Some(mark());
        }
    }

    /// A backward pass begins.
    pub fn begin_backward(&mut self) {
        self.leave_evaluation();
        self.see_event();
        // Where modules are called there is nothing to look out for until the next pass or epoch.
        self.functional = self.calls_since_backward == 0;
        if let (true, Some(before)) = (self.functional, self.before_forward.take()) {
            book_since(before, StageId::FORWARD);
        }
        self.compute_gradients();
        // Activation checkpointing calls modules again: that is part of the backward pass.
        go_inside();
        enter(StageId::BACKWARD);
    }

    fn compute_gradients(&mut self) {
        self.calls_since_backward = 0;
        self.backwards += 1;
        self.progress.see_gradients();
        let samples = std::mem::take(&mut self.pending_samples);
        // Closures of one update see the same samples again.
        self.samples =
            if self.in_update { self.samples.max(samples) } else { self.samples.saturating_add(samples) };
    }

    /// The backward pass has ended.
    pub fn end_backward(&mut self) {
        exit(StageId::BACKWARD);
        come_out();
    }

    // What an optimizer does.

    /// An optimizer is made; `foreign` ones may use gradients in a way of their own.
    pub fn see_birth(&mut self, optimizer: Address, foreign: bool) {
        self.forget_optimizer(optimizer);
        if foreign {
            self.foreign.push(optimizer);
        }
        if self.primary.is_none() {
            self.first_event = None;
        }
    }

    /// The optimizer is gone, and another may stand where it stood.
    pub fn forget_optimizer(&mut self, optimizer: Address) {
        self.optimizers.retain(|known| *known != optimizer);
        self.foreign.retain(|known| *known != optimizer);
    }

    /// Gradients are about to be set to zero, by an optimizer or by anything else.
    pub fn begin_zero(&mut self, by: Address) {
        self.see_event();
        let counts = !self.in_update && self.optimizers.len() == 1;
        self.progress.drop_gradients(counts && !self.foreign.contains(&by));
        enter(StageId::OPTIMIZER);
    }

    /// Gradients are zero.
    pub fn end_zero(&mut self) {
        exit(StageId::OPTIMIZER);
        if self.functional && self.passes.is_empty() {
            self.before_forward = Some(mark());
        }
    }

    /// An optimizer is about to update its model.
    pub fn begin_update(&mut self, optimizer: Address) -> Update {
        if self.in_update {
            return Update::Nested;
        }
        self.see_event();
        if self.knows_optimizer(optimizer) && self.is_counted() {
            self.enter_update();
            return Update::Begun;
        }
        Update::Unsettled
    }

    /// Begins the update that was settled.
    pub fn enter_update(&mut self) {
        self.in_update = true;
        enter(StageId::OPTIMIZER);
    }

    /// The update has failed.
    pub fn leave_update(&mut self) {
        exit(StageId::OPTIMIZER);
        self.in_update = false;
    }

    /// A compiled function that computes gradients and updates its model begins to.
    ///
    /// Its stage is the function's own: what is inside cannot be told apart.
    pub fn begin_compiled_update(&mut self, optimizer: Address) -> Update {
        self.leave_evaluation();
        self.functional = false;
        self.compute_gradients();
        let settled = self.knows_optimizer(optimizer) && self.is_counted();
        if settled { Update::Begun } else { Update::Unsettled }
    }

    /// The model is updated.
    pub fn end_update(&mut self, optimizer: Address) {
        self.leave_update();
        self.end_compiled_update(optimizer);
    }

    /// The model is updated by a compiled function.
    pub fn end_compiled_update(&mut self, optimizer: Address) {
        self.updates += 1;
        self.progress.see_update();
        if self.is_counted() {
            self.samples = 0;
            return;
        }
        if self.progress.is_main(optimizer) {
            self.progress.end_step(now(), std::mem::take(&mut self.samples));
        }
        self.see_activity();
        self.last_update = self.activity;
        if self.functional {
            self.before_forward = self.last_update;
        }
    }

    /// Whether steps are told by a pass over a loader, or by the user's `batches`.
    pub fn is_counted(&self) -> bool {
        self.primary.is_some() || in_batches()
    }

    /// Whether the optimizer belongs to the fit.
    #[must_use]
    pub fn knows_optimizer(&self, optimizer: Address) -> bool {
        self.optimizers.contains(&optimizer)
    }

    /// The optimizer belongs to the fit from here on.
    pub fn know_optimizer(&mut self, optimizer: Address) {
        self.optimizers.push(optimizer);
    }

    /// Something of a training step happens; the first after an update may begin an epoch.
    fn see_event(&mut self) {
        if self.first_event.is_none() && self.primary.is_none() && self.passes.is_empty() {
            self.first_event = Some((mark(), now()));
        }
    }
}
