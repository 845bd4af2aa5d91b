//! The header of a JPEG file: the frame behind any amount of metadata.

use super::super::problem::FileProblem;
use super::super::stored::Stored;
use super::ImageHeader;

pub(super) const MAGIC: &[u8] = b"\xff\xd8\xff";

/// Segments before the frame; cameras write a few dozen.
const MOST_SEGMENTS: usize = 1_000;

/// Bytes read at a time: small metadata and the frame mostly at once.
const WINDOW_BYTES: u64 = 1 << 10;

const BAD: FileProblem = FileProblem::Damaged("its segments cannot be followed");

pub(super) fn header(stored: &(impl Stored + ?Sized)) -> Result<ImageHeader, FileProblem> {
    let mut segments = Segments { stored, position: 2, window: Vec::new(), window_start: 0 };
    for _ in 0..MOST_SEGMENTS {
        match segments.marker()? {
            // A frame, of any of the ways to code one; the three left out are tables and reserved.
            0xc0..=0xcf if !matches!(segments.last(), 0xc4 | 0xc8 | 0xcc) => return segments.frame(),
            // Stand-alone markers have no length.
            0x01 | 0xd0..=0xd7 => {}
            0xd9 | 0xda => return Err(FileProblem::Damaged("there is no frame before the pixels")),
            _ => segments.pass_segment()?,
        }
    }
    Err(BAD)
}

struct Segments<'a, S: Stored + ?Sized> {
    stored: &'a S,
    position: u64,
    window: Vec<u8>,
    window_start: u64,
}

impl<S: Stored + ?Sized> Segments<'_, S> {
    /// The next marker; any number of fill bytes may stand before it.
    fn marker(&mut self) -> Result<u8, FileProblem> {
        if self.byte()? != 0xff {
            return Err(BAD);
        }
        loop {
            match self.byte()? {
                0xff => {}
                0 => return Err(BAD),
                marker => return Ok(marker),
            }
        }
    }

    /// The byte that was read last.
    fn last(&self) -> u8 {
        let at = (self.position - 1).checked_sub(self.window_start);
        at.and_then(|at| self.window.get(at as usize)).copied().unwrap_or(0)
    }

    fn pass_segment(&mut self) -> Result<(), FileProblem> {
        let length = self.two_bytes()?;
        self.position += u64::from(length.checked_sub(2).ok_or(BAD)?);
        Ok(())
    }

    fn frame(&mut self) -> Result<ImageHeader, FileProblem> {
        let _length = self.two_bytes()?;
        let bits = self.byte()?;
        let (height, width) = (self.two_bytes()?, self.two_bytes()?);
        let channels = self.byte()?;
        if !(1..=4).contains(&channels) {
            return Err(FileProblem::Damaged("a number of channels that JPEG does not have"));
        }
        Ok(ImageHeader {
            width: u32::from(width),
            height: u32::from(height),
            channels,
            value_bytes: if bits > 8 { 2 } else { 1 },
        })
    }

    fn two_bytes(&mut self) -> Result<u16, FileProblem> {
        Ok(u16::from_be_bytes([self.byte()?, self.byte()?]))
    }

    fn byte(&mut self) -> Result<u8, FileProblem> {
        let end = self.window_start + self.window.len() as u64;
        if !(self.window_start..end).contains(&self.position) {
            let left = self.stored.bytes().saturating_sub(self.position);
            if left == 0 {
                return Err(FileProblem::Truncated);
            }
            self.window = self.stored.take(self.position, left.min(WINDOW_BYTES))?;
            self.window_start = self.position;
        }
        let byte = self.window[(self.position - self.window_start) as usize];
        self.position += 1;
        Ok(byte)
    }
}
