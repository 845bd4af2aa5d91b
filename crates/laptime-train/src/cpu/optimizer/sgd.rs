//! Stochastic gradient descent.

use super::Step;
use crate::cpu::float::Float;
use crate::cpu::isa::vectorised;

pub(super) fn take<F: Float>(step: Step<'_, F>) {
    let Step { isa, lr, weight_decay, weights, gradients, .. } = step;
    descend(isa, weights, gradients, F::from_f64(lr), F::from_f64(weight_decay));
}

vectorised! {
    fn descend<F, I>(weights: &mut [F], gradients: &[F], lr: F, decay: F) {
        for (weight, gradient) in weights.iter_mut().zip(gradients) {
            let gradient = I::multiply_add(decay, *weight, *gradient);
            *weight = I::multiply_add(-lr, gradient, *weight);
        }
    }
}
