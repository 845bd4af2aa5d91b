//! Stochastic gradient descent with momentum, without dampening.

use super::Step;
use crate::cpu::float::Float;
use crate::cpu::isa::vectorised;

const MOMENTUM: f64 = 0.9;

pub(super) fn take<F: Float>(step: Step<'_, F>) {
    let factors = [step.lr, step.weight_decay, MOMENTUM].map(F::from_f64);
    let [velocity, _] = step.moments;
    descend(step.isa, step.weights, step.gradients, velocity, factors);
}

vectorised! {
    fn descend<F, I>(weights: &mut [F], gradients: &[F], velocity: &mut [F], factors: [F; 3]) {
        let [lr, decay, momentum] = factors;
        for ((weight, gradient), velocity) in weights.iter_mut().zip(gradients).zip(velocity) {
            let gradient = I::multiply_add(decay, *weight, *gradient);
            *velocity = I::multiply_add(momentum, *velocity, gradient);
            *weight = I::multiply_add(-lr, *velocity, *weight);
        }
    }
}
