//! A block of the cnn: a convolution without padding, ReLU and max-pool 2, computed as one.
//!
//! Only the largest of the four places that a pooled cell looks at is kept, and only it is gone back through, so
//! the convolved image itself is never written. Images lie as `[row, column, channel]`, so that the channels of a
//! place are one vector.

#![expect(
    clippy::needless_range_loop,
    reason = "several arrays at once, each with all of its lanes or places"
)]

use std::ops::Range;

use super::buffer::Buffer;
use super::float::Float;
use super::isa::{Instructions, Isa, MOST_LANES, vectorised};
use super::lanes::Lanes;
use super::layout::Layout;

/// Weights of a channel in a kernel of three by three on one channel.
const TAPS: usize = 9;

/// Places of a convolved image that become one cell.
const PLACES: usize = 4;

/// Stands for no place: the largest was not above zero, so ReLU lets nothing through.
const NOWHERE: u8 = PLACES as u8;

/// A block with its weights as the kernels want them.
pub(super) struct Convolution<F> {
    size: Size,
    isa: Isa,
    /// Numbers in a vector, and so channels in a group.
    lanes: usize,
    weight: Range<usize>,
    bias: Range<usize>,
    /// For each group of channels the weights of every tap, a vector each, and then the biases.
    groups: Buffer<F>,
    /// Sums of their gradients.
    group_gradients: Buffer<F>,
    /// For each channel the weights of all taps, and sums of their gradients with those of its bias: where gradients
    /// of the image are wanted, or there are many taps.
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

    /// The numbers of a group: for each tap a vector of so many lanes, and one for the bias.
    fn group(&self, lanes: usize) -> usize {
        (self.taps() + 1) * lanes
    }

    /// Numbers in all groups; the weights of channels that the last group lacks are zero.
    fn groups(&self, lanes: usize) -> usize {
        self.outputs.div_ceil(lanes) * self.group(lanes)
    }

    /// The place of a channel's tap in PyTorch's weights, which lie as `[output, input, row, column]`.
    fn in_pytorch(&self, output: usize, tap: usize) -> usize {
        let (place, input) = (tap / self.inputs, tap % self.inputs);
        (output * self.inputs + input) * self.kernel * self.kernel + place
    }

    /// Numbers in the sums of all channels, each with its bias.
    fn channels(&self) -> usize {
        self.outputs * (self.taps() + 1)
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
        let lanes = isa.lanes::<F>();
        Self { size, isa, lanes, weight, bias, groups, group_gradients, channels, channel_gradients }
    }

    pub(super) fn size(&self) -> Size {
        self.size
    }

    /// Puts the weights where the kernels want them, before the images of a pass.
    pub(super) fn prepare(&mut self, parameters: &[F]) {
        let size = self.size;
        let (weight, bias) = (&parameters[self.weight.clone()], &parameters[self.bias.clone()]);
        for (at, group) in
            self.groups.take(size.groups(self.lanes)).chunks_exact_mut(size.group(self.lanes)).enumerate()
        {
            for (tap, vector) in group.chunks_exact_mut(self.lanes).enumerate() {
                for (lane, value) in vector.iter_mut().take(size.outputs - at * self.lanes).enumerate() {
                    let output = at * self.lanes + lane;
                    *value =
                        if tap < size.taps() { weight[size.in_pytorch(output, tap)] } else { bias[output] };
                }
            }
        }
    }

    /// The cells of an image, and the place that each is from.
    pub(super) fn forward(&self, image: &[F], cells: &mut [F], winners: &mut [u8]) {
        forward(self.isa, self.size, image, self.groups.first(self.size.groups(self.lanes)), cells, winners);
    }

    /// Makes the sums of gradients ready for the images of a pass.
    pub(super) fn prepare_backward(&mut self, parameters: &[F]) {
        let size = self.size;
        self.group_gradients.take(size.groups(self.lanes)).fill(F::ZERO);
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
        self.channel_gradients.take(size.channels()).fill(F::ZERO);
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
        if size.sums_in_registers() {
            let sums = self.group_gradients.take(size.groups(self.lanes));
            sum_three(self.isa, size, image, winners, cells, sums);
            return;
        }
        let sums = self.channel_gradients.take(size.channels());
        sum_channels(self.isa, size, image, winners, cells, sums);
        if let Some(gradients) = image_gradients {
            let weights = self.channels.first(size.outputs * size.taps());
            spread(self.isa, size, weights, winners, cells, gradients);
        }
    }

    /// Adds the sums of a pass to the gradients of the parameters.
    pub(super) fn finish_backward(&mut self, gradients: &mut [F]) {
        let size = self.size;
        let (lanes, taps) = (self.lanes, size.taps());
        let sum = |output: usize, tap: usize| {
            if size.sums_in_registers() {
                let groups = self.group_gradients.first(size.groups(lanes));
                groups[output / lanes * size.group(lanes) + tap * lanes + output % lanes]
            } else {
                self.channel_gradients.first(size.channels())[output * (taps + 1) + tap]
            }
        };
        for output in 0..size.outputs {
            gradients[self.bias.start + output] += sum(output, taps);
            for tap in 0..taps {
                gradients[self.weight.start + size.in_pytorch(output, tap)] += sum(output, tap);
            }
        }
    }
}

vectorised! {
    /// Convolves an image group by group of channels.
    fn forward<F, I>(size: Size, image: &[F], groups: &[F], cells: &mut [F], winners: &mut [u8]) {
        let (lanes, group) = (I::Vector::<F>::COUNT, size.group(I::Vector::<F>::COUNT));
        // Two groups at a time use each number of the image twice.
        for (at, pair) in groups.chunks(2 * group).enumerate() {
            let (one, other) = pair.split_at(group);
            let first = 2 * at * lanes;
            if size.sums_in_registers() && other.is_empty() {
                convolve_three::<F, I, 1>(size, image, [one], first, cells, winners);
            } else if size.sums_in_registers() {
                convolve_three::<F, I, 2>(size, image, [one, other], first, cells, winners);
            } else if other.is_empty() {
                convolve::<F, I, 1>(size, image, [one], first, cells, winners);
            } else {
                convolve::<F, I, 2>(size, image, [one, other], first, cells, winners);
            }
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
    let (inputs, run, line, outputs) = (size.inputs, size.run(), size.line(), size.outputs);
    let lanes = I::Vector::<F>::COUNT;
    let bias: [I::Vector<F>; GROUPS] = std::array::from_fn(|at| I::load(&groups[at][size.taps() * lanes..]));
    for cell in 0..size.pooled * size.pooled {
        let corner = size.corner(cell);
        let mut sums = [bias; PLACES];
        for row in 0..size.kernel {
            let top = &image[corner + row * line..][..run + inputs];
            let bottom = &image[corner + (row + 1) * line..][..run + inputs];
            let weights: [&[F]; GROUPS] =
                std::array::from_fn(|at| &groups[at][row * run * lanes..][..run * lanes]);
            for at in 0..run {
                let weights: [I::Vector<F>; GROUPS] =
                    std::array::from_fn(|group| I::load(&weights[group][at * lanes..]));
                let values = [top[at], top[at + inputs], bottom[at], bottom[at + inputs]];
                for place in 0..PLACES {
                    let value = I::splat(values[place]);
                    for group in 0..GROUPS {
                        sums[place][group] = I::multiply_add_lanes(value, weights[group], sums[place][group]);
                    }
                }
            }
        }
        let cell = cell * outputs..(cell + 1) * outputs;
        pool::<F, I, GROUPS>(&sums, first, &mut cells[cell.clone()], &mut winners[cell]);
    }
}

/// Convolves an image of one channel with a kernel of three by three, whose weights stay in registers.
#[inline(always)]
fn convolve_three<F: Float, I: Instructions, const GROUPS: usize>(
    size: Size,
    image: &[F],
    groups: [&[F]; GROUPS],
    first: usize,
    cells: &mut [F],
    winners: &mut [u8],
) {
    let (side, outputs, lanes) = (size.side, size.outputs, I::Vector::<F>::COUNT);
    let mut weights = [[I::splat(F::ZERO); GROUPS]; TAPS + 1];
    for tap in 0..TAPS + 1 {
        for group in 0..GROUPS {
            weights[tap][group] = I::load(&groups[group][tap * lanes..]);
        }
    }
    let rows =
        cells.chunks_exact_mut(size.pooled * outputs).zip(winners.chunks_exact_mut(size.pooled * outputs));
    for (row, (cells, winners)) in rows.enumerate() {
        let lines = &image[2 * row * side..][..4 * side];
        let row = cells.chunks_exact_mut(outputs).zip(winners.chunks_exact_mut(outputs));
        for (column, (cells, winners)) in row.enumerate() {
            let patch: [&[F]; 4] = [0, 1, 2, 3].map(|line| &lines[line * side + 2 * column..][..4]);
            let mut sums = [weights[TAPS]; PLACES];
            for tap in 0..TAPS {
                let (down, right) = (tap / 3, tap % 3);
                for place in 0..PLACES {
                    let value = I::splat(patch[down + place / 2][right + place % 2]);
                    for group in 0..GROUPS {
                        sums[place][group] =
                            I::multiply_add_lanes(value, weights[tap][group], sums[place][group]);
                    }
                }
            }
            pool::<F, I, GROUPS>(&sums, first, cells, winners);
        }
    }
}

/// Writes the largest of the places for some groups of a cell's channels.
#[inline(always)]
fn pool<F: Float, I: Instructions, const GROUPS: usize>(
    sums: &[[I::Vector<F>; GROUPS]; PLACES],
    first: usize,
    cells: &mut [F],
    winners: &mut [u8],
) {
    let (lanes, outputs) = (I::Vector::<F>::COUNT, cells.len());
    let mut places = [[F::ZERO; MOST_LANES]; PLACES];
    for group in 0..GROUPS {
        for place in 0..PLACES {
            I::store(sums[place][group], &mut places[place]);
        }
        let channel = first + group * lanes;
        let (cells, winners) = (&mut cells[channel..], &mut winners[channel..]);
        // A count that the compiler knows becomes vectors.
        if channel + lanes <= outputs {
            choose(&places, lanes, cells, winners);
        } else {
            choose(&places, outputs - channel, cells, winners);
        }
    }
}

/// The largest of the places for each of so many channels, if above zero, and which it is; of equal ones the first.
#[inline(always)]
fn choose<F: Float>(places: &[[F; MOST_LANES]; PLACES], count: usize, cells: &mut [F], winners: &mut [u8]) {
    let (cells, winners) = (&mut cells[..count], &mut winners[..count]);
    for lane in 0..count {
        let (mut best, mut from) = (places[0][lane], 0u8);
        for place in 1..PLACES {
            let value = places[place][lane];
            // What is no number stays, so that the loss is none either.
            #[expect(clippy::eq_op, reason = "only what is no number differs from itself")]
            let wins = (value > best) | (value != value);
            best = if wins { value } else { best };
            from = if wins { place as u8 } else { from };
        }
        let dead = best <= F::ZERO;
        winners[lane] = if dead { NOWHERE } else { from };
        cells[lane] = if dead { F::ZERO } else { best.stored() };
    }
}

/// The gradients that go to each place, for the first so many channels of those that are left of a cell.
#[inline(always)]
fn divide<F: Float>(cells: &[F], winners: &[u8], count: usize, places: &mut [[F; MOST_LANES]; PLACES]) {
    // Copies, of which all may be read whether they are used or not: else each would be a jump.
    let (mut gradients, mut from) = ([F::ZERO; MOST_LANES], [NOWHERE; MOST_LANES]);
    gradients[..count].copy_from_slice(&cells[..count]);
    from[..count].copy_from_slice(&winners[..count]);
    for lane in 0..MOST_LANES {
        let (gradient, from) = (gradients[lane], from[lane]);
        places[0][lane] = if from == 0 { gradient } else { F::ZERO };
        places[1][lane] = if from == 1 { gradient } else { F::ZERO };
        places[2][lane] = if from == 2 { gradient } else { F::ZERO };
        places[3][lane] = if from == 3 { gradient } else { F::ZERO };
    }
}

vectorised! {
    /// The gradients of a kernel of three by three on one channel: nine vectors of sums that stay in registers.
    fn sum_three<F, I>(size: Size, image: &[F], winners: &[u8], cells: &[F], sums: &mut [F]) {
        let (outputs, line, lanes) = (size.outputs, size.line(), I::Vector::<F>::COUNT);
        for (group, sums) in sums.chunks_exact_mut(size.group(lanes)).enumerate() {
            let first = group * lanes;
            let mut taps: [I::Vector<F>; TAPS] = std::array::from_fn(|tap| I::load(&sums[tap * lanes..]));
            let mut bias = I::load(&sums[TAPS * lanes..]);
            let mut shares = [[F::ZERO; MOST_LANES]; PLACES];
            for (cell, (cells, winners)) in
                cells.chunks_exact(outputs).zip(winners.chunks_exact(outputs)).enumerate()
            {
                let (cells, winners) = (&cells[first..], &winners[first..]);
                // A count that the compiler knows becomes vectors.
                if cells.len() >= lanes {
                    divide(cells, winners, lanes, &mut shares);
                } else {
                    divide(cells, winners, cells.len(), &mut shares);
                }
                let places: [I::Vector<F>; PLACES] = std::array::from_fn(|place| I::load(&shares[place]));
                let corner = size.corner(cell);
                let rows: [&[F]; 4] = std::array::from_fn(|row| &image[corner + row * line..][..4]);
                for tap in 0..TAPS {
                    let (row, column) = (tap / 3, tap % 3);
                    let mut sum = taps[tap];
                    sum = I::multiply_add_lanes(I::splat(rows[row][column]), places[0], sum);
                    sum = I::multiply_add_lanes(I::splat(rows[row][column + 1]), places[1], sum);
                    sum = I::multiply_add_lanes(I::splat(rows[row + 1][column]), places[2], sum);
                    taps[tap] = I::multiply_add_lanes(I::splat(rows[row + 1][column + 1]), places[3], sum);
                }
                for place in places {
                    bias = I::multiply_add_lanes(I::splat(F::ONE), place, bias);
                }
            }
            for (tap, sum) in taps.into_iter().chain([bias]).enumerate() {
                I::store(sum, &mut sums[tap * lanes..]);
            }
        }
    }
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
            let (bias, sums) = split_bias(&mut sums[output * (size.taps() + 1)..][..size.taps() + 1]);
            *bias += *gradient;
            for (row, sums) in sums.chunks_exact_mut(run).enumerate() {
                for (sum, value) in sums.iter_mut().zip(&image[place + row * line..][..run]) {
                    *sum = I::multiply_add(*gradient, *value, *sum);
                }
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

/// The sum of a channel's bias, which is the last, and those of its weights.
#[inline(always)]
fn split_bias<F>(sums: &mut [F]) -> (&mut F, &mut [F]) {
    sums.split_last_mut().expect("every channel has a bias")
}

/// Where a place of a cell begins in the image.
#[inline(always)]
fn place_of(size: Size, cell: usize, winner: u8) -> usize {
    let (down, right) = (usize::from(winner / 2), usize::from(winner % 2));
    size.corner(cell) + down * size.line() + right * size.inputs
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::cpu::finite_differences::{assert_gradients, numbers};
    use crate::{Start, WeightShape};

    fn sizes() -> impl Iterator<Item = Size> {
        // Kernel of three on one channel with whole and part groups, other kernels, several channels, odd sides.
        let sizes = [
            (1, 32, 3, 9),
            (1, 5, 3, 6),
            (1, 1, 1, 4),
            (1, 17, 2, 6),
            (1, 3, 5, 9),
            (3, 18, 3, 7),
            (2, 2, 1, 5),
        ];
        sizes.into_iter().map(|(inputs, outputs, kernel, side)| Size {
            inputs,
            outputs,
            kernel,
            side,
            pooled: (side + 1 - kernel) / 2,
        })
    }

    fn block(size: Size, isa: Isa) -> (Convolution<f64>, usize) {
        let shape = |dims: &[usize]| WeightShape { dims: dims.to_vec(), start: Start::Zero };
        let kernel = [size.outputs, size.inputs, size.kernel, size.kernel];
        let mut layout = Layout::new(vec![shape(&kernel), shape(&[size.outputs])]);
        let convolution = Convolution::new(size, isa, &mut layout);
        (convolution, layout.count())
    }

    fn cells(block: &mut Convolution<f64>, values: &[f64], count: usize) -> (Vec<f64>, Vec<u8>) {
        let (mut cells, mut winners) = (vec![0.0; block.size.cells()], vec![0; block.size.cells()]);
        block.prepare(&values[..count]);
        block.forward(&values[count..], &mut cells, &mut winners);
        (cells, winners)
    }

    #[test]
    fn cells_are_those_computed_place_by_place() {
        for (size, isa) in sizes().flat_map(|size| Isa::available().into_iter().map(move |isa| (size, isa))) {
            let (mut block, count) = block(size, isa);
            let values = numbers(count + size.image(), 1);
            let (found, _) = cells(&mut block, &values, count);
            let image = &values[count..];
            for (at, found) in found.iter().enumerate() {
                let (cell, output) = (at / size.outputs, at % size.outputs);
                let place = |number: u8| -> f64 {
                    let begin = place_of(size, cell, number);
                    let tap = |tap: usize| {
                        let (row, within) = (tap / size.run(), tap % size.run());
                        values[size.in_pytorch(output, tap)] * image[begin + row * size.line() + within]
                    };
                    (0..size.taps()).map(tap).sum::<f64>() + values[block.bias.start + output]
                };
                let expected = (0..NOWHERE).map(place).fold(0.0, f64::max);
                assert!((found - expected).abs() < 1e-12, "{isa}: {found} is not {expected}");
            }
        }
    }

    #[test]
    fn gradients_are_those_of_finite_differences() {
        for (size, isa) in sizes().flat_map(|size| Isa::available().into_iter().map(move |isa| (size, isa))) {
            let (mut block, count) = block(size, isa);
            let values = numbers(count + size.image(), 1);
            let pull = numbers(size.cells(), 2);
            let (_, winners) = cells(&mut block, &values, count);
            let mut gradients = vec![0.0; values.len()];
            let (of_parameters, of_image) = gradients.split_at_mut(count);
            block.prepare_backward(&values[..count]);
            block.backward(&values[count..], &winners, &pull, Some(of_image));
            block.finish_backward(of_parameters);
            // The first block has no use for the gradients of its image, and its fast way does not give any.
            let known = if size.sums_in_registers() { count } else { values.len() };
            let forward = |known: &[f64]| {
                let values: Vec<f64> = known.iter().chain(&values[known.len()..]).copied().collect();
                cells(&mut block, &values, count).0.iter().zip(&pull).map(|(cell, pull)| cell * pull).sum()
            };
            assert_gradients(&values[..known], &gradients[..known], forward);
        }
    }
}
