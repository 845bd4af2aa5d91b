//! What a batch should have given, and the loss of what it gave.

use burn::prelude::{Int, Tensor, TensorData};
use burn::tensor::activation::log_softmax;
use burn::tensor::{DType, Device};
use laptime_load::Batch;

use super::engine_error;
use super::network::Network;
use crate::{LossKind, StepResult, TrainError};

/// Where the huber loss turns from a square into a line.
const HUBER_DELTA: f64 = 1.0;

/// The right answers of a batch.
pub(super) enum Target {
    Numbers(Tensor<2>, LossKind),
    Classes { labels: Vec<i64>, places: Tensor<2, Int> },
}

impl Target {
    pub(super) fn new(
        network: &Network,
        batch: &Batch,
        loss: LossKind,
        device: &Device,
        dtype: DType,
    ) -> Self {
        if loss != LossKind::CrossEntropy {
            let data = TensorData::new(batch.targets.clone(), [batch.rows, 1]);
            return Self::Numbers(Tensor::from_data(data, (device, dtype)), loss);
        }
        let labels = network.labels(batch);
        let data = TensorData::new(labels.clone(), [labels.len(), 1]);
        Self::Classes { labels, places: Tensor::from_data(data, device) }
    }

    /// The mean loss, as a tensor to go back from and as a number.
    pub(super) fn loss(self, output: Tensor<2>) -> Result<(Tensor<1>, StepResult), TrainError> {
        let (loss, accuracy) = match self {
            Self::Numbers(target, kind) => (of_error(output - target, kind), None),
            Self::Classes { labels, places } => {
                let accuracy = share_correct(&output, &labels)?;
                (log_softmax(output, 1).gather(1, places).mean().neg(), Some(accuracy))
            }
        };
        let number: f64 = loss.clone().try_into_scalar().map_err(engine_error)?;
        Ok((loss, StepResult { loss: number, accuracy }))
    }
}

fn of_error(error: Tensor<2>, kind: LossKind) -> Tensor<1> {
    match kind {
        LossKind::Mae => error.abs().mean(),
        LossKind::Huber => {
            let error = error.abs();
            let square = error.clone().clamp_max(HUBER_DELTA);
            // The square up to delta, and beyond it the line that continues it.
            (square.clone().square() / 2.0 + (error - square) * HUBER_DELTA).mean()
        }
        LossKind::Mse | LossKind::CrossEntropy => error.square().mean(),
    }
}

fn share_correct(scores: &Tensor<2>, labels: &[i64]) -> Result<f64, TrainError> {
    let [_, classes] = scores.dims();
    let scores =
        scores.clone().without_autodiff().into_data().try_into_vec_as::<f32>().map_err(engine_error)?;
    let right = scores.chunks_exact(classes).zip(labels).filter(|(row, label)| {
        let best = (0..classes).max_by(|a, b| row[*a].total_cmp(&row[*b]));
        best == usize::try_from(**label).ok()
    });
    Ok(right.count() as f64 / labels.len() as f64)
}
