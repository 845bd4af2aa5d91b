//! A dense layer of few outputs: sums over many inputs, several rows at a time.

use std::ops::Range;

use super::float::Float;
use super::isa::{Instructions, Isa, vectorised};
use super::layout::Layout;

/// Numbers of a vector.
const LANES: usize = 16;

/// Rows that are computed together, so that the weights are read as many times less often.
const ROWS: usize = 4;

/// Every output is the sum of all inputs, each times a weight, and a bias; weights lie as PyTorch's.
pub(super) struct FewOutputs {
    inputs: usize,
    outputs: usize,
    weight: Range<usize>,
    bias: Range<usize>,
    isa: Isa,
}

impl FewOutputs {
    /// A layer whose weights lie as they are.
    pub(super) fn new(inputs: usize, outputs: usize, isa: Isa, layout: &mut Layout) -> Self {
        Self { inputs, outputs, weight: layout.next(), bias: layout.next(), isa }
    }

    /// A layer whose inputs have another order than PyTorch's; the function gives the place in PyTorch's order.
    pub(super) fn ordered(
        inputs: usize,
        outputs: usize,
        isa: Isa,
        layout: &mut Layout,
        source: impl Fn(usize) -> usize + 'static,
    ) -> Self {
        let weight = layout.next_ordered(move |at| at / inputs * inputs + source(at % inputs));
        Self { inputs, outputs, weight, bias: layout.next(), isa }
    }

    /// A row of outputs for each row of inputs.
    pub(super) fn forward<F: Float>(&self, parameters: &[F], input: &[F], output: &mut [F]) {
        let (weight, bias) = (&parameters[self.weight.clone()], &parameters[self.bias.clone()]);
        forward(self.isa, weight, bias, input, output);
    }

    /// Adds the gradients of the parameters; those of the inputs are written where they are wanted.
    pub(super) fn backward<F: Float>(
        &self,
        parameters: &[F],
        input: &[F],
        output_gradients: &[F],
        gradients: &mut [F],
        input_gradients: Option<&mut [F]>,
    ) {
        let of_bias = &mut gradients[self.bias.clone()];
        for row in output_gradients.chunks_exact(self.outputs) {
            of_bias.iter_mut().zip(row).for_each(|(sum, gradient)| *sum += *gradient);
        }
        sum_weights(self.isa, self.inputs, input, output_gradients, &mut gradients[self.weight.clone()]);
        if let Some(input_gradients) = input_gradients {
            let weight = &parameters[self.weight.clone()];
            spread(self.isa, weight, output_gradients, self.inputs, input_gradients);
        }
    }
}

vectorised! {
    fn forward<F, I>(weight: &[F], bias: &[F], input: &[F], output: &mut [F]) {
        let (inputs, outputs) = (weight.len() / bias.len(), bias.len());
        let mut rows = input.chunks_exact(ROWS * inputs);
        let mut answers = output.chunks_exact_mut(ROWS * outputs);
        for (rows, answers) in rows.by_ref().zip(answers.by_ref()) {
            for (output, (weight, bias)) in weight.chunks_exact(inputs).zip(bias).enumerate() {
                let sums = dot_rows::<F, I>(rows, weight);
                for (row, sum) in sums.iter().enumerate() {
                    answers[row * outputs + output] = (*sum + *bias).stored();
                }
            }
        }
        let left = answers.into_remainder().chunks_exact_mut(outputs);
        for (row, answers) in rows.remainder().chunks_exact(inputs).zip(left) {
            for (answer, (weight, bias)) in answers.iter_mut().zip(weight.chunks_exact(inputs).zip(bias)) {
                *answer = (dot::<F, I>(row, weight) + *bias).stored();
            }
        }
    }
}

/// The products of one row of weights with each of some rows.
#[inline(always)]
fn dot_rows<F: Float, I: Instructions>(rows: &[F], weight: &[F]) -> [F; ROWS] {
    let inputs = weight.len();
    let mut sums = [[F::ZERO; LANES]; ROWS];
    let (weights, weights_left) = weight.as_chunks::<LANES>();
    let rows: [&[F]; ROWS] = std::array::from_fn(|row| &rows[row * inputs..][..inputs]);
    let vectors = rows.map(|row| &row.as_chunks::<LANES>().0[..weights.len()]);
    for (at, weights) in weights.iter().enumerate() {
        for (sums, vectors) in sums.iter_mut().zip(&vectors) {
            for lane in 0..LANES {
                sums[lane] = I::multiply_add(vectors[at][lane], weights[lane], sums[lane]);
            }
        }
    }
    std::array::from_fn(|row| {
        let left = rows[row].as_chunks::<LANES>().1.iter().zip(weights_left);
        left.fold(total(&sums[row]), |sum, (value, weight)| I::multiply_add(*value, *weight, sum))
    })
}

/// The product of a row of weights with a row, summed in the same order as that of several rows.
#[inline(always)]
fn dot<F: Float, I: Instructions>(row: &[F], weight: &[F]) -> F {
    let mut sums = [F::ZERO; LANES];
    let ((vectors, left), (weights, weights_left)) = (row.as_chunks::<LANES>(), weight.as_chunks::<LANES>());
    for (vector, weights) in vectors.iter().zip(weights) {
        for lane in 0..LANES {
            sums[lane] = I::multiply_add(vector[lane], weights[lane], sums[lane]);
        }
    }
    let left = left.iter().zip(weights_left);
    left.fold(total(&sums), |sum, (value, weight)| I::multiply_add(*value, *weight, sum))
}

/// The sum of all lanes, half by half.
#[inline(always)]
fn total<F: Float>(lanes: &[F; LANES]) -> F {
    let mut sums = *lanes;
    let mut half = LANES / 2;
    while half > 0 {
        for lane in 0..half {
            sums[lane] += sums[lane + half];
        }
        half /= 2;
    }
    sums[0]
}

vectorised! {
    /// Adds to the gradient of each weight, rows by fours.
    fn sum_weights<F, I>(inputs: usize, input: &[F], gradients: &[F], sums: &mut [F]) {
        let outputs = sums.len() / inputs;
        let mut rows = input.chunks_exact(ROWS * inputs);
        let mut answers = gradients.chunks_exact(ROWS * outputs);
        for (rows, gradients) in rows.by_ref().zip(answers.by_ref()) {
            let rows: [&[F]; ROWS] = std::array::from_fn(|row| &rows[row * inputs..][..inputs]);
            for (output, sums) in sums.chunks_exact_mut(inputs).enumerate() {
                let factors: [F; ROWS] = std::array::from_fn(|row| gradients[row * outputs + output]);
                for (at, sum) in sums.iter_mut().enumerate() {
                    let mut value = *sum;
                    for row in 0..ROWS {
                        value = I::multiply_add(factors[row], rows[row][at], value);
                    }
                    *sum = value;
                }
            }
        }
        let left = answers.remainder().chunks_exact(outputs);
        for (row, gradients) in rows.remainder().chunks_exact(inputs).zip(left) {
            for (sums, gradient) in sums.chunks_exact_mut(inputs).zip(gradients) {
                for (sum, value) in sums.iter_mut().zip(row) {
                    *sum = I::multiply_add(*gradient, *value, *sum);
                }
            }
        }
    }
}

vectorised! {
    /// The gradients of the inputs.
    fn spread<F, I>(weight: &[F], gradients: &[F], inputs: usize, to: &mut [F]) {
        let outputs = weight.len() / inputs;
        for (to, gradients) in to.chunks_exact_mut(inputs).zip(gradients.chunks_exact(outputs)) {
            let (first, others) = weight.split_at(inputs);
            for (to, weight) in to.iter_mut().zip(first) {
                *to = gradients[0] * *weight;
            }
            for (weight, gradient) in others.chunks_exact(inputs).zip(&gradients[1..]) {
                for (to, weight) in to.iter_mut().zip(weight) {
                    *to = I::multiply_add(*gradient, *weight, *to);
                }
            }
            to.iter_mut().for_each(|value| *value = value.stored());
        }
    }
}
