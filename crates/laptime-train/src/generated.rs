//! Training data made from a seed: each model gets something that it can learn.

use laptime_load::Table;

use crate::language;
use crate::model_kind::{CLASSES, IMAGE_SIDE, ModelKind};
use crate::random::Random;

/// Spread of the noise on a regression target, small beside the target's own spread of about 1.
const TARGET_NOISE: f32 = 0.05;

/// Spread of the noise on a pixel; the pattern itself goes from 0 to about 1.
const PIXEL_NOISE: f32 = 0.3;

/// Soft spots that make up the pattern of a class.
const SPOTS: usize = 4;

/// Pixels an image may be moved by, in each direction.
const SHIFT: i32 = 2;

/// Makes `rows` rows with `features` features each for a model; the same seed makes the same rows.
///
/// The linear model gets `y = 2x + 1`, the mlp a smooth curve, the cnn ten patterns of soft spots, all with
/// noise; the others get sequences of a made-up language. Images always have 28x28 features.
#[must_use]
pub fn generate(model: ModelKind, rows: usize, features: usize, seed: u64) -> Table {
    let mut random = Random::new(seed);
    match model {
        ModelKind::Linear => numbers(rows, features, &mut random, |row| 2.0 * mean(row) + 1.0),
        ModelKind::Mlp => numbers(rows, features, &mut random, curve),
        ModelKind::Cnn => images(rows, &mut random),
        ModelKind::Rnn | ModelKind::Lstm | ModelKind::Gru | ModelKind::Transformer => {
            language::sequences(rows, features, &mut random)
        }
    }
}

fn numbers(rows: usize, features: usize, random: &mut Random, target: impl Fn(&[f32]) -> f32) -> Table {
    let inputs: Vec<f32> = (0..rows * features).map(|_| random.within(1.0)).collect();
    let targets =
        inputs.chunks_exact(features).map(|row| target(row) + TARGET_NOISE * random.normal()).collect();
    Table::new(features, inputs, targets)
}

fn mean(row: &[f32]) -> f32 {
    row.iter().sum::<f32>() / row.len() as f32
}

/// Bends in the first feature, couples it with the last, and leans a little on all.
fn curve(row: &[f32]) -> f32 {
    let (first, last) = (row[0], row[row.len() - 1]);
    (3.0 * first).sin() + first * last + mean(row)
}

fn images(rows: usize, random: &mut Random) -> Table {
    let patterns: Vec<Pattern> = (0..CLASSES).map(|_| Pattern::new(random)).collect();
    let mut pixels = Vec::with_capacity(rows * IMAGE_SIDE * IMAGE_SIDE);
    let labels = (0..rows)
        .map(|_| {
            let class = random.below(CLASSES as u32);
            patterns[class as usize].draw(random, &mut pixels);
            class as f32
        })
        .collect();
    Table::new(IMAGE_SIDE * IMAGE_SIDE, pixels, labels)
}

/// What the images of one class have in common: the brightness of each pixel of a slightly larger image,
/// so that a shifted view never looks past its edge.
struct Pattern(Vec<f32>);

impl Pattern {
    const MARGIN: usize = SHIFT as usize;
    const SIDE: usize = IMAGE_SIDE + 2 * Self::MARGIN;

    fn new(random: &mut Random) -> Self {
        let spots: [(f32, f32); SPOTS] =
            std::array::from_fn(|_| (random.below(24) as f32 + 4.0, random.below(24) as f32 + 4.0));
        let brightness = |at: usize| {
            let (row, column) = ((at / Self::SIDE) as f32, (at % Self::SIDE) as f32);
            let nearest = |(y, x): &(f32, f32)| (row - y).powi(2) + (column - x).powi(2);
            spots.iter().map(|spot| (-nearest(spot) / 12.0).exp()).sum()
        };
        Self((0..Self::SIDE * Self::SIDE).map(brightness).collect())
    }

    fn draw(&self, random: &mut Random, pixels: &mut Vec<f32>) {
        let steps = 2 * SHIFT as u32 + 1;
        let (down, right) = (random.below(steps) as usize, random.below(steps) as usize);
        for row in 0..IMAGE_SIDE {
            let start = (row + down) * Self::SIDE + right;
            let view = &self.0[start..start + IMAGE_SIDE];
            pixels.extend(view.iter().map(|pixel| pixel + PIXEL_NOISE * random.normal()));
        }
    }
}
