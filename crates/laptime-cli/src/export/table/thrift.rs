//! Thrift's compact protocol: what the metadata of a Parquet file is written in.

/// A struct that is being written; fields come in rising order.
#[derive(Default)]
pub(super) struct Struct {
    pub(super) bytes: Vec<u8>,
    last: u8,
}

/// The types of fields and of the elements of a list.
mod kind {
    pub(super) const I32: u8 = 5;
    pub(super) const I64: u8 = 6;
    pub(super) const BINARY: u8 = 8;
    pub(super) const LIST: u8 = 9;
    pub(super) const STRUCT: u8 = 12;
}

impl Struct {
    pub(super) fn i32(&mut self, field: u8, value: i32) -> &mut Self {
        self.head(field, kind::I32);
        zigzag(i64::from(value), &mut self.bytes);
        self
    }

    pub(super) fn i64(&mut self, field: u8, value: i64) -> &mut Self {
        self.head(field, kind::I64);
        zigzag(value, &mut self.bytes);
        self
    }

    pub(super) fn text(&mut self, field: u8, value: &str) -> &mut Self {
        self.head(field, kind::BINARY);
        binary(value, &mut self.bytes);
        self
    }

    pub(super) fn inner(&mut self, field: u8, value: Self) -> &mut Self {
        self.head(field, kind::STRUCT);
        self.bytes.extend(value.ended());
        self
    }

    pub(super) fn numbers(&mut self, field: u8, values: &[i32]) -> &mut Self {
        self.list(field, kind::I32, values.len());
        values.iter().for_each(|value| zigzag(i64::from(*value), &mut self.bytes));
        self
    }

    pub(super) fn texts(&mut self, field: u8, values: &[&str]) -> &mut Self {
        self.list(field, kind::BINARY, values.len());
        values.iter().for_each(|value| binary(value, &mut self.bytes));
        self
    }

    pub(super) fn structs(&mut self, field: u8, values: Vec<Self>) -> &mut Self {
        self.list(field, kind::STRUCT, values.len());
        values.into_iter().for_each(|value| self.bytes.extend(value.ended()));
        self
    }

    /// The bytes of the whole struct.
    pub(super) fn ended(mut self) -> Vec<u8> {
        self.bytes.push(0);
        self.bytes
    }

    /// Fields here are less than 15 apart, so that their distance fits into the head.
    fn head(&mut self, field: u8, kind: u8) {
        self.bytes.push((field - self.last) << 4 | kind);
        self.last = field;
    }

    fn list(&mut self, field: u8, of: u8, length: usize) {
        self.head(field, kind::LIST);
        match u8::try_from(length) {
            Ok(short @ 0..15) => self.bytes.push(short << 4 | of),
            _ => {
                self.bytes.push(0xf0 | of);
                varint(length as u64, &mut self.bytes);
            }
        }
    }
}

fn binary(value: &str, out: &mut Vec<u8>) {
    varint(value.len() as u64, out);
    out.extend_from_slice(value.as_bytes());
}

fn zigzag(value: i64, out: &mut Vec<u8>) {
    varint(((value << 1) ^ (value >> 63)) as u64, out);
}

/// Seven bits a byte, the lowest first.
pub(super) fn varint(mut value: u64, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}
