//! The decoders that are built in, for JPEG and PNG: Rust, and with no library to install.

use std::panic::{AssertUnwindSafe, catch_unwind};

use zune_core::bytestream::ZCursor;
use zune_core::colorspace::ColorSpace;
use zune_core::options::DecoderOptions;
use zune_jpeg::JpegDecoder;
use zune_png::PngDecoder;

use super::error::ImageError;
use super::png_header::PngHeader;

/// Most passes over one progressive image; libturbojpeg has the same limit.
const MAX_SCANS: usize = 500;

fn options() -> DecoderOptions {
    // A side of a JPEG has 16 bits; the number of pixels has been checked before.
    let options = DecoderOptions::new_fast().set_max_width(1 << 31).set_max_height(1 << 31);
    options.jpeg_set_max_scans(MAX_SCANS).jpeg_set_out_colorspace(ColorSpace::RGB)
}

/// Decodes a JPEG of this height and width into rows of red, green and blue.
pub(super) fn decode_jpeg(
    encoded: &[u8],
    (height, width): (usize, usize),
    pixels: &mut [u8],
) -> Result<(), ImageError> {
    contained(|| {
        let mut decoder = JpegDecoder::new_with_options(ZCursor::new(encoded), options());
        decoder.decode_headers().map_err(|error| ImageError::damaged(&error.to_string()))?;
        if decoder.dimensions() != Some((width, height)) || decoder.output_buffer_size() != Some(pixels.len())
        {
            return Err(ImageError::damaged("its headers disagree about its size"));
        }
        decoder.decode_into(pixels).map_err(|error| ImageError::damaged(&error.to_string()))
    })
}

/// Decodes a PNG into rows of red, green and blue; transparency is dropped, as Pillow does it.
pub(super) fn decode_png(
    encoded: &[u8],
    header: &PngHeader,
    decoded: &mut Vec<u8>,
    pixels: &mut [u8],
) -> Result<(), ImageError> {
    contained(|| {
        let options = options()
            .png_set_strip_to_8bit(true)
            .png_set_confirm_crc(true)
            .inflate_set_limit(header.raw_bytes);
        let mut decoder = PngDecoder::new_with_options(ZCursor::new(encoded), options);
        let damaged = |error: &dyn std::fmt::Display| ImageError::damaged(&error.to_string());
        decoder.decode_headers().map_err(|error| damaged(&error))?;
        if decoder.dimensions() != Some((header.width, header.height)) {
            return Err(ImageError::damaged("its headers disagree about its size"));
        }
        let bytes = decoder.output_buffer_size().unwrap_or(0);
        super::scratch::grow(decoded, bytes)?;
        decoder.decode_into(&mut decoded[..bytes]).map_err(|error| damaged(&error))?;
        to_colour(&decoded[..bytes], pixels)
    })
}

/// Grey or colour, with or without transparency, as red, green and blue.
fn to_colour(decoded: &[u8], pixels: &mut [u8]) -> Result<(), ImageError> {
    let count = pixels.len() / 3;
    match decoded.len().checked_div(count) {
        Some(3) => pixels.copy_from_slice(&decoded[..pixels.len()]),
        Some(4) => spread(decoded, pixels, 4, |pixel| [pixel[0], pixel[1], pixel[2]]),
        Some(channels @ (1 | 2)) => spread(decoded, pixels, channels, |pixel| [pixel[0]; 3]),
        _ => return Err(ImageError::damaged("its headers disagree about its colours")),
    }
    Ok(())
}

fn spread(decoded: &[u8], pixels: &mut [u8], channels: usize, colour: impl Fn(&[u8]) -> [u8; 3]) {
    for (pixel, decoded) in pixels.chunks_exact_mut(3).zip(decoded.chunks_exact(channels)) {
        pixel.copy_from_slice(&colour(decoded));
    }
}

/// Keeps a decoder's panic, which would be its bug, from ending the training.
fn contained(decode: impl FnOnce() -> Result<(), ImageError>) -> Result<(), ImageError> {
    catch_unwind(AssertUnwindSafe(decode))
        .unwrap_or_else(|_| Err(ImageError::damaged("the decoder does not get on with it")))
}
