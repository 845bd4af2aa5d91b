//! RMSprop, neither centered nor with momentum.

use super::{EPSILON, Step};
use crate::cpu::float::Float;
use crate::cpu::isa::vectorised;

const ALPHA: f64 = 0.99;

pub(super) fn take<F: Float>(step: Step<'_, F>) {
    let factors = [step.lr, step.weight_decay, ALPHA, 1.0 - ALPHA, EPSILON].map(F::from_f64);
    let [average, _] = step.moments;
    descend(step.isa, step.weights, step.gradients, average, factors);
}

vectorised! {
    fn descend<F, I>(weights: &mut [F], gradients: &[F], average: &mut [F], factors: [F; 5]) {
        let [lr, decay, alpha, rest, epsilon] = factors;
        for ((weight, gradient), average) in weights.iter_mut().zip(gradients).zip(average) {
            let gradient = I::multiply_add(decay, *weight, *gradient);
            *average = I::multiply_add(*average, alpha, gradient * gradient * rest);
            *weight -= lr * gradient / (average.sqrt() + epsilon);
        }
    }
}
