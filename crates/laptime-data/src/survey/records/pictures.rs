//! Images within an archive: what they decode to, by the headers of a fair sample of them.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;

use super::super::amount::REACH;
use super::super::image::{ImageHeader, read_image};
use super::super::problem::FileProblem;
use super::super::sample::Sample;
use super::super::stored::Stored;
use super::Member;

/// Images whose headers are read in one archive.
const LOOKED_INTO: usize = 16;

/// The images that were met on a walk.
pub(super) struct Pictures {
    bytes: u64,
    count: u64,
    sample: Sample<Inner>,
}

/// Where an image is in its archive.
#[derive(Clone, Copy, Debug)]
struct Inner {
    start: u64,
    bytes: u64,
}

/// What images are for each of their stored bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct Density {
    /// Images among all data, by their bytes.
    pub(super) share: f64,
    pub(super) decoded: f64,
    pub(super) values: f64,
    /// The standard error of those two as a share of them.
    pub(super) relative_error: f64,
}

impl Pictures {
    pub(super) fn new() -> Self {
        Self { bytes: 0, count: 0, sample: Sample::new(LOOKED_INTO) }
    }

    pub(super) fn add(&mut self, member: &Member) {
        if !member.is_image {
            return;
        }
        self.bytes = self.bytes.saturating_add(member.data_bytes);
        self.count += 1;
        let mut hasher = DefaultHasher::new();
        member.data.hash(&mut hasher);
        self.sample.offer(hasher.finish(), || Inner { start: member.data, bytes: member.data_bytes });
    }

    /// By the headers of the sample, among so many bytes of data; `side` is what images are resized to. `None`
    /// without images.
    pub(super) fn density(
        self,
        stored: &dyn Stored,
        data_bytes: u64,
        side: Option<u32>,
    ) -> Result<Option<Density>, FileProblem> {
        let mut seen: Vec<(f64, ImageHeader)> = Vec::new();
        let bytes_each = self.bytes as f64 / self.count.max(1) as f64;
        for inner in self.sample.into_kept() {
            match read_image(&Part { stored, inner }) {
                Ok(header) => seen.push((inner.bytes as f64, header)),
                Err(FileProblem::Unreadable(error)) => return Err(error.into()),
                // One that is none, which has no pixels.
                Err(_) => {}
            }
        }
        let sum = |of: &dyn Fn(&ImageHeader) -> f64| seen.iter().map(|(_, header)| of(header)).sum::<f64>();
        let seen_bytes: f64 = seen.iter().map(|(bytes, _)| bytes).sum();
        let decoded = sum(&|header| header.decoded_bytes() as f64) / seen_bytes;
        let values = match side {
            // Each image has as many then, whatever its bytes.
            Some(side) => {
                let channels = sum(&|header| f64::from(header.channels)) / seen.len() as f64;
                channels * f64::from(side).powi(2) / bytes_each
            }
            None => sum(&|header| header.values() as f64) / seen_bytes,
        };
        let squares: f64 = seen
            .iter()
            .map(|(bytes, header)| (header.decoded_bytes() as f64 - decoded * bytes).powi(2))
            .sum();
        let count = seen.len() as f64;
        let error = (squares / (count - 1.0).max(1.0) / count).sqrt() / (seen_bytes / count) / decoded;
        let share = self.bytes as f64 / data_bytes.max(1) as f64;
        let relative_error = if seen.len() > 1 { error } else { 1.0 / REACH };
        Ok((!seen.is_empty()).then_some(Density { share, decoded, values, relative_error }))
    }
}

/// An image as if it were a file of its own.
struct Part<'a> {
    stored: &'a dyn Stored,
    inner: Inner,
}

impl Stored for Part<'_> {
    fn bytes(&self) -> u64 {
        self.inner.bytes
    }

    fn read_at(&self, position: u64, buffer: &mut [u8]) -> io::Result<()> {
        let end = position.checked_add(buffer.len() as u64).filter(|end| *end <= self.inner.bytes);
        end.ok_or(io::ErrorKind::UnexpectedEof)?;
        self.stored.read_at(self.inner.start + position, buffer)
    }
}
