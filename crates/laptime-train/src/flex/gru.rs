//! The gated recurrent unit.

use burn::prelude::{Module, Tensor};
use burn::tensor::activation::sigmoid;

use super::recurrent::{Gates, State, part, tanh};

/// Gates decide how much of the old state shapes the new one, and how much of it stays.
#[derive(Module, Debug)]
pub(super) struct Gru {
    pub(super) gates: Gates,
}

impl Gru {
    /// PyTorch's order of the gates: reset, stay, candidate.
    pub(super) fn step(&self, projected: &Tensor<2>, state: &State) -> State {
        let [_, width] = state.hidden.dims();
        let of_state = self.gates.of_state_with_bias(state);
        let both = sigmoid(part(projected, 0, 2, width) + part(&of_state, 0, 2, width));
        let (reset, stay) = (part(&both, 0, 1, width), part(&both, 1, 1, width));
        let candidate = tanh(part(projected, 2, 1, width) + reset * part(&of_state, 2, 1, width));
        let hidden = candidate.clone() + stay * (state.hidden.clone() - candidate);
        State { hidden, memory: state.memory.clone() }
    }
}
