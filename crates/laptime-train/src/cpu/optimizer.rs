//! PyTorch's optimizers over flat slices of weights and gradients.
//!
//! Factors are computed in 64 bits, as PyTorch does: in 32 bits `1 - 0.999` is 5e-5 off, which moved the loss of a
//! deep mlp's third epoch by 4e-4.

mod adam;
mod adamw;
mod momentum;
mod rmsprop;
mod sgd;

use super::buffer::Buffer;
use super::float::Float;
use super::isa::Isa;
use crate::{OptimizerKind, OptimizerSpec};

/// Keeps a small second moment from making a large step.
const EPSILON: f64 = 1e-8;

/// Changes weights by their gradients, and remembers what it needs for the next step.
pub(super) struct Optimizer<F> {
    spec: OptimizerSpec,
    isa: Isa,
    weights: usize,
    steps: u64,
    moments: [Buffer<F>; 2],
}

/// What one step works on; the moments are empty where the optimizer has none.
struct Step<'a, F> {
    isa: Isa,
    lr: f64,
    weight_decay: f64,
    /// Number of the step, from 1.
    number: u64,
    weights: &'a mut [F],
    gradients: &'a [F],
    moments: [&'a mut [F]; 2],
}

impl<F: Float> Optimizer<F> {
    /// The optimizer that a spec describes, for so many weights.
    pub(super) fn new(spec: &OptimizerSpec, weights: usize, isa: Isa) -> Self {
        let mut moments = [Buffer::new(), Buffer::new()];
        for moment in moments.iter_mut().take(names(spec.kind).len()) {
            moment.take(weights);
        }
        Self { spec: *spec, isa, weights, steps: 0, moments }
    }

    /// Takes one step at a learning rate.
    pub(super) fn step(&mut self, lr: f64, weights: &mut [F], gradients: &[F]) {
        self.steps += 1;
        let kept = names(self.spec.kind).len();
        let mut at = 0;
        let moments = self.moments.each_mut().map(|moment| {
            at += 1;
            moment.take(if at <= kept { self.weights } else { 0 })
        });
        let (isa, weight_decay, number) = (self.isa, self.spec.weight_decay, self.steps);
        let step = Step { isa, lr, weight_decay, number, weights, gradients, moments };
        match self.spec.kind {
            OptimizerKind::Sgd => sgd::take(step),
            OptimizerKind::Momentum => momentum::take(step),
            OptimizerKind::Adam => adam::take(step),
            OptimizerKind::AdamW => adamw::take(step),
            OptimizerKind::RmsProp => rmsprop::take(step),
        }
    }

    /// Steps taken.
    pub(super) fn steps(&self) -> u64 {
        self.steps
    }

    /// What it remembers, by name: a number for each weight.
    pub(super) fn moments(&self) -> impl Iterator<Item = (&'static str, &[F])> {
        let moments = self.moments.iter().map(|moment| moment.first(self.weights));
        names(self.spec.kind).iter().copied().zip(moments)
    }

    /// Goes on after so many steps, with moments of the same names in the same order.
    pub(super) fn restore(&mut self, steps: u64, moments: Vec<Vec<F>>) {
        self.steps = steps;
        for (own, moment) in self.moments.iter_mut().zip(moments) {
            *own = Buffer::of(moment.into_iter());
        }
    }
}

/// The names of what an optimizer remembers of each weight.
fn names(kind: OptimizerKind) -> &'static [&'static str] {
    match kind {
        OptimizerKind::Sgd => &[],
        OptimizerKind::Momentum => &["velocity"],
        OptimizerKind::Adam | OptimizerKind::AdamW => &["first_moment", "second_moment"],
        OptimizerKind::RmsProp => &["square_average"],
    }
}
