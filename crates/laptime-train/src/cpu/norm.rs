//! The layer norm.

use std::ops::Range;

use super::buffer::Buffer;
use super::float::Float;
use super::isa::{Isa, vectorised};
use super::layout::Layout;
use super::sums::{dot, sum};

/// As PyTorch's.
const EPSILON: f64 = 1e-5;

/// Brings each row to mean 0 and spread 1, then scales and moves it.
pub(super) struct Norm<F> {
    isa: Isa,
    scale: Range<usize>,
    offset: Range<usize>,
    /// Rows with mean 0 and spread 1.
    normed: Buffer<F>,
    /// One over the spread that each row had.
    inverses: Buffer<F>,
    /// One row.
    room: Buffer<F>,
}

impl<F: Float> Norm<F> {
    pub(super) fn new(isa: Isa, layout: &mut Layout) -> Self {
        let (scale, offset) = (layout.next(), layout.next());
        Self { isa, scale, offset, normed: Buffer::new(), inverses: Buffer::new(), room: Buffer::new() }
    }

    pub(super) fn forward(&mut self, parameters: &[F], inputs: &[F], outputs: &mut [F]) {
        let normed = self.normed.take(inputs.len());
        let inverses = self.inverses.take(inputs.len() / self.scale.len());
        let (scale, offset) = (&parameters[self.scale.clone()], &parameters[self.offset.clone()]);
        forward(self.isa, inputs, [scale, offset], [normed, inverses, outputs]);
    }

    /// Adds the gradients of the parameters and those of the inputs, given those of the outputs.
    pub(super) fn backward(
        &mut self,
        parameters: &[F],
        of_outputs: &[F],
        of_inputs: &mut [F],
        gradients: &mut [F],
    ) {
        let width = self.scale.len();
        let normed = self.normed.first(of_outputs.len());
        let inverses = self.inverses.first(of_outputs.len() / width);
        let scale = &parameters[self.scale.clone()];
        let (before, from_offset) = gradients.split_at_mut(self.offset.start);
        let of_parameters = [&mut before[self.scale.clone()], &mut from_offset[..width]];
        let kept = [normed, inverses, scale];
        backward(self.isa, kept, of_outputs, of_inputs, of_parameters, self.room.take(width));
    }
}

vectorised! {
    fn forward<F, I>(inputs: &[F], parameters: [&[F]; 2], results: [&mut [F]; 3]) {
        let ([scale, offset], [normed, inverses, outputs]) = (parameters, results);
        let width = scale.len();
        let share = F::from_f64(1.0 / width as f64);
        let epsilon = F::from_f64(EPSILON);
        let rows = inputs.chunks_exact(width).zip(normed.chunks_exact_mut(width)).zip(inverses);
        for (((input, normed), inverse), output) in rows.zip(outputs.chunks_exact_mut(width)) {
            let mean = sum(input) * share;
            for (normed, input) in normed.iter_mut().zip(input) {
                *normed = *input - mean;
            }
            *inverse = F::ONE / (dot(normed, normed) * share + epsilon).sqrt();
            for ((normed, output), (scale, offset)) in
                normed.iter_mut().zip(output).zip(scale.iter().zip(offset))
            {
                *normed = (*normed * *inverse).stored();
                *output = (*normed * *scale + *offset).stored();
            }
        }
    }
}

vectorised! {
    fn backward<F, I>(
        kept: [&[F]; 3],
        of_outputs: &[F],
        of_inputs: &mut [F],
        of_parameters: [&mut [F]; 2],
        pull: &mut [F],
    ) {
        let ([normed, inverses, scale], [of_scale, of_offset]) = (kept, of_parameters);
        let width = scale.len();
        let share = F::from_f64(1.0 / width as f64);
        let rows = normed.chunks_exact(width).zip(inverses).zip(of_outputs.chunks_exact(width));
        for (((normed, inverse), of_output), of_input) in rows.zip(of_inputs.chunks_exact_mut(width)) {
            for ((pull, of_output), scale) in pull.iter_mut().zip(of_output).zip(scale) {
                *pull = *of_output * *scale;
            }
            for ((of_scale, of_output), normed) in of_scale.iter_mut().zip(of_output).zip(normed) {
                *of_scale += *of_output * *normed;
            }
            for (of_offset, of_output) in of_offset.iter_mut().zip(of_output) {
                *of_offset += *of_output;
            }
            // Neither the mean of a row nor its spread can change, so the gradient loses its part in both.
            let (mean, spread) = (sum(pull) * share, dot(pull, normed) * share);
            for ((of_input, pull), normed) in of_input.iter_mut().zip(&*pull).zip(normed) {
                *of_input = (*of_input + *inverse * (*pull - mean - *normed * spread)).stored();
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::WeightShape;
    use crate::cpu::finite_differences::{assert_gradients, numbers};
    use crate::weight_shape::Start;

    #[test]
    fn gradients_are_those_of_finite_differences() {
        let (rows, width) = (3, 37);
        let shape = || WeightShape { dims: vec![width], start: Start::One };
        let mut layout = Layout::new(vec![shape(), shape()]);
        let mut norm = Norm::<f64>::new(Isa::best(), &mut layout);
        let count = layout.count();
        let values = numbers(count + rows * width, 1);
        let pull = numbers(rows * width, 2);
        let mut forward = |values: &[f64]| {
            let mut out = vec![0.0; rows * width];
            norm.forward(&values[..count], &values[count..], &mut out);
            out.iter().zip(&pull).map(|(out, pull)| out * pull).sum()
        };
        let _: f64 = forward(&values);
        let mut gradients = vec![0.0; values.len()];
        let (of_parameters, of_inputs) = gradients.split_at_mut(count);
        norm.backward(&values[..count], &pull, of_inputs, of_parameters);
        let forward = |values: &[f64]| {
            let mut out = vec![0.0; rows * width];
            norm.forward(&values[..count], &values[count..], &mut out);
            out.iter().zip(&pull).map(|(out, pull)| out * pull).sum()
        };
        assert_gradients(&values, &gradients, forward);
    }
}
