//! The cell with long short-term memory.

use super::buffer::Buffer;
use super::exp::{sigmoid, tanh};
use super::float::Float;
use super::isa::{Instructions, Isa, vectorised};
use super::recurrence::{Cell, Place};

/// Gates decide what enters the memory, what stays in it and what is shown of it.
pub(super) struct Lstm<F> {
    /// Memories: zero, and then one after each place.
    memory: Buffer<F>,
    /// What each memory shows when all of it is shown.
    shown: Buffer<F>,
    /// Gradient of one memory.
    gradient: Buffer<F>,
    places: usize,
    size: usize,
}

impl<F: Float> Lstm<F> {
    pub(super) fn new() -> Self {
        let (memory, shown, gradient) = (Buffer::new(), Buffer::new(), Buffer::new());
        Self { memory, shown, gradient, places: 0, size: 0 }
    }
}

impl<F: Float> Cell<F> for Lstm<F> {
    fn gates(&self) -> usize {
        4
    }

    fn begin(&mut self, places: usize, size: usize) {
        (self.places, self.size) = (places, size);
        self.memory.take((places + 1) * size)[..size].fill(F::ZERO);
        self.shown.take(places * size);
        self.gradient.take(size).fill(F::ZERO);
    }

    fn forward(&mut self, isa: Isa, place: Place<'_, F>) {
        let memories = self.memory.take((self.places + 1) * self.size);
        let (before, after) = memories[place.at * self.size..].split_at_mut(self.size);
        let shown = &mut self.shown.take(self.places * self.size)[place.at * self.size..];
        forward(isa, place.width, place.gates, before, [after, shown, place.hidden]);
    }

    fn backward(&mut self, isa: Isa, place: Place<'_, F>, gradient: &mut [F]) {
        let before = &self.memory.first((self.places + 1) * self.size)[place.at * self.size..];
        let shown = &self.shown.first(self.places * self.size)[place.at * self.size..];
        let memory_gradient = self.gradient.take(self.size);
        backward(isa, place.width, place.gates, [before, shown], [gradient, memory_gradient]);
    }
}

vectorised! {
    fn forward<F, I>(width: usize, gates: &mut [F], before: &[F], after: [&mut [F]; 3]) {
        let [memory, shown, hidden] = after;
        let after = memory.chunks_exact_mut(width).zip(shown.chunks_exact_mut(width));
        let rows = gates.chunks_exact_mut(4 * width).zip(before.chunks_exact(width)).zip(after);
        for (((gates, before), (memory, shown)), hidden) in rows.zip(hidden.chunks_exact_mut(width)) {
            forward_row::<F, I>(parts(gates), before, memory, shown, hidden);
        }
    }
}

vectorised! {
    fn backward<F, I>(width: usize, gates: &mut [F], kept: [&[F]; 2], gradients: [&mut [F]; 2]) {
        let ([before, shown], [hidden, memory]) = (kept, gradients);
        let kept = before.chunks_exact(width).zip(shown.chunks_exact(width));
        let rows = gates.chunks_exact_mut(4 * width).zip(kept).zip(hidden.chunks_exact_mut(width));
        for (((gates, (before, shown)), hidden), memory) in rows.zip(memory.chunks_exact_mut(width)) {
            backward_row(parts(gates), before, shown, hidden, memory);
        }
    }
}

/// PyTorch's order of the gates: enter, stay, candidate, show.
#[inline(always)]
fn parts<F>(gates: &mut [F]) -> [&mut [F]; 4] {
    let width = gates.len() / 4;
    let (first, second) = gates.split_at_mut(2 * width);
    let ((enter, stay), (candidate, show)) = (first.split_at_mut(width), second.split_at_mut(width));
    [enter, stay, candidate, show]
}

#[inline(always)]
fn forward_row<F: Float, I: Instructions>(
    [enter, stay, candidate, show]: [&mut [F]; 4],
    before: &[F],
    memory: &mut [F],
    shown: &mut [F],
    hidden: &mut [F],
) {
    // Each loop writes to one slice: the compiler would not vectorise one that writes to all.
    for gates in [&mut *enter, &mut *stay, &mut *show] {
        gates.iter_mut().for_each(|gate| *gate = sigmoid::<F, I>(*gate).stored());
    }
    candidate.iter_mut().for_each(|new| *new = tanh::<F, I>(*new).stored());
    let entering = enter.iter().zip(candidate.iter());
    let staying = stay.iter().zip(before);
    for (memory, ((enter, new), (stay, before))) in memory.iter_mut().zip(entering.zip(staying)) {
        *memory = (*stay * *before + *enter * *new).stored();
    }
    for (shown, memory) in shown.iter_mut().zip(&*memory) {
        *shown = tanh::<F, I>(*memory).stored();
    }
    for (hidden, (show, shown)) in hidden.iter_mut().zip(show.iter().zip(&*shown)) {
        *hidden = (*show * *shown).stored();
    }
}

#[inline(always)]
fn backward_row<F: Float>(
    [enter, stay, candidate, show]: [&mut [F]; 4],
    before: &[F],
    shown: &[F],
    hidden: &mut [F],
    memory: &mut [F],
) {
    // Slices of one length spare the loop its checks.
    let width = hidden.len();
    let (enter, stay) = (&mut enter[..width], &mut stay[..width]);
    let (candidate, show) = (&mut candidate[..width], &mut show[..width]);
    let (before, shown, memory) = (&before[..width], &shown[..width], &mut memory[..width]);
    for at in 0..width {
        let (gradient, enters, stays, new) = (hidden[at], enter[at], stay[at], candidate[at]);
        let of_memory = memory[at] + gradient * show[at] * (F::ONE - shown[at] * shown[at]);
        show[at] = (gradient * shown[at] * show[at] * (F::ONE - show[at])).stored();
        enter[at] = (of_memory * new * enters * (F::ONE - enters)).stored();
        stay[at] = (of_memory * before[at] * stays * (F::ONE - stays)).stored();
        candidate[at] = (of_memory * enters * (F::ONE - new * new)).stored();
        memory[at] = (of_memory * stays).stored();
        hidden[at] = F::ZERO;
    }
}
