//! Resizing that shrinks along neither axis: every output pixel lies between four source pixels.
//!
//! Each source row is split into colours, normalised and resized across once; an output row is then a blend of
//! two of those. Normalising first is exact but for rounding, since the weights of a blend add up to one.

use super::lanes::GROUP;
use super::placement::Axis;
use super::section::Section;
use super::target::Target;

/// For each output pixel the source pixel before it, and how far it is towards the next.
#[derive(Default)]
struct Between {
    lefts: Vec<usize>,
    fractions: Vec<f32>,
}

impl Between {
    fn plan(&mut self, axis: &Axis) {
        self.lefts.clear();
        self.fractions.clear();
        let scale = axis.scale();
        for place in axis.skipped..axis.skipped + axis.output {
            // Pixels are squares: the middle of the first is at one half.
            let middle = ((place as f64 + 0.5) * scale - 0.5).max(0.0);
            let left = (middle as usize).min(axis.length - 1);
            let last = left == axis.length - 1;
            self.lefts.push(left);
            self.fractions.push(if last { 0.0 } else { (middle - left as f64) as f32 });
        }
    }
}

/// The plan for columns, in groups of [`GROUP`] output pixels.
#[derive(Default)]
pub(super) struct Columns {
    /// The first source pixel of each group.
    pub(super) starts: Vec<usize>,
    /// How far from its group's start the source pixel before each output pixel is: less than [`GROUP`], since
    /// the image does not shrink.
    pub(super) offsets: Vec<i32>,
    pub(super) fractions: Vec<f32>,
}

impl Columns {
    fn plan(&mut self, axis: &Axis, flipped: bool, between: &mut Between) {
        between.plan(axis);
        let Between { lefts, fractions } = between;
        if flipped {
            lefts.reverse();
            fractions.reverse();
        }
        let padded = lefts.len().next_multiple_of(GROUP);
        let last = lefts.last().copied().unwrap_or(0);
        lefts.resize(padded, last);
        fractions.resize(padded, 0.0);
        self.starts.clear();
        self.offsets.clear();
        for group in lefts.chunks_exact(GROUP) {
            let start = group.iter().copied().min().unwrap_or(0);
            self.starts.push(start);
            self.offsets.extend(group.iter().map(|left| (left - start) as i32));
        }
        std::mem::swap(&mut self.fractions, fractions);
    }
}

/// Buffers for enlarging.
#[derive(Default)]
pub(super) struct Enlarging {
    rows: Between,
    columns: Columns,
    unordered: Between,
    /// One source row, a plane for each colour, with room to read beyond its end.
    planes: [Vec<f32>; 3],
    /// Two source rows that follow each other, resized across: three planes, padded to whole groups.
    ring: [Vec<f32>; 2],
    /// Which source rows those are.
    held: [Option<usize>; 2],
}

impl Enlarging {
    /// Resizes the section and writes it.
    pub(super) fn enlarge(&mut self, section: &Section<'_>, target: &mut Target<'_>) {
        self.prepare(section);
        let padded = self.columns.offsets.len();
        let lasting = target.is_final();
        for y in 0..target.size.0 {
            let (upper, fraction) = (self.rows.lefts[y], self.rows.fractions[y]);
            let lower = if fraction > 0.0 { upper + 1 } else { upper };
            self.hold(section, upper);
            self.hold(section, lower);
            let (upper, lower) = (&self.ring[upper % 2], &self.ring[lower % 2]);
            for (colour, row) in target.row(y).into_iter().enumerate() {
                let (upper, lower) = (&upper[colour * padded..], &lower[colour * padded..]);
                section.lanes.blend([upper, lower], fraction, row, lasting);
            }
            target.finish_row(y, section.lanes);
        }
        section.lanes.settle();
    }

    fn prepare(&mut self, section: &Section<'_>) {
        let columns = &section.placement.columns;
        self.rows.plan(&section.placement.rows);
        self.columns.plan(columns, section.placement.flipped, &mut self.unordered);
        let padded = self.columns.offsets.len();
        self.planes.iter_mut().for_each(|plane| plane.resize(columns.length + GROUP + 1, 0.0));
        self.ring.iter_mut().for_each(|row| row.resize(3 * padded, 0.0));
        self.held = [None; 2];
    }

    /// Makes sure that the ring has this source row, counted from the top of the section.
    fn hold(&mut self, section: &Section<'_>, row: usize) {
        if self.held[row % 2] == Some(row) {
            return;
        }
        let Section { placement, lanes, .. } = section;
        let length = placement.columns.length;
        let source = section.from(placement.rows.start as usize + row, placement.columns.start as usize);
        lanes.split(source, section.colour, self.planes.each_mut().map(|plane| &mut plane[..length]));
        let padded = self.columns.offsets.len();
        for (plane, out) in self.planes.iter_mut().zip(self.ring[row % 2].chunks_exact_mut(padded)) {
            // The last pixel has itself as its neighbour.
            let last = plane[length - 1];
            plane[length..].fill(last);
            lanes.spread(plane, &self.columns, out);
        }
        self.held[row % 2] = Some(row);
    }
}
