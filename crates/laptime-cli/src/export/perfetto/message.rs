//! Protobuf's wire format: what a trace is made of.

/// A message that is being written.
#[derive(Default)]
pub(super) struct Message(pub(super) Vec<u8>);

impl Message {
    /// A field that is a number.
    pub(super) fn number(&mut self, field: u32, value: u64) -> &mut Self {
        varint(u64::from(field) << 3, &mut self.0);
        varint(value, &mut self.0);
        self
    }

    /// A field that is a floating-point number.
    pub(super) fn double(&mut self, field: u32, value: f64) -> &mut Self {
        varint(u64::from(field) << 3 | 1, &mut self.0);
        self.0.extend(value.to_le_bytes());
        self
    }

    /// A field that is text.
    pub(super) fn text(&mut self, field: u32, value: &str) -> &mut Self {
        self.bytes(field, value.as_bytes())
    }

    /// A field that is a message.
    pub(super) fn message(&mut self, field: u32, fill: impl FnOnce(&mut Self)) -> &mut Self {
        let mut inner = Self::default();
        fill(&mut inner);
        self.bytes(field, &inner.0)
    }

    /// The same with room that is used again and again, for the messages of which there are millions.
    pub(super) fn message_in(&mut self, field: u32, room: &mut Self, fill: impl FnOnce(&mut Self)) {
        room.0.clear();
        fill(room);
        self.bytes(field, &room.0);
    }

    fn bytes(&mut self, field: u32, value: &[u8]) -> &mut Self {
        varint(u64::from(field) << 3 | 2, &mut self.0);
        varint(value.len() as u64, &mut self.0);
        self.0.extend_from_slice(value);
        self
    }
}

/// Seven bits a byte, the lowest first.
fn varint(mut value: u64, out: &mut Vec<u8>) {
    while value >= 0x80 {
        out.push(value as u8 | 0x80);
        value >>= 7;
    }
    out.push(value as u8);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_written_as_the_documentation_of_protobuf_has_them() {
        let mut message = Message::default();
        message.number(1, 150).text(2, "testing").message(3, |inner| {
            inner.number(1, 150);
        });
        let expected = b"\x08\x96\x01\x12\x07testing\x1a\x03\x08\x96\x01";
        assert_eq!(message.0, expected);
    }
}
