//! The output: rows of numbers for each colour, written as the layout and type ask.

use super::lanes::Lanes;
use super::scratch::Resampling;

/// The output of one image, by layout and type.
pub(super) enum Out<'a> {
    FloatPlanes(&'a mut [f32]),
    FloatPixels(&'a mut [f32]),
    BytePlanes(&'a mut [u8]),
    BytePixels(&'a mut [u8]),
}

/// Takes the rows of an image, from top to bottom.
pub(super) struct Target<'a> {
    pub(super) out: Out<'a>,
    /// Height and width.
    pub(super) size: (usize, usize),
    /// A row of each colour, for what is packed afterwards.
    row: Vec<f32>,
}

impl<'a> Target<'a> {
    /// Borrows the row of the scratch buffers until [`Target::give_back`].
    pub(super) fn new(out: Out<'a>, size: (usize, usize), resampling: &mut Resampling) -> Self {
        let mut row = std::mem::take(&mut resampling.row);
        row.resize(3 * size.1, 0.0);
        Self { out, size, row }
    }

    pub(super) fn give_back(self, resampling: &mut Resampling) {
        resampling.row = self.row;
    }

    /// Rows are written where they stay, so that they need not stay in the cache.
    pub(super) fn is_final(&self) -> bool {
        matches!(self.out, Out::FloatPlanes(_))
    }

    /// Where to write this row's red, green and blue before [`Target::finish_row`].
    pub(super) fn row(&mut self, y: usize) -> [&mut [f32]; 3] {
        let (height, width) = self.size;
        match &mut self.out {
            Out::FloatPlanes(out) => {
                planes(out, height * width).map(|plane| &mut plane[y * width..][..width])
            }
            _ => planes(&mut self.row, width),
        }
    }

    /// Packs the row, where it is not yet as the output wants it.
    pub(super) fn finish_row(&mut self, y: usize, lanes: Lanes) {
        let (height, width) = self.size;
        let rows = planes(&mut self.row, width).map(|row| &*row);
        match &mut self.out {
            Out::FloatPlanes(_) => {}
            Out::FloatPixels(out) => lanes.join(rows, &mut out[y * width * 3..][..width * 3]),
            Out::BytePixels(out) => lanes.join_bytes(rows, &mut out[y * width * 3..]),
            Out::BytePlanes(out) => {
                for (plane, row) in planes(out, height * width).into_iter().zip(rows) {
                    lanes.round(row, &mut plane[y * width..][..width]);
                }
            }
        }
    }
}

/// The three equal parts of a buffer.
fn planes<T>(buffer: &mut [T], length: usize) -> [&mut [T]; 3] {
    let (red, rest) = buffer.split_at_mut(length);
    let (green, blue) = rest.split_at_mut(length);
    [red, green, &mut blue[..length]]
}
