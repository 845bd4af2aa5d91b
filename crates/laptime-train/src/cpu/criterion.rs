//! The loss of what a network gave, and its gradient.

use super::cross_entropy::cross_entropy;
use super::errors::{absolutes, hubers, squares};
use super::float::Float;
use super::isa::Isa;
use crate::{LossKind, ModelKind};

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
        let answers = targets.len();
        let (loss, right) = match self.loss {
            LossKind::CrossEntropy => cross_entropy(self.isa, outputs, targets, self.width, scale),
            LossKind::Mse => (squares(self.isa, outputs, targets, scale), 0),
            LossKind::Mae => (absolutes(self.isa, outputs, targets, scale), 0),
            LossKind::Huber => (hubers(self.isa, outputs, targets, scale), 0),
        };
        Score { loss, right, answers }
    }
}
