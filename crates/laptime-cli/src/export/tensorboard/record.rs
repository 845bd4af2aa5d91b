//! Records: the frame around every event of an event file (TFRecord).
//!
//! ```text
//! length u64 LE │ masked CRC32C of the length u32 LE │ data │ masked CRC32C of the data u32 LE
//! ```

/// Added to a rotated CRC, so that the CRC of data that holds CRCs is no weaker (TFRecord's own number).
const MASK: u32 = 0xa282_ead8;

/// One record with this data.
pub(super) fn record(data: &[u8]) -> Vec<u8> {
    let length = (data.len() as u64).to_le_bytes();
    let mut bytes = Vec::with_capacity(data.len() + 16);
    bytes.extend(length);
    bytes.extend(masked_crc(&length).to_le_bytes());
    bytes.extend(data);
    bytes.extend(masked_crc(data).to_le_bytes());
    bytes
}

fn masked_crc(bytes: &[u8]) -> u32 {
    crc32c::crc32c(bytes).rotate_right(15).wrapping_add(MASK)
}

/// The data of the whole records at the beginning of a file, each with its CRCs checked.
#[cfg(test)]
pub(super) fn whole_records(bytes: &[u8]) -> Vec<&[u8]> {
    let mut rest = bytes;
    let mut found = Vec::new();
    let number = |bytes: &[u8]| u32::from_le_bytes(bytes.try_into().unwrap());
    while let Some((length, after)) = rest.split_at_checked(8) {
        let Some((crc, after)) = after.split_at_checked(4) else { break };
        assert_eq!(number(crc), masked_crc(length), "the CRC of a length");
        let length = usize::try_from(u64::from_le_bytes(length.try_into().unwrap())).unwrap();
        let Some((data, after)) = after.split_at_checked(length) else { break };
        let Some((crc, after)) = after.split_at_checked(4) else { break };
        assert_eq!(number(crc), masked_crc(data), "the CRC of data");
        found.push(data);
        rest = after;
    }
    found
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn a_record_has_the_bytes_that_tensorflow_writes() {
        // tf.io.TFRecordWriter(path).write(b"lap")
        let golden =
            [3, 0, 0, 0, 0, 0, 0, 0, 0xb0, 0x99, 0x49, 0x0e, b'l', b'a', b'p', 0xb1, 0xef, 0xaa, 0xf8];
        assert_eq!(record(b"lap"), golden);
    }

    proptest! {
        #[test]
        fn whatever_is_cut_off_the_whole_records_before_it_are_read(
            data in prop::collection::vec(prop::collection::vec(any::<u8>(), 0..80), 0..6),
            cut in any::<prop::sample::Index>(),
        ) {
            let records: Vec<Vec<u8>> = data.iter().map(|data| record(data)).collect();
            let bytes = records.concat();
            let cut = cut.index(bytes.len() + 1);
            let mut end = 0;
            let whole = records.iter().take_while(|record| { end += record.len(); end <= cut }).count();
            let expected: Vec<&[u8]> = data.iter().take(whole).map(Vec::as_slice).collect();
            prop_assert_eq!(whole_records(&bytes[..cut]), expected);
        }
    }
}
