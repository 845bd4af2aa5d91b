//! The plain recurrent cell.

use super::exp::tanh;
use super::float::Float;
use super::isa::{Isa, vectorised};
use super::recurrence::{Cell, Place};

/// The new state is the tanh of input and old state.
pub(super) struct Rnn;

impl<F: Float> Cell<F> for Rnn {
    fn gates(&self) -> usize {
        1
    }

    fn forward(&mut self, isa: Isa, place: Place<'_, F>) {
        forward(isa, place.gates, place.hidden);
    }

    fn backward(&mut self, isa: Isa, place: Place<'_, F>, gradient: &mut [F]) {
        backward(isa, place.gates, place.hidden, gradient);
    }
}

vectorised! {
    fn forward<F, I>(gates: &[F], hidden: &mut [F]) {
        for (hidden, gate) in hidden.iter_mut().zip(gates) {
            *hidden = tanh::<F, I>(*gate).stored();
        }
    }
}

vectorised! {
    fn backward<F, I>(gates: &mut [F], hidden: &[F], gradient: &mut [F]) {
        for ((gate, hidden), gradient) in gates.iter_mut().zip(hidden).zip(gradient) {
            *gate = (*gradient * (F::ONE - *hidden * *hidden)).stored();
            *gradient = F::ZERO;
        }
    }
}
