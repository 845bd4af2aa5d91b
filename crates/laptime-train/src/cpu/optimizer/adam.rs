//! Adam.

use super::{EPSILON, Step};
use crate::cpu::float::Float;
use crate::cpu::isa::vectorised;

const BETA_1: f64 = 0.9;
const BETA_2: f64 = 0.999;

pub(super) fn take<F: Float>(step: Step<'_, F>) {
    let in_gradient = step.weight_decay;
    update(step, in_gradient, 1.0);
}

/// A step of which a share of the weight is in the gradient, and another is kept of the weight itself.
pub(super) fn update<F: Float>(step: Step<'_, F>, in_gradient: f64, kept: f64) {
    let time = step.number as f64;
    let root = (1.0 - BETA_2.powf(time)).sqrt();
    let rate = step.lr * root / (1.0 - BETA_1.powf(time));
    // The correction of the second moment is multiplied out, which saves a division.
    let epsilon = EPSILON * root;
    let factors = [in_gradient, kept, BETA_1, 1.0 - BETA_1, BETA_2, 1.0 - BETA_2, rate, epsilon];
    let [first, second] = step.moments;
    descend(step.isa, step.weights, step.gradients, first, second, factors.map(F::from_f64));
}

vectorised! {
    fn descend<F, I>(weights: &mut [F], gradients: &[F], first: &mut [F], second: &mut [F], factors: [F; 8]) {
        let [in_gradient, kept, beta_1, rest_1, beta_2, rest_2, rate, epsilon] = factors;
        let moments = first.iter_mut().zip(second);
        for ((weight, gradient), (first, second)) in weights.iter_mut().zip(gradients).zip(moments) {
            let gradient = I::multiply_add(in_gradient, *weight, *gradient);
            *first = I::multiply_add(*first, beta_1, gradient * rest_1);
            *second = I::multiply_add(*second, beta_2, gradient * gradient * rest_2);
            let step = *first * rate / (second.sqrt() + epsilon);
            *weight = I::multiply_add(*weight, kept, -step);
        }
    }
}
