//! A dense layer with ReLU.

use std::ops::Range;

use super::float::Float;
use super::isa::{Isa, vectorised};
use super::layout::Layout;
use super::product::{Matrix, Panels, Start, multiply};

/// Inputs times weights, plus a bias, and nothing of what is below zero.
pub(super) struct Dense<F> {
    isa: Isa,
    /// `[inputs, outputs]`: as the product wants its right factor.
    weight: Range<usize>,
    bias: Range<usize>,
    inputs: usize,
    outputs: usize,
    /// For factors of a product that must be packed.
    room: Vec<F>,
}

impl<F: Float> Dense<F> {
    pub(super) fn new(inputs: usize, outputs: usize, isa: Isa, layout: &mut Layout) -> Self {
        let (weight, bias) = (layout.next_turned(), layout.next());
        Self { isa, weight, bias, inputs, outputs, room: Vec::new() }
    }

    /// A row of outputs for each row of inputs.
    pub(super) fn forward(&mut self, parameters: &[F], inputs: &[F], outputs: &mut [F]) {
        let weight = Matrix::new(&parameters[self.weight.clone()], self.outputs);
        let panels = Panels::new(self.isa, weight, self.inputs, self.outputs, &mut self.room);
        let start = Start::Bias(&parameters[self.bias.clone()]);
        let (rows, inputs) = (outputs.len() / self.outputs, Matrix::new(inputs, self.inputs));
        multiply(self.isa, inputs, rows, &panels, start, (outputs, self.outputs));
        cut(self.isa, outputs);
    }

    /// Adds the gradients of the parameters, given those of the outputs, which are cut like the outputs were; those
    /// of the inputs are written where they are wanted.
    pub(super) fn backward(
        &mut self,
        parameters: &[F],
        (inputs, outputs): (&[F], &[F]),
        of_outputs: &mut [F],
        gradients: &mut [F],
        of_inputs: Option<&mut [F]>,
    ) {
        cut_like(self.isa, outputs, of_outputs, &mut gradients[self.bias.clone()]);
        let rows = outputs.len() / self.outputs;
        let right = Matrix::new(of_outputs, self.outputs);
        let panels = Panels::new(self.isa, right, rows, self.outputs, &mut self.room);
        let left = Matrix::new(inputs, self.inputs).turned();
        let of_weight = &mut gradients[self.weight.clone()];
        multiply(self.isa, left, self.inputs, &panels, Start::Sum, (of_weight, self.outputs));
        if let Some(of_inputs) = of_inputs {
            let weight = Matrix::new(&parameters[self.weight.clone()], self.outputs).turned();
            let panels = Panels::new(self.isa, weight, self.outputs, self.inputs, &mut self.room);
            let left = Matrix::new(of_outputs, self.outputs);
            multiply(self.isa, left, rows, &panels, Start::Zero, (of_inputs, self.inputs));
        }
    }
}

vectorised! {
    /// ReLU in place.
    fn cut<F, I>(values: &mut [F]) {
        for value in values {
            // What is no number stays, so that the loss is none either.
            *value = if *value <= F::ZERO { F::ZERO } else { value.stored() };
        }
    }
}

vectorised! {
    /// Keeps the gradients of what ReLU has let through, and adds each row of them to the sums.
    fn cut_like<F, I>(values: &[F], gradients: &mut [F], sums: &mut [F]) {
        let width = sums.len();
        for (values, gradients) in values.chunks_exact(width).zip(gradients.chunks_exact_mut(width)) {
            for ((value, gradient), sum) in values.iter().zip(gradients).zip(&mut *sums) {
                *gradient = if *value > F::ZERO { gradient.stored() } else { F::ZERO };
                *sum += *gradient;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cpu::finite_differences::{assert_gradients, numbers};
    use crate::{Start as First, WeightShape};

    #[test]
    fn gradients_are_those_of_finite_differences_for_any_size() {
        let shape = |dims: &[usize]| WeightShape { dims: dims.to_vec(), start: First::Zero };
        for (inputs, outputs, rows) in [(1, 1, 1), (3, 5, 7), (10, 64, 3), (33, 20, 2)] {
            for isa in Isa::available() {
                let mut layout = Layout::new(vec![shape(&[outputs, inputs]), shape(&[outputs])]);
                let mut layer = Dense::<f64>::new(inputs, outputs, isa, &mut layout);
                let count = layout.count();
                let values = numbers(count + rows * inputs, 1);
                let pull = numbers(rows * outputs, 2);
                let mut out = vec![0.0; rows * outputs];
                layer.forward(&values[..count], &values[count..], &mut out);
                let mut gradients = vec![0.0; values.len()];
                let (of_parameters, of_inputs) = gradients.split_at_mut(count);
                let passed = (&values[count..], &out[..]);
                layer.backward(&values[..count], passed, &mut pull.clone(), of_parameters, Some(of_inputs));
                let forward = |values: &[f64]| {
                    let mut out = vec![0.0; rows * outputs];
                    layer.forward(&values[..count], &values[count..], &mut out);
                    out.iter().zip(&pull).map(|(out, pull)| out * pull).sum()
                };
                assert_gradients(&values, &gradients, forward);
            }
        }
    }
}
