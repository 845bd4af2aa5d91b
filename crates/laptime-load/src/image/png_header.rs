//! What a PNG says about itself, read without decoding it.

use super::error::ImageError;
use super::pixel_limit::check_pixels;

/// The first bytes of every PNG.
pub(super) const START: [u8; 8] = *b"\x89PNG\r\n\x1a\n";

/// A chunk has its length and type before its data, and a checksum after it.
const CHUNK_BYTES: usize = 12;

/// Deflate makes at most 1,032 bytes of one, and a pixel has a bit at least.
const PIXELS_A_BYTE: usize = 8 * 1032;

/// What is needed before a PNG is decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PngHeader {
    pub(super) height: usize,
    pub(super) width: usize,
    /// Bytes of the pixels before they were compressed, with some to spare.
    pub(super) raw_bytes: usize,
}

impl PngHeader {
    /// Reads the first chunk and looks for the last.
    pub(super) fn read(encoded: &[u8]) -> Result<Self, ImageError> {
        let header = chunk(encoded, START.len())?;
        let (b"IHDR", &[w3, w2, w1, w0, h3, h2, h1, h0, depth, ..]) = (&header.kind, header.data) else {
            return Err(ImageError::damaged("it does not start with its header"));
        };
        let width = u32::from_be_bytes([w3, w2, w1, w0]) as usize;
        let height = u32::from_be_bytes([h3, h2, h1, h0]) as usize;
        if height == 0 || width == 0 {
            return Err(ImageError::damaged("it has no pixels"));
        }
        check_pixels((height, width), encoded.len(), PIXELS_A_BYTE)?;
        find_end(encoded)?;
        // Four colours at most, and for each row, in each of seven interlaced passes, a byte for its filter.
        let colours = 4 * usize::from(depth.div_ceil(8).max(1));
        let raw_bytes = width * height * colours + 8 * height + 1024;
        Ok(Self { height, width, raw_bytes })
    }
}

struct Chunk<'a> {
    kind: [u8; 4],
    data: &'a [u8],
}

fn chunk(encoded: &[u8], at: usize) -> Result<Chunk<'_>, ImageError> {
    let head = encoded.get(at..at + 8).ok_or(ImageError::Truncated)?;
    let length = u32::from_be_bytes([head[0], head[1], head[2], head[3]]) as usize;
    let rest = &encoded[at + 8..];
    // The checksum has to be there as well.
    if rest.len() < length.saturating_add(4) {
        return Err(ImageError::Truncated);
    }
    Ok(Chunk { kind: [head[4], head[5], head[6], head[7]], data: &rest[..length] })
}

fn find_end(encoded: &[u8]) -> Result<(), ImageError> {
    let mut at = START.len();
    loop {
        let chunk = chunk(encoded, at)?;
        if chunk.kind == *b"IEND" {
            return Ok(());
        }
        at += CHUNK_BYTES + chunk.data.len();
    }
}
