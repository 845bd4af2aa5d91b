//! An object of a source, read by ranges that are long enough to be worth their way.

use std::cell::RefCell;
use std::io;

use super::sized_file::SizedFile;
use super::stored::Stored;
use super::watch::Watch;
use crate::source::{Source, SourceError};

/// Bytes that are fetched where fewer are asked for: a header of most formats, and no more than its way costs.
const LEAST_RANGE: u64 = 4 << 10;

/// Bytes that are fetched where the end is asked for: most footers at once.
const TAIL_BYTES: u64 = 16 << 10;

/// An object of a source. The two stretches fetched last are kept: a header, and what it points to.
pub(crate) struct StoredObject<'a> {
    source: &'a dyn Source,
    name: String,
    bytes: u64,
    watch: &'a Watch,
    kept: RefCell<[Stretch; 2]>,
}

#[derive(Default)]
struct Stretch {
    start: u64,
    bytes: Vec<u8>,
}

impl Stretch {
    fn copy_to(&self, position: u64, buffer: &mut [u8]) -> Option<()> {
        let start = usize::try_from(position.checked_sub(self.start)?).ok()?;
        buffer.copy_from_slice(self.bytes.get(start..start.checked_add(buffer.len())?)?);
        Some(())
    }
}

impl<'a> StoredObject<'a> {
    pub(crate) fn new(source: &'a dyn Source, file: &SizedFile, watch: &'a Watch) -> Self {
        let name = file.path.to_string_lossy().into_owned();
        Self { source, name, bytes: file.bytes, watch, kept: RefCell::default() }
    }

    /// The range to fetch for one that is asked for: never less, and never beyond the end.
    fn range(&self, position: u64, length: u64) -> std::ops::Range<u64> {
        let end = position.saturating_add(length.max(LEAST_RANGE)).min(self.bytes);
        if position + length == self.bytes && self.bytes > TAIL_BYTES {
            return position.min(self.bytes - TAIL_BYTES)..self.bytes;
        }
        position..end
    }

    fn fetch(&self, position: u64, length: u64) -> io::Result<Stretch> {
        let range = self.range(position, length);
        let start = range.start;
        let wanted = range.end - range.start;
        let bytes = self.source.read(&self.name, range).map_err(|error| match error {
            SourceError::System(error) => error,
            other => io::Error::other(other),
        })?;
        self.watch.read(bytes.len() as u64);
        match bytes.len() as u64 > wanted {
            true => Err(io::Error::other("more bytes came than were asked for")),
            false => Ok(Stretch { start, bytes }),
        }
    }
}

impl Stored for StoredObject<'_> {
    fn bytes(&self) -> u64 {
        self.bytes
    }

    fn read_at(&self, position: u64, buffer: &mut [u8]) -> io::Result<()> {
        let mut kept = self.kept.borrow_mut();
        if kept.iter().any(|stretch| stretch.copy_to(position, buffer).is_some()) {
            return Ok(());
        }
        let fetched = self.fetch(position, buffer.len() as u64)?;
        kept.swap(0, 1);
        kept[0] = fetched;
        kept[0].copy_to(position, buffer).ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
    }
}

#[cfg(test)]
mod tests {
    use std::ops::{ControlFlow, Range};
    use std::sync::Mutex;

    use super::*;
    use crate::source::Object;

    /// A hundred thousand bytes, and the ranges that were asked of them.
    struct Scripted(Mutex<Vec<Range<u64>>>);

    impl Source for Scripted {
        fn place(&self) -> String {
            "scripted".into()
        }

        fn list(&self, _: &mut dyn FnMut(Object) -> ControlFlow<()>) -> Result<(), SourceError> {
            Ok(())
        }

        fn read(&self, _: &str, range: Range<u64>) -> Result<Vec<u8>, SourceError> {
            self.0.lock().unwrap().push(range.clone());
            Ok(range.map(|at| (at % 251) as u8).collect())
        }
    }

    #[test]
    fn headers_and_footers_take_one_range_each_and_are_kept() {
        let source = Scripted(Mutex::default());
        let watch = Watch::default();
        let file = SizedFile { path: "x".into(), bytes: 100_000 };
        let object = StoredObject::new(&source, &file, &watch);
        for (position, length) in [(0, 4), (99_992, 8), (90_000, 5_000), (100, 900), (50_000, 10_000)] {
            let taken = object.take(position, length).unwrap();
            assert!((position..).zip(&taken).all(|(at, byte)| *byte == (at % 251) as u8));
        }
        let ranges = source.0.lock().unwrap().clone();
        assert_eq!(ranges, [0..4_096, 83_616..100_000, 50_000..60_000]);
        assert_eq!(watch.read_bytes(), 4_096 + 16_384 + 10_000);
    }
}
