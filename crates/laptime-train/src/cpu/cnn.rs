//! The cnn: convolution blocks and a dense layer.

use super::buffer::Buffer;
use super::convolution::{Convolution, Size};
use super::dropout::{Dropout, Mask};
use super::few_outputs::FewOutputs;
use super::float::Float;
use super::isa::Isa;
use super::layout::Layout;
use super::network::{Network, Rows};
use crate::{CLASSES, IMAGE_SIDE, ModelSpec, Recipe, TrainError};

/// Images that go through together: their cells stay in the cache until the dense layer has read them, and it
/// reads its weights as many times less often.
const TOGETHER: usize = 8;

/// Images below which a shard is not worth its own gradients: their sum costs about what an image does.
const LEAST_ROWS: usize = 16;

/// Numbers of an image.
const IMAGE: usize = IMAGE_SIDE * IMAGE_SIDE;

/// Convolution blocks and a dense layer; dropout follows the last block.
pub(super) struct Cnn<F> {
    blocks: Vec<Block<F>>,
    dense: FewOutputs,
    dropout: Dropout,
    /// One for the images that go through together.
    masks: Vec<Mask<F>>,
    rows: usize,
    images: Buffer<F>,
    outputs: Buffer<F>,
}

/// A convolution block and what it keeps of every image.
struct Block<F> {
    convolution: Convolution<F>,
    cells: Buffer<F>,
    winners: Vec<u8>,
    /// Gradients of the cells of the images that go back together.
    gradients: Buffer<F>,
}

impl<F: Float> Cnn<F> {
    pub(super) fn new(
        spec: &ModelSpec,
        recipe: &Recipe,
        isa: Isa,
        shard: u64,
        layout: &mut Layout,
    ) -> Result<Self, TrainError> {
        let (mut inputs, mut side) = (1, IMAGE_SIDE);
        let mut block = |pooled| {
            let size = Size { inputs, outputs: spec.width, kernel: spec.kernel, side, pooled };
            (inputs, side) = (spec.width, pooled);
            let (cells, gradients) = (Buffer::new(), Buffer::new());
            Block { convolution: Convolution::new(size, isa, layout), cells, winners: Vec::new(), gradients }
        };
        let blocks: Vec<Block<F>> = spec.image_sides()?.into_iter().map(&mut block).collect();
        let places = side * side;
        // PyTorch flattens channel by channel; here all channels of a place lie together.
        let source = move |at: usize| at % inputs * places + at / inputs;
        Ok(Self {
            blocks,
            dense: FewOutputs::ordered(places * inputs, CLASSES, isa, layout, source),
            dropout: Dropout::new(recipe, shard),
            masks: Vec::new(),
            rows: 0,
            images: Buffer::new(),
            outputs: Buffer::new(),
        })
    }
}

impl<F: Float> Block<F> {
    /// Puts the weights where they are wanted, and makes room for so many images.
    fn prepare(&mut self, parameters: &[F], rows: usize) {
        self.convolution.prepare(parameters);
        let cells = self.convolution.size().cells();
        self.cells.take(rows * cells);
        self.winners.resize((rows * cells).max(self.winners.len()), 0);
        self.gradients.take(rows.min(TOGETHER) * cells);
    }

    /// The cells of a group of images.
    fn forward(&mut self, images: &[F], group: usize) -> &mut [F] {
        let size = self.convolution.size();
        let (start, rows) = (group * TOGETHER * size.cells(), images.len() / size.image());
        let place = start..start + rows * size.cells();
        let cells = &mut self.cells.all()[place.clone()];
        let places =
            cells.chunks_exact_mut(size.cells()).zip(self.winners[place].chunks_exact_mut(size.cells()));
        for (image, (cells, winners)) in images.chunks_exact(size.image()).zip(places) {
            self.convolution.forward(image, cells, winners);
        }
        cells
    }

    /// Sums the gradients of the weights over a group of images, and adds those of the images where wanted.
    fn backward(&mut self, images: &[F], mut of_images: Option<&mut [F]>, group: usize) {
        let size = self.convolution.size();
        let first = group * TOGETHER;
        for (at, image) in images.chunks_exact(size.image()).enumerate() {
            let winners = &self.winners[(first + at) * size.cells()..][..size.cells()];
            let gradients = &self.gradients.first((at + 1) * size.cells())[at * size.cells()..];
            let of_image = of_images.as_mut().map(|all| &mut all[at * size.image()..][..size.image()]);
            self.convolution.backward(image, winners, gradients, of_image);
        }
    }

    /// The cells of a group of images, and room for their gradients.
    fn features(&mut self, group: usize, rows: usize) -> (&[F], &mut [F]) {
        let cells = self.convolution.size().cells();
        let start = group * TOGETHER * cells;
        (&self.cells.all()[start..start + rows * cells], self.gradients.take(rows * cells))
    }
}

impl<F: Float> Network<F> for Cnn<F> {
    fn load(&mut self, rows: &Rows<'_>, targets: &mut Vec<f32>) {
        self.rows = rows.rows;
        let images = self.images.take(rows.features.len());
        images.iter_mut().zip(rows.features).for_each(|(own, value)| *own = F::from_f32(*value).stored());
        targets.extend_from_slice(rows.targets);
    }

    fn forward(&mut self, parameters: &[F], training: bool) {
        self.blocks.iter_mut().for_each(|block| block.prepare(parameters, self.rows));
        self.masks.resize_with(self.rows.div_ceil(TOGETHER).max(self.masks.len()), Mask::new);
        let outputs = self.outputs.take(self.rows * CLASSES);
        let images = self.images.first(self.rows * IMAGE).chunks(TOGETHER * IMAGE);
        let groups = images.zip(outputs.chunks_mut(TOGETHER * CLASSES)).zip(&mut self.masks);
        for (group, ((images, outputs), mask)) in groups.enumerate() {
            let mut features: &mut [F] = &mut [];
            for (at, block) in self.blocks.iter_mut().enumerate() {
                features = block.forward(if at == 0 { images } else { features }, group);
            }
            self.dropout.forward(features, mask, training);
            self.dense.forward(parameters, features, outputs);
        }
    }

    fn outputs(&mut self) -> &mut [F] {
        self.outputs.take(self.rows * CLASSES)
    }

    fn backward(&mut self, parameters: &[F], gradients: &mut [F]) {
        let Some((last, before)) = self.blocks.split_last_mut() else { return };
        before
            .iter_mut()
            .chain([&mut *last])
            .for_each(|block| block.convolution.prepare_backward(parameters));
        let outputs = self.outputs.first(self.rows * CLASSES).chunks(TOGETHER * CLASSES);
        let images = self.images.first(self.rows * IMAGE).chunks(TOGETHER * IMAGE);
        for (group, ((images, outputs), mask)) in images.zip(outputs).zip(&self.masks).enumerate() {
            let rows = images.len() / IMAGE;
            let (features, of_features) = last.features(group, rows);
            self.dense.backward(parameters, features, outputs, gradients, Some(of_features));
            mask.backward(of_features);
            backward(images, before, last, group);
        }
        before.iter_mut().chain([last]).for_each(|block| block.convolution.finish_backward(gradients));
    }

    fn least_rows(&self) -> usize {
        LEAST_ROWS
    }
}

/// Goes back through the blocks with a group of images, from the gradients of the last one's cells.
fn backward<F: Float>(images: &[F], before: &mut [Block<F>], last: &mut Block<F>, group: usize) {
    let rows = images.len() / IMAGE;
    match before.split_last_mut() {
        None => last.backward(images, None, group),
        Some((previous, others)) => {
            let (features, of_features) = previous.features(group, rows);
            of_features.fill(F::ZERO);
            last.backward(features, Some(&mut *of_features), group);
            of_features.iter_mut().for_each(|gradient| *gradient = gradient.stored());
            backward(images, others, previous, group);
        }
    }
}
