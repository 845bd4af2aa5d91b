//! Images: width, height and channels by their headers; no pixel is decoded.

mod jpeg;
mod png;

use super::problem::FileProblem;
use super::stored::Stored;

/// Decoded bytes for a stored byte beyond which an image cannot be whole: deflate makes at most 1,032 of one, and
/// JPEG spends at least a bit on every block of 64.
const MOST_DECODED_A_BYTE: u64 = 1_100;

/// What an image's header says.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ImageHeader {
    pub(crate) width: u32,
    pub(crate) height: u32,
    /// Of the decoded image: a palette counts as red, green and blue.
    pub(crate) channels: u8,
    /// Bytes of one value: two in PNG files of 16 bits.
    pub(crate) value_bytes: u8,
}

impl ImageHeader {
    pub(crate) fn values(&self) -> u64 {
        // At most 2^32 x 2^32 x 4: saturates instead of wrapping, and is refused as implausible then.
        u64::from(self.width).saturating_mul(u64::from(self.height)).saturating_mul(u64::from(self.channels))
    }

    pub(crate) fn decoded_bytes(&self) -> u64 {
        self.values().saturating_mul(u64::from(self.value_bytes))
    }
}

/// Reads the header of a JPEG or PNG file, whichever it is.
pub(crate) fn read_image(stored: &(impl Stored + ?Sized)) -> Result<ImageHeader, FileProblem> {
    let head = stored.take(0, stored.bytes().min(png::HEADER_BYTES))?;
    let header = if head.starts_with(png::MAGIC) {
        png::header(&head)?
    } else if head.starts_with(jpeg::MAGIC) {
        jpeg::header(stored)?
    } else {
        return Err(FileProblem::NotThat("an image"));
    };
    if header.width == 0 || header.height == 0 {
        return Err(FileProblem::Damaged("an image without pixels"));
    }
    let bytes = stored.bytes();
    if header.decoded_bytes() / MOST_DECODED_A_BYTE > bytes {
        let claim = format!("{} x {} pixels", header.width, header.height);
        return Err(FileProblem::Implausible { claim, bytes });
    }
    Ok(header)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mutation::survive_in_memory;

    fn png_of(width: u32, height: u32, bits: u8, colour: u8, filler: usize) -> Vec<u8> {
        let mut bytes = b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR".to_vec();
        bytes.extend(width.to_be_bytes());
        bytes.extend(height.to_be_bytes());
        bytes.extend([bits, colour, 0, 0, 0]);
        bytes.resize(bytes.len() + filler, 0);
        bytes
    }

    fn jpeg_of(width: u16, height: u16, channels: u8, metadata: usize) -> Vec<u8> {
        let mut bytes = b"\xff\xd8".to_vec();
        for _ in 0..2 {
            bytes.extend([0xff, 0xff, 0xe1]);
            bytes.extend(((metadata + 2) as u16).to_be_bytes());
            bytes.resize(bytes.len() + metadata, 0xff);
        }
        bytes.extend([0xff, 0xc4, 0, 4, 1, 2]);
        bytes.extend([0xff, 0xc2, 0, 17, 8]);
        bytes.extend(height.to_be_bytes());
        bytes.extend(width.to_be_bytes());
        bytes.push(channels);
        bytes.resize(bytes.len() + 2_000, 0);
        bytes
    }

    fn facts(bytes: &[u8]) -> (u32, u32, u8, u8) {
        let header = read_image(bytes).unwrap();
        (header.width, header.height, header.channels, header.value_bytes)
    }

    #[test]
    fn png_headers_give_size_channels_and_depth() {
        assert_eq!(facts(&png_of(64, 48, 8, 2, 100)), (64, 48, 3, 1));
        assert_eq!(facts(&png_of(64, 48, 8, 0, 100)), (64, 48, 1, 1));
        assert_eq!(facts(&png_of(64, 48, 4, 3, 100)), (64, 48, 3, 1));
        assert_eq!(facts(&png_of(64, 48, 8, 4, 100)), (64, 48, 2, 1));
        assert_eq!(facts(&png_of(64, 48, 16, 6, 100)), (64, 48, 4, 2));
    }

    #[test]
    fn jpeg_headers_are_found_behind_metadata_of_any_length() {
        assert_eq!(facts(&jpeg_of(640, 480, 3, 20)), (640, 480, 3, 1));
        assert_eq!(facts(&jpeg_of(640, 480, 1, 60_000)), (640, 480, 1, 1));
    }

    #[test]
    fn an_image_larger_than_its_bytes_can_hold_is_not_believed() {
        let hostile = read_image(&png_of(65_000, 65_000, 8, 2, 200)).unwrap_err();
        assert_eq!(hostile.to_string(), "claims more than its 229 bytes can hold: 65000 x 65000 pixels");
        let largest = read_image(&png_of(u32::MAX, u32::MAX, 16, 6, 0)).unwrap_err();
        assert!(matches!(largest, FileProblem::Implausible { .. }));
        // An honest image of that size has the bytes for it.
        let honest = png_of(65_000, 65_000, 1, 0, 8 << 20);
        assert_eq!(read_image(&honest).unwrap().decoded_bytes(), 65_000 * 65_000);
    }

    #[test]
    fn what_is_no_image_is_named_as_such() {
        for bytes in [&b""[..], b"text", b"GIF89a"] {
            assert!(matches!(read_image(bytes), Err(FileProblem::NotThat("an image"))));
        }
        assert!(matches!(read_image(&png_of(0, 5, 8, 2, 9)[..]), Err(FileProblem::Damaged(_))));
        assert!(matches!(read_image(&jpeg_of(9, 9, 3, 500)[..700]), Err(FileProblem::Truncated)));
    }

    #[test]
    fn no_damaged_image_panics_or_takes_much_memory() {
        let jpegs = [jpeg_of(640, 480, 3, 20), jpeg_of(64, 48, 1, 600)];
        survive_in_memory(&jpegs, |bytes| read_image(bytes).is_ok());
        let pngs = [png_of(64, 48, 8, 2, 100), png_of(640, 480, 16, 6, 3000)];
        survive_in_memory(&pngs, |bytes| read_image(bytes).is_ok());
    }
}
