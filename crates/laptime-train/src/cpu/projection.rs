//! A dense layer over all places of all sequences: few weights, many rows, so all of it is large products.

use std::ops::Range;

use super::float::Float;
use super::isa::{Isa, vectorised};
use super::layout::Layout;
use super::product::{FAR_APART, Matrix, Panels, Start, multiply};

/// Inputs times weights, plus a bias.
pub(super) struct Projection<F> {
    isa: Isa,
    /// `[outputs, inputs]`, as PyTorch has them, or `[inputs, outputs]` where there are fewer outputs: the gradient
    /// of the weights needs whichever side is inner as panels, and the narrower side has those already.
    weight: Range<usize>,
    turned: bool,
    bias: Range<usize>,
    inputs: usize,
    outputs: usize,
    /// For factors of a product that must be packed.
    room: Vec<F>,
}

impl<F: Float> Projection<F> {
    pub(super) fn new(isa: Isa, inputs: usize, outputs: usize, layout: &mut Layout) -> Self {
        let turned = outputs < inputs && inputs > FAR_APART;
        let weight = if turned { layout.next_turned() } else { layout.next() };
        Self { turned, ..Self::of(isa, weight, layout.next(), inputs, outputs) }
    }

    /// A layer whose weight, as PyTorch has it, and bias have their places already.
    pub(super) fn of(
        isa: Isa,
        weight: Range<usize>,
        bias: Range<usize>,
        inputs: usize,
        outputs: usize,
    ) -> Self {
        Self { isa, weight, turned: false, bias, inputs, outputs, room: Vec::new() }
    }

    /// A row of outputs for each row of inputs.
    pub(super) fn forward(&mut self, parameters: &[F], inputs: &[F], outputs: &mut [F]) {
        self.forward_from(parameters, &parameters[self.bias.clone()], inputs, outputs);
    }

    /// The same with a bias from elsewhere.
    pub(super) fn forward_from(&mut self, parameters: &[F], bias: &[F], inputs: &[F], outputs: &mut [F]) {
        let weight = weight(&parameters[self.weight.clone()], self.turned, [self.inputs, self.outputs]);
        let panels = Panels::new(self.isa, weight, self.inputs, self.outputs, &mut self.room);
        let (inputs, rows) = (Matrix::new(inputs, self.inputs), outputs.len() / self.outputs);
        multiply(self.isa, inputs, rows, &panels, Start::Bias(bias), (outputs, self.outputs));
        round(outputs);
    }

    /// Adds the gradients of weights and bias, given those of the outputs.
    pub(super) fn backward_weights(&mut self, inputs: &[F], outputs: &[F], gradients: &mut [F]) {
        add_columns(self.isa, outputs, &mut gradients[self.bias.clone()]);
        let rows = outputs.len() / self.outputs;
        let (inputs, outputs) = ((inputs, self.inputs), (outputs, self.outputs));
        let (left, right) = if self.turned { (inputs, outputs) } else { (outputs, inputs) };
        let panels = Panels::new(self.isa, Matrix::new(right.0, right.1), rows, right.1, &mut self.room);
        let weight = &mut gradients[self.weight.clone()];
        let left_matrix = Matrix::new(left.0, left.1).turned();
        multiply(self.isa, left_matrix, left.1, &panels, Start::Sum, (weight, right.1));
    }

    /// The gradients of the inputs, given those of the outputs; they replace what is there or are added to it.
    pub(super) fn backward_inputs(
        &mut self,
        parameters: &[F],
        outputs: &[F],
        inputs: &mut [F],
        start: Start<'_, F>,
    ) {
        let weight = weight(&parameters[self.weight.clone()], self.turned, [self.inputs, self.outputs]);
        let panels = Panels::new(self.isa, weight.turned(), self.outputs, self.inputs, &mut self.room);
        let (outputs, rows) = (Matrix::new(outputs, self.outputs), outputs.len() / self.outputs);
        multiply(self.isa, outputs, rows, &panels, start, (inputs, self.inputs));
        round(inputs);
    }
}

/// Weights as a matrix of so many inputs and outputs.
fn weight<F: Float>(values: &[F], turned: bool, [inputs, outputs]: [usize; 2]) -> Matrix<'_, F> {
    if turned { Matrix::new(values, outputs) } else { Matrix::new(values, inputs).turned() }
}

/// Brings sums to the precision in which a pass keeps them.
pub(super) fn round<F: Float>(values: &mut [F]) {
    if F::ROUNDED_IN_STORE {
        values.iter_mut().for_each(|value| *value = value.stored());
    }
}

vectorised! {
    /// Adds each row to the sums.
    pub(super) fn add_columns<F, I>(rows: &[F], sums: &mut [F]) {
        for row in rows.chunks_exact(sums.len()) {
            for (sum, value) in sums.iter_mut().zip(row) {
                *sum += *value;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::WeightShape;
    use crate::cpu::finite_differences::{assert_gradients, numbers};
    use crate::weight_shape::Start as First;

    #[test]
    fn gradients_are_those_of_finite_differences() {
        check(5, 3);
        check(200, 3);
    }

    fn check(inputs: usize, outputs: usize) {
        let rows = 7;
        let shape = |dims: &[usize]| WeightShape { dims: dims.to_vec(), start: First::Zero };
        let mut layout = Layout::new(vec![shape(&[outputs, inputs]), shape(&[outputs])]);
        let mut layer = Projection::<f64>::new(Isa::best(), inputs, outputs, &mut layout);
        let count = layout.count();
        // Parameters first, then the inputs: both have gradients.
        let values = numbers(count + rows * inputs, 1);
        let pull = numbers(rows * outputs, 2);
        let mut gradients = vec![0.0; values.len()];
        let (weights, of_inputs) = gradients.split_at_mut(count);
        layer.backward_weights(&values[count..], &pull, weights);
        layer.backward_inputs(&values[..count], &pull, of_inputs, Start::Zero);
        let forward = |values: &[f64]| {
            let mut out = vec![0.0; rows * outputs];
            layer.forward(&values[..count], &values[count..], &mut out);
            out.iter().zip(&pull).map(|(out, pull)| out * pull).sum()
        };
        assert_gradients(&values, &gradients, forward);
    }
}
