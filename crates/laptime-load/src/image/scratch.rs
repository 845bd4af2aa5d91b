//! What a thread keeps from one image to the next.

use super::enlarge::Enlarging;
use super::error::ImageError;
use super::lanes::Lanes;
use super::shrink::Shrinking;

/// Buffers of one thread, as large as its largest image needed so far.
#[derive(Default)]
pub struct Scratch {
    pub(super) decoding: Decoding,
    pub(super) resampling: Resampling,
}

impl Scratch {
    /// Empty buffers, which grow with the images.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }
}

/// What decoding needs.
#[derive(Default)]
pub(super) struct Decoding {
    /// The decoded image: rows of red, green and blue.
    pub(super) pixels: Vec<u8>,
    /// The encoded image, cut off below the crop, or a PNG before its colours are those of the output.
    pub(super) between: Vec<u8>,
}

/// What resampling needs.
#[derive(Default)]
pub(super) struct Resampling {
    pub(super) lanes: Lanes,
    pub(super) enlarging: Enlarging,
    pub(super) shrinking: Shrinking,
    /// A row of the output before it is packed.
    pub(super) row: Vec<f32>,
}

/// Makes the buffer at least this long; memory that is not there is an error.
pub(super) fn grow(buffer: &mut Vec<u8>, bytes: usize) -> Result<(), ImageError> {
    if let Some(more) = bytes.checked_sub(buffer.len()) {
        buffer.try_reserve_exact(more).map_err(|_| ImageError::OutOfMemory { bytes })?;
        buffer.resize(bytes, 0);
    }
    Ok(())
}
