//! A dense layer of few outputs: sums over many inputs, several rows at a time.

use std::ops::Range;

use super::float::Float;
use super::isa::{Instructions, Isa, vectorised};
use super::lanes::Lanes;
use super::layout::Layout;

/// Rows that are computed together, so that the weights are read as many times less often.
const ROWS: usize = 4;

/// Rows that go back together where there are 32 registers.
const MANY_ROWS: usize = 8;

/// Inputs below which vectors do not pay.
const FEW_INPUTS: usize = 4;

/// Outputs that are computed together, so that the inputs are read as many times less often.
const OUTPUTS: usize = 5;

/// Sums at a time, as many as a vector has lanes.
const LANES: usize = 16;

/// The most outputs that are few.
const MOST_OUTPUTS: usize = 16;

/// Every output is the sum of all inputs, each times a weight, and a bias; weights lie as PyTorch's.
pub(super) struct FewOutputs {
    outputs: usize,
    weight: Range<usize>,
    bias: Range<usize>,
    isa: Isa,
}

impl FewOutputs {
    /// A layer whose weights lie as they are.
    pub(super) fn new(outputs: usize, isa: Isa, layout: &mut Layout) -> Self {
        assert!(outputs <= MOST_OUTPUTS, "a layer of more than {MOST_OUTPUTS} outputs is a dense one");
        Self { outputs, weight: layout.next(), bias: layout.next(), isa }
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
        assert!(outputs <= MOST_OUTPUTS, "a layer of more than {MOST_OUTPUTS} outputs is a dense one");
        Self { outputs, weight, bias: layout.next(), isa }
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
        sum_rows(self.isa, output_gradients, &mut gradients[self.bias.clone()]);
        let (weight, of_weight) = (&parameters[self.weight.clone()], &mut gradients[self.weight.clone()]);
        let of_inputs = input_gradients.unwrap_or(&mut []);
        backward(self.isa, weight, self.outputs, input, output_gradients, of_weight, of_inputs);
    }
}

vectorised! {
    fn forward<F, I>(weight: &[F], bias: &[F], input: &[F], output: &mut [F]) {
        let (inputs, outputs) = (weight.len() / bias.len(), bias.len());
        if let ([weight], [bias]) = (weight, bias) {
            for (answer, value) in output.iter_mut().zip(input) {
                *answer = I::multiply_add(*value, *weight, *bias).stored();
            }
            return;
        }
        if inputs < FEW_INPUTS {
            for (row, answers) in input.chunks_exact(inputs).zip(output.chunks_exact_mut(outputs)) {
                for (answer, (weight, bias)) in answers.iter_mut().zip(weight.chunks_exact(inputs).zip(bias)) {
                    let products = row.iter().zip(weight);
                    *answer = products.fold(*bias, |sum, (value, weight)| I::multiply_add(*value, *weight, sum));
                    *answer = answer.stored();
                }
            }
            return;
        }
        let whole = input.len() / (ROWS * inputs) * ROWS;
        for (rows, answers) in
            input.chunks_exact(ROWS * inputs).zip(output.chunks_exact_mut(ROWS * outputs))
        {
            answer::<F, I, ROWS>(rows, weight, bias, answers);
        }
        let left = output[whole * outputs..].chunks_exact_mut(outputs);
        for (row, answers) in input[whole * inputs..].chunks_exact(inputs).zip(left) {
            answer::<F, I, 1>(row, weight, bias, answers);
        }
    }
}

/// The outputs of some rows.
#[inline(always)]
fn answer<F: Float, I: Instructions, const R: usize>(
    rows: &[F],
    weight: &[F],
    bias: &[F],
    answers: &mut [F],
) {
    let (inputs, outputs) = (weight.len() / bias.len(), bias.len());
    let rows: [&[F]; R] = std::array::from_fn(|row| &rows[row * inputs..][..inputs]);
    let mut output = 0;
    while output < outputs {
        let weights = &weight[output * inputs..];
        if output + OUTPUTS <= outputs {
            let sums =
                dot::<F, I, R, OUTPUTS>(&rows, std::array::from_fn(|at| &weights[at * inputs..][..inputs]));
            for at in 0..OUTPUTS {
                for row in 0..R {
                    answers[row * outputs + output + at] = (sums[at][row] + bias[output + at]).stored();
                }
            }
            output += OUTPUTS;
        } else {
            let [sums] = dot::<F, I, R, 1>(&rows, [&weights[..inputs]]);
            for row in 0..R {
                answers[row * outputs + output] = (sums[row] + bias[output]).stored();
            }
            output += 1;
        }
    }
}

/// The products of some rows of weights with some rows, in the same order of sums however many.
#[inline(always)]
fn dot<F: Float, I: Instructions, const R: usize, const O: usize>(
    rows: &[&[F]; R],
    weights: [&[F]; O],
) -> [[F; R]; O] {
    let (inputs, lanes) = (weights[0].len(), I::Vector::<F>::COUNT);
    let whole = inputs / lanes * lanes;
    let mut sums = [[I::splat(F::ZERO); R]; O];
    let mut at = 0;
    while at < whole {
        let mut values = [I::splat(F::ZERO); R];
        for row in 0..R {
            values[row] = I::load(&rows[row][at..]);
        }
        for output in 0..O {
            let weight = I::load(&weights[output][at..]);
            for row in 0..R {
                sums[output][row] = I::multiply_add_lanes(values[row], weight, sums[output][row]);
            }
        }
        at += lanes;
    }
    // Loops rather than closures, which would be functions of their own, for any CPU.
    let mut totals = [[F::ZERO; R]; O];
    for output in 0..O {
        for row in 0..R {
            let mut sum = I::total(sums[output][row]);
            for (value, weight) in rows[row][whole..].iter().zip(&weights[output][whole..]) {
                sum = I::multiply_add(*value, *weight, sum);
            }
            totals[output][row] = sum;
        }
    }
    totals
}

vectorised! {
    /// Adds rows to their sums.
    fn sum_rows<F, I>(rows: &[F], sums: &mut [F]) {
        if let [sum] = sums {
            *sum += total::<F>(rows, |value, _| value);
            return;
        }
        for row in rows.chunks_exact(sums.len()) {
            sums.iter_mut().zip(row).for_each(|(sum, value)| *sum += *value);
        }
    }
}

/// A sum in as many parts as a vector has lanes: one after the other, each addition would wait for the one before.
#[inline(always)]
fn total<F: Float>(rows: &[F], term: impl Fn(F, usize) -> F) -> F {
    let mut sums = [F::ZERO; LANES];
    let (whole, left) = rows.as_chunks::<LANES>();
    for (at, values) in whole.iter().enumerate() {
        for lane in 0..LANES {
            sums[lane] += term(values[lane], at * LANES + lane);
        }
    }
    for (lane, value) in left.iter().enumerate() {
        sums[lane] += term(*value, rows.len() - left.len() + lane);
    }
    let mut sum = F::ZERO;
    for part in sums {
        sum += part;
    }
    sum
}

vectorised! {
    /// Adds the gradients of the weights, and writes those of the inputs unless there is no room for them.
    fn backward<F, I>(weight: &[F], outputs: usize, input: &[F], gradients: &[F], sums: &mut [F], to: &mut [F]) {
        let inputs = weight.len() / outputs;
        let rows = gradients.len() / outputs;
        if let ([sum], true) = (&mut *sums, to.is_empty()) {
            *sum += total::<F>(gradients, |gradient, row| gradient * input[row]);
            return;
        }
        if inputs < FEW_INPUTS && to.is_empty() {
            for (row, gradients) in input.chunks_exact(inputs).zip(gradients.chunks_exact(outputs)) {
                for (sums, gradient) in sums.chunks_exact_mut(inputs).zip(gradients) {
                    for (sum, value) in sums.iter_mut().zip(row) {
                        *sum = I::multiply_add(*gradient, *value, *sum);
                    }
                }
            }
            return;
        }
        let wanted = if to.is_empty() { 0 } else { inputs };
        let mut row = 0;
        while row < rows {
            let left = &input[row * inputs..];
            let (gradients, to) = (&gradients[row * outputs..], &mut to[row * wanted..]);
            if I::MANY_REGISTERS && row + MANY_ROWS <= rows {
                let (gradients, to) = (&gradients[..MANY_ROWS * outputs], &mut to[..MANY_ROWS * wanted]);
                go_back::<F, I, MANY_ROWS>(weight, left, gradients, sums, to);
                row += MANY_ROWS;
            } else if row + ROWS <= rows {
                go_back::<F, I, ROWS>(weight, left, &gradients[..ROWS * outputs], sums, &mut to[..ROWS * wanted]);
                row += ROWS;
            } else {
                go_back::<F, I, 1>(weight, left, &gradients[..outputs], sums, &mut to[..wanted]);
                row += 1;
            }
        }
    }
}

/// Goes back with some rows: every weight is read once, and every sum read and written once, for all of them.
#[inline(always)]
fn go_back<F: Float, I: Instructions, const R: usize>(
    weight: &[F],
    input: &[F],
    gradients: &[F],
    sums: &mut [F],
    to: &mut [F],
) {
    let outputs = gradients.len() / R;
    let (inputs, lanes) = (weight.len() / outputs, I::Vector::<F>::COUNT);
    let rows: [&[F]; R] = std::array::from_fn(|row| &input[row * inputs..][..inputs]);
    let mut by_output = [[F::ZERO; R]; MOST_OUTPUTS];
    for (row, gradients) in gradients.chunks_exact(outputs).enumerate() {
        for (own, gradient) in by_output.iter_mut().zip(gradients) {
            own[row] = *gradient;
        }
    }
    let whole = inputs / lanes * lanes;
    let mut at = 0;
    while at < whole {
        let mut values = [I::splat(F::ZERO); R];
        for row in 0..R {
            values[row] = I::load(&rows[row][at..]);
        }
        let mut spread = [I::splat(F::ZERO); R];
        for (output, gradients) in by_output.iter().enumerate().take(outputs) {
            let place = output * inputs + at;
            let weight = I::load(&weight[place..]);
            let mut sum = I::load(&sums[place..]);
            for row in 0..R {
                let gradient = I::splat(gradients[row]);
                sum = I::multiply_add_lanes(gradient, values[row], sum);
                spread[row] = I::multiply_add_lanes(gradient, weight, spread[row]);
            }
            I::store(sum, &mut sums[place..]);
        }
        if !to.is_empty() {
            for row in 0..R {
                I::store(spread[row], &mut to[row * inputs + at..]);
            }
        }
        at += lanes;
    }
    for at in whole..inputs {
        for row in 0..R {
            let mut spread = F::ZERO;
            for output in 0..outputs {
                let (place, gradient) = (output * inputs + at, gradients[row * outputs + output]);
                sums[place] = I::multiply_add(gradient, rows[row][at], sums[place]);
                spread = I::multiply_add(gradient, weight[place], spread);
            }
            if !to.is_empty() {
                to[row * inputs + at] = spread;
            }
        }
    }
    if F::ROUNDED_IN_STORE {
        to.iter_mut().for_each(|value| *value = value.stored());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cpu::finite_differences::{assert_gradients, numbers};
    use crate::{Start, WeightShape};

    #[test]
    fn gradients_are_those_of_finite_differences_for_any_size() {
        let shape = |dims: &[usize]| WeightShape { dims: dims.to_vec(), start: Start::Zero };
        for (inputs, outputs, rows) in [(1, 1, 3), (2, 3, 5), (21, 1, 13), (37, 10, 9), (16, 6, 1)] {
            for isa in Isa::available() {
                let mut layout = Layout::new(vec![shape(&[outputs, inputs]), shape(&[outputs])]);
                let layer = FewOutputs::new(outputs, isa, &mut layout);
                let count = layout.count();
                // Parameters first, then the inputs: both have gradients.
                let values = numbers(count + rows * inputs, 1);
                let pull = numbers(rows * outputs, 2);
                let mut gradients = vec![0.0; values.len()];
                let (of_parameters, of_inputs) = gradients.split_at_mut(count);
                layer.backward(&values[..count], &values[count..], &pull, of_parameters, Some(of_inputs));
                let mut alone = vec![0.0; count];
                layer.backward(&values[..count], &values[count..], &pull, &mut alone, None);
                for (one, other) in alone.iter().zip(&*of_parameters) {
                    assert!((one - other).abs() < 1e-12, "{isa} {inputs} {outputs}: {one} is not {other}");
                }
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
