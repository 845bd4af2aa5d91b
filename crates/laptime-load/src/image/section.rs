//! The part of a decoded image that is written, and how.

use super::colour::Colour;
use super::lanes::Lanes;
use super::placement::Placement;

/// The part of a decoded image that is written, and how.
#[derive(Clone, Copy)]
pub(super) struct Section<'a> {
    /// Rows of red, green and blue: all that the placement needs.
    pub(super) pixels: &'a [u8],
    /// Height and width of the whole image.
    pub(super) image: (usize, usize),
    pub(super) placement: &'a Placement,
    pub(super) colour: &'a Colour,
    pub(super) lanes: Lanes,
}

impl<'a> Section<'a> {
    /// All pixels of the image from this one on.
    pub(super) fn from(&self, row: usize, column: usize) -> &'a [u8] {
        &self.pixels[(row * self.image.1 + column) * 3..]
    }
}
