//! Where each output pixel comes from: the crop, as torchvision samples it.

use super::error::ImageError;
use super::sample_key::Draws;

/// Which part of an image is taken, and how it becomes the output's size.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Crop {
    /// A part of random area and aspect ratio, resized: torchvision's `RandomResizedCrop`.
    RandomResized {
        /// Least and largest share of the image's area; torchvision takes 0.08 and 1.
        scale: (f64, f64),
        /// Least and largest width over height; torchvision takes 3/4 and 4/3.
        ratio: (f64, f64),
    },
    /// A part of the output's size at a random place, not resized: torchvision's `RandomCrop`.
    Random {
        /// Black pixels put around the image first; CIFAR trainings take 4.
        padding: usize,
    },
    /// The middle, with black pixels around it where the image is smaller: torchvision's `CenterCrop`.
    Center {
        /// Resize the shorter side to this first, as `Resize(256)` before `CenterCrop(224)`.
        resize: Option<usize>,
    },
    /// The whole image, resized; its aspect ratio is not kept.
    None,
}

/// Largest side of an output: beyond it a mistake is likelier than a purpose.
pub(super) const MAX_SIDE: usize = 16_384;

/// How often torchvision draws a crop before it takes the middle.
const TRIES: usize = 10;

/// Where the output's pixels come from along one axis.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Axis {
    /// First pixel of the part; before 0 and beyond the image is black padding, for copies only.
    pub(super) start: i64,
    /// Pixels of the part. What is outside does not show in the resized pixels either.
    pub(super) length: usize,
    /// Pixels that the part is resized to.
    pub(super) resized: usize,
    /// How many of those come before the output's first.
    pub(super) skipped: usize,
    /// Pixels of the output.
    pub(super) output: usize,
}

impl Axis {
    fn resized(start: usize, length: usize, output: usize) -> Self {
        Self { start: start as i64, length, resized: output, skipped: 0, output }
    }

    fn copied(start: i64, output: usize) -> Self {
        Self { start, length: output, resized: output, skipped: 0, output }
    }

    /// Source pixels of one output pixel; above 1 the image shrinks.
    pub(super) fn scale(&self) -> f64 {
        self.length as f64 / self.resized as f64
    }

    /// The pixels are taken as they are.
    pub(super) fn is_copy(&self) -> bool {
        self.length == self.resized
    }

    /// Source pixels before this are all that the output needs.
    pub(super) fn end(&self, image: usize) -> usize {
        let beyond = self.resized.saturating_sub(self.skipped + self.output) as f64 * self.scale();
        let reach = if self.is_copy() { 0.0 } else { self.scale().max(1.0) + 1.0 };
        let end = self.start as f64 + (self.length as f64 - beyond + reach).min(self.length as f64);
        (end.ceil().max(0.0) as usize).min(image)
    }
}

/// Where the output's pixels come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Placement {
    pub(super) rows: Axis,
    pub(super) columns: Axis,
    /// The output is mirrored left to right.
    pub(super) flipped: bool,
}

impl Placement {
    /// No pixel is resampled.
    pub(super) fn is_copy(&self) -> bool {
        self.rows.is_copy() && self.columns.is_copy()
    }

    fn of_axes((rows, columns): (Axis, Axis)) -> Self {
        Self { rows, columns, flipped: false }
    }
}

impl Crop {
    /// Why such a crop cannot be; sizes are height and width.
    pub(super) fn problem(&self, size: (usize, usize)) -> Option<&'static str> {
        let ordered = |(low, high): (f64, f64)| low > 0.0 && low <= high && high.is_finite();
        match self {
            Self::RandomResized { scale, .. } if !ordered(*scale) => {
                Some("the scale must be two positive numbers, the smaller first")
            }
            Self::RandomResized { ratio, .. } if !ordered(*ratio) => {
                Some("the ratio must be two positive numbers, the smaller first")
            }
            Self::Center { resize: Some(shorter) } if *shorter < size.0.max(size.1) => {
                Some("the shorter side is resized to less than the crop")
            }
            Self::Center { resize: Some(shorter) } if *shorter > MAX_SIDE => {
                Some("the shorter side is resized to more than 16,384 pixels")
            }
            Self::Random { padding } if *padding > MAX_SIDE => Some("the padding is more than 16,384 pixels"),
            _ => None,
        }
    }

    /// The crop of an image of this height and width to the output's.
    pub(super) fn place(
        &self,
        image: (usize, usize),
        output: (usize, usize),
        draws: &mut Draws,
    ) -> Result<Placement, ImageError> {
        let whole = (Axis::resized(0, image.0, output.0), Axis::resized(0, image.1, output.1));
        let axes = match *self {
            Self::None => whole,
            Self::RandomResized { scale, ratio } => random_resized(image, output, scale, ratio, draws),
            Self::Random { padding } => random(image, output, padding, draws)?,
            Self::Center { resize: None } => (middle(image.0, output.0), middle(image.1, output.1)),
            Self::Center { resize: Some(shorter) } => {
                let least = image.0.min(image.1);
                // In whole numbers, as torchvision: the longer side is rounded down.
                let side = |length: usize| (shorter as u64 * length as u64 / least as u64) as usize;
                (
                    resized_middle(image.0, side(image.0), output.0),
                    resized_middle(image.1, side(image.1), output.1),
                )
            }
        };
        Ok(Placement::of_axes(axes))
    }
}

fn random_resized(
    (height, width): (usize, usize),
    output: (usize, usize),
    scale: (f64, f64),
    ratio: (f64, f64),
    draws: &mut Draws,
) -> (Axis, Axis) {
    let area = height as f64 * width as f64;
    for _ in 0..TRIES {
        let target = area * draws.between(scale.0, scale.1);
        let aspect = draws.between(ratio.0.ln(), ratio.1.ln()).exp();
        let crop_width = (target * aspect).sqrt().round_ties_even() as usize;
        let crop_height = (target / aspect).sqrt().round_ties_even() as usize;
        if (1..=width).contains(&crop_width) && (1..=height).contains(&crop_height) {
            let top = draws.below(height - crop_height + 1);
            let left = draws.below(width - crop_width + 1);
            return (Axis::resized(top, crop_height, output.0), Axis::resized(left, crop_width, output.1));
        }
    }
    let (crop_height, crop_width) = widest_middle(height, width, ratio);
    (
        Axis::resized((height - crop_height) / 2, crop_height, output.0),
        Axis::resized((width - crop_width) / 2, crop_width, output.1),
    )
}

/// The largest part whose aspect ratio is in range: what is left when no drawn crop fits.
fn widest_middle(height: usize, width: usize, ratio: (f64, f64)) -> (usize, usize) {
    let aspect = width as f64 / height as f64;
    let side = |length: f64, most: usize| (length.round_ties_even() as usize).clamp(1, most);
    if aspect < ratio.0 {
        (side(width as f64 / ratio.0, height), width)
    } else if aspect > ratio.1 {
        (height, side(height as f64 * ratio.1, width))
    } else {
        (height, width)
    }
}

fn random(
    (height, width): (usize, usize),
    output: (usize, usize),
    padding: usize,
    draws: &mut Draws,
) -> Result<(Axis, Axis), ImageError> {
    let room = |image: usize, output: usize| (image + 2 * padding).checked_sub(output);
    let (Some(rows), Some(columns)) = (room(height, output.0), room(width, output.1)) else {
        let needed = |output: usize| output.saturating_sub(2 * padding);
        let (needed_height, needed_width) = (needed(output.0), needed(output.1));
        return Err(ImageError::TooSmall { height, width, needed_height, needed_width });
    };
    let top = draws.below(rows + 1) as i64 - padding as i64;
    let left = draws.below(columns + 1) as i64 - padding as i64;
    Ok((Axis::copied(top, output.0), Axis::copied(left, output.1)))
}

/// The middle of an axis, not resized; torchvision rounds half a pixel to even.
fn middle(image: usize, output: usize) -> Axis {
    if image < output {
        return Axis::copied(-((output - image) as i64 / 2), output);
    }
    Axis::copied(half_to_even(image - output) as i64, output)
}

fn resized_middle(image: usize, resized: usize, output: usize) -> Axis {
    Axis { start: 0, length: image, resized, skipped: half_to_even(resized - output), output }
}

fn half_to_even(twice: usize) -> usize {
    (twice as f64 / 2.0).round_ties_even() as usize
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::image::sample_key::SampleKey;

    const TORCHVISION: Crop = Crop::RandomResized { scale: (0.08, 1.0), ratio: (3.0 / 4.0, 4.0 / 3.0) };

    fn draws(index: u64) -> Draws {
        SampleKey { seed: 5, epoch: 0, index }.draws()
    }

    fn axes(crop: Crop, image: (usize, usize), output: (usize, usize)) -> (Axis, Axis) {
        let placement = crop.place(image, output, &mut draws(0)).unwrap();
        (placement.rows, placement.columns)
    }

    proptest! {
        #[test]
        fn a_random_resized_crop_lies_in_the_image(height in 1_usize..3000, width in 1_usize..3000, index: u64) {
            let placement = TORCHVISION.place((height, width), (224, 224), &mut draws(index)).unwrap();
            for (axis, image) in [(placement.rows, height), (placement.columns, width)] {
                prop_assert!(axis.start >= 0 && axis.length >= 1);
                prop_assert!(axis.start as usize + axis.length <= image);
                prop_assert_eq!(axis.end(image), axis.start as usize + axis.length);
            }
        }

        #[test]
        fn a_resized_middle_lies_in_the_image(height in 1_usize..3000, width in 1_usize..3000) {
            let (rows, columns) = axes(Crop::Center { resize: Some(256) }, (height, width), (224, 200));
            prop_assert!(rows.skipped + 224 <= rows.resized && columns.skipped + 200 <= columns.resized);
            prop_assert_eq!(rows.resized.min(columns.resized), 256);
        }
    }

    #[test]
    fn random_resized_crops_have_the_areas_and_ratios_asked_for() {
        let crops: Vec<_> = (0..20_000)
            .map(|index| TORCHVISION.place((1000, 1000), (224, 224), &mut draws(index)).unwrap())
            .collect();
        let area = |crop: &Placement| crop.rows.length as f64 * crop.columns.length as f64 / 1e6;
        let mean = crops.iter().map(area).sum::<f64>() / crops.len() as f64;
        // NumPy draws 0.477 by torchvision's rule: less than 0.54, since large crops often do not fit.
        assert!((0.475..0.485).contains(&mean), "{mean}");
        let ratio = |crop: &Placement| crop.columns.length as f64 / crop.rows.length as f64;
        assert!(crops.iter().all(|crop| (0.745..1.342).contains(&ratio(crop))));
    }

    #[test]
    fn an_image_far_too_wide_gives_its_middle() {
        let (rows, columns) = axes(TORCHVISION, (10, 1000), (224, 224));
        assert_eq!((rows.start, rows.length), (0, 10));
        assert_eq!((columns.start, columns.length), (493, 13));
    }

    #[test]
    fn the_middle_is_torchvisions() {
        // int(round((400 - 224) / 2)), and half a pixel rounds to even.
        let (rows, columns) = axes(Crop::Center { resize: None }, (400, 229), (224, 224));
        assert_eq!((rows.start, columns.start), (88, 2));
        let (rows, columns) = axes(Crop::Center { resize: Some(256) }, (375, 500), (224, 224));
        assert_eq!((rows.resized, rows.skipped), (256, 16));
        assert_eq!((columns.resized, columns.skipped), (341, 58));
    }

    #[test]
    fn a_padded_crop_reaches_at_most_its_padding_beyond_the_image() {
        let crop = Crop::Random { padding: 4 };
        let starts: Vec<i64> = (0..500)
            .map(|index| crop.place((32, 32), (32, 32), &mut draws(index)).unwrap().rows.start)
            .collect();
        assert_eq!((starts.iter().min(), starts.iter().max()), (Some(&-4), Some(&4)));
        let small = crop.place((20, 40), (32, 32), &mut draws(0)).unwrap_err();
        assert!(matches!(small, ImageError::TooSmall { needed_height: 24, needed_width: 24, .. }));
    }
}
