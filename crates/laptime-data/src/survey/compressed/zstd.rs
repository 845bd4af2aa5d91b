//! Zstandard: frames of blocks, one after the other.

use std::io::Read;

use ruzstd::decoding::{BlockDecodingStrategy, FrameDecoder};

use super::super::problem::FileProblem;
use super::super::stored::Stored;
use super::Unpacker;
use super::input::Input;

const MAGIC: u32 = 0xfd2f_b528;

/// Frames of something else, which readers pass over.
const SKIPPED: std::ops::RangeInclusive<u32> = 0x184d_2a50..=0x184d_2a5f;

/// The most that text may refer back: what every level but the highest writes, and readers are asked to support.
const MOST_WINDOW: u64 = 8 << 20;

/// The longest header of a frame.
const HEADER_BYTES: usize = 18;

/// Text that is handed on at a time.
const TEXT_BYTES: usize = 64 << 10;

/// A block without text that says it is the last, and a checksum, which is not looked at.
const LAST_BLOCK: &[u8] = &[1, 0, 0, 0, 0, 0, 0];

/// How far the length that a file declares may be from what its beginning lets expect.
const BELIEVED: std::ops::Range<f64> = 0.5..2.0;

const BAD: FileProblem = FileProblem::Damaged("what is packed in it cannot be unpacked");
const TOO_WIDE: FileProblem = FileProblem::NotUnderstood("Zstandard with a window of more than 8 MiB");

/// A file that is unpacked.
pub(super) struct Zstd<'a> {
    input: Input<'a>,
    decoder: FrameDecoder,
    text: Vec<u8>,
    frames: u64,
    /// Bytes of text that the first frame says it has.
    declared: Option<u64>,
}

impl<'a> Zstd<'a> {
    pub(super) fn open(stored: &'a dyn Stored) -> Result<Self, FileProblem> {
        let mut zstd = Self {
            input: Input::new(stored),
            decoder: FrameDecoder::new(),
            text: vec![0; TEXT_BYTES],
            frames: 0,
            declared: None,
        };
        match zstd.begin_frame()? {
            true => Ok(zstd),
            false => Err(FileProblem::NotThat("Zstandard")),
        }
    }

    /// Goes to the first block of the frame that begins here; `false` where none does.
    fn begin_frame(&mut self) -> Result<bool, FileProblem> {
        let (window, declared) = loop {
            let head = self.input.peek(HEADER_BYTES)?;
            let word = |at: usize| head.get(at..at + 4)?.try_into().ok().map(u32::from_le_bytes);
            match word(0) {
                Some(MAGIC) => break described(head).ok_or(FileProblem::Truncated)?,
                Some(magic) if SKIPPED.contains(&magic) => {
                    let length = word(4).ok_or(FileProblem::Truncated)?;
                    self.input.skip(8 + u64::from(length));
                }
                _ => return Ok(false),
            }
        };
        if window > MOST_WINDOW {
            return Err(TOO_WIDE);
        }
        // A new one takes memory as text comes, where one that is used again takes what the header says.
        self.decoder = FrameDecoder::new();
        self.decoder.set_max_window_size(MOST_WINDOW);
        self.decoder.init(&mut self.input).map_err(|_| self.input.problem().unwrap_or(BAD))?;
        if self.frames == 0 {
            self.declared = declared;
        }
        self.frames += 1;
        Ok(true)
    }

    fn hand_on(&mut self, text: &mut dyn FnMut(&[u8])) -> Result<(), FileProblem> {
        loop {
            match self.decoder.read(&mut self.text).map_err(|_| BAD)? {
                0 => return Ok(()),
                length => text(&self.text[..length]),
            }
        }
    }
}

impl Unpacker for Zstd<'_> {
    fn unpack(&mut self, text: &mut dyn FnMut(&[u8])) -> Result<bool, FileProblem> {
        if self.decoder.is_finished() {
            return self.begin_frame();
        }
        let one = BlockDecodingStrategy::UptoBlocks(1);
        if self.decoder.decode_blocks(&mut self.input, one).is_err() {
            return Err(self.input.problem().unwrap_or(BAD));
        }
        self.hand_on(text)?;
        Ok(true)
    }

    /// What text may still refer to is kept back until the last block, so one is made up.
    fn end_early(&mut self, text: &mut dyn FnMut(&[u8])) -> Result<(), FileProblem> {
        if !self.decoder.is_finished() {
            let last = BlockDecodingStrategy::UptoBlocks(1);
            self.decoder.decode_blocks(LAST_BLOCK, last).map_err(|_| BAD)?;
        }
        self.hand_on(text)
    }

    fn used(&self) -> u64 {
        self.input.used()
    }

    fn declared_bytes(&self, about: f64) -> Option<f64> {
        let declared = self.declared.filter(|_| self.frames == 1)? as f64;
        BELIEVED.contains(&(declared / about.max(1.0))).then_some(declared)
    }
}

/// The window of a frame, and the length of its text where the header has it.
fn described(head: &[u8]) -> Option<(u64, Option<u64>)> {
    let descriptor = *head.get(4)?;
    let is_single = descriptor & 0x20 != 0;
    let dictionary = [0, 1, 2, 4][usize::from(descriptor & 3)];
    let length_bytes = match descriptor >> 6 {
        0 => usize::from(is_single),
        more => 1 << more,
    };
    let length_at = 5 + usize::from(!is_single) + dictionary;
    let field = head.get(length_at..length_at + length_bytes)?;
    let value = field.iter().rev().fold(0_u64, |value, byte| value << 8 | u64::from(*byte));
    let length = match length_bytes {
        0 => None,
        // Two bytes begin where one ends.
        2 => Some(value + 256),
        _ => Some(value),
    };
    let window = if is_single {
        length?
    } else {
        let window = *head.get(5)?;
        let base = 1_u64 << (10 + (window >> 3));
        base + base / 8 * u64::from(window & 7)
    };
    Some((window, length))
}
