//! The losses of numbers: squared, absolute and huber.

use super::float::Float;
use super::isa::vectorised;

/// Where the huber loss turns from a square into a line.
const HUBER_DELTA: f64 = 1.0;

/// Losses summed in the precision of the numbers before they are added in 64 bits.
const TOGETHER: usize = 256;

/// Sums at a time, as many as a vector has lanes.
const LANES: usize = 16;

vectorised! {
    /// The sum of squared errors; outputs become their gradients, each times `scale`.
    pub(super) fn squares<F, I>(outputs: &mut [F], targets: &[f32], scale: F) -> f64 {
        sum(outputs, targets, scale, |error| (error * error, error + error))
    }
}

vectorised! {
    /// The sum of absolute errors; outputs become their gradients, each times `scale`.
    pub(super) fn absolutes<F, I>(outputs: &mut [F], targets: &[f32], scale: F) -> f64 {
        sum(outputs, targets, scale, |error| (error.abs(), sign(error)))
    }
}

vectorised! {
    /// The sum of huber losses; outputs become their gradients, each times `scale`.
    pub(super) fn hubers<F, I>(outputs: &mut [F], targets: &[f32], scale: F) -> f64 {
        let (delta, half) = (F::from_f64(HUBER_DELTA), F::from_f64(0.5));
        sum(outputs, targets, scale, |error| {
            let size = error.abs();
            let square = if size > delta { delta } else { size };
            // The square up to delta, and beyond it the line that continues it.
            (square * square * half + (size - square) * delta, sign(error) * square)
        })
    }
}

/// One with the sign of an error; none for none.
#[inline(always)]
fn sign<F: Float>(error: F) -> F {
    let above = if error > F::ZERO { F::ONE } else { F::ZERO };
    if error < F::ZERO { -F::ONE } else { above }
}

/// The sum of the losses of all errors, given loss and slope of one.
#[inline(always)]
fn sum<F: Float>(outputs: &mut [F], targets: &[f32], scale: F, of_error: impl Fn(F) -> (F, F)) -> f64 {
    let mut total = 0.0;
    for (outputs, targets) in outputs.chunks_mut(TOGETHER).zip(targets.chunks(TOGETHER)) {
        let mut sums = [F::ZERO; LANES];
        let ((vectors, left), (theirs, theirs_left)) =
            (outputs.as_chunks_mut::<LANES>(), targets.as_chunks::<LANES>());
        for (outputs, targets) in vectors.iter_mut().zip(theirs) {
            for lane in 0..LANES {
                let (loss, slope) = of_error(outputs[lane] - F::from_f32(targets[lane]));
                sums[lane] += loss;
                outputs[lane] = slope * scale;
            }
        }
        for (lane, (output, target)) in left.iter_mut().zip(theirs_left).enumerate() {
            let (loss, slope) = of_error(*output - F::from_f32(*target));
            sums[lane] += loss;
            *output = slope * scale;
        }
        total += sums.iter().map(|sum| sum.to_f64()).sum::<f64>();
    }
    total
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cpu::finite_differences::{assert_gradients, numbers};
    use crate::cpu::isa::Isa;

    #[test]
    fn gradients_are_those_of_finite_differences() {
        let outputs: Vec<f64> = numbers(300, 1).iter().map(|value| 3.0 * value).collect();
        let targets: Vec<f32> = numbers(300, 2).iter().map(|value| *value as f32).collect();
        for isa in Isa::available() {
            for loss in [squares::<f64>, absolutes, hubers] {
                let mut gradients = outputs.clone();
                loss(isa, &mut gradients, &targets, 0.5);
                let halved = |outputs: &[f64]| 0.5 * loss(isa, &mut outputs.to_vec(), &targets, 1.0);
                assert_gradients(&outputs, &gradients, halved);
            }
        }
    }
}
