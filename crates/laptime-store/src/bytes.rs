//! Whole numbers as bytes: LEB128 varints, zigzag for signed ones, and a reader that never panics.

/// Appends `value`, seven bits a byte, low bits first.
pub(crate) fn put_varint(out: &mut Vec<u8>, mut value: u64) {
    while value >= 0x80 {
        out.push((value as u8) | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

/// Appends the difference of two readings, small in either direction.
pub(crate) fn put_delta(out: &mut Vec<u8>, from: u64, to: u64) {
    let delta = to.wrapping_sub(from) as i64;
    put_varint(out, ((delta << 1) ^ (delta >> 63)) as u64);
}

/// Appends a length and the text.
pub(crate) fn put_text(out: &mut Vec<u8>, text: &str) {
    put_varint(out, text.len() as u64);
    out.extend_from_slice(text.as_bytes());
}

/// Takes values off the front of a slice; `None` once it is used up or malformed.
pub(crate) struct Bytes<'a> {
    rest: &'a [u8],
}

impl<'a> Bytes<'a> {
    pub(crate) fn new(rest: &'a [u8]) -> Self {
        Self { rest }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    pub(crate) fn rest(&self) -> &'a [u8] {
        self.rest
    }

    pub(crate) fn byte(&mut self) -> Option<u8> {
        let (first, rest) = self.rest.split_first()?;
        self.rest = rest;
        Some(*first)
    }

    pub(crate) fn take(&mut self, length: usize) -> Option<&'a [u8]> {
        let (taken, rest) = self.rest.split_at_checked(length)?;
        self.rest = rest;
        Some(taken)
    }

    pub(crate) fn varint(&mut self) -> Option<u64> {
        let mut value = 0_u64;
        for shift in (0..64).step_by(7) {
            let byte = self.byte()?;
            // The tenth byte has room for one bit only.
            if shift == 63 && byte > 1 {
                return None;
            }
            value |= u64::from(byte & 0x7f) << shift;
            if byte & 0x80 == 0 {
                return Some(value);
            }
        }
        None
    }

    pub(crate) fn varint_as<T: TryFrom<u64>>(&mut self) -> Option<T> {
        T::try_from(self.varint()?).ok()
    }

    /// The reading that follows `from`.
    pub(crate) fn delta(&mut self, from: u64) -> Option<u64> {
        let zigzag = self.varint()?;
        let delta = ((zigzag >> 1) as i64) ^ -((zigzag & 1) as i64);
        Some(from.wrapping_add(delta as u64))
    }

    pub(crate) fn f64(&mut self) -> Option<f64> {
        let bytes = self.take(8)?;
        Some(f64::from_le_bytes(bytes.try_into().ok()?))
    }

    pub(crate) fn text(&mut self) -> Option<String> {
        let length = self.varint_as::<usize>()?;
        Some(String::from_utf8_lossy(self.take(length)?).into_owned())
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn what_was_put_is_read_back(values in prop::collection::vec((any::<u64>(), any::<u64>()), 0..50)) {
            let mut out = Vec::new();
            for (from, to) in &values {
                put_varint(&mut out, *from);
                put_delta(&mut out, *from, *to);
            }
            let mut bytes = Bytes::new(&out);
            for (from, to) in &values {
                prop_assert_eq!(bytes.varint(), Some(*from));
                prop_assert_eq!(bytes.delta(*from), Some(*to));
            }
            prop_assert!(bytes.is_empty());
        }

        #[test]
        fn garbage_gives_none_not_a_panic(garbage in prop::collection::vec(any::<u8>(), 0..40)) {
            let mut bytes = Bytes::new(&garbage);
            while bytes.varint().is_some() {}
            let _ = bytes.text();
            let _ = bytes.f64();
        }
    }
}
