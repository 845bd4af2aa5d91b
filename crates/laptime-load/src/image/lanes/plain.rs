//! The loops over pixels for any processor.

use super::GROUP;
use crate::image::colour::Colour;
use crate::image::enlarge::Columns;
use crate::image::shrink::Taps;

#[inline(always)]
pub(super) fn split(pixels: &[u8], colour: &Colour, planes: [&mut [f32]; 3]) {
    let [red, green, blue] = planes;
    let colours = red.iter_mut().zip(green).zip(blue);
    let Colour { scale, bias } = *colour;
    for (pixel, ((red, green), blue)) in pixels.chunks_exact(3).zip(colours) {
        *red = f32::from(pixel[0]) * scale[0] + bias[0];
        *green = f32::from(pixel[1]) * scale[1] + bias[1];
        *blue = f32::from(pixel[2]) * scale[2] + bias[2];
    }
}

pub(super) fn spread(plane: &[f32], columns: &Columns, out: &mut [f32]) {
    let places = columns.offsets.chunks_exact(GROUP).zip(columns.fractions.chunks_exact(GROUP));
    for ((start, (offsets, fractions)), out) in
        columns.starts.iter().zip(places).zip(out.chunks_exact_mut(GROUP))
    {
        for ((offset, fraction), out) in offsets.iter().zip(fractions).zip(out) {
            let left = start + *offset as usize;
            *out = plane[left] + (plane[left + 1] - plane[left]) * fraction;
        }
    }
}

#[inline(always)]
pub(super) fn blend([upper, lower]: [&[f32]; 2], fraction: f32, out: &mut [f32], _lasting: bool) {
    for ((upper, lower), out) in upper.iter().zip(lower).zip(out) {
        *out = upper + (lower - upper) * fraction;
    }
}

pub(super) fn settle() {}

/// Columns whose sums stay in registers while all rows are added.
const BLOCK: usize = 32;

#[inline(always)]
pub(super) fn sum_rows(rows: &[u8], stride: usize, weights: &[f32], sums: &mut [f32]) {
    let mut at = 0;
    for block in sums.chunks_mut(BLOCK) {
        match <&mut [f32; BLOCK]>::try_from(&mut *block) {
            Ok(block) => {
                let mut sums = [0.0; BLOCK];
                for (row, weight) in weights.iter().enumerate() {
                    let bytes = &rows[row * stride + at..][..BLOCK];
                    for (sum, byte) in sums.iter_mut().zip(bytes) {
                        *sum += f32::from(*byte) * weight;
                    }
                }
                *block = sums;
            }
            Err(_) => sum_rest(&rows[at..], stride, weights, block),
        }
        at += BLOCK;
    }
}

fn sum_rest(rows: &[u8], stride: usize, weights: &[f32], sums: &mut [f32]) {
    sums.fill(0.0);
    for (row, weight) in weights.iter().enumerate() {
        for (sum, byte) in sums.iter_mut().zip(&rows[row * stride..]) {
            *sum += f32::from(*byte) * weight;
        }
    }
}

pub(super) fn sum_columns(sums: &[f32], taps: &Taps, colour: &Colour, planes: [&mut [f32]; 3]) {
    sum_columns_from(0, sums, taps, colour, planes);
}

/// The same for the output pixels from this one on.
pub(super) fn sum_columns_from(
    first: usize,
    sums: &[f32],
    taps: &Taps,
    colour: &Colour,
    mut planes: [&mut [f32]; 3],
) {
    for place in first..taps.starts.len() {
        let mut pixel = [0.0_f32; 3];
        let pixels = sums[3 * taps.starts[place]..].chunks_exact(3);
        for (source, weight) in pixels.zip(taps.weights(place)) {
            for (sum, source) in pixel.iter_mut().zip(source) {
                *sum += source * weight;
            }
        }
        for (channel, plane) in planes.iter_mut().enumerate() {
            plane[place] = pixel[channel] * colour.scale[channel] + colour.bias[channel];
        }
    }
}

/// To the nearest whole number; half rounds up, as Pillow does it.
fn byte(value: f32) -> u8 {
    (value + 0.5) as u8
}

pub(super) fn round(row: &[f32], out: &mut [u8]) {
    for (value, out) in row.iter().zip(out) {
        *out = byte(*value);
    }
}

#[inline(always)]
pub(super) fn join([red, green, blue]: [&[f32]; 3], out: &mut [f32]) {
    let colours = red.iter().zip(green).zip(blue);
    for (pixel, ((red, green), blue)) in out.as_chunks_mut::<3>().0.iter_mut().zip(colours) {
        *pixel = [*red, *green, *blue];
    }
}

pub(super) fn join_bytes([red, green, blue]: [&[f32]; 3], out: &mut [u8]) {
    let colours = red.iter().zip(green).zip(blue);
    for (pixel, ((red, green), blue)) in out.as_chunks_mut::<3>().0.iter_mut().zip(colours) {
        *pixel = [byte(*red), byte(*green), byte(*blue)];
    }
}
