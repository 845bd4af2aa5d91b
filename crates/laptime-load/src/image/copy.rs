//! Crops that need no resampling, with black padding where they reach beyond the image.

use super::placement::Axis;
use super::section::Section;
use super::target::{Out, Target};

/// The part of an axis that lies in the image.
struct Overlap {
    /// Its first pixel in the image.
    source: usize,
    /// Its first pixel in the output.
    output: usize,
    length: usize,
}

impl Overlap {
    fn of(axis: &Axis, image: usize) -> Self {
        let start = axis.start + axis.skipped as i64;
        let end = (start + axis.output as i64).clamp(0, image as i64);
        let source = start.clamp(0, end);
        // A crop far outside of the image has no overlap, wherever it would start.
        let output = (source - start).clamp(0, axis.output as i64);
        Self { source: source as usize, output: output as usize, length: (end - source) as usize }
    }
}

/// Writes the section as it is.
pub(super) fn copy(section: &Section<'_>, target: &mut Target<'_>) {
    let rows = Overlap::of(&section.placement.rows, section.image.0);
    let columns = Overlap::of(&section.placement.columns, section.image.1);
    for y in 0..target.size.0 {
        let inside = (rows.output..rows.output + rows.length).contains(&y) && columns.length > 0;
        let source = inside.then(|| section.from(rows.source + y - rows.output, columns.source));
        match &mut target.out {
            Out::BytePixels(out) if !section.placement.flipped => {
                let bytes = 3 * target.size.1;
                copy_bytes(source, &columns, &mut out[y * bytes..][..bytes]);
            }
            _ => copy_colours(source, &columns, section, target, y),
        }
    }
}

fn copy_colours(
    source: Option<&[u8]>,
    columns: &Overlap,
    section: &Section<'_>,
    target: &mut Target<'_>,
    y: usize,
) {
    let mut rows = target.row(y);
    let inside = columns.output..columns.output + columns.length;
    if source.is_none() || inside.len() < rows[0].len() {
        rows.iter_mut().zip(section.colour.bias).for_each(|(row, black)| row.fill(black));
    }
    if let Some(source) = source {
        section.lanes.split(source, section.colour, rows.map(|row| &mut row[inside.clone()]));
    }
    if section.placement.flipped {
        target.row(y).into_iter().for_each(<[f32]>::reverse);
    }
    target.finish_row(y, section.lanes);
}

fn copy_bytes(source: Option<&[u8]>, columns: &Overlap, row: &mut [u8]) {
    let inside = 3 * columns.output..3 * (columns.output + columns.length);
    if source.is_none() || inside.len() < row.len() {
        row.fill(0);
    }
    if let Some(source) = source {
        let length = inside.len();
        row[inside].copy_from_slice(&source[..length]);
    }
}
