//! Model: what some steps and what goes with them take, part by part.

use super::document::{Cause, EstimatedPart, ForecastPart, NotSeen};
use super::past::{Around, Past};
use super::plan::Work;
use super::unreached::{checkpoint_bytes, evaluation};
use super::width::{Variance, by_others};
use crate::recurring::Recurring;
use crate::time_left::unseen;

/// What a start differs by from the next, as a share: files are in memory the second time.
const START_DIFFERS: f64 = 0.1;
/// The part of a step that does not depend on its batch, where nothing says how much.
const FIXED: f64 = 0.15;

/// Shares below this are rounding.
const NOTHING: f64 = 1e-9;

/// What is done: the whole training, or what is left of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Amount {
    /// Steps.
    pub(super) steps: f64,
    /// Ends of epochs.
    pub(super) ends: f64,
    /// Whether start-up and warm-up are paid.
    pub(super) from_start: bool,
}

/// How another training than the one seen differs from it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Change {
    /// What a step takes over what it took.
    pub(super) step: f64,
    /// How far that may be off, standard deviation in logarithms.
    pub(super) step_error: f64,
    /// What follows an epoch takes so much more, seconds.
    pub(super) epoch_s: f64,
}

impl Change {
    /// Everything as it was.
    pub(super) const NONE: Self = Self { step: 1.0, step_error: 0.0, epoch_s: 0.0 };
}

/// What a training does and what that takes.
pub(super) struct Model<'a> {
    /// What the run showed.
    pub(super) past: &'a Past<'a>,
    /// What goes with its epochs or its steps.
    pub(super) around: Surrounding,
    /// How it is to differ.
    pub(super) change: Change,
}

/// What a training does outside its steps, as far as it was seen.
#[derive(Clone, Debug, Default)]
pub(super) struct Surrounding {
    /// After each epoch.
    epoch: Option<Around>,
    /// With each step: what is done between them, spread evenly.
    step: Option<Around>,
    /// After the training.
    pub(super) tear_down: Recurring,
    /// What was not reached and is in `epoch` all the same.
    pub(super) estimated: Vec<EstimatedPart>,
    /// What was not reached.
    pub(super) not_seen: Vec<NotSeen>,
    /// The earlier run that said what follows an epoch, by id.
    pub(super) from: Option<String>,
}

impl Surrounding {
    /// What the run showed, else what earlier ones did, else what the length of the data says.
    pub(super) fn of(past: &Past<'_>, work: &Work, earlier: &[Past<'_>]) -> Self {
        Self { tear_down: past.tear_down(earlier), ..Self::of_epochs(past, work, earlier) }
    }

    /// What goes with epochs and steps.
    fn of_epochs(past: &Past<'_>, work: &Work, earlier: &[Past<'_>]) -> Self {
        if !past.has_epochs() {
            return Self {
                step: past.pauses(),
                not_seen: not_seen(past, "in the steps that were seen"),
                ..Self::default()
            };
        }
        if let Some(epoch) = past.after_epoch() {
            return Self { epoch: Some(epoch), ..Self::default() };
        }
        let step = Some(past.inside()).filter(|inside| inside.cost.each_s > 0.0);
        let same = earlier.iter().rev().filter(|run| run.is_same_training(past.fit));
        let known = same.filter_map(|run| Some((run.after_epoch()?, run.report.run.id.clone()))).next();
        let has_ends = work.epochs.is_some_and(|epochs| epochs > 0);
        if let Some((epoch, id)) = known.filter(|_| has_ends) {
            return Self { epoch: Some(epoch), from: Some(id), ..Self::default() };
        }
        let mut not_seen = not_seen(past, "no epoch ended while the run was seen");
        let is_open = has_ends && not_seen.iter().any(|part| part.name == "evaluation");
        let (epoch, estimated) = is_open.then(|| evaluation(past)).flatten().unzip();
        not_seen
            .retain(|part| estimated.as_ref().is_none_or(|known: &EstimatedPart| known.name != part.name));
        let estimated = estimated.into_iter().collect();
        Self { epoch, step, estimated, not_seen, ..Self::default() }
    }

    /// Whether it has more than the run itself showed.
    pub(super) fn is_from_elsewhere(&self) -> bool {
        self.from.is_some() || !self.estimated.is_empty()
    }
}

/// Evaluation and checkpoints, unless they were seen.
fn not_seen(past: &Past<'_>, because: &str) -> Vec<NotSeen> {
    let parts = [("evaluation", "evaluate"), ("checkpoint", "checkpoint")];
    let unseen = parts.into_iter().filter(|(_, stage)| past.stage_s(stage) <= 0.0 && !past.is_finished());
    let bytes = |name| if name == "checkpoint" { checkpoint_bytes(past) } else { None };
    unseen.map(|(name, _)| NotSeen { name, because: because.to_owned(), bytes: bytes(name) }).collect()
}

/// What an amount of training takes.
#[derive(Clone, Debug)]
pub(super) struct Sum {
    /// Its parts in the order of the training.
    pub(super) parts: Vec<ForecastPart>,
    /// How far it may be off, by causes.
    pub(super) variance: Variance,
    /// Degrees of freedom behind that.
    pub(super) degrees: f64,
}

impl Sum {
    /// All parts together, seconds.
    pub(super) fn seconds(&self) -> f64 {
        self.parts.iter().map(|part| part.seconds).sum()
    }

    /// Half the width of the interval in logarithms.
    pub(super) fn width(&self) -> f64 {
        self.variance.width(self.seconds(), self.degrees)
    }

    fn add(&mut self, name: &'static str, seconds: f64) {
        match self.parts.iter_mut().find(|part| part.name == name) {
            Some(part) => part.seconds = (part.seconds + seconds).max(0.0),
            None if seconds > 0.0 => self.parts.push(ForecastPart { name, seconds }),
            None => {}
        }
    }
}

impl Model<'_> {
    /// What so much takes; `None` where the pace of the steps is not known.
    pub(super) fn sum(&self, amount: &Amount, work: &Work) -> Option<Sum> {
        let pace = self.past.pace.usual(amount.steps)?;
        let mut sum = Sum { parts: Vec::new(), variance: Variance::default(), degrees: pace.degrees };
        if amount.from_start {
            self.add_start(&mut sum, amount);
        }
        let steps = self.full_steps(amount, work);
        let training = steps * pace.mean * self.change.step;
        sum.add("training", training);
        self.add_steps_variance(&mut sum, training, pace.error / pace.mean, pace.little_seen);
        if let Some(stalls) = self.past.pace.stalls {
            let (seconds, error) = stalls.within(amount.steps);
            // Regular ones are steps like the others, such as those that wait for the first of several workers.
            let (part, cause, times) = match stalls.regular {
                true => ("training", Cause::StepsVary, self.change.step),
                false => ("stalls", Cause::RareStalls, 1.0),
            };
            sum.add(part, seconds * times);
            sum.variance.add(cause, error * times);
        }
        let before = sum.seconds() - training;
        self.add_surroundings(&mut sum, amount);
        let each_s = (sum.seconds() - before) / amount.steps.max(1.0);
        sum.variance.add(Cause::Convergence, work.steps_error * each_s);
        if amount.from_start {
            let tear_down = self.around.tear_down;
            sum.add("tear_down", tear_down.each_s);
            sum.variance.add(Cause::Surroundings, tear_down.error_s(1.0));
        }
        Some(sum)
    }

    /// An epoch with all that follows it, after the first one; seconds.
    pub(super) fn epoch_s(&self, work: &Work) -> Option<f64> {
        let amount = Amount { steps: work.per_epoch? as f64, ends: 1.0, from_start: false };
        self.sum(&amount, work).map(|sum| sum.seconds())
    }

    /// What warm-up takes more than the same steps later, seconds.
    pub(super) fn warm_up_s(&self) -> f64 {
        let pace = &self.past.pace;
        // Another batch compiles once just the same; caches are cold for as many rows.
        (pace.warm_up_s - pace.warm_up as f64 * pace.mean_s).max(0.0)
    }

    fn add_start(&self, sum: &mut Sum, amount: &Amount) {
        let start_up = self.past.start_up_s();
        sum.add("start_up", start_up);
        sum.variance.add(Cause::Surroundings, START_DIFFERS * start_up);
        sum.add("other_trainings", self.past.others_s());
        let reached = (amount.steps / self.past.pace.warm_up.max(1) as f64).min(1.0);
        sum.add("warm_up", self.warm_up_s() * reached);
        sum.variance.add(Cause::Surroundings, START_DIFFERS * self.warm_up_s());
    }

    /// Steps, the last and smaller ones of epochs counted as what they take of a full one; where whole epochs were
    /// seen those are in the mean.
    fn full_steps(&self, amount: &Amount, work: &Work) -> f64 {
        let in_mean = self.past.fit.epochs > 0 && self.change == Change::NONE;
        let less = work.last_batch.filter(|_| !in_mean).map_or(0.0, |part| (1.0 - part) * (1.0 - FIXED));
        let epochs = work.per_epoch.map_or(0.0, |per_epoch| (amount.steps / per_epoch as f64).floor());
        amount.steps - less * epochs
    }

    fn add_steps_variance(&self, sum: &mut Sum, training: f64, relative: f64, little_seen: f64) {
        let others = by_others(self.past);
        let deviation = training * relative;
        sum.variance.add(Cause::FewSteps, deviation * little_seen.sqrt());
        // Another moment differs from the one that was seen, however even that was, and the further the forecast goes
        // the more of them there are.
        let seen_s = self.past.pace.mean_s * self.past.pace.steps as f64;
        let moments = 1.0 + (1.0 + training / seen_s.max(f64::MIN_POSITIVE)).ln();
        let moment = if self.past.is_running() { 0.0 } else { training * unseen(seen_s) * moments };
        let varies = (deviation * (1.0 - little_seen).max(0.0).sqrt()).hypot(moment);
        sum.variance.add(Cause::OtherPrograms, varies * others.sqrt());
        sum.variance.add(Cause::StepsVary, varies * (1.0 - others).sqrt());
        sum.variance.add(Cause::Extrapolation, training * self.change.step_error);
    }

    fn add_surroundings(&self, sum: &mut Sum, amount: &Amount) {
        let after = self.around.epoch.map(|around| (around, amount.ends));
        let between = self.around.step.map(|around| (around, amount.steps));
        for (around, times) in after.into_iter().chain(between) {
            let seconds = around.cost.each_s * times;
            let rest = 1.0 - around.evaluation - around.checkpoint;
            let rest = if rest > NOTHING { rest } else { 0.0 };
            sum.add("evaluation", seconds * around.evaluation);
            sum.add("checkpoint", seconds * around.checkpoint);
            sum.add("between_epochs", seconds * rest);
            sum.variance.add(Cause::Surroundings, around.cost.error_s(times));
        }
        sum.add("between_epochs", self.change.epoch_s * amount.ends);
    }
}
