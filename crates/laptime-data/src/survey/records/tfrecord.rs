//! TFRecord: length, checksum of the length, data, checksum of the data.

use super::super::problem::FileProblem;
use super::headers::Headers;
use super::{Framing, Member};

/// A length of eight bytes and a checksum of four before the data, a checksum behind it.
const BEFORE: u64 = 12;
const BEHIND: u64 = 4;

#[derive(Default)]
pub(super) struct TfRecord;

impl Framing for TfRecord {
    const NAME: &'static str = "TFRecord";
    const ALIGNMENT: u64 = 1;
    const HEADER_BYTES: usize = BEFORE as usize;

    fn is_header(header: &[u8], left: u64) -> bool {
        length(header).is_some_and(|length| length.checked_add(BEHIND).is_some_and(|bytes| bytes <= left))
    }

    fn member(&mut self, headers: &mut Headers<'_>, at: u64) -> Result<Option<Member>, FileProblem> {
        let bytes = headers.stored.bytes();
        if bytes.checked_sub(at).is_some_and(|left| left < BEFORE) {
            return Err(FileProblem::Truncated);
        }
        let header = headers.take(at, Self::HEADER_BYTES)?;
        if at == 0 && header.starts_with(b"\x1f\x8b") {
            return Err(FileProblem::NotUnderstood("TFRecord packed by gzip; write it without"));
        }
        let data_bytes = length(header).ok_or(FileProblem::Damaged("the length of a record"))?;
        let next = data_bytes.checked_add(at + BEFORE + BEHIND).filter(|next| *next <= bytes);
        let next = next.ok_or(FileProblem::Truncated)?;
        Ok(Some(Member { next, data: at + BEFORE, data_bytes, is_image: false, sample: Some(at) }))
    }
}

/// The length in a header, if its checksum is right.
fn length(header: &[u8]) -> Option<u64> {
    let (length, rest) = header.split_first_chunk::<8>()?;
    let declared = u32::from_le_bytes(*rest.first_chunk::<4>()?);
    (masked(crc32c::crc32c(length)) == declared).then(|| u64::from_le_bytes(*length))
}

/// Checksums are kept turned and moved, so that one of data with checksums in it is no surprise.
fn masked(checksum: u32) -> u32 {
    checksum.rotate_right(15).wrapping_add(0xa282_ead8)
}

/// A file of records, for tests.
#[cfg(test)]
pub(super) fn written(records: impl IntoIterator<Item = Vec<u8>>) -> Vec<u8> {
    let mut file = Vec::new();
    for record in records {
        let length = (record.len() as u64).to_le_bytes();
        file.extend(length);
        file.extend(masked(crc32c::crc32c(&length)).to_le_bytes());
        file.extend(&record);
        file.extend(masked(crc32c::crc32c(&record)).to_le_bytes());
    }
    file
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_that_tensorflow_wrote_is_understood() {
        // tf.io.TFRecordWriter("x").write(b"lap")
        let file = b"\x03\0\0\0\0\0\0\0\xb0\x99I\x0elap\xb1\xef\xaa\xf8";
        let own = written([b"lap".to_vec()]);
        assert_eq!(own, file);
        assert_eq!(length(&own), Some(3));
        assert_eq!(length(&own[1..]), None);
    }
}
