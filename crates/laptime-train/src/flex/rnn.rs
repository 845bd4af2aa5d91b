//! The plain recurrent cell.

use burn::prelude::{Module, Tensor};

use super::recurrent::{Gates, State, tanh};

/// The new state is the tanh of input and old state.
#[derive(Module, Debug)]
pub(super) struct Rnn {
    pub(super) gates: Gates,
}

impl Rnn {
    pub(super) fn step(&self, projected: Tensor<2>, state: &State) -> State {
        let hidden = tanh(projected + self.gates.of_state(state));
        State { hidden, memory: state.memory.clone() }
    }
}
