//! Samples of varying length: read one by one, or padded to the longest of a batch.

use super::gather::Position;
use crate::pack::{Element, Pack, PackError};

/// A column whose rows vary in length.
#[derive(Clone, Copy, Debug)]
pub(super) struct SequenceColumn {
    pub(super) column: usize,
    pub(super) element: Element,
}

/// Where a row lies: part, offset in its file, bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Stretch {
    part: usize,
    offset: u64,
    pub(super) bytes: usize,
}

impl SequenceColumn {
    /// Finds a row. What the file says is not trusted: it may not be verified.
    pub(super) fn find(&self, pack: &Pack, position: Position) -> Result<Stretch, PackError> {
        let batch = position.batch as usize;
        let offsets = pack.buffer(batch, self.column, 0);
        let values = pack.buffer(batch, self.column, 1);
        let mut ends = [0; 16];
        pack.read(offsets.part, offsets.offset + 8 * u64::from(position.row), &mut ends)?;
        let number =
            |bytes: &[u8]| bytes.iter().rev().fold(0_u64, |number, byte| number << 8 | u64::from(*byte));
        let element = self.element.bytes() as u64;
        let begin = number(&ends[..8]).checked_mul(element);
        let end = number(&ends[8..]).checked_mul(element);
        match (begin, end) {
            (Some(begin), Some(end)) if begin <= end && end <= values.bytes => {
                let bytes = (end - begin) as usize;
                Ok(Stretch { part: values.part, offset: values.offset + begin, bytes })
            }
            _ => Err(pack.damaged(batch)),
        }
    }

    /// Lends the bytes of a row: from the mapping, or read into `buffer`.
    pub(super) fn bytes<'a>(
        &self,
        pack: &'a Pack,
        stretch: Stretch,
        buffer: &'a mut Vec<u8>,
    ) -> Result<&'a [u8], PackError> {
        let mapped = |part: &'a [u8]| part.get(stretch.offset as usize..)?.get(..stretch.bytes);
        if let Some(bytes) = pack.part(stretch.part).and_then(mapped) {
            return Ok(bytes);
        }
        buffer.resize(stretch.bytes, 0);
        pack.read(stretch.part, stretch.offset, buffer)?;
        Ok(buffer)
    }

    /// Copies a row to the beginning of `out` and fills the rest with the pad.
    pub(super) fn pad(
        &self,
        pack: &Pack,
        stretch: Stretch,
        pad: &[u8],
        out: &mut [u8],
    ) -> Result<(), PackError> {
        let (row, rest) = out.split_at_mut(stretch.bytes);
        pack.read(stretch.part, stretch.offset, row)?;
        for place in rest.chunks_exact_mut(pad.len()) {
            place.copy_from_slice(pad);
        }
        Ok(())
    }
}

/// The bytes of a number as an element; rounded to the nearest where it has no such value.
pub(super) fn element_bytes(element: Element, number: f64) -> Vec<u8> {
    match element {
        Element::Bool => vec![u8::from(number != 0.0)],
        Element::U8 => (number as u8).to_le_bytes().to_vec(),
        Element::I8 => (number as i8).to_le_bytes().to_vec(),
        Element::U16 => (number as u16).to_le_bytes().to_vec(),
        Element::I16 => (number as i16).to_le_bytes().to_vec(),
        Element::U32 => (number as u32).to_le_bytes().to_vec(),
        Element::I32 => (number as i32).to_le_bytes().to_vec(),
        Element::U64 => (number as u64).to_le_bytes().to_vec(),
        Element::I64 => (number as i64).to_le_bytes().to_vec(),
        Element::F16 => half(number).to_le_bytes().to_vec(),
        Element::F32 => (number as f32).to_le_bytes().to_vec(),
        Element::F64 => number.to_le_bytes().to_vec(),
    }
}

/// The nearest number of 16 bits, ties to even.
fn half(number: f64) -> u16 {
    let sign = if number.is_sign_negative() { 0x8000 } else { 0 };
    let size = number.abs();
    if number.is_nan() {
        return 0x7e00;
    }
    if size >= 65_520.0 {
        return sign | 0x7c00;
    }
    // The exponent of the last bit: 2^-24 for the smallest numbers, else 10 below the first bit's.
    let exponent = ((size.to_bits() >> 52) as i32 - 1023).max(-14);
    let steps = (size / 2_f64.powi(exponent - 10)).round_ties_even() as u16;
    // A carry out of the fraction raises the exponent by itself; below 2^-14 both are 0.
    sign | ((((exponent + 14) as u16) << 10) + steps)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn halves_are_those_of_the_standard() {
        let cases = [
            (0.0, 0),
            (-0.0, 0x8000),
            (1.0, 0x3c00),
            (-2.0, 0xc000),
            (65504.0, 0x7bff),
            (65519.9, 0x7bff),
            (65520.0, 0x7c00),
            (f64::NEG_INFINITY, 0xfc00),
            (6.103_515_625e-5, 0x0400),
            (5.960_464_477_539_063e-8, 1),
            (0.333_251_953_125, 0x3555),
            (2049.0, 0x6800),
            (2051.0, 0x6802),
            (-100.0, 0xd640),
        ];
        for (number, bits) in cases {
            assert_eq!(half(number), bits, "{number}");
        }
        assert_eq!(half(f64::NAN), 0x7e00);
    }
}
