//! Clipping of gradients by the norm of all of them together, as PyTorch's `clip_grad_norm_` does.

use super::float::Float;

/// Keeps a norm of nothing from dividing by zero; PyTorch's value.
const EPSILON: f64 = 1e-6;

/// Scales all gradients by one factor where their common norm is above `most`.
pub(super) fn clip<F: Float>(gradients: &mut [F], most: f64) {
    let squares: f64 = gradients.iter().map(|gradient| gradient.to_f64() * gradient.to_f64()).sum();
    let factor = most / (squares.sqrt() + EPSILON);
    if factor < 1.0 {
        let factor = F::from_f64(factor);
        gradients.iter_mut().for_each(|gradient| *gradient *= factor);
    }
}
