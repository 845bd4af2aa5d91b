//! The loops over pixels, plain and for processors with AVX2; both give the same bits.
//!
//! The plain ones are written so that the compiler vectorises what it can; none of them fuses a multiplication
//! with an addition, which would round differently from machine to machine.

#![expect(unsafe_code, reason = "code for processors with AVX2 is called once they are known to have it")]

#[cfg(target_arch = "x86_64")]
mod avx2;
mod plain;

use super::colour::Colour;
use super::enlarge::Columns;
use super::shrink::Taps;

/// Output pixels that are resized across together: the floats of an AVX2 register.
pub(super) const GROUP: usize = 8;

/// Which instructions this machine has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Lanes {
    Plain,
    /// Made only where the processor has it.
    #[cfg(target_arch = "x86_64")]
    Avx2,
}

impl Default for Lanes {
    fn default() -> Self {
        #[cfg(target_arch = "x86_64")]
        if std::is_x86_feature_detected!("avx2") {
            return Self::Avx2;
        }
        Self::Plain
    }
}

/// Calls the loop of this name for the processor at hand.
macro_rules! dispatch {
    ($lanes:expr, $name:ident($($argument:expr),*)) => {
        match $lanes {
            Lanes::Plain => plain::$name($($argument),*),
            #[cfg(target_arch = "x86_64")]
            // SAFETY: this value exists only where the processor has AVX2.
            Lanes::Avx2 => unsafe { avx2::$name($($argument),*) },
        }
    };
}

impl Lanes {
    /// Splits as many pixels as the planes have room for into normalised planes of red, green and blue.
    pub(super) fn split(self, pixels: &[u8], colour: &Colour, planes: [&mut [f32]; 3]) {
        let count = planes[0].len();
        assert!(planes.iter().all(|plane| plane.len() == count) && pixels.len() >= 3 * count);
        dispatch!(self, split(pixels, colour, planes));
    }

    /// Resizes a plane across, to at least as many pixels as it has.
    pub(super) fn spread(self, plane: &[f32], columns: &Columns, out: &mut [f32]) {
        let Columns { starts, offsets, fractions } = columns;
        assert!(offsets.len() == fractions.len() && starts.len() * GROUP == offsets.len());
        assert!(out.len() == offsets.len());
        dispatch!(self, spread(plane, columns, out));
    }

    /// Fills a row of the output from two rows; `lasting` says that the row is not soon read again, and asks for
    /// [`Lanes::settle`] at the end.
    pub(super) fn blend(self, rows: [&[f32]; 2], fraction: f32, out: &mut [f32], lasting: bool) {
        assert!(rows.iter().all(|row| row.len() >= out.len()));
        dispatch!(self, blend(rows, fraction, out, lasting));
    }

    /// Waits for lasting rows: they are not in order with other writes, so that without this another thread
    /// could learn that the image is finished before it sees them.
    pub(super) fn settle(self) {
        dispatch!(self, settle());
    }

    /// Sums rows of bytes that are `stride` bytes apart, each with its weight.
    pub(super) fn sum_rows(self, rows: &[u8], stride: usize, weights: &[f32], sums: &mut [f32]) {
        dispatch!(self, sum_rows(rows, stride, weights, sums));
    }

    /// Sums neighbouring pixels, each with its weight, into normalised planes of red, green and blue.
    ///
    /// After the last pixel, `sums` goes on for as many pixels as any has weights, and one number more.
    pub(super) fn sum_columns(self, sums: &[f32], taps: &Taps, colour: &Colour, planes: [&mut [f32]; 3]) {
        let count = planes[0].len();
        assert!(planes.iter().all(|plane| plane.len() == count) && taps.starts.len() == count);
        dispatch!(self, sum_columns(sums, taps, colour, planes));
    }

    /// Rounds a row to bytes.
    pub(super) fn round(self, row: &[f32], out: &mut [u8]) {
        assert_eq!(row.len(), out.len());
        dispatch!(self, round(row, out));
    }

    /// Joins rows of red, green and blue to pixels.
    pub(super) fn join(self, rows: [&[f32]; 3], out: &mut [f32]) {
        assert!(rows.iter().all(|row| 3 * row.len() == out.len()));
        dispatch!(self, join(rows, out));
    }

    /// Joins rows of red, green and blue to pixels of bytes; a few bytes after them may be overwritten.
    pub(super) fn join_bytes(self, rows: [&[f32]; 3], out: &mut [u8]) {
        assert!(rows.iter().all(|row| row.len() == rows[0].len() && 3 * row.len() <= out.len()));
        dispatch!(self, join_bytes(rows, out));
    }
}
