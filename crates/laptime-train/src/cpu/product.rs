//! The matrix product: tiles of sums that stay in registers, over panels of the right factor that stay in cache.

#![expect(
    unsafe_code,
    reason = "tiles are read and written through pointers, with instructions a CPU may lack"
)]

use super::float::Float;
use super::isa::{Isa, Level};
use super::lanes::Lanes;

/// Vectors that a tile of sums is wide; two already use each number of the left factor twice.
const VECTORS: usize = 2;

/// Rows of a tile where there are 32 registers, and where there are 16.
const MANY_ROWS: usize = 12;
const FEW_ROWS: usize = 6;

/// Numbers in a row of the widest tile.
const WIDEST: usize = VECTORS * 16;

/// Rows of a panel that are used at a time: 16 KiB of the widest, which stay in the first cache.
const DEPTH: usize = 128;

/// Rows of the left factor that are used at a time: with [`DEPTH`] some 100 KiB, which stay in the second cache.
const HEIGHT: usize = 16 * MANY_ROWS;

/// Rows further apart than this are packed before they are multiplied: many would fall on the same few places of
/// the first cache.
pub(super) const FAR_APART: usize = 64;

/// A matrix in a slice, row after row, or turned from that.
#[derive(Clone, Copy)]
pub(super) struct Matrix<'a, F> {
    values: &'a [F],
    stride: usize,
    turned: bool,
}

/// What a product is added to.
#[derive(Clone, Copy)]
pub(super) enum Start<'a, F> {
    /// Nothing.
    Zero,
    /// The same row everywhere.
    Bias(&'a [F]),
    /// What is there already.
    Sum,
}

/// A right factor, in panels as wide as a tile.
#[derive(Clone, Copy)]
pub(super) struct Panels<'a, F> {
    values: &'a [F],
    /// From a row of a panel to the next.
    stride: usize,
    /// From a panel to the next.
    step: usize,
    depth: usize,
    columns: usize,
}

impl<'a, F: Float> Matrix<'a, F> {
    /// Rows whose beginnings are `stride` numbers apart.
    pub(super) fn new(values: &'a [F], stride: usize) -> Self {
        Self { values, stride, turned: false }
    }

    /// Rows become columns.
    pub(super) fn turned(self) -> Self {
        Self { turned: !self.turned, ..self }
    }

    fn holds(&self, rows: usize, columns: usize) -> bool {
        let (lines, length) = if self.turned { (columns, rows) } else { (rows, columns) };
        lines == 0 || length == 0 || (lines - 1) * self.stride + length <= self.values.len()
    }

    /// The matrix that begins at a row and a column of this one.
    fn begin(&self, row: usize, column: usize) -> *const F {
        let at = if self.turned { row + column * self.stride } else { row * self.stride + column };
        self.values.as_ptr().wrapping_add(at)
    }
}

impl<'a, F: Float> Panels<'a, F> {
    /// The panels of a matrix of `depth` rows: those it already has, or else packed into `room`, which grows once.
    pub(super) fn new(
        isa: Isa,
        matrix: Matrix<'a, F>,
        depth: usize,
        columns: usize,
        room: &'a mut Vec<F>,
    ) -> Self {
        assert!(matrix.holds(depth, columns), "the right factor is smaller than its size");
        let width = tile_width::<F>(isa);
        if !matrix.turned && columns.is_multiple_of(width) && matrix.stride <= FAR_APART {
            return Self { values: matrix.values, stride: matrix.stride, step: width, depth, columns };
        }
        let count = columns.next_multiple_of(width) * depth;
        // It never shrinks: growing again would write zeros that nobody reads.
        if room.len() < count {
            room.resize(count, F::ZERO);
        }
        let room = &mut room[..count];
        for (at, panel) in room.chunks_exact_mut((width * depth).max(1)).enumerate() {
            pack(matrix, at * width, width.min(columns - at * width), panel, width);
        }
        Self { values: room, stride: width, step: width * depth, depth, columns }
    }

    /// The first rows and columns of the factor.
    pub(super) fn part(&self, depth: usize, columns: usize) -> Self {
        assert!(depth <= self.depth && columns <= self.columns, "a part is no larger than the whole");
        Self { depth, columns, ..*self }
    }
}

/// Copies some columns of a matrix, whose rows become `width` long.
fn pack<F: Float>(matrix: Matrix<'_, F>, first: usize, columns: usize, panel: &mut [F], width: usize) {
    if !matrix.turned {
        for (at, row) in panel.chunks_exact_mut(width).enumerate() {
            row[..columns].copy_from_slice(&matrix.values[at * matrix.stride + first..][..columns]);
            row[columns..].fill(F::ZERO);
        }
        return;
    }
    let depth = panel.len() / width;
    let lines = |column: usize| &matrix.values[(first + column) * matrix.stride..][..depth];
    if columns < width {
        panel.fill(F::ZERO);
    }
    // Four columns at a time: each row that is written to comes to the cache a fourth as often.
    let fours = columns / 4 * 4;
    for column in (0..fours).step_by(4) {
        let [a, b, c, d] = std::array::from_fn(|at| lines(column + at));
        let inputs = a.iter().zip(b).zip(c.iter().zip(d));
        for (row, ((a, b), (c, d))) in panel.chunks_exact_mut(width).zip(inputs) {
            row[column..column + 4].copy_from_slice(&[*a, *b, *c, *d]);
        }
    }
    for column in fours..columns {
        for (row, value) in panel.chunks_exact_mut(width).zip(lines(column)) {
            row[column] = *value;
        }
    }
}

/// Numbers in a row of a tile.
fn tile_width<F: Float>(isa: Isa) -> usize {
    VECTORS
        * match isa.level() {
            #[cfg(target_arch = "x86_64")]
            Level::Avx512 => F::Widest::COUNT,
            #[cfg(target_arch = "x86_64")]
            Level::Avx2 => F::Wide::COUNT,
            Level::Plain => F::Plain::COUNT,
        }
}

/// Writes the product of `rows` rows and a right factor to rows of `out` that begin `stride` apart.
pub(super) fn multiply<F: Float>(
    isa: Isa,
    left: Matrix<'_, F>,
    rows: usize,
    right: &Panels<'_, F>,
    start: Start<'_, F>,
    (out, stride): (&mut [F], usize),
) {
    let Panels { depth, columns, .. } = *right;
    if rows == 0 || columns == 0 {
        return;
    }
    assert!(left.holds(rows, depth), "the left factor is smaller than its size");
    assert!((rows - 1) * stride + columns <= out.len(), "the product is larger than its place");
    if let Start::Bias(bias) = start {
        assert!(bias.len() == columns, "there is a bias for each column");
    }
    let job = Job { left, rows, right: *right, start, out: out.as_mut_ptr(), stride };
    match isa.level() {
        // SAFETY: an `Isa` is made only where the CPU has it, and all sizes were checked above.
        #[cfg(target_arch = "x86_64")]
        Level::Avx512 => unsafe { avx512(&job) },
        // SAFETY: as above.
        #[cfg(target_arch = "x86_64")]
        Level::Avx2 => unsafe { avx2(&job) },
        // SAFETY: as above.
        Level::Plain => unsafe { job.run::<F::Plain, FEW_ROWS>() },
    }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx512f,avx512bw,avx512dq,avx512vl,avx2,fma")]
unsafe fn avx512<F: Float>(job: &Job<'_, F>) {
    // SAFETY: the caller has checked the sizes.
    unsafe { job.run::<F::Widest, MANY_ROWS>() }
}

#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "avx2,fma")]
unsafe fn avx2<F: Float>(job: &Job<'_, F>) {
    // SAFETY: the caller has checked the sizes.
    unsafe { job.run::<F::Wide, FEW_ROWS>() }
}

/// A product to be computed.
struct Job<'a, F> {
    left: Matrix<'a, F>,
    rows: usize,
    right: Panels<'a, F>,
    start: Start<'a, F>,
    out: *mut F,
    stride: usize,
}

/// The part of a product that uses one panel and as much of the left factor as stays in cache.
struct Strip<V, F> {
    left: *const F,
    left_stride: usize,
    rows: usize,
    panel: *const F,
    panel_stride: usize,
    depth: usize,
    /// What the sums start from.
    start: [V; VECTORS],
    /// Whether they are added to what is there.
    added: bool,
    out: *mut F,
    stride: usize,
    columns: usize,
}

impl<F: Float> Job<'_, F> {
    /// # Safety
    /// The CPU has the vector's instructions, and left factor, panels and product are as large as the job says.
    #[inline(always)]
    unsafe fn run<V: Lanes, const ROWS: usize>(&self) {
        const { assert!(size_of::<V>() == V::COUNT * size_of::<F>(), "a vector of other numbers") }
        // SAFETY: as the caller's.
        unsafe {
            if self.left.turned { self.blocks::<V, ROWS, true>() } else { self.blocks::<V, ROWS, false>() }
        }
    }

    #[inline(always)]
    unsafe fn blocks<V: Lanes, const ROWS: usize, const TURNED: bool>(&self) {
        let Panels { depth, columns, .. } = self.right;
        let width = VECTORS * V::COUNT;
        for block in 0..depth.div_ceil(DEPTH).max(1) {
            let above = block * DEPTH;
            for row in (0..self.rows).step_by(HEIGHT) {
                for (panel, column) in (0..columns).step_by(width).enumerate() {
                    let right = panel * self.right.step + above * self.right.stride;
                    let strip = Strip::<V, F> {
                        left: self.left.begin(row, above),
                        left_stride: self.left.stride,
                        rows: HEIGHT.min(self.rows - row),
                        panel: self.right.values.as_ptr().wrapping_add(right),
                        panel_stride: self.right.stride,
                        depth: DEPTH.min(depth - above),
                        // SAFETY: the caller answers for the instructions.
                        start: unsafe { self.start_of(column, block) },
                        added: block > 0 || matches!(self.start, Start::Sum),
                        out: self.out.wrapping_add(row * self.stride + column),
                        stride: self.stride,
                        columns: width.min(columns - column),
                    };
                    // SAFETY: strips lie within the sizes that the caller answers for.
                    unsafe { strip.run::<ROWS, TURNED>() };
                }
            }
        }
    }

    /// What the sums of a panel start from; only the first block of the depth starts from a bias.
    #[inline(always)]
    unsafe fn start_of<V: Lanes>(&self, column: usize, block: usize) -> [V; VECTORS] {
        let mut row = [F::ZERO; WIDEST];
        if let (Start::Bias(bias), 0) = (self.start, block) {
            let part = &bias[column..bias.len().min(column + VECTORS * V::COUNT)];
            row[..part.len()].copy_from_slice(part);
        }
        // SAFETY: the row is as long as the vectors of the widest tile.
        std::array::from_fn(|at| unsafe { V::load(row.as_ptr().add(at * V::COUNT)) })
    }
}

impl<V: Lanes, F: Float> Strip<V, F> {
    /// Tiles of so many rows, then smaller ones for the rows that are left.
    #[inline(always)]
    unsafe fn run<const ROWS: usize, const TURNED: bool>(&self) {
        // SAFETY: as the caller's; each call does the rows that the one before has left.
        unsafe {
            let row = self.tiles::<ROWS, TURNED>(0);
            let row = self.tiles::<4, TURNED>(row);
            self.tiles::<1, TURNED>(row);
        }
    }

    /// Computes tiles as long as there are rows for them, and returns the row after them.
    #[inline(always)]
    unsafe fn tiles<const ROWS: usize, const TURNED: bool>(&self, mut row: usize) -> usize {
        while row + ROWS <= self.rows {
            // SAFETY: the rows of the tile are among those of the strip.
            unsafe {
                let left = self.left.add(if TURNED { row } else { row * self.left_stride });
                let sums = self.sums::<ROWS, TURNED>(left);
                let out = self.out.add(row * self.stride);
                if self.columns == VECTORS * V::COUNT {
                    self.store(&sums, out, self.stride);
                } else {
                    self.store_part(&sums, out);
                }
            }
            row += ROWS;
        }
        row
    }

    #[inline(always)]
    unsafe fn sums<const ROWS: usize, const TURNED: bool>(&self, left: *const F) -> [[V; VECTORS]; ROWS] {
        let mut sums = [self.start; ROWS];
        for at in 0..self.depth {
            // SAFETY: as many rows of the panel and numbers of the left factor's rows as the strip is deep.
            unsafe {
                let panel = self.panel.add(at * self.panel_stride);
                let right: [V; VECTORS] = std::array::from_fn(|vector| V::load(panel.add(vector * V::COUNT)));
                for (row, sums) in sums.iter_mut().enumerate() {
                    let place =
                        if TURNED { at * self.left_stride + row } else { row * self.left_stride + at };
                    let left = V::splat(left.add(place));
                    for vector in 0..VECTORS {
                        sums[vector] = left.multiply_add(right[vector], sums[vector]);
                    }
                }
            }
        }
        sums
    }

    /// Writes whole rows of a tile.
    #[inline(always)]
    unsafe fn store<const ROWS: usize>(&self, sums: &[[V; VECTORS]; ROWS], out: *mut F, stride: usize) {
        for (row, sums) in sums.iter().enumerate() {
            for (vector, sum) in sums.iter().enumerate() {
                // SAFETY: the caller has room for whole rows.
                unsafe {
                    let place = out.add(row * stride + vector * V::COUNT);
                    if self.added { V::load(place).add(*sum).store(place) } else { sum.store(place) }
                }
            }
        }
    }

    /// Writes the beginnings of a tile's rows, by way of a row that has room for all.
    #[inline(always)]
    unsafe fn store_part<const ROWS: usize>(&self, sums: &[[V; VECTORS]; ROWS], out: *mut F) {
        for (row, sums) in sums.iter().enumerate() {
            let mut whole = [F::ZERO; WIDEST];
            // SAFETY: as many numbers as there are columns belong to the product's row.
            unsafe {
                let part = std::slice::from_raw_parts_mut(out.add(row * self.stride), self.columns);
                whole[..self.columns].copy_from_slice(part);
                self.store(&[*sums], whole.as_mut_ptr(), 0);
                part.copy_from_slice(&whole[..self.columns]);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Numbers without a pattern, all of them exact in 32 bits and so small that their sums are exact too.
    fn numbers<F: Float>(count: usize, seed: usize) -> Vec<F> {
        (0..count).map(|at| F::from_f64(((at * 7919 + seed * 104_729) % 61) as f64 / 4.0 - 7.0)).collect()
    }

    fn agrees<F: Float>(isa: Isa, [rows, columns, depth]: [usize; 3]) {
        let (left_values, right_values) = (numbers::<F>(rows * depth, 1), numbers::<F>(depth * columns, 2));
        let bias = numbers::<F>(columns, 3);
        let before = numbers::<F>(rows * (columns + 3), 4);
        for case in 0..12 {
            let (left_turned, right_turned) = (case & 1 != 0, case & 2 != 0);
            let start = [Start::Zero, Start::Bias(&bias), Start::Sum][case / 4];
            let left = Matrix::new(&left_values, if left_turned { rows } else { depth });
            let left = if left_turned { left.turned() } else { left };
            let right = Matrix::new(&right_values, if right_turned { depth } else { columns });
            let right = if right_turned { right.turned() } else { right };
            let mut out = before.clone();
            let mut room = Vec::new();
            let panels = Panels::new(isa, right, depth, columns, &mut room);
            multiply(isa, left, rows, &panels, start, (&mut out, columns + 3));
            for row in 0..rows {
                for column in 0..columns + 3 {
                    let at = row * (columns + 3) + column;
                    let first = match start {
                        Start::Bias(bias) if column < columns => bias[column],
                        Start::Zero if column < columns => F::ZERO,
                        _ => before[at],
                    };
                    let one = |k: usize| {
                        let a = if left_turned { k * rows + row } else { row * depth + k };
                        let b = if right_turned { column * depth + k } else { k * columns + column };
                        left_values[a].to_f64() * right_values[b].to_f64()
                    };
                    let sum: f64 = if column < columns { (0..depth).map(one).sum() } else { 0.0 };
                    assert_eq!(out[at].to_f64(), first.to_f64() + sum, "{isa} {row} {column} case {case}");
                }
            }
        }
    }

    #[test]
    fn products_of_every_shape_are_right_on_every_instruction_set() {
        for isa in Isa::available() {
            for sizes in
                [[1, 1, 1], [13, 32, 5], [5, 20, 64], [200, 7, 3], [3, 64, 300], [29, 130, 17], [2, 3, 0]]
            {
                agrees::<f32>(isa, sizes);
                agrees::<f64>(isa, sizes);
            }
        }
    }
}
