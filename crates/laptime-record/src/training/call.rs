//! Calls of models, losses and compiled functions: what each is a stage of.

use laptime_core::{Counter, StageId};

use super::{Address, ModuleKind, Training, book, come_out, go_inside};
use crate::count::count;
use crate::explicit::{enter, exit};
use crate::mark::mark;

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
    /// As above; the samples of its input are wanted, since no loader counts them.
    BegunWithoutSamples,
    /// The module is seen for the first time: say of which kind it is, and begin the call again.
    NewModule,
    /// The model is to be trained for the first time: say so, and begin the call again.
    NewModel,
}

impl Training {
    /// A module is called, outermost.
    pub fn begin_call(&mut self, module: Address, modes: Modes) -> Call {
        let Some(known) = self.modules.find(module) else { return Call::NewModule };
        let (stage, wants_samples) = match (known.kind, self.worker_stage) {
            (ModuleKind::Silent, _) => return Call::Silent,
            (_, Some(stage)) => (stage, false),
            (ModuleKind::Loss, None) => (StageId::LOSS, false),
            (ModuleKind::Model, None) if !modes.trains || !modes.grad_enabled => {
                (self.evaluate_call(known.trained, modes), false)
            }
            (ModuleKind::Model, None) if !known.trained => return Call::NewModel,
            (ModuleKind::Model, None) => (StageId::FORWARD, self.train_call(module)),
        };
        self.begin_stage(stage);
        if wants_samples { Call::BegunWithoutSamples } else { Call::Begun }
    }

    /// A model is called, outermost, of a framework whose call says whether it is to be trained; says
    /// whether its samples are wanted.
    pub fn begin_model(&mut self, model: Address, trains: bool) -> bool {
        let was_trained = self.modules.find(model).is_some_and(|known| known.trained);
        let wants_samples = trains && self.train_call(model);
        let modes = Modes { trains, grad_enabled: false };
        let stage = if trains { StageId::FORWARD } else { self.evaluate_call(was_trained, modes) };
        self.begin_stage(stage);
        wants_samples
    }

    fn begin_stage(&mut self, stage: StageId) {
        go_inside();
        self.called = stage;
        self.boundaries.pass(stage);
        enter(stage);
    }

    /// Notes a call that gradients are wanted of; says whether its samples are wanted.
    fn train_call(&mut self, module: Address) -> bool {
        // Once more may be a look at the loss after an epoch; from then on it is a loop over parts of the input.
        self.samples_unsure |= self.calls_since_backward > 1 && self.first_called == Some(module);
        if self.calls_since_backward == 0 {
            self.first_called = Some(module);
        }
        self.leave_evaluation();
        self.end_own_update();
        self.end_preparation();
        self.calls_to_train += 1;
        self.calls_since_backward += 1;
        self.last_call_evaluates = false;
        self.record_use();
        self.record_event();
        if self.progress.is_steps_only() {
            self.resume_steps();
        }
        self.pending_samples = 0;
        self.passes.is_empty() && !self.samples_unsure
    }

    /// The script has its input; between two models of one step it still computes the forward pass.
    pub(super) fn end_preparation(&mut self) {
        // After one update or backward pass of a step, what follows is input for the next.
        let before = self.differentiated.take().or(self.updated.take());
        if let Some(since) = self.preparing.take().or(before) {
            self.progress.record_preparation(since.since);
            book(Some(since), StageId::PREPARE);
        } else {
            book(self.computed.take(), StageId::FORWARD);
        }
    }

    /// Without gradients a model that is trained is evaluated or sampled from. A frozen teacher was never
    /// trained; a target computed after the model's own call is part of the loss.
    fn evaluate_call(&mut self, was_trained: bool, modes: Modes) -> StageId {
        self.calls_to_evaluate += 1;
        self.record_use();
        let for_the_loss = modes.trains && self.calls_since_backward > 0;
        if !modes.grad_enabled && was_trained && self.evaluating.is_none() && !for_the_loss {
            match self.training_pass() {
                Some(pass) if Some(pass) != self.primary => self.begin_evaluation(pass),
                _ => {
                    self.pause_steps();
                    return StageId::EVALUATE;
                }
            }
        }
        // What lies between two models of one step is part of the forward pass.
        book(self.computed.take(), StageId::FORWARD);
        if modes.grad_enabled {
            self.calls_since_backward += 1;
            self.last_call_evaluates = true;
        }
        StageId::FORWARD
    }

    /// The outermost call has ended.
    pub fn end_call(&mut self) {
        // What follows the model's call is its loss; after any other call the work is of the same kind.
        let follows = if self.called == StageId::FORWARD { StageId::LOSS } else { self.called };
        self.boundaries.pass(follows);
        exit(self.called);
        come_out();
        match self.called {
            StageId::EVALUATE if self.primary.is_none() || self.progress.is_steps_only() => {
                self.record_activity();
            }
            StageId::FORWARD if self.calls_since_backward > 0 => self.computed = self.stretch(),
            _ => {}
        }
    }

    /// A compiled function is called, outermost; `may_train` unless it is known not to.
    pub fn begin_function(&mut self, stage: StageId, may_train: bool) {
        if may_train {
            self.approach_step();
        }
        go_inside();
        self.boundaries.pass(stage);
        enter(stage);
    }

    /// A function is called that trains, and whose calls are seen one by one: the step begins here.
    pub fn approach_step(&mut self) {
        self.end_preparation();
        self.record_event();
    }

    /// The compiled function has returned.
    pub fn end_function(&mut self, stage: StageId) {
        self.boundaries.pass(StageId::AFTER_UPDATE);
        exit(stage);
        come_out();
    }

    /// Samples in the input of the call under way.
    pub fn take_samples(&mut self, samples: u32) {
        self.pending_samples = samples;
    }

    /// Tokens in the input of the call under way.
    pub fn take_tokens(&mut self, tokens: u64) {
        count(Counter::Tokens, tokens);
    }

    /// The module is of this kind.
    pub fn register_module(&mut self, module: Address, kind: ModuleKind) {
        self.modules.register(module, kind);
    }

    /// The model is trained from here on.
    pub fn train_model(&mut self, model: Address) {
        self.modules.train(model);
    }

    /// The module is gone, and another may stand where it stood.
    pub fn forget_module(&mut self, module: Address) {
        self.modules.forget(module);
    }

    /// A batch was copied to a device: the forward pass begins after it.
    pub fn moved_to_device(&mut self) {
        if self.functional {
            self.before_forward = Some(mark());
        }
    }
}
