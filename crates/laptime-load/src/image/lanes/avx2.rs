//! The loops over pixels for processors with AVX2, in the same order of operations as the plain ones.

use std::arch::x86_64::{
    __m128i, __m256, __m256i, _MM_TRANSPOSE4_PS, _mm_add_ps, _mm_loadu_ps, _mm_loadu_si128, _mm_mul_ps,
    _mm_set1_ps, _mm_setr_ps, _mm_setzero_ps, _mm_sfence, _mm_storel_epi64, _mm_storeu_ps, _mm_storeu_si128,
    _mm_unpacklo_epi32, _mm256_add_ps, _mm256_castsi256_si128, _mm256_cvtepi32_ps, _mm256_cvttps_epi32,
    _mm256_extracti128_si256, _mm256_loadu_ps, _mm256_loadu_si256, _mm256_mul_ps, _mm256_or_si256,
    _mm256_permutevar8x32_ps, _mm256_set_m128i, _mm256_set1_ps, _mm256_setr_epi8, _mm256_setzero_si256,
    _mm256_shuffle_epi8, _mm256_slli_epi32, _mm256_storeu_ps, _mm256_stream_ps, _mm256_sub_ps,
};

use super::{GROUP, plain};
use crate::image::colour::Colour;
use crate::image::enlarge::Columns;
use crate::image::shrink::Taps;

/// Bytes that splitting a group reads: 24, and 4 more that come with its second load.
const GROUP_BYTES: usize = 28;

/// Takes from each half of a register the bytes of one colour, as four whole numbers.
#[target_feature(enable = "avx2")]
fn every_third(first: i8) -> __m256i {
    let (a, b, c, d) = (first, first + 3, first + 6, first + 9);
    _mm256_setr_epi8(
        a, -1, -1, -1, b, -1, -1, -1, c, -1, -1, -1, d, -1, -1, -1, a, -1, -1, -1, b, -1, -1, -1, c, -1, -1,
        -1, d, -1, -1, -1,
    )
}

/// See [`super::Lanes::split`].
#[target_feature(enable = "avx2")]
pub(super) fn split(pixels: &[u8], colour: &Colour, mut planes: [&mut [f32]; 3]) {
    let count = planes.iter().map(|plane| plane.len()).min().unwrap_or(0);
    let colours = [every_third(0), every_third(1), every_third(2)];
    let scale = colour.scale.map(|scale| _mm256_set1_ps(scale));
    let bias = colour.bias.map(|bias| _mm256_set1_ps(bias));
    let mut done = 0;
    while done + GROUP <= count && 3 * done + GROUP_BYTES <= pixels.len() {
        // SAFETY: the 28 bytes from here on are in the slice. The second load starts at the fifth pixel.
        let bytes = unsafe {
            let first = pixels.as_ptr().add(3 * done);
            _mm256_set_m128i(load(first.add(12)), load(first))
        };
        for (channel, plane) in planes.iter_mut().enumerate() {
            let values = _mm256_cvtepi32_ps(_mm256_shuffle_epi8(bytes, colours[channel]));
            let values = _mm256_add_ps(_mm256_mul_ps(values, scale[channel]), bias[channel]);
            // SAFETY: every plane has `count` numbers, and eight from `done` on are among them.
            unsafe { _mm256_storeu_ps(plane.as_mut_ptr().add(done), values) };
        }
        done += GROUP;
    }
    plain::split(&pixels[3 * done..], colour, planes.map(|plane| &mut plane[done..]));
}

/// # Safety
/// Sixteen bytes can be read.
#[target_feature(enable = "avx2")]
unsafe fn load(bytes: *const u8) -> __m128i {
    // SAFETY: the caller's promise; the load needs no alignment.
    unsafe { _mm_loadu_si128(bytes.cast()) }
}

/// See [`super::Lanes::spread`], which checks the lengths.
#[target_feature(enable = "avx2")]
pub(super) fn spread(plane: &[f32], columns: &Columns, out: &mut [f32]) {
    let places = columns.offsets.chunks_exact(GROUP).zip(columns.fractions.chunks_exact(GROUP));
    let groups = columns.starts.iter().zip(places).zip(out.chunks_exact_mut(GROUP));
    for ((start, (offsets, fractions)), out) in groups {
        let source = &plane[*start..][..GROUP + 1];
        // SAFETY: `source` has nine numbers, and all the others eight.
        unsafe {
            let offsets = _mm256_loadu_si256(offsets.as_ptr().cast());
            let left = _mm256_permutevar8x32_ps(_mm256_loadu_ps(source.as_ptr()), offsets);
            let right = _mm256_permutevar8x32_ps(_mm256_loadu_ps(source.as_ptr().add(1)), offsets);
            let fractions = _mm256_loadu_ps(fractions.as_ptr());
            _mm256_storeu_ps(out.as_mut_ptr(), between(left, right, fractions));
        }
    }
}

#[target_feature(enable = "avx2")]
fn between(first: __m256, second: __m256, fraction: __m256) -> __m256 {
    _mm256_add_ps(first, _mm256_mul_ps(_mm256_sub_ps(second, first), fraction))
}

/// See [`super::Lanes::blend`].
///
/// A batch is larger than the caches. Where a row fills whole registers, it is written past them, which spares
/// reading the memory first.
#[target_feature(enable = "avx2")]
pub(super) fn blend(rows: [&[f32]; 2], fraction: f32, out: &mut [f32], lasting: bool) {
    let aligned = out.as_ptr().addr().is_multiple_of(32) && out.len().is_multiple_of(GROUP);
    if !(lasting && aligned) {
        return plain::blend(rows, fraction, out, lasting);
    }
    let fraction = _mm256_set1_ps(fraction);
    let [upper, lower] = rows.map(|row| row.chunks_exact(GROUP));
    for ((upper, lower), out) in upper.zip(lower).zip(out.chunks_exact_mut(GROUP)) {
        // SAFETY: all three have eight numbers, and `out` is aligned, since each is 32 bytes after the last.
        unsafe {
            let (upper, lower) = (_mm256_loadu_ps(upper.as_ptr()), _mm256_loadu_ps(lower.as_ptr()));
            _mm256_stream_ps(out.as_mut_ptr(), between(upper, lower, fraction));
        }
    }
}

/// See [`super::Lanes::settle`].
#[target_feature(enable = "avx2")]
pub(super) fn settle() {
    _mm_sfence();
}

/// See [`super::Lanes::sum_rows`].
#[target_feature(enable = "avx2")]
pub(super) fn sum_rows(rows: &[u8], stride: usize, weights: &[f32], sums: &mut [f32]) {
    plain::sum_rows(rows, stride, weights, sums);
}

/// See [`super::Lanes::sum_columns`].
#[target_feature(enable = "avx2")]
pub(super) fn sum_columns(sums: &[f32], taps: &Taps, colour: &Colour, mut planes: [&mut [f32]; 3]) {
    let Colour { scale, bias } = *colour;
    let scale = _mm_setr_ps(scale[0], scale[1], scale[2], 0.0);
    let bias = _mm_setr_ps(bias[0], bias[1], bias[2], 0.0);
    let whole = planes[0].len() / 4 * 4;
    for first in (0..whole).step_by(4) {
        // Loops and not closures here and below: a closure with AVX2 is not inlined into a function without, as
        // `map` is one.
        let mut pixels = [&sums[..0]; 4];
        let mut weights = [&sums[..0]; 4];
        for place in 0..4 {
            pixels[place] = &sums[3 * taps.starts[first + place]..][..3 * taps.most + 1];
            weights[place] = taps.filled(first + place);
        }
        let mut means = [_mm_setzero_ps(); 4];
        for tap in 0..taps.most {
            for place in 0..4 {
                // SAFETY: `pixels` has the three numbers of each tap and one more, `weights` one of each tap.
                let (pixel, weight) = unsafe {
                    (_mm_loadu_ps(pixels[place].as_ptr().add(3 * tap)), *weights[place].get_unchecked(tap))
                };
                means[place] = _mm_add_ps(means[place], _mm_mul_ps(pixel, _mm_set1_ps(weight)));
            }
        }
        for mean in &mut means {
            *mean = _mm_add_ps(_mm_mul_ps(*mean, scale), bias);
        }
        let [mut red, mut green, mut blue, mut none] = means;
        _MM_TRANSPOSE4_PS(&mut red, &mut green, &mut blue, &mut none);
        for (plane, values) in planes.iter_mut().zip([red, green, blue]) {
            let out = &mut plane[first..first + 4];
            // SAFETY: `out` has four numbers.
            unsafe { _mm_storeu_ps(out.as_mut_ptr(), values) };
        }
    }
    plain::sum_columns_from(whole, sums, taps, colour, planes);
}

/// See [`super::Lanes::round`].
#[target_feature(enable = "avx2")]
pub(super) fn round(row: &[f32], out: &mut [u8]) {
    let half = _mm256_set1_ps(0.5);
    let (groups, rest) = row.as_chunks::<GROUP>();
    let (groups_out, rest_out) = out.as_chunks_mut::<GROUP>();
    for (values, out) in groups.iter().zip(groups_out) {
        // SAFETY: both have eight numbers.
        unsafe {
            let whole = _mm256_cvttps_epi32(_mm256_add_ps(_mm256_loadu_ps(values.as_ptr()), half));
            let bytes = _mm256_shuffle_epi8(whole, one_of_four());
            let (low, high) = (_mm256_castsi256_si128(bytes), _mm256_extracti128_si256::<1>(bytes));
            _mm_storel_epi64(out.as_mut_ptr().cast(), _mm_unpacklo_epi32(low, high));
        }
    }
    plain::round(rest, rest_out);
}

/// Moves the lowest byte of each whole number together, in each half of a register.
#[target_feature(enable = "avx2")]
fn one_of_four() -> __m256i {
    _mm256_setr_epi8(
        0, 4, 8, 12, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, -1, 0, 4, 8, 12, -1, -1, -1, -1, -1, -1, -1,
        -1, -1, -1, -1, -1,
    )
}

/// See [`super::Lanes::join`].
#[target_feature(enable = "avx2")]
pub(super) fn join(rows: [&[f32]; 3], out: &mut [f32]) {
    plain::join(rows, out);
}

/// See [`super::Lanes::join_bytes`].
#[target_feature(enable = "avx2")]
pub(super) fn join_bytes(rows: [&[f32]; 3], out: &mut [u8]) {
    let count = rows.iter().map(|row| row.len()).min().unwrap_or(0);
    let half = _mm256_set1_ps(0.5);
    let mut done = 0;
    while done + GROUP <= count && 3 * done + GROUP_BYTES <= out.len() {
        let mut colours = [_mm256_setzero_si256(); 3];
        for (colour, row) in colours.iter_mut().zip(rows) {
            // SAFETY: every row has `count` numbers, and eight from `done` on are among them.
            let values = unsafe { _mm256_loadu_ps(row.as_ptr().add(done)) };
            *colour = _mm256_cvttps_epi32(_mm256_add_ps(values, half));
        }
        let [red, green, blue] = colours;
        let two = _mm256_or_si256(red, _mm256_slli_epi32::<8>(green));
        let pixels =
            _mm256_shuffle_epi8(_mm256_or_si256(two, _mm256_slli_epi32::<16>(blue)), three_of_four());
        // SAFETY: the 28 bytes from here on are in the slice. The second half goes after the 12 bytes of the first.
        unsafe {
            let first = out.as_mut_ptr().add(3 * done);
            _mm_storeu_si128(first.cast(), _mm256_castsi256_si128(pixels));
            _mm_storeu_si128(first.add(12).cast(), _mm256_extracti128_si256::<1>(pixels));
        }
        done += GROUP;
    }
    plain::join_bytes(rows.map(|row| &row[done..]), &mut out[3 * done..]);
}

/// Moves the lower three bytes of each whole number together, in each half of a register.
#[target_feature(enable = "avx2")]
fn three_of_four() -> __m256i {
    _mm256_setr_epi8(
        0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, -1, -1, -1, -1, 0, 1, 2, 4, 5, 6, 8, 9, 10, 12, 13, 14, -1,
        -1, -1, -1,
    )
}
