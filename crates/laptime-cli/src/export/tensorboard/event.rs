//! Events: the few fields of TensorBoard's `Event` and `Summary` messages that scalars need, as protobuf.
//!
//! ```text
//! Event    { double wall_time = 1; int64 step = 2; string file_version = 3; Summary summary = 5 }
//! Summary  { repeated Value value = 1 }
//! Value    { string tag = 1; float simple_value = 2; SummaryMetadata metadata = 9 }
//! SummaryMetadata { PluginData plugin_data = 1 { string plugin_name = 1 }; string summary_description = 3;
//!            DataClass data_class = 4 }
//! ```

/// The version of event files that readers know.
const FILE_VERSION: &str = "brain.Event:2";
const SCALARS_PLUGIN: &str = "scalars";
/// `DATA_CLASS_SCALAR`.
const SCALAR_CLASS: u64 = 1;

/// One number of an event.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Value<'a> {
    /// What it is a number of.
    pub(super) tag: &'a str,
    /// The number; event files hold 32 bits of it.
    pub(super) number: f32,
    /// What the tag means; written once per file.
    pub(super) description: Option<&'a str>,
}

/// The event that every file begins with.
pub(super) fn version_event(unix_s: f64) -> Vec<u8> {
    let mut event = Message::default();
    event.double(1, unix_s);
    event.text(3, FILE_VERSION);
    event.bytes
}

/// Numbers that belong to one step.
pub(super) fn scalar_event<'a>(
    unix_s: f64,
    step: u64,
    values: impl IntoIterator<Item = Value<'a>>,
) -> Vec<u8> {
    let mut summary = Message::default();
    for value in values {
        summary.message(1, &value_message(&value));
    }
    let mut event = Message::default();
    event.double(1, unix_s);
    event.number(2, step);
    event.message(5, &summary);
    event.bytes
}

fn value_message(value: &Value<'_>) -> Message {
    let mut message = Message::default();
    message.text(1, value.tag);
    message.float(2, value.number);
    if let Some(description) = value.description {
        let mut plugin = Message::default();
        plugin.text(1, SCALARS_PLUGIN);
        let mut metadata = Message::default();
        metadata.message(1, &plugin);
        metadata.text(3, description);
        metadata.number(4, SCALAR_CLASS);
        message.message(9, &metadata);
    }
    message
}

/// A protobuf message, field by field.
#[derive(Default)]
struct Message {
    bytes: Vec<u8>,
}

impl Message {
    const VARINT: u64 = 0;
    const EIGHT_BYTES: u64 = 1;
    const LENGTH_FIRST: u64 = 2;
    const FOUR_BYTES: u64 = 5;

    fn number(&mut self, field: u64, number: u64) {
        self.key(field, Self::VARINT);
        self.varint(number);
    }

    fn double(&mut self, field: u64, number: f64) {
        self.key(field, Self::EIGHT_BYTES);
        self.bytes.extend(number.to_le_bytes());
    }

    fn float(&mut self, field: u64, number: f32) {
        self.key(field, Self::FOUR_BYTES);
        self.bytes.extend(number.to_le_bytes());
    }

    fn text(&mut self, field: u64, text: &str) {
        self.with_length(field, text.as_bytes());
    }

    fn message(&mut self, field: u64, message: &Self) {
        self.with_length(field, &message.bytes);
    }

    fn with_length(&mut self, field: u64, bytes: &[u8]) {
        self.key(field, Self::LENGTH_FIRST);
        self.varint(bytes.len() as u64);
        self.bytes.extend(bytes);
    }

    fn key(&mut self, field: u64, wire_type: u64) {
        self.varint(field << 3 | wire_type);
    }

    /// Seven bits a byte, the lowest first; the high bit says that more follow.
    fn varint(&mut self, mut number: u64) {
        while number >= 0x80 {
            self.bytes.push(number as u8 | 0x80);
            number >>= 7;
        }
        self.bytes.push(number as u8);
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn the_first_event_has_the_bytes_that_tensorflow_writes() {
        // Event(wall_time=1.5, file_version="brain.Event:2").SerializeToString()
        let golden = [&[0x09, 0, 0, 0, 0, 0, 0, 0xf8, 0x3f, 0x1a, 13][..], b"brain.Event:2"].concat();
        assert_eq!(version_event(1.5), golden);
    }

    #[test]
    fn a_scalar_has_the_bytes_that_tensorflow_writes() {
        let values = [
            Value { tag: "laptime/loss", number: 0.25, description: None },
            Value { tag: "a", number: 1.0, description: Some("why") },
        ];
        // Event(wall_time=1.5, step=300, summary=Summary(value=[
        //     Value(tag="laptime/loss", simple_value=0.25),
        //     Value(tag="a", simple_value=1.0, metadata=SummaryMetadata(
        //         plugin_data=PluginData(plugin_name="scalars"), summary_description="why", data_class=1)),
        // ])).SerializeToString()
        let golden = [
            &[0x09, 0, 0, 0, 0, 0, 0, 0xf8, 0x3f, 0x10, 0xac, 0x02, 0x2a, 51][..],
            &[0x0a, 19, 0x0a, 12],
            b"laptime/loss",
            &[0x15, 0, 0, 0x80, 0x3e],
            &[0x0a, 28, 0x0a, 1, b'a', 0x15, 0, 0, 0x80, 0x3f, 0x4a, 18, 0x0a, 9, 0x0a, 7],
            b"scalars",
            &[0x1a, 3],
            b"why",
            &[0x20, 1],
        ]
        .concat();
        assert_eq!(scalar_event(1.5, 300, values), golden);
    }

    proptest! {
        #[test]
        fn a_varint_has_the_fewest_bytes_and_keeps_its_number(number in any::<u64>()) {
            let mut message = Message::default();
            message.varint(number);
            let back = message.bytes.iter().rev().fold(0_u64, |sum, byte| sum << 7 | u64::from(byte & 0x7f));
            prop_assert_eq!(back, number);
            prop_assert_eq!(message.bytes.len() as u32, (64 - number.leading_zeros()).div_ceil(7).max(1));
        }
    }
}
