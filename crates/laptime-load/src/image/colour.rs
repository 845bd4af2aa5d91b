//! From a colour of 0 to 255 to the number that the model reads.

/// For red, green and blue: a factor, and what is added.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Colour {
    pub(super) scale: [f32; 3],
    pub(super) bias: [f32; 3],
}

impl Colour {
    /// Leaves 0 to 255 as they are.
    pub(super) const UNCHANGED: Self = Self { scale: [1.0; 3], bias: [0.0; 3] };

    /// 0 to 1, as torchvision's `ToTensor`.
    pub(super) const UNIT: Self = Self { scale: [1.0 / 255.0; 3], bias: [0.0; 3] };

    /// 0 to 1, less the mean, over the standard deviation, as torchvision's `Normalize`.
    pub(super) fn normalized(mean: [f32; 3], std: [f32; 3]) -> Self {
        let scale = std.map(|std| (1.0 / (255.0 * f64::from(std))) as f32);
        let bias = [0, 1, 2].map(|channel| (-f64::from(mean[channel]) / f64::from(std[channel])) as f32);
        Self { scale, bias }
    }
}
