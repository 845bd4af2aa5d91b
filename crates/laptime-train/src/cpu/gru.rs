//! The gated recurrent unit.

use super::exp::{sigmoid, tanh};
use super::float::Float;
use super::isa::{Instructions, Isa, vectorised};
use super::recurrence::{Cell, Place};

/// Gates decide how much of the old state shapes the new one, and how much of it stays.
pub(super) struct Gru;

impl<F: Float> Cell<F> for Gru {
    fn gates(&self) -> usize {
        3
    }

    /// The state's part of the candidate is scaled before it is added.
    fn adds_state(&self) -> bool {
        false
    }

    fn forward(&mut self, isa: Isa, place: Place<'_, F>) {
        forward(isa, place.width, place.gates, place.of_state, place.before, place.hidden);
    }

    fn backward(&mut self, isa: Isa, place: Place<'_, F>, gradient: &mut [F]) {
        backward(isa, place.width, place.gates, place.of_state, place.before, gradient);
    }
}

vectorised! {
    fn forward<F, I>(width: usize, gates: &mut [F], of_state: &[F], before: &[F], hidden: &mut [F]) {
        let gates = gates.chunks_exact_mut(3 * width).zip(of_state.chunks_exact(3 * width));
        let states = before.chunks_exact(width).zip(hidden.chunks_exact_mut(width));
        for ((gates, of_state), (before, hidden)) in gates.zip(states) {
            forward_row::<F, I>(parts_mut(gates), parts(of_state), before, hidden);
        }
    }
}

vectorised! {
    fn backward<F, I>(width: usize, gates: &mut [F], of_state: &mut [F], before: &[F], gradient: &mut [F]) {
        let gates = gates.chunks_exact_mut(3 * width).zip(of_state.chunks_exact_mut(3 * width));
        let states = before.chunks_exact(width).zip(gradient.chunks_exact_mut(width));
        for ((gates, of_state), (before, gradient)) in gates.zip(states) {
            backward_row(parts_mut(gates), parts_mut(of_state), before, gradient);
        }
    }
}

/// PyTorch's order of the gates: reset, stay, candidate.
#[inline(always)]
fn parts_mut<F>(gates: &mut [F]) -> [&mut [F]; 3] {
    let width = gates.len() / 3;
    let (reset, others) = gates.split_at_mut(width);
    let (stay, candidate) = others.split_at_mut(width);
    [reset, stay, candidate]
}

#[inline(always)]
fn parts<F>(gates: &[F]) -> [&[F]; 3] {
    let width = gates.len() / 3;
    [&gates[..width], &gates[width..2 * width], &gates[2 * width..]]
}

#[inline(always)]
fn forward_row<F: Float, I: Instructions>(
    [reset, stay, candidate]: [&mut [F]; 3],
    of_state: [&[F]; 3],
    before: &[F],
    hidden: &mut [F],
) {
    // Each loop writes to one slice: the compiler would not vectorise one that writes to all.
    let [of_reset, of_stay, of_candidate] = of_state;
    for (gate, of_state) in [(&mut *reset, of_reset), (&mut *stay, of_stay)] {
        for (gate, of_state) in gate.iter_mut().zip(of_state) {
            *gate = sigmoid::<F, I>(*gate + *of_state).stored();
        }
    }
    for ((new, of_state), reset) in candidate.iter_mut().zip(of_candidate).zip(&*reset) {
        *new = tanh::<F, I>(*new + *reset * *of_state).stored();
    }
    let states = before.iter().zip(&*stay);
    for (hidden, (new, (before, stay))) in hidden.iter_mut().zip(candidate.iter().zip(states)) {
        *hidden = (*new + *stay * (*before - *new)).stored();
    }
}

#[inline(always)]
fn backward_row<F: Float>(
    [reset, stay, candidate]: [&mut [F]; 3],
    [of_reset, of_stay, of_candidate]: [&mut [F]; 3],
    before: &[F],
    gradient: &mut [F],
) {
    // Slices of one length spare the loop its checks.
    let width = gradient.len();
    let (reset, stay, candidate) = (&mut reset[..width], &mut stay[..width], &mut candidate[..width]);
    let (of_reset, of_stay) = (&mut of_reset[..width], &mut of_stay[..width]);
    let (of_candidate, before) = (&mut of_candidate[..width], &before[..width]);
    for at in 0..width {
        let (resets, stays, new) = (reset[at], stay[at], candidate[at]);
        let of_new = gradient[at] * (F::ONE - stays) * (F::ONE - new * new);
        candidate[at] = of_new.stored();
        reset[at] = (of_new * of_candidate[at] * resets * (F::ONE - resets)).stored();
        stay[at] = (gradient[at] * (before[at] - new) * stays * (F::ONE - stays)).stored();
        of_reset[at] = reset[at];
        of_stay[at] = stay[at];
        of_candidate[at] = (of_new * resets).stored();
        gradient[at] = (gradient[at] * stays).stored();
    }
}
