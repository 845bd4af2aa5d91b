//! The exponential and what is made of it, in arithmetic alone, so that loops over them become vectors.

use super::float::Float;
use super::isa::Instructions;

/// One over the factorials from 1 on, as many as 64 bits need.
const TAYLOR: [f64; 13] = {
    let mut terms = [1.0; 13];
    let mut at = 1;
    while at < terms.len() {
        terms[at] = terms[at - 1] / (at + 1) as f64;
        at += 1;
    }
    terms
};

/// Most of ln 2, in so few bits that its product with a small whole number is exact; and what is left of it.
const LN_2: [f64; 2] = [0.693_359_375, -2.121_944_400_546_905_8e-4];

/// The exponential; beyond the range of the numbers it stays at the range's end.
#[inline(always)]
pub(super) fn exp<F: Float, I: Instructions>(value: F) -> F {
    let (power, rest) = parts::<F, I>(value);
    I::multiply_add(power, rest, power)
}

/// Grows from 0 to 1.
#[inline(always)]
pub(super) fn sigmoid<F: Float, I: Instructions>(value: F) -> F {
    F::ONE / (F::ONE + exp::<F, I>(-value))
}

/// The hyperbolic tangent.
#[inline(always)]
pub(super) fn tanh<F: Float, I: Instructions>(value: F) -> F {
    let two = F::ONE + F::ONE;
    let (power, rest) = parts::<F, I>(-two * value.abs());
    // The exponential less one, right to its last digits where it is small.
    let less_one = I::multiply_add(power, rest, power - F::ONE);
    let size = -less_one / (two + less_one);
    if value < F::ZERO { -size } else { size }
}

/// A power of two, and the exponential less one of what is left: e^x = power · (1 + rest).
#[inline(always)]
fn parts<F: Float, I: Instructions>(value: F) -> (F, F) {
    // Comparisons rather than a clamp: what is no number must stay none.
    let value = if value > F::EXP_RANGE { F::EXP_RANGE } else { value };
    let value = if value < -F::EXP_RANGE { -F::EXP_RANGE } else { value };
    let shifted = I::multiply_add(value, F::from_f64(std::f64::consts::LOG2_E), F::SHIFT);
    let whole = shifted - F::SHIFT;
    let left = I::multiply_add(whole, F::from_f64(-LN_2[0]), value);
    let left = I::multiply_add(whole, F::from_f64(-LN_2[1]), left);
    let mut sum = F::from_f64(TAYLOR[F::EXP_TERMS - 1]);
    for term in TAYLOR[..F::EXP_TERMS - 1].iter().rev() {
        sum = I::multiply_add(sum, left, F::from_f64(*term));
    }
    (F::power_of_two(shifted), sum * left)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cpu::isa::{Isa, vectorised};

    vectorised! {
        fn apply<F, I>(which: usize, values: &mut [F]) {
            for value in values {
                *value = [exp::<F, I>, sigmoid::<F, I>, tanh::<F, I>][which](*value);
            }
        }
    }

    fn near<F: Float>(tolerance: f64) {
        let right: [fn(f64) -> f64; 3] = [f64::exp, |x| 1.0 / (1.0 + (-x).exp()), f64::tanh];
        for isa in Isa::available() {
            for (which, right) in right.into_iter().enumerate() {
                let inputs: Vec<F> = (-40_000..40_000)
                    .flat_map(|at| [f64::from(at) / 1000.0, f64::from(at) * 1e-7])
                    .map(F::from_f64)
                    .collect();
                let mut outputs = inputs.clone();
                apply(isa, which, &mut outputs);
                for (input, output) in inputs.into_iter().zip(outputs) {
                    let right = right(input.to_f64());
                    let apart = (output.to_f64() - right).abs();
                    assert!(apart <= tolerance * right.abs(), "{isa} {which} {input:?} {output:?} {right}");
                }
            }
        }
    }

    #[test]
    fn values_are_right_to_the_last_digits_on_every_instruction_set() {
        near::<f32>(3e-7);
        near::<f64>(1e-15);
    }

    #[test]
    fn the_ends_of_the_range_and_what_is_no_number_go_through() {
        for isa in Isa::available() {
            for which in 0..3 {
                let mut values = [f32::INFINITY, f32::NEG_INFINITY, f32::NAN];
                apply(isa, which, &mut values);
                assert!(
                    values[0] >= 1.0 && values[1].abs() <= 1.0 && values[2].is_nan(),
                    "{which} {values:?}"
                );
            }
        }
    }
}
