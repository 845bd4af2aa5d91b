//! The text files of one format, as one long stretch of bytes that can be cut into units.

use super::super::format::Format;
use super::super::sized_file::SizedFile;
use super::dialect::HEAD_BYTES;

/// Files up to this size are read whole when they are drawn: so much is looked at to know how one is written.
const WHOLE_FILE_BYTES: u64 = HEAD_BYTES;

/// Text files one after the other, in the order of their names.
#[derive(Debug)]
pub(crate) struct TextFiles {
    pub(crate) format: Format,
    files: Vec<SizedFile>,
    /// Files, also those without a byte.
    found: u64,
    /// Where each file ends in the stretch of all.
    ends: Vec<u64>,
}

/// What is read when a position is drawn: a small file, or a block of a large one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Unit {
    pub(super) file: usize,
    pub(super) start: u64,
    pub(super) length: u64,
    pub(super) whole: bool,
}

impl Unit {
    /// With the byte before it, which shows whether it begins with a record.
    pub(super) fn with_byte_before(&self) -> Self {
        let more = u64::from(self.start > 0);
        Self { start: self.start - more, length: self.length + more, ..*self }
    }
}

impl TextFiles {
    pub(crate) fn new(format: Format, mut files: Vec<SizedFile>) -> Self {
        let found = files.len() as u64;
        files.retain(|file| file.bytes > 0);
        files.sort_by(|a, b| a.path.cmp(&b.path));
        let mut end = 0_u64;
        let ends = files.iter().map(|file| {
            end = end.saturating_add(file.bytes);
            end
        });
        Self { format, ends: ends.collect(), found, files }
    }

    pub(crate) fn found(&self) -> u64 {
        self.found
    }

    pub(crate) fn bytes(&self) -> u64 {
        self.ends.last().copied().unwrap_or(0)
    }

    pub(super) fn files(&self) -> &[SizedFile] {
        &self.files
    }

    /// Files that are never read whole, so that their headers have to be taken off.
    pub(super) fn large_files(&self) -> u64 {
        self.files.iter().filter(|file| file.bytes > WHOLE_FILE_BYTES).count() as u64
    }

    /// All files in pieces of at most so many bytes, in order.
    pub(super) fn pieces(&self, piece_bytes: u64) -> impl Iterator<Item = Unit> + use<'_> {
        self.files.iter().enumerate().flat_map(move |(file, sized)| {
            let bytes = sized.bytes;
            (0..bytes.div_ceil(piece_bytes)).map(move |index| {
                let start = index * piece_bytes;
                let length = piece_bytes.min(bytes - start);
                Unit { file, start, length, whole: length == bytes }
            })
        })
    }

    /// The unit that holds a position of the stretch; a unit is met in proportion to its length.
    pub(super) fn unit_at(&self, position: u64, block_bytes: u64) -> Option<Unit> {
        let file = self.ends.partition_point(|end| *end <= position);
        let bytes = self.files.get(file)?.bytes;
        if bytes <= WHOLE_FILE_BYTES {
            return Some(Unit { file, start: 0, length: bytes, whole: true });
        }
        let within = position - (self.ends[file] - bytes);
        let start = within / block_bytes * block_bytes;
        Some(Unit { file, start, length: block_bytes.min(bytes - start), whole: false })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_position_belongs_to_one_unit_and_units_cover_all() {
        let file = |name: &str, bytes| SizedFile { path: name.into(), bytes };
        let files = vec![file("b", 100_000), file("a", 10), file("empty", 0), file("c", 5)];
        let files = TextFiles::new(Format::Csv, files);
        assert_eq!((files.bytes(), files.large_files()), (100_015, 1));
        let mut position = 0;
        let mut units = Vec::new();
        while let Some(unit) = files.unit_at(position, 4096) {
            position += unit.length;
            units.push(unit);
        }
        assert_eq!(position, files.bytes());
        assert_eq!(units.len(), 2 + 100_000_usize.div_ceil(4096));
        assert!(units[0].whole && !units[1].whole);
        assert_eq!(files.unit_at(10 + 4096, 4096).unwrap().start, 4096);
    }
}
