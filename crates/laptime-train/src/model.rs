//! The reference models: what they compute and what numbers they learn.

use std::fmt;
use std::str::FromStr;

use crate::TrainError;
use crate::generated::{CLASSES, IMAGE_SIDE};
use crate::weights::WeightShape;

/// Which reference model.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ModelKind {
    /// Linear regression: features to one number.
    Linear,
    /// Dense layers with ReLU between them, to one number.
    Mlp,
    /// Convolution blocks (convolution, ReLU, max-pool 2) and a dense layer, to ten classes.
    Cnn,
}

impl ModelKind {
    /// Every model, in the order they are listed to a user.
    pub const ALL: [Self; 3] = [Self::Linear, Self::Mlp, Self::Cnn];

    /// The name a user types.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Linear => "linear",
            Self::Mlp => "mlp",
            Self::Cnn => "cnn",
        }
    }

    /// Whether targets are classes rather than numbers.
    #[must_use]
    pub fn classifies(self) -> bool {
        self == Self::Cnn
    }
}

impl fmt::Display for ModelKind {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(self.name())
    }
}

impl FromStr for ModelKind {
    type Err = TrainError;

    fn from_str(name: &str) -> Result<Self, TrainError> {
        Self::ALL
            .into_iter()
            .find(|kind| kind.name() == name)
            .ok_or_else(|| TrainError::UnknownModel { name: name.to_owned() })
    }
}

/// A reference model with its sizes settled, so that its weights have a shape.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ModelSpec {
    /// Which model.
    pub kind: ModelKind,
    /// Numbers in one row of input.
    pub features: usize,
    /// Hidden layers of the mlp, convolution blocks of the cnn; the linear model has none.
    pub layers: usize,
    /// Units of a hidden layer, channels of a convolution.
    pub width: usize,
    /// Side of the square convolution kernel.
    pub kernel: usize,
}

impl ModelSpec {
    /// The shapes of the weights in forward order: each layer's weight, then its bias.
    ///
    /// Fails when the convolution blocks use up the image.
    pub fn shapes(&self) -> Result<Vec<WeightShape>, TrainError> {
        Ok(match self.kind {
            ModelKind::Linear => dense_shapes(&[self.features, 1]),
            ModelKind::Mlp => {
                let mut sizes = vec![self.features];
                sizes.extend(std::iter::repeat_n(self.width, self.layers));
                sizes.push(1);
                dense_shapes(&sizes)
            }
            ModelKind::Cnn => self.convolution_shapes()?,
        })
    }

    fn convolution_shapes(&self) -> Result<Vec<WeightShape>, TrainError> {
        let sides = self.image_sides()?;
        let mut shapes = Vec::new();
        let mut channels = 1;
        for _ in 0..self.layers {
            let fan_in = channels * self.kernel * self.kernel;
            shapes.push(WeightShape { dims: vec![self.width, channels, self.kernel, self.kernel], fan_in });
            shapes.push(WeightShape { dims: vec![self.width], fan_in });
            channels = self.width;
        }
        let last = sides.last().copied().unwrap_or(IMAGE_SIDE);
        shapes.extend(dense_shapes(&[channels * last * last, CLASSES]));
        Ok(shapes)
    }

    /// Sides of the image after each convolution block.
    fn image_sides(&self) -> Result<Vec<usize>, TrainError> {
        let mut side = IMAGE_SIDE;
        (1..=self.layers)
            .map(|block| {
                side = (side + 1).saturating_sub(self.kernel) / 2;
                if side == 0 {
                    return Err(TrainError::ImageUsedUp { block, kernel: self.kernel });
                }
                Ok(side)
            })
            .collect()
    }

    /// Numbers the model learns.
    pub fn parameters(&self) -> Result<u64, TrainError> {
        let numbers = |shape: &WeightShape| {
            shape.dims.iter().fold(1u64, |product, size| product.saturating_mul(*size as u64))
        };
        Ok(self.shapes()?.iter().map(numbers).fold(0, u64::saturating_add))
    }

    /// An estimate of the bytes that one row's activations and their gradients take while training.
    ///
    /// Peak memory grew by 3.3 copies of the widest layer a row for the cnn and 3.2 for the mlp (one block, one
    /// hidden layer); four leaves some room. Later convolution blocks are smaller and are not counted.
    #[must_use]
    pub fn bytes_per_row(&self) -> u64 {
        let values = match self.kind {
            ModelKind::Linear => self.features as u64,
            ModelKind::Mlp => self.features as u64 + self.layers as u64 * self.width as u64,
            ModelKind::Cnn => {
                let side = (IMAGE_SIDE + 1).saturating_sub(self.kernel) as u64;
                side * side * self.width as u64
            }
        };
        values.saturating_mul(4 * 4)
    }
}

fn dense_shapes(sizes: &[usize]) -> Vec<WeightShape> {
    sizes
        .windows(2)
        .flat_map(|pair| {
            let (inputs, outputs) = (pair[0], pair[1]);
            [
                WeightShape { dims: vec![outputs, inputs], fan_in: inputs },
                WeightShape { dims: vec![outputs], fan_in: inputs },
            ]
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec(kind: ModelKind, layers: usize) -> ModelSpec {
        ModelSpec { kind, features: 10, layers, width: 64, kernel: 3 }
    }

    fn parameters(spec: &ModelSpec) -> usize {
        spec.shapes().unwrap().iter().map(WeightShape::count).sum()
    }

    #[test]
    fn parameter_counts_are_those_of_the_same_pytorch_models() {
        assert_eq!(parameters(&ModelSpec { features: 1, ..spec(ModelKind::Linear, 0) }), 2);
        assert_eq!(parameters(&spec(ModelKind::Mlp, 1)), 10 * 64 + 64 + 64 + 1);
        assert_eq!(parameters(&spec(ModelKind::Mlp, 2)), 10 * 64 + 64 + 64 * 64 + 64 + 64 + 1);
        let cnn = ModelSpec { width: 32, ..spec(ModelKind::Cnn, 1) };
        assert_eq!(parameters(&cnn), 32 * 9 + 32 + 32 * 13 * 13 * 10 + 10);
    }

    #[test]
    fn too_many_convolution_blocks_are_an_error_not_a_panic() {
        assert!(spec(ModelKind::Cnn, 3).shapes().is_ok());
        assert!(matches!(
            spec(ModelKind::Cnn, 4).shapes(),
            Err(TrainError::ImageUsedUp { block: 4, kernel: 3 })
        ));
        let wide = ModelSpec { kernel: 29, ..spec(ModelKind::Cnn, 1) };
        assert!(wide.shapes().is_err());
    }

    #[test]
    fn every_model_is_found_by_its_name() {
        for kind in ModelKind::ALL {
            assert_eq!(kind.name().parse::<ModelKind>().unwrap(), kind);
        }
        assert!("resnet".parse::<ModelKind>().is_err());
    }
}
