//! The header of a PNG file: its first chunk.

use super::super::problem::FileProblem;
use super::ImageHeader;

pub(super) const MAGIC: &[u8] = b"\x89PNG\r\n\x1a\n";

/// The magic and the first chunk as far as it is needed.
pub(super) const HEADER_BYTES: u64 = 26;

pub(super) fn header(head: &[u8]) -> Result<ImageHeader, FileProblem> {
    let head: &[u8; HEADER_BYTES as usize] = head.try_into().map_err(|_| FileProblem::Truncated)?;
    if &head[12..16] != b"IHDR" {
        return Err(FileProblem::Damaged("its first chunk is not a header"));
    }
    let [.., w0, w1, w2, w3, h0, h1, h2, h3, bits, colour] = *head;
    let channels = match colour {
        0 => 1,
        2 | 3 => 3,
        4 => 2,
        6 => 4,
        _ => return Err(FileProblem::Damaged("a colour type that PNG does not have")),
    };
    Ok(ImageHeader {
        width: u32::from_be_bytes([w0, w1, w2, w3]),
        height: u32::from_be_bytes([h0, h1, h2, h3]),
        channels,
        value_bytes: if bits > 8 { 2 } else { 1 },
    })
}
