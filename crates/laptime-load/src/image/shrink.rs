//! Resizing that shrinks along an axis at least: every output pixel is a weighted mean of the source pixels that
//! it covers, which keeps fine patterns from becoming noise.
//!
//! Rows first: summing whole rows is what a processor does fastest, and leaves few columns to sum.

use super::placement::Axis;
use super::section::Section;
use super::target::Target;

/// For each output pixel, the source pixels that it is the weighted mean of.
#[derive(Default)]
pub(super) struct Taps {
    /// The first source pixel.
    pub(super) starts: Vec<usize>,
    /// How many source pixels.
    counts: Vec<usize>,
    /// The most source pixels of any.
    pub(super) most: usize,
    /// The weights of each output pixel, filled up to `most` with zeros.
    weights: Vec<f32>,
}

impl Taps {
    /// The weights of Pillow's bilinear filter: a triangle as wide as two output pixels or two source pixels,
    /// whichever is more.
    fn plan(&mut self, axis: &Axis) {
        let scale = axis.scale();
        let reach = scale.max(1.0);
        self.starts.clear();
        self.counts.clear();
        self.weights.clear();
        self.most = (2.0 * reach).ceil() as usize + 1;
        for place in axis.skipped..axis.skipped + axis.output {
            let middle = (place as f64 + 0.5) * scale;
            let start = (middle - reach + 0.5).max(0.0) as usize;
            let end = ((middle + reach + 0.5) as usize).min(axis.length).min(start + self.most);
            let weight = |pixel: usize| (1.0 - ((pixel as f64 + 0.5 - middle) / reach).abs()).max(0.0);
            let sum: f64 = (start..end).map(weight).sum();
            self.weights.extend((start..end).map(|pixel| (weight(pixel) / sum) as f32));
            self.starts.push(start);
            self.counts.push(end - start);
            self.weights.resize(self.starts.len() * self.most, 0.0);
        }
    }

    /// The weights of an output pixel.
    pub(super) fn weights(&self, place: usize) -> &[f32] {
        &self.filled(place)[..self.counts[place]]
    }

    /// The weights of an output pixel, and zeros.
    pub(super) fn filled(&self, place: usize) -> &[f32] {
        &self.weights[place * self.most..][..self.most]
    }

    /// The source pixels that any output pixel needs.
    fn span(&self) -> (usize, usize) {
        let end = self.starts.iter().zip(&self.counts).map(|(start, count)| start + count).max();
        (self.starts.first().copied().unwrap_or(0), end.unwrap_or(0))
    }
}

/// Buffers for shrinking.
#[derive(Default)]
pub(super) struct Shrinking {
    rows: Taps,
    columns: Taps,
    /// A row of the output's height and the source's width, red, green, blue; then so many numbers of no meaning
    /// that `most` pixels of four numbers can be read everywhere.
    sums: Vec<f32>,
}

impl Shrinking {
    /// Resizes the section and writes it.
    pub(super) fn shrink(&mut self, section: &Section<'_>, target: &mut Target<'_>) {
        let placement = section.placement;
        self.rows.plan(&placement.rows);
        self.columns.plan(&placement.columns);
        let (first, end) = self.columns.span();
        self.columns.starts.iter_mut().for_each(|start| *start -= first);
        self.sums.resize(3 * (end - first + self.columns.most) + 1, 0.0);
        let (top, left) = (placement.rows.start as usize, placement.columns.start as usize + first);
        let width = 3 * (end - first);
        for y in 0..target.size.0 {
            let source = section.from(top + self.rows.starts[y], left);
            section.lanes.sum_rows(
                source,
                3 * section.image.1,
                self.rows.weights(y),
                &mut self.sums[..width],
            );
            section.lanes.sum_columns(&self.sums, &self.columns, section.colour, target.row(y));
            if placement.flipped {
                target.row(y).into_iter().for_each(<[f32]>::reverse);
            }
            target.finish_row(y, section.lanes);
        }
    }
}
