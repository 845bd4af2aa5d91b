//! The element types of NPY files that can be trained on, and how each becomes an `f32`.

use crate::table::Table;

/// How the elements of an NPY file are stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Element {
    kind: Kind,
    big_endian: bool,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    F4,
    F8,
    I1,
    U1,
    I2,
    U2,
    I4,
    U4,
    I8,
    U8,
    Bool,
}

impl Element {
    /// The element that a code such as `<f4` stands for; `None` for those that are not numbers of these sizes.
    pub(crate) fn from_code(code: &str) -> Option<Self> {
        let (order, name) = code.split_at_checked(1)?;
        let big_endian = match order {
            ">" => true,
            "<" | "|" => false,
            "=" => cfg!(target_endian = "big"),
            _ => return None,
        };
        let kind = match name {
            "f4" => Kind::F4,
            "f8" => Kind::F8,
            "i1" => Kind::I1,
            "u1" => Kind::U1,
            "i2" => Kind::I2,
            "u2" => Kind::U2,
            "i4" => Kind::I4,
            "u4" => Kind::U4,
            "i8" => Kind::I8,
            "u8" => Kind::U8,
            "b1" => Kind::Bool,
            _ => return None,
        };
        Some(Self { kind, big_endian })
    }

    /// Bytes of one element.
    pub(crate) fn bytes(self) -> usize {
        match self.kind {
            Kind::I1 | Kind::U1 | Kind::Bool => 1,
            Kind::I2 | Kind::U2 => 2,
            Kind::F4 | Kind::I4 | Kind::U4 => 4,
            Kind::F8 | Kind::I8 | Kind::U8 => 8,
        }
    }

    /// Adds whole rows of raw elements to the table; a file of bytes is one of pixels, so those become 0 to 1.
    pub(crate) fn decode(self, raw: &[u8], table: &mut Table) {
        match (self.kind, self.big_endian) {
            (Kind::F4, false) => decode(raw, table, f32::from_le_bytes),
            (Kind::F4, true) => decode(raw, table, f32::from_be_bytes),
            (Kind::F8, false) => decode(raw, table, |bytes| f64::from_le_bytes(bytes) as f32),
            (Kind::F8, true) => decode(raw, table, |bytes| f64::from_be_bytes(bytes) as f32),
            (Kind::I1, _) => decode(raw, table, |bytes| f32::from(i8::from_le_bytes(bytes))),
            (Kind::U1, _) => decode_pixels(raw, table),
            (Kind::I2, false) => decode(raw, table, |bytes| f32::from(i16::from_le_bytes(bytes))),
            (Kind::I2, true) => decode(raw, table, |bytes| f32::from(i16::from_be_bytes(bytes))),
            (Kind::U2, false) => decode(raw, table, |bytes| f32::from(u16::from_le_bytes(bytes))),
            (Kind::U2, true) => decode(raw, table, |bytes| f32::from(u16::from_be_bytes(bytes))),
            (Kind::I4, false) => decode(raw, table, |bytes| i32::from_le_bytes(bytes) as f32),
            (Kind::I4, true) => decode(raw, table, |bytes| i32::from_be_bytes(bytes) as f32),
            (Kind::U4, false) => decode(raw, table, |bytes| u32::from_le_bytes(bytes) as f32),
            (Kind::U4, true) => decode(raw, table, |bytes| u32::from_be_bytes(bytes) as f32),
            (Kind::I8, false) => decode(raw, table, |bytes| i64::from_le_bytes(bytes) as f32),
            (Kind::I8, true) => decode(raw, table, |bytes| i64::from_be_bytes(bytes) as f32),
            (Kind::U8, false) => decode(raw, table, |bytes| u64::from_le_bytes(bytes) as f32),
            (Kind::U8, true) => decode(raw, table, |bytes| u64::from_be_bytes(bytes) as f32),
            (Kind::Bool, _) => decode(raw, table, |[byte]| f32::from(u8::from(byte != 0))),
        }
    }
}

fn decode<const N: usize>(raw: &[u8], table: &mut Table, number: impl Fn([u8; N]) -> f32) {
    let (elements, _) = raw.as_chunks::<N>();
    for row in elements.chunks_exact(table.width() + 1) {
        if let Some((&target, features)) = row.split_last() {
            table.push(features.iter().map(|&bytes| number(bytes)), number(target));
        }
    }
}

fn decode_pixels(raw: &[u8], table: &mut Table) {
    for row in raw.chunks_exact(table.width() + 1) {
        if let Some((&target, features)) = row.split_last() {
            table.push(features.iter().map(|&byte| f32::from(byte) / 255.0), f32::from(target));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(code: &str, raw: &[u8]) -> Vec<f32> {
        let mut table = Table::empty(1);
        Element::from_code(code).unwrap().decode(raw, &mut table);
        assert_eq!(table.rows(), raw.len() / 2 / Element::from_code(code).unwrap().bytes());
        table.features().iter().chain(table.targets()).copied().collect()
    }

    /// A row of a feature and a target in one type and both byte orders must come out as these two numbers.
    macro_rules! both_orders {
        ($code:literal, $type:ty, $feature:expr, $target:expr) => {
            let row: [$type; 2] = [$feature, $target];
            let expected = row.map(|number| number as f32);
            assert_eq!(decoded(concat!("<", $code), &row.map(<$type>::to_le_bytes).concat()), expected);
            assert_eq!(decoded(concat!(">", $code), &row.map(<$type>::to_be_bytes).concat()), expected);
            assert_eq!(decoded(concat!("=", $code), &row.map(<$type>::to_ne_bytes).concat()), expected);
        };
    }

    #[test]
    fn every_type_is_read_in_both_byte_orders() {
        both_orders!("f4", f32, -1.5, 2.25);
        both_orders!("f8", f64, -1.5, 1e30);
        both_orders!("i1", i8, -128, 127);
        both_orders!("i2", i16, -30_000, 258);
        both_orders!("u2", u16, 65_535, 258);
        both_orders!("i4", i32, -70_000, 16_909_060);
        both_orders!("u4", u32, 4_000_000_000, 1);
        both_orders!("i8", i64, -5_000_000_000, 3);
        both_orders!("u8", u64, 10_000_000_000, 3);
    }

    #[test]
    fn bytes_are_pixels_but_the_target_is_a_class() {
        assert_eq!(decoded("|u1", &[255, 9]), [1.0, 9.0]);
        assert_eq!(decoded("|u1", &[0, 255]), [0.0, 255.0]);
    }

    #[test]
    fn any_byte_but_zero_is_true() {
        assert_eq!(decoded("|b1", &[0, 1]), [0.0, 1.0]);
        assert_eq!(decoded("|b1", &[7, 0]), [1.0, 0.0]);
    }

    #[test]
    fn other_types_are_not_known() {
        for code in ["", "<", "<f2", "<c8", "|O", "<U5", "|S3", "|V8", "<M8[ns]", "f4", "?", "é4", "<f16"] {
            assert_eq!(Element::from_code(code), None, "{code}");
        }
    }
}
