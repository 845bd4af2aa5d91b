//! From encoded bytes to pixels, by the decoder that was chosen.

use super::error::ImageError;
use super::jpeg_header::{self, JpegHeader};
use super::png_header::{self, PngHeader};
use super::scratch::{Decoding, grow};
use super::turbojpeg::TurboJpeg;
use super::{built_in, turbojpeg};

/// Which decoder reads JPEG.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Decoder {
    /// libturbojpeg where it is installed, otherwise the one built in.
    #[default]
    Auto,
    /// The one built in: the same pixels on every machine.
    BuiltIn,
    /// libturbojpeg, or an error where it is not installed. It leaves CMYK images to the one built in.
    Turbo,
}

/// An encoded image whose header has been read.
pub(super) enum Picture {
    Jpeg(JpegHeader),
    Png(PngHeader),
}

/// Height and width of an encoded image, from its header.
///
/// # Errors
/// Where no decoder would take the image: its header is damaged, its end is missing, or it declares too many pixels.
pub fn image_size(encoded: &[u8]) -> Result<(usize, usize), ImageError> {
    Ok(Picture::read(encoded)?.size())
}

impl Picture {
    pub(super) fn read(encoded: &[u8]) -> Result<Self, ImageError> {
        if encoded.starts_with(&jpeg_header::START) {
            JpegHeader::read(encoded).map(Self::Jpeg)
        } else if encoded.starts_with(&png_header::START) {
            PngHeader::read(encoded).map(Self::Png)
        } else {
            Err(ImageError::UnknownFormat)
        }
    }

    /// Height and width.
    pub(super) fn size(&self) -> (usize, usize) {
        match self {
            Self::Jpeg(header) => (header.height, header.width),
            Self::Png(header) => (header.height, header.width),
        }
    }

    /// Decodes the rows before `end`, at least, and returns those that were decoded.
    pub(super) fn decode<'a>(
        &self,
        encoded: &[u8],
        end: usize,
        decoder: Decoder,
        decoding: &'a mut Decoding,
    ) -> Result<&'a [u8], ImageError> {
        let (height, width) = self.size();
        let rows = match self {
            Self::Jpeg(header) => header.rows_to_decode(end),
            Self::Png(_) => height,
        };
        let bytes = rows * width * 3;
        grow(&mut decoding.pixels, bytes)?;
        let Decoding { pixels, between } = decoding;
        let pixels = &mut pixels[..bytes];
        match self {
            Self::Png(header) => built_in::decode_png(encoded, header, between, pixels)?,
            Self::Jpeg(header) => {
                let encoded = if rows < height { header.cut(encoded, rows, between) } else { encoded };
                wholly(pixels, 3 * width, |pixels| match turbo(decoder, header)? {
                    Some(mut turbo) => turbo.decode(encoded, (rows, width), pixels),
                    None => built_in::decode_jpeg(encoded, (rows, width), pixels),
                })?;
            }
        }
        Ok(pixels)
    }
}

/// Fills all of the pixels: both decoders put up with damage that ends an image early, and say nothing of it. The rest
/// would then be of the image before, another one in every run; it becomes black.
fn wholly(
    pixels: &mut [u8],
    row_bytes: usize,
    mut decode: impl FnMut(&mut [u8]) -> Result<(), ImageError>,
) -> Result<(), ImageError> {
    /// Any byte: should a whole last row be of it, the image is decoded once more than it need be.
    const UNTOUCHED: u8 = 0x5b;
    let last = pixels.len() - row_bytes;
    pixels[last..].fill(UNTOUCHED);
    decode(pixels)?;
    if pixels[last..].iter().any(|&byte| byte != UNTOUCHED) {
        return Ok(());
    }
    pixels.fill(0);
    decode(pixels)
}

/// libturbojpeg, if it is to decode this image.
fn turbo(decoder: Decoder, header: &JpegHeader) -> Result<Option<TurboJpeg>, ImageError> {
    if decoder == Decoder::Turbo && !turbojpeg::turbo_is_installed() {
        return Err(ImageError::NoTurbo);
    }
    // libturbojpeg converts CMYK to no other colours.
    if decoder == Decoder::BuiltIn || header.components == 4 || !turbojpeg::turbo_is_installed() {
        return Ok(None);
    }
    match (TurboJpeg::new(), decoder) {
        (None, Decoder::Turbo) => Err(ImageError::NoTurbo),
        (turbo, _) => Ok(turbo),
    }
}
