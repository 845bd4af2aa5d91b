//! Adam whose weight decay stays out of the gradient.

use super::{Step, adam};
use crate::cpu::float::Float;

pub(super) fn take<F: Float>(step: Step<'_, F>) {
    let kept = 1.0 - step.lr * step.weight_decay;
    adam::update(step, 0.0, kept);
}
