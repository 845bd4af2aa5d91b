//! One recurrent layer over all places of a sequence; what happens within a place is up to its cell.

use std::ops::Range;

use super::buffer::Buffer;
use super::float::Float;
use super::isa::Isa;
use super::layout::Layout;
use super::product::{Matrix, Panels, Start, multiply};
use super::projection::{Projection, add_columns, round};

/// What a recurrent layer does at a place, once the products are there.
pub(super) trait Cell<F: Float>: Send {
    /// Sums of input and state for each unit.
    fn gates(&self) -> usize;

    /// Whether input and state only count as a sum; else the state's part stays separate.
    fn adds_state(&self) -> bool {
        true
    }

    /// Makes room for sequences of so many places with `size` numbers of state each, and forgets.
    fn begin(&mut self, _places: usize, _size: usize) {}

    /// The state after a place. What the way back needs replaces the gates.
    fn forward(&mut self, isa: Isa, place: Place<'_, F>);

    /// Replaces gates and state's part by their gradients. The gradient of the state comes in and becomes the
    /// part of the gradient of the state before that does not go by way of the gates.
    fn backward(&mut self, isa: Isa, place: Place<'_, F>, gradient: &mut [F]);
}

/// All rows of a batch at one place.
pub(super) struct Place<'a, F> {
    /// Counted from 0.
    pub(super) at: usize,
    /// Units of the layer.
    pub(super) width: usize,
    /// Gates of each row; the input's part of them where the state's part is separate.
    pub(super) gates: &'a mut [F],
    /// The state's part where it is separate.
    pub(super) of_state: &'a mut [F],
    /// The state before.
    pub(super) before: &'a [F],
    /// The state after.
    pub(super) hidden: &'a mut [F],
}

/// A recurrent layer with the buffers of a pass; what belongs to a place lies together, row after row.
pub(super) struct Recurrence<F> {
    isa: Isa,
    cell: Box<dyn Cell<F>>,
    width: usize,
    input: Projection<F>,
    input_bias: Range<usize>,
    state: Range<usize>,
    state_bias: Range<usize>,
    gates: Buffer<F>,
    /// The state's part of the gates, where it is separate.
    of_state: Buffer<F>,
    /// States: zero, and then one after each place.
    hidden: Buffer<F>,
    /// Gradient of one state.
    gradient: Buffer<F>,
    /// The bias of the gates.
    bias: Vec<F>,
    room: Vec<F>,
    rows: usize,
    places: usize,
}

impl<F: Float> Recurrence<F> {
    pub(super) fn new(
        isa: Isa,
        cell: Box<dyn Cell<F>>,
        inputs: usize,
        width: usize,
        layout: &mut Layout,
    ) -> Self {
        let [weight, state, input_bias, state_bias] = std::array::from_fn(|_| layout.next());
        let gates = cell.gates() * width;
        Self {
            isa,
            cell,
            width,
            input: Projection::of(isa, weight, input_bias.clone(), inputs, gates),
            input_bias,
            state,
            state_bias,
            gates: Buffer::new(),
            of_state: Buffer::new(),
            hidden: Buffer::new(),
            gradient: Buffer::new(),
            bias: Vec::new(),
            room: Vec::new(),
            rows: 0,
            places: 0,
        }
    }

    /// Numbers that the gates of a row are.
    pub(super) fn gates_width(&self) -> usize {
        self.cell.gates() * self.width
    }

    /// Settles how many rows and places the next pass has.
    pub(super) fn begin(&mut self, rows: usize, places: usize) {
        (self.rows, self.places) = (rows, places);
        self.cell.begin(places, rows * self.width);
    }

    /// The input's part of the gates, for each row of inputs.
    pub(super) fn project(&mut self, parameters: &[F], inputs: &[F], gates: &mut [F]) {
        self.bias.clear();
        self.bias.extend_from_slice(&parameters[self.input_bias.clone()]);
        if self.cell.adds_state() {
            let of_state = &parameters[self.state_bias.clone()];
            self.bias.iter_mut().zip(of_state).for_each(|(bias, other)| *bias += *other);
        }
        self.input.forward_from(parameters, &self.bias, inputs, gates);
    }

    /// The input's part of the gates for the inputs of all places.
    pub(super) fn project_all(&mut self, parameters: &[F], inputs: &[F]) {
        let mut gates = std::mem::replace(&mut self.gates, Buffer::new());
        let count = self.rows * self.places * self.gates_width();
        self.project(parameters, inputs, gates.take(count));
        self.gates = gates;
    }

    /// Where the input's part of the gates belongs before the pass; on the way back their gradients are there.
    pub(super) fn gates(&mut self) -> &mut [F] {
        self.gates.take(self.rows * self.places * self.cell.gates() * self.width)
    }

    /// Computes all states from the input's part of the gates.
    pub(super) fn forward(&mut self, parameters: &[F]) {
        let (width, size) = (self.width, self.rows * self.width);
        let all = self.cell.gates() * width;
        let separate = !self.cell.adds_state();
        let weight = Matrix::new(&parameters[self.state.clone()], width).turned();
        let panels = Panels::new(self.isa, weight, width, all, &mut self.room);
        let hidden = self.hidden.take((self.places + 1) * size);
        hidden[..size].fill(F::ZERO);
        let gates = self.gates.take(self.places * self.rows * all);
        let of_state = self.of_state.take(if separate { gates.len() } else { 0 });
        for at in 0..self.places {
            let place = place(at, width, [self.rows * all, size], gates, of_state, hidden);
            let before = Matrix::new(place.before, width);
            let (sums, start) = if separate {
                (&mut *place.of_state, Start::Bias(&parameters[self.state_bias.clone()]))
            } else {
                (&mut *place.gates, Start::Sum)
            };
            multiply(self.isa, before, self.rows, &panels, start, (sums, all));
            self.cell.forward(self.isa, place);
        }
    }

    /// The states after all places.
    pub(super) fn states(&self) -> &[F] {
        let size = self.rows * self.width;
        &self.hidden.first((self.places + 1) * size)[size..]
    }

    /// Adds the gradients of the state's weights, given those of all states, and leaves those of the gates.
    pub(super) fn backward(&mut self, parameters: &[F], states: &[F], gradients: &mut [F]) {
        let (width, size) = (self.width, self.rows * self.width);
        let all = self.cell.gates() * width;
        let separate = !self.cell.adds_state();
        let weight = Matrix::new(&parameters[self.state.clone()], width);
        let panels = Panels::new(self.isa, weight, all, width, &mut self.room);
        let hidden = self.hidden.take((self.places + 1) * size);
        let gates = self.gates.take(self.places * self.rows * all);
        let of_state = self.of_state.take(if separate { gates.len() } else { 0 });
        let gradient = self.gradient.take(size);
        gradient.fill(F::ZERO);
        for at in (0..self.places).rev() {
            for (gradient, of_output) in gradient.iter_mut().zip(&states[at * size..]) {
                *gradient += *of_output;
            }
            let place = place(at, width, [self.rows * all, size], gates, of_state, hidden);
            self.cell.backward(self.isa, place, gradient);
            let sums = if separate { &*of_state } else { &*gates };
            let sums = Matrix::new(&sums[at * self.rows * all..][..self.rows * all], all);
            multiply(self.isa, sums, self.rows, &panels, Start::Sum, (gradient, width));
            round(gradient);
        }
        self.backward_state_weights(gradients);
    }

    /// One product over all places.
    fn backward_state_weights(&mut self, gradients: &mut [F]) {
        let (width, rows) = (self.width, self.rows * self.places);
        let all = self.cell.gates() * width;
        let separate = !self.cell.adds_state();
        let sums = if separate { self.of_state.first(rows * all) } else { self.gates.first(rows * all) };
        let before = Matrix::new(self.hidden.first(rows * width), width);
        let panels = Panels::new(self.isa, before, rows, width, &mut self.room);
        let left = Matrix::new(sums, all).turned();
        multiply(self.isa, left, all, &panels, Start::Sum, (&mut gradients[self.state.clone()], width));
        if separate {
            add_columns(self.isa, sums, &mut gradients[self.state_bias.clone()]);
        }
    }

    /// Adds the gradients of the input's weights and biases, given inputs and the gradients of what
    /// [`project`](Self::project) made of them.
    pub(super) fn backward_project(&mut self, inputs: &[F], gates: &[F], gradients: &mut [F]) {
        self.input.backward_weights(inputs, gates, gradients);
        if self.cell.adds_state() {
            // Both biases count alike, so they always have the same gradient.
            gradients.copy_within(self.input_bias.clone(), self.state_bias.start);
        }
    }

    /// The gradients of the inputs, given those of what [`project`](Self::project) made of them.
    pub(super) fn backward_inputs(
        &mut self,
        parameters: &[F],
        gates: &[F],
        inputs: &mut [F],
        start: Start<'_, F>,
    ) {
        self.input.backward_inputs(parameters, gates, inputs, start);
    }

    /// Adds the gradients of the input's weights for the inputs of all places, and writes those of the inputs.
    pub(super) fn backward_all(
        &mut self,
        parameters: &[F],
        inputs: &[F],
        of_inputs: &mut [F],
        gradients: &mut [F],
    ) {
        let gates = std::mem::replace(&mut self.gates, Buffer::new());
        let all = gates.first(self.rows * self.places * self.gates_width());
        self.backward_project(inputs, all, gradients);
        self.backward_inputs(parameters, all, of_inputs, Start::Zero);
        self.gates = gates;
    }
}

/// The part of all buffers that belongs to a place, given the sizes of its gates and of its state.
fn place<'a, F: Float>(
    at: usize,
    width: usize,
    [gates_size, size]: [usize; 2],
    gates: &'a mut [F],
    of_state: &'a mut [F],
    hidden: &'a mut [F],
) -> Place<'a, F> {
    let (before, after) = hidden[at * size..].split_at_mut(size);
    Place {
        at,
        width,
        gates: &mut gates[at * gates_size..][..gates_size],
        of_state: if of_state.is_empty() { of_state } else { &mut of_state[at * gates_size..][..gates_size] },
        before,
        hidden: &mut after[..size],
    }
}
