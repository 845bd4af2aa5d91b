//! A block of the cnn: a convolution without padding, ReLU and max-pool 2, computed as one.
//!
//! Only the largest of the four places that a pooled cell looks at is kept, and only it is gone back through, so
//! the convolved image itself is never written. Images lie as `[row, column, channel]`, so that the channels of a
//! place are one vector.

use std::ops::Range;

use super::buffer::Buffer;
use super::float::Float;
use super::isa::{Instructions, Isa, vectorised};
use super::layout::Layout;

/// Channels that are computed together; the weights of those that a block lacks are zero.
const LANES: usize = 16;

/// Places of a convolved image that become one cell.
const PLACES: usize = 4;

/// Stands for no place: the largest was not above zero, so ReLU lets nothing through.
const NOWHERE: u8 = PLACES as u8;

/// A block with its weights as the kernels want them.
pub(super) struct Convolution<F> {
    size: Size,
    isa: Isa,
    weight: Range<usize>,
    bias: Range<usize>,
    /// For each group of channels the weights of every tap, a vector each, and then the biases.
    groups: Buffer<F>,
    /// Sums of their gradients.
    group_gradients: Buffer<F>,
    /// For each channel the weights of all taps, and sums of their gradients: where gradients of the image are
    /// wanted, or there are many taps.
    channels: Buffer<F>,
    channel_gradients: Buffer<F>,
}

/// The sizes of a block.
#[derive(Clone, Copy)]
pub(super) struct Size {
    /// Channels of the image.
    pub(super) inputs: usize,
    /// Channels of the cells.
    pub(super) outputs: usize,
    /// Side of the kernel.
    pub(super) kernel: usize,
    /// Side of the image.
    pub(super) side: usize,
    /// Side of the square of cells.
    pub(super) pooled: usize,
}

impl Size {
    /// Numbers in an image.
    pub(super) fn image(&self) -> usize {
        self.side * self.side * self.inputs
    }

    /// Numbers in the cells of an image.
    pub(super) fn cells(&self) -> usize {
        self.pooled * self.pooled * self.outputs
    }

    /// Weights of one channel.
    fn taps(&self) -> usize {
        self.kernel * self.kernel * self.inputs
    }

    /// Numbers of a row of the image that one row of the kernel lies on.
    fn run(&self) -> usize {
        self.kernel * self.inputs
    }

    /// Numbers in a row of the image.
    fn line(&self) -> usize {
        self.side * self.inputs
    }

    /// Where the first of a cell's places begins in the image.
    #[inline(always)]
    fn corner(&self, cell: usize) -> usize {
        2 * (cell / self.pooled * self.line() + cell % self.pooled * self.inputs)
    }

    /// The numbers of a group: a vector for each tap and one for the bias.
    fn group(&self) -> usize {
        (self.taps() + 1) * LANES
    }

    /// Numbers in all groups.
    fn groups(&self) -> usize {
        self.outputs.div_ceil(LANES) * self.group()
    }

    /// The place of a channel's tap in PyTorch's weights, which lie as `[output, input, row, column]`.
    fn in_pytorch(&self, output: usize, tap: usize) -> usize {
        let (place, input) = (tap / self.inputs, tap % self.inputs);
        (output * self.inputs + input) * self.kernel * self.kernel + place
    }

    /// Whether few enough weights are gone back to for their sums to stay in registers.
    fn sums_in_registers(&self) -> bool {
        self.inputs == 1 && self.kernel == 3
    }
}

impl<F: Float> Convolution<F> {
    pub(super) fn new(size: Size, isa: Isa, layout: &mut Layout) -> Self {
        let (weight, bias) = (layout.next(), layout.next());
        let [groups, group_gradients, channels, channel_gradients] = [(); 4].map(|()| Buffer::new());
        Self { size, isa, weight, bias, groups, group_gradients, channels, channel_gradients }
    }

    pub(super) fn size(&self) -> Size {
        self.size
    }

    /// Puts the weights where the kernels want them, before the images of a pass.
    pub(super) fn prepare(&mut self, parameters: &[F]) {
        let size = self.size;
        let (weight, bias) = (&parameters[self.weight.clone()], &parameters[self.bias.clone()]);
        for (at, group) in self.groups.take(size.groups()).chunks_exact_mut(size.group()).enumerate() {
            for (tap, vector) in group.chunks_exact_mut(LANES).enumerate() {
                for (lane, value) in vector.iter_mut().take(size.outputs - at * LANES).enumerate() {
                    let output = at * LANES + lane;
                    *value =
                        if tap < size.taps() { weight[size.in_pytorch(output, tap)] } else { bias[output] };
                }
            }
        }
    }

    /// The cells of an image, and the place that each is from.
    pub(super) fn forward(&self, image: &[F], cells: &mut [F], winners: &mut [u8]) {
        forward(self.isa, self.size, image, self.groups.first(self.size.groups()), cells, winners);
    }

    /// Makes the sums of gradients ready for the images of a pass.
    pub(super) fn prepare_backward(&mut self, parameters: &[F]) {
        let size = self.size;
        self.group_gradients.take(size.groups()).fill(F::ZERO);
        if size.sums_in_registers() {
            return;
        }
        let weight = &parameters[self.weight.clone()];
        let channels = self.channels.take(size.outputs * size.taps());
        for (output, channel) in channels.chunks_exact_mut(size.taps()).enumerate() {
            for (tap, value) in channel.iter_mut().enumerate() {
                *value = weight[size.in_pytorch(output, tap)];
            }
        }
        self.channel_gradients.take(size.outputs * size.taps()).fill(F::ZERO);
    }

    /// Sums the gradients of the weights over an image; those of the image itself are for the block before, which
    /// the first block does not have.
    pub(super) fn backward(
        &mut self,
        image: &[F],
        winners: &[u8],
        cells: &[F],
        image_gradients: Option<&mut [F]>,
    ) {
        let size = self.size;
        let sums = self.group_gradients.take(size.groups());
        if size.sums_in_registers() {
            sum_three(self.isa, size, image, winners, cells, sums);
            return;
        }
        let sums = self.channel_gradients.take(size.outputs * size.taps());
        sum_channels(self.isa, size, image, winners, cells, sums);
        let bias_sums = self.group_gradients.take(size.groups());
        sum_biases(self.isa, size, winners, cells, bias_sums);
        if let Some(gradients) = image_gradients {
            let weights = self.channels.first(size.outputs * size.taps());
            spread(self.isa, size, weights, winners, cells, gradients);
        }
    }

    /// Adds the sums of a pass to the gradients of the parameters.
    pub(super) fn finish_backward(&mut self, gradients: &mut [F]) {
        let size = self.size;
        let groups = self.group_gradients.first(size.groups());
        let by_channel = !size.sums_in_registers();
        for output in 0..size.outputs {
            let group = &groups[output / LANES * size.group()..][..size.group()];
            let of = |tap: usize| group[tap * LANES + output % LANES];
            gradients[self.bias.start + output] += of(size.taps());
            for tap in 0..size.taps() {
                let sum = if by_channel {
                    self.channel_gradients.first(size.outputs * size.taps())[output * size.taps() + tap]
                } else {
                    of(tap)
                };
                gradients[self.weight.start + size.in_pytorch(output, tap)] += sum;
            }
        }
    }
}

/// `sum + factor * values`, lane by lane.
#[inline(always)]
fn add_multiple<F: Float, I: Instructions>(sum: &mut [F; LANES], factor: F, values: &[F; LANES]) {
    for lane in 0..LANES {
        sum[lane] = I::multiply_add(factor, values[lane], sum[lane]);
    }
}

vectorised! {
    /// Convolves an image group by group of channels.
    fn forward<F, I>(size: Size, image: &[F], groups: &[F], cells: &mut [F], winners: &mut [u8]) {
        let group = (size.taps() + 1) * LANES;
        let mut first = 0;
        // Two groups at a time use each number of the image twice.
        for pair in groups.chunks(2 * group) {
            let (one, other) = pair.split_at(group);
            if other.is_empty() {
                convolve::<F, I, 1>(size, image, [one], first, cells, winners);
            } else {
                convolve::<F, I, 2>(size, image, [one, other], first, cells, winners);
            }
            first += 2 * LANES;
        }
    }
}

/// Convolves an image with some groups of channels, of which `first` is the first channel.
#[inline(always)]
fn convolve<F: Float, I: Instructions, const GROUPS: usize>(
    size: Size,
    image: &[F],
    groups: [&[F]; GROUPS],
    first: usize,
    cells: &mut [F],
    winners: &mut [u8],
) {
    let (inputs, run, line) = (size.inputs, size.run(), size.line());
    let groups = groups.map(|group| group.as_chunks::<LANES>().0);
    let bias = groups.map(|group| group[size.taps()]);
    let outputs = size.outputs;
    for (cell, (cells, winners)) in
        cells.chunks_exact_mut(outputs).zip(winners.chunks_exact_mut(outputs)).enumerate()
    {
        let corner = size.corner(cell);
        let mut sums = [bias; PLACES];
        for row in 0..size.kernel {
            let top = &image[corner + row * line..][..run + inputs];
            let bottom = &image[corner + (row + 1) * line..][..run + inputs];
            let weights = groups.map(|group| &group[row * run..][..run]);
            for at in 0..run {
                let values = [top[at], top[at + inputs], bottom[at], bottom[at + inputs]];
                for (sums, value) in sums.iter_mut().zip(values) {
                    for (sum, weights) in sums.iter_mut().zip(&weights) {
                        add_multiple::<F, I>(sum, value, &weights[at]);
                    }
                }
            }
        }
        for group in 0..GROUPS {
            let (best, winner) = largest(&[0, 1, 2, 3].map(|place: usize| sums[place][group]));
            let channel = first + group * LANES;
            store(&best, &mut cells[channel..]);
            store(&winner, &mut winners[channel..]);
        }
    }
}

/// The largest of the places in each lane, if above zero, and which it is; of equal ones the first.
#[inline(always)]
fn largest<F: Float>(places: &[[F; LANES]; PLACES]) -> ([F; LANES], [u8; LANES]) {
    let (mut best, mut winner) = (places[0], [0u8; LANES]);
    for place in 1..PLACES {
        for lane in 0..LANES {
            let value = places[place][lane];
            // What is no number stays, so that the loss is none either.
            #[expect(clippy::eq_op, reason = "only what is no number differs from itself")]
            let wins = value > best[lane] || value != value;
            best[lane] = if wins { value } else { best[lane] };
            winner[lane] = if wins { place as u8 } else { winner[lane] };
        }
    }
    for lane in 0..LANES {
        let dead = best[lane] <= F::ZERO;
        winner[lane] = if dead { NOWHERE } else { winner[lane] };
        best[lane] = if dead { F::ZERO } else { best[lane].stored() };
    }
    (best, winner)
}

/// Writes as many lanes as there is room for.
#[inline(always)]
fn store<T: Copy>(lanes: &[T; LANES], to: &mut [T]) {
    match to.first_chunk_mut::<LANES>() {
        Some(whole) => *whole = *lanes,
        None => to.copy_from_slice(&lanes[..to.len()]),
    }
}

/// Reads as many lanes as there are; the others are as given.
#[inline(always)]
fn load<T: Copy>(from: &[T], others: T) -> [T; LANES] {
    match from.first_chunk::<LANES>() {
        Some(whole) => *whole,
        None => {
            let mut lanes = [others; LANES];
            lanes[..from.len()].copy_from_slice(from);
            lanes
        }
    }
}

/// The gradients that go to each place.
#[inline(always)]
fn by_place<F: Float>(cells: &[F], winners: &[u8]) -> [[F; LANES]; PLACES] {
    let (gradient, winner) = (load(cells, F::ZERO), load(winners, NOWHERE));
    let mut places = [[F::ZERO; LANES]; PLACES];
    for (number, place) in places.iter_mut().enumerate() {
        for lane in 0..LANES {
            place[lane] = if winner[lane] == number as u8 { gradient[lane] } else { F::ZERO };
        }
    }
    places
}

vectorised! {
    /// The gradients of a kernel of three by three on one channel: nine vectors of sums that stay in registers.
    fn sum_three<F, I>(size: Size, image: &[F], winners: &[u8], cells: &[F], sums: &mut [F]) {
        let (outputs, line) = (size.outputs, size.line());
        for (group, sums) in sums.chunks_exact_mut(size.group()).enumerate() {
            let channels = group * LANES..outputs.min((group + 1) * LANES);
            let (sums, _) = sums.as_chunks_mut::<LANES>();
            let mut taps = [[F::ZERO; LANES]; 9];
            let mut bias = [F::ZERO; LANES];
            for (cell, (cells, winners)) in
                cells.chunks_exact(outputs).zip(winners.chunks_exact(outputs)).enumerate()
            {
                let places = by_place(&cells[channels.clone()], &winners[channels.clone()]);
                let corner = size.corner(cell);
                let rows: [&[F; 4]; 4] = [0, 1, 2, 3].map(|row| four(&image[corner + row * line..]));
                for row in 0..3 {
                    for column in 0..3 {
                        let sum = &mut taps[3 * row + column];
                        add_multiple::<F, I>(sum, rows[row][column], &places[0]);
                        add_multiple::<F, I>(sum, rows[row][column + 1], &places[1]);
                        add_multiple::<F, I>(sum, rows[row + 1][column], &places[2]);
                        add_multiple::<F, I>(sum, rows[row + 1][column + 1], &places[3]);
                    }
                }
                for lane in 0..LANES {
                    bias[lane] += places[0][lane] + places[1][lane] + (places[2][lane] + places[3][lane]);
                }
            }
            for (sum, value) in sums.iter_mut().flatten().zip(taps.iter().chain([&bias]).flatten()) {
                *sum += *value;
            }
        }
    }
}

#[inline(always)]
fn four<F>(values: &[F]) -> &[F; 4] {
    values.first_chunk().expect("a kernel of three lies within the image")
}

vectorised! {
    /// The gradients of the weights of each channel, from the places that won.
    fn sum_channels<F, I>(size: Size, image: &[F], winners: &[u8], cells: &[F], sums: &mut [F]) {
        let (outputs, run, line) = (size.outputs, size.run(), size.line());
        for (at, (gradient, winner)) in cells.iter().zip(winners).enumerate() {
            if *winner == NOWHERE {
                continue;
            }
            let (cell, output) = (at / outputs, at % outputs);
            let place = place_of(size, cell, *winner);
            let sums = &mut sums[output * size.taps()..][..size.taps()];
            for (row, sums) in sums.chunks_exact_mut(run).enumerate() {
                for (sum, value) in sums.iter_mut().zip(&image[place + row * line..][..run]) {
                    *sum = I::multiply_add(*gradient, *value, *sum);
                }
            }
        }
    }
}

vectorised! {
    fn sum_biases<F, I>(size: Size, winners: &[u8], cells: &[F], sums: &mut [F]) {
        for (cells, winners) in cells.chunks_exact(size.outputs).zip(winners.chunks_exact(size.outputs)) {
            for (output, (gradient, winner)) in cells.iter().zip(winners).enumerate() {
                let at = output / LANES * size.group() + size.taps() * LANES + output % LANES;
                sums[at] += if *winner == NOWHERE { F::ZERO } else { *gradient };
            }
        }
    }
}

vectorised! {
    /// Adds the gradients of an image, from the places that won.
    fn spread<F, I>(size: Size, weights: &[F], winners: &[u8], cells: &[F], image: &mut [F]) {
        let (outputs, run, line) = (size.outputs, size.run(), size.line());
        for (at, (gradient, winner)) in cells.iter().zip(winners).enumerate() {
            if *winner == NOWHERE {
                continue;
            }
            let (cell, output) = (at / outputs, at % outputs);
            let place = place_of(size, cell, *winner);
            let weights = &weights[output * size.taps()..][..size.taps()];
            for (row, weights) in weights.chunks_exact(run).enumerate() {
                for (value, weight) in image[place + row * line..][..run].iter_mut().zip(weights) {
                    *value = I::multiply_add(*gradient, *weight, *value);
                }
            }
        }
    }
}

/// Where a place of a cell begins in the image.
#[inline(always)]
fn place_of(size: Size, cell: usize, winner: u8) -> usize {
    let (down, right) = (usize::from(winner / 2), usize::from(winner % 2));
    size.corner(cell) + down * size.line() + right * size.inputs
}
