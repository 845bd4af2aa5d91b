//! What a JPEG says about itself, read without decoding it.
//!
//! Both decoders tolerate a missing end and believe the declared size; here both are checked first, so that
//! every decoder refuses the same images.

use memchr::{memchr, memmem};

use super::error::ImageError;
use super::pixel_limit::check_pixels;

/// The marker that starts an image.
pub(super) const START: [u8; 2] = [0xff, 0xd8];
const END: [u8; 2] = [0xff, 0xd9];

/// Pixels that a byte can hold at most: a block of 8 × 8 takes a bit at least, that of its mean.
const PIXELS_A_BYTE: usize = 8 * 64;

/// The format allows a component to have a quarter of the rows of another.
const MAX_SAMPLING: usize = 4;

/// What is needed before a JPEG is decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct JpegHeader {
    pub(super) height: usize,
    pub(super) width: usize,
    /// 1 is grey, 3 is colour, 4 is CMYK.
    pub(super) components: usize,
    /// Where the height stands in the file: two bytes, the higher first.
    height_at: usize,
    /// Rows of pixels that are coded together.
    unit_rows: usize,
    /// The rows are coded from top to bottom, all components together.
    one_pass: bool,
}

impl JpegHeader {
    /// Reads the segments up to the first scan, and looks for the end of the image.
    pub(super) fn read(encoded: &[u8]) -> Result<Self, ImageError> {
        let mut frame = None;
        let mut at = START.len();
        loop {
            let segment = Segment::next(encoded, at)?;
            at = segment.start + segment.body.len();
            match segment.marker {
                // Frames: baseline, extended, progressive.
                0xc0..=0xc2 if frame.is_none() => frame = Some(read_frame(&segment)?),
                0xc0..=0xc2 => return Err(ImageError::damaged("two images in one")),
                0xc3 | 0xc5..=0xc7 | 0xcd..=0xcf => return Err(unsupported("lossless or hierarchical JPEG")),
                0xc9..=0xcb => return Err(unsupported("JPEG with arithmetic coding")),
                // The first scan.
                0xda => {
                    let frame = frame.ok_or_else(|| ImageError::damaged("a scan before its frame"))?;
                    return finish(frame, segment.body, encoded, at);
                }
                0xd9 => return Err(ImageError::damaged("it ends before its first scan")),
                _ => {}
            }
        }
    }

    /// How many rows to decode so that those before `rows` are exactly those of the whole image.
    ///
    /// Colour is interpolated between rows of a lower resolution, so a little more than is asked for.
    pub(super) fn rows_to_decode(&self, rows: usize) -> usize {
        let rows = (rows + 2 * MAX_SAMPLING).next_multiple_of(self.unit_rows);
        if self.one_pass && rows < self.height { rows } else { self.height }
    }

    /// Makes `buffer` an image with fewer rows, where the decoder stops; returns its bytes.
    pub(super) fn cut<'a>(&self, encoded: &[u8], rows: usize, buffer: &'a mut Vec<u8>) -> &'a [u8] {
        buffer.clear();
        buffer.extend_from_slice(encoded);
        let height = u16::try_from(rows).unwrap_or(u16::MAX);
        buffer[self.height_at..self.height_at + 2].copy_from_slice(&height.to_be_bytes());
        buffer
    }
}

fn unsupported(feature: &'static str) -> ImageError {
    ImageError::Unsupported { feature }
}

/// A marker and what belongs to it.
struct Segment<'a> {
    marker: u8,
    /// Where the body starts in the file.
    start: usize,
    body: &'a [u8],
}

impl<'a> Segment<'a> {
    /// The first marker at this place or, as all decoders do, after bytes that belong to none.
    fn next(encoded: &'a [u8], mut at: usize) -> Result<Self, ImageError> {
        loop {
            at += memchr(0xff, encoded.get(at..).unwrap_or_default()).ok_or(ImageError::Truncated)? + 1;
            match *encoded.get(at).ok_or(ImageError::Truncated)? {
                // A stuffed byte, or a fill byte before the marker.
                0x00 | 0xff => {}
                // Markers without a body.
                marker @ 0xd9 => return Ok(Self { marker, start: at + 1, body: &[] }),
                0x01 | 0xd0..=0xd8 => at += 1,
                marker => return Self::with_body(encoded, marker, at + 1),
            }
        }
    }

    fn with_body(encoded: &'a [u8], marker: u8, at: usize) -> Result<Self, ImageError> {
        let length = encoded.get(at..at + 2).ok_or(ImageError::Truncated)?;
        let length = usize::from(u16::from_be_bytes([length[0], length[1]]));
        let start = at + 2;
        let length =
            length.checked_sub(2).ok_or_else(|| ImageError::damaged("a segment without a length"))?;
        let body = encoded.get(start..start + length).ok_or(ImageError::Truncated)?;
        Ok(Self { marker, start, body })
    }
}

fn read_frame(segment: &Segment<'_>) -> Result<JpegHeader, ImageError> {
    let damaged = || ImageError::damaged("the frame header is too short");
    let [precision, height_high, height_low, width_high, width_low, components, ..] = *segment.body else {
        return Err(damaged());
    };
    if precision != 8 {
        return Err(unsupported("JPEG with more than 8 bits a colour"));
    }
    let components = usize::from(components);
    // Each component: its name, how often it is sampled across and down (4 bits each), its table.
    let described = segment.body.get(6..6 + 3 * components).ok_or_else(damaged)?;
    let sampling = described.chunks_exact(3).map(|component| usize::from(component[1] & 15)).max();
    let sampling = sampling.filter(|sampling| (1..=MAX_SAMPLING).contains(sampling));
    let sampling = sampling.ok_or_else(|| ImageError::damaged("impossible sampling of colours"))?;
    Ok(JpegHeader {
        height: usize::from(u16::from_be_bytes([height_high, height_low])),
        width: usize::from(u16::from_be_bytes([width_high, width_low])),
        components,
        height_at: segment.start + 1,
        unit_rows: 8 * sampling,
        one_pass: segment.marker != 0xc2,
    })
}

fn finish(frame: JpegHeader, scan: &[u8], encoded: &[u8], at: usize) -> Result<JpegHeader, ImageError> {
    if !matches!(frame.components, 1 | 3 | 4) {
        return Err(unsupported("JPEG with other than 1, 3 or 4 colours"));
    }
    if frame.height == 0 || frame.width == 0 {
        return Err(unsupported("JPEG without a size in its header"));
    }
    check_pixels((frame.height, frame.width), encoded.len(), PIXELS_A_BYTE)?;
    // The end marker can stand nowhere else in a scan: there, 0xff is always followed by 0.
    memmem::rfind(&encoded[at..], &END).ok_or(ImageError::Truncated)?;
    let all_together = scan.first().is_some_and(|&count| usize::from(count) == frame.components);
    Ok(JpegHeader { one_pass: frame.one_pass && all_together, ..frame })
}
