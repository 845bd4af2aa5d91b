//! How many pixels a header may declare: a few bytes must not take all memory.

use super::error::ImageError;

/// Most pixels that are decoded: where Pillow refuses an image as a decompression bomb.
const MAX_PIXELS: usize = 178_956_970;

/// Refuses an image that is too large for any purpose, or larger than its bytes can hold.
pub(super) fn check_pixels(
    (height, width): (usize, usize),
    bytes: usize,
    pixels_a_byte: usize,
) -> Result<(), ImageError> {
    let pixels = height.saturating_mul(width);
    if pixels > MAX_PIXELS {
        return Err(ImageError::TooLarge { height, width, limit: MAX_PIXELS });
    }
    if pixels > bytes.saturating_mul(pixels_a_byte) {
        return Err(ImageError::Implausible { height, width, bytes });
    }
    Ok(())
}
