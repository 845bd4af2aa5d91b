//! The engine on Burn's `flex` backend: pure Rust, on the CPU.

mod clip;
mod criterion;
mod dense;
mod dropout;
mod feed_forward;
mod gru;
mod lstm;
mod network;
mod optimizer;
mod recurrent;
mod rnn;
mod transformer;

use std::fs;
use std::path::Path;

use burn::optim::{GradientsAccumulator, GradientsParams, ModuleOptimizer};
use burn::prelude::{Module, Tensor};
use burn::tensor::{DType, Device};
use laptime_load::Batch;
use laptime_record::stage;

use self::clip::clip;
use self::criterion::Target;
use self::dropout::Dropout;
use self::network::{Network, network};
use crate::allocator::keep_freed_memory;
use crate::threads::use_threads;
use crate::{Dtype, Engine, Model, ModelSpec, Recipe, StepResult, TrainError, Weights};

/// The version that the workspace pins exactly.
const BURN_VERSION: &str = "0.22.1";

/// Burn on its `flex` backend, with a number of threads that is fixed for the calling thread.
#[derive(Clone, Copy, Debug)]
pub struct FlexEngine {
    threads: u32,
}

impl FlexEngine {
    /// An engine for this thread; everything it computes from here on uses `threads` threads.
    pub fn new(threads: u32) -> Result<Self, TrainError> {
        use_threads(threads)?;
        keep_freed_memory();
        Ok(Self { threads })
    }
}

impl Engine for FlexEngine {
    fn name(&self) -> String {
        format!("burn {BURN_VERSION} flex")
    }

    fn threads(&self) -> u32 {
        self.threads
    }

    fn model(
        &self,
        spec: &ModelSpec,
        start: &Weights,
        recipe: &Recipe,
    ) -> Result<Box<dyn Model>, TrainError> {
        let device = Device::flex().autodiff();
        let precision = Precision::of(recipe.dtype);
        Ok(Box::new(FlexModel {
            network: Some(network(spec, start, &device, precision.weights)?),
            parameters: start.0.iter().map(|tensor| tensor.values.len() as u64).sum(),
            optimizer: optimizer::build(&recipe.optimizer),
            lr: recipe.optimizer.lr,
            dropout: Dropout::new(recipe.dropout, recipe.seed),
            recipe: *recipe,
            precision,
            device,
        }))
    }
}

/// The types of numbers: those that are kept, and those that are computed with on the way.
#[derive(Clone, Copy)]
struct Precision {
    /// Weights, their gradients, the loss and the optimizer's state.
    weights: DType,
    /// Forward and backward.
    passes: DType,
}

impl Precision {
    fn of(dtype: Dtype) -> Self {
        let (weights, passes) = match dtype {
            Dtype::F32 => (DType::F32, DType::F32),
            Dtype::F64 => (DType::F64, DType::F64),
            // In 16 bits alone most updates would be too small to change a weight.
            Dtype::Bf16 => (DType::F32, DType::BF16),
        };
        Self { weights, passes }
    }
}

struct FlexModel {
    /// Absent only within an optimizer step, which takes the network and gives it back.
    network: Option<Network>,
    parameters: u64,
    optimizer: ModuleOptimizer,
    lr: f64,
    dropout: Dropout,
    recipe: Recipe,
    precision: Precision,
    device: Device,
}

impl Model for FlexModel {
    fn train_step(&mut self, batches: &[Batch]) -> Result<StepResult, TrainError> {
        let network = self.network.take().ok_or_else(lost_network)?;
        let rows: usize = batches.iter().map(|batch| batch.rows).sum();
        let mut sum = GradientsAccumulator::new();
        let mut gradients = GradientsParams::new();
        let mut results = Vec::with_capacity(batches.len());
        for batch in batches {
            let share = batch.rows as f64 / rows as f64;
            let (loss, result) = self.forward(&network, batch)?;
            results.push((share, result));
            let _stage = stage!("backward");
            // Every row counts alike, whatever batch it came in.
            let loss = if batches.len() > 1 { loss * share } else { loss };
            gradients = GradientsParams::from_grads(loss.backward(), &network);
            if batches.len() > 1 {
                sum.accumulate(&network, gradients);
                gradients = GradientsParams::new();
            }
            // The graph goes with the last tensor that holds it, and its time belongs here.
            drop(loss);
        }
        let _stage = stage!("optimizer");
        if batches.len() > 1 {
            gradients = sum.grads();
        }
        if let Some(most) = self.recipe.clip {
            gradients = clip(gradients, &network, most);
        }
        self.network = Some(self.optimizer.step(self.lr, network, gradients));
        Ok(StepResult::mean(&results))
    }

    fn evaluate(&mut self, batch: &Batch) -> Result<StepResult, TrainError> {
        let network = self.network.as_ref().ok_or_else(lost_network)?.valid();
        let device = self.device.clone().without_autodiff();
        let target = Target::new(&network, batch, self.recipe.loss, &device, self.precision.weights);
        let input = network.input(batch, &device, self.precision.passes);
        let output = network.forward(input, self.precision.passes, &mut Dropout::off())?;
        let (_, result) = target.loss(output.cast(self.precision.weights))?;
        Ok(result)
    }

    fn set_learning_rate(&mut self, lr: f64) {
        self.lr = lr;
    }

    fn write_checkpoint(&self, folder: &Path) -> Result<(), TrainError> {
        let failed = |reason: String| TrainError::Checkpoint { folder: folder.to_owned(), reason };
        let network = self.network.clone().ok_or_else(lost_network)?;
        fs::create_dir_all(folder).map_err(|error| failed(error.to_string()))?;
        network.save_file(folder.join("model.bpk")).map_err(|error| failed(error.to_string()))?;
        self.optimizer.save(folder.join("optimizer.bpk")).map_err(|error| failed(error.to_string()))
    }

    fn parameters(&self) -> u64 {
        self.parameters
    }
}

impl FlexModel {
    /// The loss of a batch, as a tensor to go back from and as a number.
    fn forward(&mut self, network: &Network, batch: &Batch) -> Result<(Tensor<1>, StepResult), TrainError> {
        let Precision { weights, passes } = self.precision;
        let (input, target) = {
            let _stage = stage!("host_to_device");
            // Batches need no gradient, so they stay out of the graph.
            let target = Target::new(network, batch, self.recipe.loss, &self.device, weights);
            (network.input(batch, &self.device, passes), target)
        };
        let output = {
            let _stage = stage!("forward");
            network.forward(input, passes, &mut self.dropout)?
        };
        let _stage = stage!("loss");
        target.loss(output.cast(weights))
    }
}

fn lost_network() -> TrainError {
    TrainError::Engine { reason: "an earlier step did not finish".to_owned() }
}

fn engine_error(error: impl std::fmt::Debug) -> TrainError {
    TrainError::Engine { reason: format!("{error:?}") }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ModelKind, OptimizerKind};

    fn model(kind: ModelKind, seed: u64) -> FlexModel {
        let spec = ModelSpec { kind, features: 4, layers: 1, width: 8, kernel: 3 };
        let recipe = Recipe::new(kind, OptimizerKind::Adam);
        let device = Device::flex().autodiff();
        let start = Weights::seeded(&spec, seed).unwrap();
        FlexModel {
            network: Some(network(&spec, &start, &device, DType::F32).unwrap()),
            parameters: 0,
            optimizer: optimizer::build(&recipe.optimizer),
            lr: 1e-2,
            dropout: Dropout::off(),
            recipe,
            precision: Precision::of(Dtype::F32),
            device,
        }
    }

    #[test]
    fn training_goes_on_from_a_checkpoint_as_if_it_had_not_been_interrupted() {
        let folder = tempfile::tempdir().unwrap();
        for kind in [ModelKind::Mlp, ModelKind::Lstm, ModelKind::Transformer] {
            let place = folder.path().join(kind.name());
            let tokens = vec![1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0];
            let batch = [Batch { rows: 2, width: 4, features: tokens, targets: vec![5.0, 9.0] }];
            let mut trained = model(kind, 0);
            for _ in 0..3 {
                trained.train_step(&batch).unwrap();
            }
            trained.write_checkpoint(&place).unwrap();

            let mut resumed = model(kind, 1);
            resumed.network =
                resumed.network.take().map(|network| network.load_file(place.join("model.bpk")));
            resumed.optimizer = resumed.optimizer.load(place.join("optimizer.bpk")).unwrap();
            for _ in 0..2 {
                assert_eq!(
                    resumed.train_step(&batch).unwrap(),
                    trained.train_step(&batch).unwrap(),
                    "{kind}"
                );
            }
        }
    }
}
