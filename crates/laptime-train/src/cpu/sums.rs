//! Sums over a row, in as many sums as a vector has lanes: the compiler may not reorder one sum by itself.

use super::float::Float;

/// Numbers in the widest vector.
const LANES: usize = 16;

#[inline(always)]
pub(super) fn sum<F: Float>(values: &[F]) -> F {
    let (chunks, rest) = values.as_chunks::<LANES>();
    let mut sums = [F::ZERO; LANES];
    for chunk in chunks {
        for (sum, value) in sums.iter_mut().zip(chunk) {
            *sum += *value;
        }
    }
    sums.into_iter().sum::<F>() + rest.iter().copied().sum::<F>()
}

/// The sum of products.
#[inline(always)]
pub(super) fn dot<F: Float>(a: &[F], b: &[F]) -> F {
    let ((a, a_rest), (b, b_rest)) = (a.as_chunks::<LANES>(), b.as_chunks::<LANES>());
    let mut sums = [F::ZERO; LANES];
    for (a, b) in a.iter().zip(b) {
        for (sum, (a, b)) in sums.iter_mut().zip(a.iter().zip(b)) {
            *sum += *a * *b;
        }
    }
    sums.into_iter().sum::<F>() + a_rest.iter().zip(b_rest).map(|(a, b)| *a * *b).sum::<F>()
}

/// The largest of all; there is one.
#[inline(always)]
pub(super) fn largest<F: Float>(values: &[F]) -> F {
    let (chunks, rest) = values.as_chunks::<LANES>();
    let mut most = [F::LEAST; LANES];
    for chunk in chunks {
        for (most, value) in most.iter_mut().zip(chunk) {
            *most = most.larger(*value);
        }
    }
    most.iter().chain(rest).fold(F::LEAST, |most, value| most.larger(*value))
}
