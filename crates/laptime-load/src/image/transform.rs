//! What is done to every image, from its bytes to the batch.

use super::colour::Colour;
use super::copy::copy;
use super::decoder::{Decoder, Picture};
use super::error::ImageError;
use super::placement::{Crop, MAX_SIDE, Placement};
use super::sample_key::SampleKey;
use super::scratch::{Resampling, Scratch};
use super::section::Section;
use super::target::{Out, Target};

/// The order of an image's numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Layout {
    /// Channel, row, column: PyTorch's.
    #[default]
    Chw,
    /// Row, column, channel: TensorFlow's.
    Hwc,
}

/// The type of an image's numbers.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Output {
    /// 32-bit floats, from 0 to 1 or normalised.
    #[default]
    F32,
    /// Bytes, from 0 to 255.
    U8,
}

/// What is taken off each channel, and what it is divided by, both in units of 0 to 1.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Normalize {
    /// Mean of red, green and blue.
    pub mean: [f32; 3],
    /// Standard deviation of red, green and blue.
    pub std: [f32; 3],
}

impl Normalize {
    /// Of the images of ImageNet.
    pub const IMAGENET: Self = Self { mean: [0.485, 0.456, 0.406], std: [0.229, 0.224, 0.225] };
}

/// What is done to every image: decode, crop, flip, resize, normalise.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ImageTransform {
    /// Height and width of the output.
    pub size: (usize, usize),
    /// Which part of the image is taken.
    pub crop: Crop,
    /// Mirror every other image, at random, left to right.
    pub flip: bool,
    /// How floats are normalised; without it they are from 0 to 1.
    pub normalize: Option<Normalize>,
    /// The order of the output's numbers.
    pub layout: Layout,
    /// The type of the output's numbers.
    pub output: Output,
    /// Which decoder reads JPEG.
    pub decoder: Decoder,
}

impl ImageTransform {
    /// The whole image resized to this height and width, as floats from 0 to 1 for PyTorch.
    #[must_use]
    pub fn new(size: (usize, usize)) -> Self {
        let (layout, output, decoder) = (Layout::default(), Output::default(), Decoder::default());
        Self { size, crop: Crop::None, flip: false, normalize: None, layout, output, decoder }
    }

    /// Says what is wrong with the transform itself, before any image is read.
    ///
    /// # Errors
    /// A size of nothing or beyond reason, a crop that cannot be, a standard deviation of zero, bytes that are
    /// to be normalised, or a decoder that is not installed.
    pub fn check(&self) -> Result<(), ImageError> {
        let (height, width) = self.size;
        let unusable = |normalize: &Normalize| {
            normalize.std.iter().any(|std| *std <= 0.0 || !std.is_finite())
                || normalize.mean.iter().any(|mean| !mean.is_finite())
        };
        let problem = if !(1..=MAX_SIDE).contains(&height) || !(1..=MAX_SIDE).contains(&width) {
            Some("height and width must be from 1 to 16,384 pixels")
        } else if self.normalize.is_some() && self.output == Output::U8 {
            Some("bytes cannot be normalised: ask for floats")
        } else if self.normalize.as_ref().is_some_and(unusable) {
            Some("means must be finite, and standard deviations above zero")
        } else {
            self.crop.problem(self.size)
        };
        match problem {
            Some(problem) => Err(ImageError::BadTransform { problem }),
            None if self.decoder == Decoder::Turbo && !super::turbo_is_installed() => {
                Err(ImageError::NoTurbo)
            }
            None => Ok(()),
        }
    }

    /// Bytes of the output.
    #[must_use]
    pub fn output_len(&self) -> usize {
        let bytes = match self.output {
            Output::F32 => size_of::<f32>(),
            Output::U8 => 1,
        };
        self.size.0.saturating_mul(self.size.1).saturating_mul(3 * bytes)
    }

    /// Decodes a JPEG or PNG and writes what the transform makes of it.
    ///
    /// # Errors
    /// Where the image is damaged, too large or too small for its crop, or the transform or a buffer is not as
    /// it must be. The output's content is then undefined.
    pub fn decode_into(
        &self,
        encoded: &[u8],
        random: SampleKey,
        scratch: &mut Scratch,
        out: &mut [u8],
    ) -> Result<(), ImageError> {
        self.check()?;
        let picture = Picture::read(encoded)?;
        let image = picture.size();
        let placement = self.place(image, random)?;
        let end = placement.rows.end(image.0);
        let pixels = picture.decode(encoded, end, self.decoder, &mut scratch.decoding)?;
        self.write(pixels, image, &placement, &mut scratch.resampling, out)
    }

    /// The same for an image that is decoded already, rows of red, green and blue; `image` is its height and width.
    ///
    /// # Errors
    /// Where the image is too small for its crop, or the transform or a buffer is not as it must be.
    pub fn decoded_into(
        &self,
        pixels: &[u8],
        image: (usize, usize),
        random: SampleKey,
        scratch: &mut Scratch,
        out: &mut [u8],
    ) -> Result<(), ImageError> {
        self.check()?;
        let needed = image.0.saturating_mul(image.1).saturating_mul(3);
        if pixels.len() != needed || needed == 0 {
            return Err(ImageError::WrongBuffer { buffer: "decoded image", found: pixels.len(), needed });
        }
        let placement = self.place(image, random)?;
        self.write(pixels, image, &placement, &mut scratch.resampling, out)
    }

    pub(super) fn place(&self, image: (usize, usize), random: SampleKey) -> Result<Placement, ImageError> {
        let mut draws = random.draws();
        // The flip is drawn first, so that it does not depend on how often a crop is drawn.
        let flipped = self.flip && draws.coin();
        Ok(Placement { flipped, ..self.crop.place(image, self.size, &mut draws)? })
    }

    fn colour(&self) -> Colour {
        match (self.output, self.normalize) {
            (Output::U8, _) => Colour::UNCHANGED,
            (Output::F32, None) => Colour::UNIT,
            (Output::F32, Some(Normalize { mean, std })) => Colour::normalized(mean, std),
        }
    }

    fn write(
        &self,
        pixels: &[u8],
        image: (usize, usize),
        placement: &Placement,
        resampling: &mut Resampling,
        out: &mut [u8],
    ) -> Result<(), ImageError> {
        let mut target = Target::new(self.out(out)?, self.size, resampling);
        let section = Section { pixels, image, placement, colour: &self.colour(), lanes: resampling.lanes };
        if placement.is_copy() {
            copy(&section, &mut target);
        } else if placement.rows.scale() <= 1.0 && placement.columns.scale() <= 1.0 {
            resampling.enlarging.enlarge(&section, &mut target);
        } else {
            resampling.shrinking.shrink(&section, &mut target);
        }
        target.give_back(resampling);
        Ok(())
    }

    fn out<'a>(&self, out: &'a mut [u8]) -> Result<Out<'a>, ImageError> {
        let (found, needed) = (out.len(), self.output_len());
        if found != needed {
            return Err(ImageError::WrongBuffer { buffer: "output", found, needed });
        }
        Ok(match (self.output, self.layout) {
            (Output::U8, Layout::Chw) => Out::BytePlanes(out),
            (Output::U8, Layout::Hwc) => Out::BytePixels(out),
            (Output::F32, Layout::Chw) => Out::FloatPlanes(floats(out)?),
            (Output::F32, Layout::Hwc) => Out::FloatPixels(floats(out)?),
        })
    }
}

/// The bytes as floats, which have to start at a multiple of four.
#[expect(unsafe_code, reason = "every four bytes are a float")]
fn floats(bytes: &mut [u8]) -> Result<&mut [f32], ImageError> {
    // SAFETY: any four bytes are a float, and any float is four bytes.
    match unsafe { bytes.align_to_mut::<f32>() } {
        ([], floats, []) => Ok(floats),
        _ => Err(ImageError::BadTransform { problem: "the output is not aligned for floats" }),
    }
}
