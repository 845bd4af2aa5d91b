//! The loss of classes: softmax and cross-entropy as one.

use super::exp::exp;
use super::float::Float;
use super::isa::{Instructions, vectorised};
use super::sums::{largest, sum};

/// Outputs of the widest answers that are computed in vectors of a known length.
const WIDEST: usize = 32;

vectorised! {
    /// The sum of losses and the number of right answers; outputs become their gradients, each times `scale`.
    pub(super) fn cross_entropy<F, I>(outputs: &mut [F], targets: &[f32], width: usize, scale: F) -> (f64, usize) {
        let (mut total, mut right) = (0.0, 0);
        for (outputs, target) in outputs.chunks_exact_mut(width).zip(targets) {
            let label = *target as usize;
            let (loss, best) = if width <= WIDEST / 2 {
                in_vectors::<F, I, { WIDEST / 2 }>(outputs, label, scale)
            } else if width <= WIDEST {
                in_vectors::<F, I, WIDEST>(outputs, label, scale)
            } else {
                of_answer::<F, I>(outputs, label, scale)
            };
            total += loss;
            right += usize::from(best);
        }
        (total, right)
    }
}

/// Does it to a longer copy, whose further outputs are so small that their share is none.
#[inline(always)]
fn in_vectors<F: Float, I: Instructions, const N: usize>(
    outputs: &mut [F],
    label: usize,
    scale: F,
) -> (f64, bool) {
    let mut longer = [F::LEAST; N];
    longer[..outputs.len()].copy_from_slice(outputs);
    let found = of_answer::<F, I>(&mut longer, label, scale);
    outputs.copy_from_slice(&longer[..outputs.len()]);
    found
}

/// Minus the logarithm of the softmax at the label, and whether its output is the largest, of equal ones the last;
/// outputs become their gradients.
#[inline(always)]
fn of_answer<F: Float, I: Instructions>(outputs: &mut [F], label: usize, scale: F) -> (f64, bool) {
    let (most, of_label) = (largest(outputs), outputs[label]);
    let mut before = 0u32;
    for (at, output) in outputs.iter().enumerate() {
        before += u32::from((*output > of_label) | ((*output == of_label) & (at > label)));
    }
    for output in &mut *outputs {
        *output = exp::<F, I>(*output - most);
    }
    let all = sum(outputs);
    let factor = scale / all;
    for output in &mut *outputs {
        *output *= factor;
    }
    outputs[label] -= scale;
    ((all.ln() - (of_label - most)).to_f64(), before == 0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cpu::finite_differences::{assert_gradients, numbers};
    use crate::cpu::isa::Isa;

    #[test]
    fn gradients_are_those_of_finite_differences_for_any_number_of_classes() {
        for (isa, width) in
            Isa::available().into_iter().flat_map(|isa| [2, 10, 20, 40].map(|width| (isa, width)))
        {
            let outputs: Vec<f64> = numbers(7 * width, 1).iter().map(|value| 4.0 * value).collect();
            let targets: Vec<f32> = (0..7).map(|at| (at * 3 % width) as f32).collect();
            let mut gradients = outputs.clone();
            cross_entropy(isa, &mut gradients, &targets, width, 0.5);
            let halved =
                |outputs: &[f64]| 0.5 * cross_entropy(isa, &mut outputs.to_vec(), &targets, width, 1.0).0;
            assert_gradients(&outputs, &gradients, halved);
        }
    }

    #[test]
    fn an_output_that_is_no_number_gives_a_loss_that_is_none() {
        let mut outputs = [0.0, f32::NAN, 1.0];
        assert!(cross_entropy(Isa::best(), &mut outputs, &[0.0], 3, 1.0).0.is_nan());
    }
}
