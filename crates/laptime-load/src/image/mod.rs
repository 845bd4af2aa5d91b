//! Images as a training wants them: decoded, cropped, flipped, resized and normalised into the batch itself.
//!
//! Each image goes from its encoded bytes into the output in one pass over its rows, with no image of floats in
//! between. What is random depends on a [`SampleKey`] alone. Resizing is bilinear and, where it shrinks,
//! antialiased, with the weights of Pillow and of torchvision with `antialias=True`; the result is rounded once,
//! at the end, or not at all for floats, where those round after each pass.
//!
//! JPEG is decoded by libturbojpeg where it is installed, pixel for pixel what Pillow decodes, and otherwise by a
//! decoder that is built in and differs by up to a few steps of 256. Both decode at full resolution: decoding
//! at a fraction of it would be faster for large images, and give other pixels. Rows below the crop are not
//! decoded. The orientation that a camera notes in EXIF is ignored, as Pillow and torchvision do.
//!
//! ```
//! use laptime_load::image::{Crop, ImageTransform, SampleKey, Scratch};
//!
//! let transform = ImageTransform { crop: Crop::Center { resize: None }, ..ImageTransform::new((2, 2)) };
//! let pixels = [255; 2 * 2 * 3];
//! let mut out = vec![0_u8; transform.output_len()];
//! let key = SampleKey { seed: 1, epoch: 0, index: 0 };
//! transform.decoded_into(&pixels, (2, 2), key, &mut Scratch::new(), &mut out)?;
//! assert_eq!(out[..4], 1.0_f32.to_le_bytes());
//! # Ok::<(), laptime_load::image::ImageError>(())
//! ```

mod built_in;
mod colour;
mod copy;
mod decoder;
mod enlarge;
mod error;
mod jpeg_header;
mod lanes;
mod pixel_limit;
mod placement;
mod png_header;
mod sample_key;
mod scratch;
mod section;
mod shrink;
mod target;
mod transform;
mod turbojpeg;

#[cfg(test)]
mod damaged_images;
#[cfg(test)]
mod reference;
#[cfg(test)]
mod test_images;

pub use decoder::{Decoder, image_size};
pub use error::ImageError;
pub use placement::Crop;
pub use sample_key::SampleKey;
pub use scratch::Scratch;
pub use transform::{ImageTransform, Layout, Normalize, Output};
pub use turbojpeg::turbo_is_installed;
