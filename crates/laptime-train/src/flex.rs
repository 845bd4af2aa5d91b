//! The engine on Burn's `flex` backend: pure Rust, on the CPU.

mod network;
mod optimizer;

use burn::optim::{GradientsParams, ModuleOptimizer};
use burn::prelude::{Int, Module, Tensor, TensorData};
use burn::tensor::Device;
use burn::tensor::activation::log_softmax;
use laptime_data::Batch;
use laptime_record::stage;

use self::network::{Network, network};
use crate::allocator::keep_freed_memory;
use crate::threads::use_threads;
use crate::{Engine, Model, ModelSpec, OptimizerSpec, StepResult, TrainError, Weights};

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
        optimizer: &OptimizerSpec,
    ) -> Result<Box<dyn Model>, TrainError> {
        let device = Device::flex().autodiff();
        Ok(Box::new(FlexModel {
            network: Some(network(spec, start, &device)?),
            classifies: spec.kind.classifies(),
            parameters: start.0.iter().map(|tensor| tensor.values.len() as u64).sum(),
            optimizer: optimizer::build(optimizer.kind),
            lr: optimizer.lr,
            device,
        }))
    }
}

struct FlexModel {
    /// Absent only within an optimizer step, which takes the network and gives it back.
    network: Option<Network>,
    classifies: bool,
    parameters: u64,
    optimizer: ModuleOptimizer,
    lr: f64,
    device: Device,
}

impl Model for FlexModel {
    fn train_step(&mut self, batch: &Batch) -> Result<StepResult, TrainError> {
        let network = self.network.take().ok_or_else(lost_network)?;
        let (input, target) = {
            let _stage = stage!("host_to_device");
            // Batches need no gradient, so they stay out of the graph.
            (input(batch, &self.device), Target::new(batch, self.classifies, &self.device))
        };
        let output = {
            let _stage = stage!("forward");
            network.forward(input)
        };
        let (loss, result) = {
            let _stage = stage!("loss");
            target.loss(output, batch)?
        };
        let gradients = {
            let _stage = stage!("backward");
            let gradients = loss.backward();
            // The graph goes with the last tensor that holds it, and its time belongs here.
            drop(loss);
            GradientsParams::from_grads(gradients, &network)
        };
        let _stage = stage!("optimizer");
        self.network = Some(self.optimizer.step(self.lr, network, gradients));
        Ok(result)
    }

    fn evaluate(&mut self, batch: &Batch) -> Result<StepResult, TrainError> {
        let network = self.network.as_ref().ok_or_else(lost_network)?.valid();
        let device = self.device.clone().without_autodiff();
        let output = network.forward(input(batch, &device));
        let (_, result) = Target::new(batch, self.classifies, &device).loss(output, batch)?;
        Ok(result)
    }

    fn parameters(&self) -> u64 {
        self.parameters
    }
}

fn lost_network() -> TrainError {
    TrainError::Engine { reason: "an earlier step did not finish".to_owned() }
}

fn input(batch: &Batch, device: &Device) -> Tensor<2> {
    Tensor::from_data(TensorData::new(batch.features.clone(), [batch.rows, batch.width]), device)
}

/// What the output is held against.
enum Target {
    Numbers(Tensor<2>),
    Classes(Tensor<2, Int>),
}

impl Target {
    fn new(batch: &Batch, classes: bool, device: &Device) -> Self {
        let shape = [batch.rows, 1];
        if classes {
            let labels: Vec<i64> = batch.targets.iter().map(|label| *label as i64).collect();
            Self::Classes(Tensor::from_data(TensorData::new(labels, shape), device))
        } else {
            Self::Numbers(Tensor::from_data(TensorData::new(batch.targets.clone(), shape), device))
        }
    }

    /// The mean loss, as a tensor to go back from and as a number.
    fn loss(self, output: Tensor<2>, batch: &Batch) -> Result<(Tensor<1>, StepResult), TrainError> {
        let (loss, correct) = match self {
            Self::Numbers(target) => ((output - target).square().mean(), None),
            Self::Classes(labels) => {
                let correct = count_correct(&output, &batch.targets)?;
                (log_softmax(output, 1).gather(1, labels).mean().neg(), Some(correct))
            }
        };
        let number: f32 = loss.clone().try_into_scalar().map_err(engine_error)?;
        Ok((loss, StepResult { loss: f64::from(number), correct }))
    }
}

fn count_correct(scores: &Tensor<2>, labels: &[f32]) -> Result<u64, TrainError> {
    let [_, classes] = scores.dims();
    let data = scores.clone().without_autodiff().into_data();
    let scores = data.as_slice::<f32>().map_err(engine_error)?;
    let right = scores.chunks_exact(classes).zip(labels).filter(|(row, label)| {
        let best = (0..classes).max_by(|a, b| row[*a].total_cmp(&row[*b]));
        best == Some(**label as usize)
    });
    Ok(right.count() as u64)
}

fn engine_error(error: impl std::fmt::Debug) -> TrainError {
    TrainError::Engine { reason: format!("{error:?}") }
}
