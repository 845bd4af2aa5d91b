//! The loss of what a network gave, and its gradient.

use super::float::Float;
use super::isa::Isa;
use crate::{LossKind, ModelKind};

/// Where the huber loss turns from a square into a line.
const HUBER_DELTA: f64 = 1.0;

/// Sums over some answers.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(super) struct Score {
    /// Losses.
    pub(super) loss: f64,
    /// Answers that were right.
    pub(super) right: usize,
    /// Answers.
    pub(super) answers: usize,
}

impl Score {
    pub(super) fn add(&mut self, other: Self) {
        self.loss += other.loss;
        self.right += other.right;
        self.answers += other.answers;
    }
}

/// What answers are held against.
#[derive(Clone, Copy, Debug)]
pub(super) struct Criterion {
    loss: LossKind,
    /// Outputs of one answer.
    width: usize,
    isa: Isa,
}

impl Criterion {
    pub(super) fn new(loss: LossKind, model: ModelKind, isa: Isa) -> Self {
        Self { loss, width: model.classes().unwrap_or(1), isa }
    }

    /// Scores outputs against one target for each answer, and overwrites them with their gradients, each
    /// multiplied by `scale`.
    pub(super) fn score<F: Float>(&self, outputs: &mut [F], targets: &[f32], scale: f64) -> Score {
        let scale = F::from_f64(scale);
        let mut score = Score { answers: targets.len(), ..Score::default() };
        if self.loss == LossKind::CrossEntropy {
            for (outputs, target) in outputs.chunks_exact_mut(self.width).zip(targets) {
                let (loss, right) = cross_entropy(outputs, *target as usize, scale);
                score.loss += loss;
                score.right += usize::from(right);
            }
        } else {
            score.loss = of_errors(self.isa, outputs, targets, scale, self.loss);
        }
        score
    }
}

/// Minus the logarithm of the softmax at the label, and whether the label's output is the largest.
fn cross_entropy<F: Float>(outputs: &mut [F], label: usize, scale: F) -> (f64, bool) {
    let best = outputs.iter().enumerate().fold(0, |best, (at, output)| {
        // Of equal outputs the last, as ever.
        if *output >= outputs[best] { at } else { best }
    });
    let (most, of_label) = (outputs[best], outputs[label]);
    let mut sum = F::ZERO;
    for output in &mut *outputs {
        *output = (*output - most).exp();
        sum += *output;
    }
    let factor = scale / sum;
    for output in &mut *outputs {
        *output *= factor;
    }
    outputs[label] -= scale;
    ((sum.ln() - (of_label - most)).to_f64(), best == label)
}

/// The sum of the losses of numbers.
fn of_errors<F: Float>(_isa: Isa, outputs: &mut [F], targets: &[f32], scale: F, loss: LossKind) -> f64 {
    let mut sum = 0.0;
    let delta = F::from_f64(HUBER_DELTA);
    for (output, target) in outputs.iter_mut().zip(targets) {
        let error = *output - F::from_f32(*target);
        let sign = if error > F::ZERO {
            F::ONE
        } else if error < F::ZERO {
            -F::ONE
        } else {
            error * F::ZERO
        };
        let (value, slope) = match loss {
            LossKind::Mae => (error.abs(), sign),
            LossKind::Huber if error.abs() > delta => {
                (delta * (error.abs() - delta * F::from_f64(0.5)), sign * delta)
            }
            LossKind::Huber => (error * error * F::from_f64(0.5), error),
            LossKind::Mse | LossKind::CrossEntropy => (error * error, error + error),
        };
        sum += value.to_f64();
        *output = slope * scale;
    }
    sum
}
