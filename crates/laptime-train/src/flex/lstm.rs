//! The cell with long short-term memory.

use burn::prelude::{Module, Tensor};
use burn::tensor::activation::sigmoid;

use super::recurrent::{Gates, State, part, tanh};

/// Gates decide what enters the memory, what stays in it and what is shown of it.
#[derive(Module, Debug)]
pub(super) struct Lstm {
    pub(super) gates: Gates,
}

impl Lstm {
    /// PyTorch's order of the gates: enter, stay, candidate, show.
    pub(super) fn step(&self, projected: Tensor<2>, state: &State) -> State {
        let [_, width] = state.hidden.dims();
        let gates = projected + self.gates.of_state(state);
        let (enter, stay) = (sigmoid(part(&gates, 0, 1, width)), sigmoid(part(&gates, 1, 1, width)));
        let (candidate, show) = (tanh(part(&gates, 2, 1, width)), sigmoid(part(&gates, 3, 1, width)));
        let memory = stay * state.memory.clone() + enter * candidate;
        State { hidden: show * tanh(memory.clone()), memory }
    }
}
