//! Text that is packed as a whole, by gzip or Zstandard: rows of what unpacking the beginning gives.
//!
//! Nothing in such a file says where its rows are, and it can be read only from its beginning. What is short
//! enough is unpacked to the end and counted. Of the rest the beginning stands for all: its rows for every byte,
//! times the bytes that the file says it unpacks to, or those that it would at the ratio of the beginning.
//! However much that is, memory is taken for one window only.

mod gzip;
mod input;
mod prefix;
mod zstd;

use super::columnar::{Contents, Measured};
use super::compression::Compression;
use super::effort::Effort;
use super::format::Format;
use super::problem::FileProblem;
use super::stored::Stored;
use super::text::{Dialect, HEAD_BYTES, RecordCounter};
use super::watch::Watch;

use gzip::Gzip;
use prefix::Prefix;
use zstd::Zstd;

/// Packed bytes that are unpacked between two looks at the clock, and at which the text before is a piece.
const PIECE_BYTES: u64 = 32 << 10;

/// Text after which unpacking ends when its time is over, however little was used for it.
const MOST_BYTES: u64 = 64 << 20;

/// Unpacks a file from its beginning.
trait Unpacker {
    /// Unpacks some more and hands it on; `false` at the end of the file.
    fn unpack(&mut self, text: &mut dyn FnMut(&[u8])) -> Result<bool, FileProblem>;

    /// Hands on what is unpacked but was kept back, where unpacking ends before the file does.
    fn end_early(&mut self, text: &mut dyn FnMut(&[u8])) -> Result<(), FileProblem>;

    /// Packed bytes that were used.
    fn used(&self) -> u64;

    /// Bytes of all the text, if the file says so and is what it seems, and `about` how many it must be.
    fn declared_bytes(&self, about: f64) -> Option<f64>;
}

/// What is in a packed text file.
pub(super) fn measure_compressed(
    stored: &dyn Stored,
    format: Format,
    compression: Compression,
    effort: Effort,
    watch: &Watch,
) -> Result<Measured, FileProblem> {
    match compression {
        Compression::Gzip => measure(&mut Gzip::open(stored)?, stored.bytes(), format, effort, watch),
        Compression::Zstd => measure(&mut Zstd::open(stored)?, stored.bytes(), format, effort, watch),
    }
}

fn measure(
    unpacker: &mut impl Unpacker,
    packed_bytes: u64,
    format: Format,
    effort: Effort,
    watch: &Watch,
) -> Result<Measured, FileProblem> {
    let (patience, allowed) = (effort.for_one(), effort.bytes(packed_bytes));
    let mut text = Text::new(format);
    let mut missing = None;
    let whole = loop {
        match unpacker.unpack(&mut |piece| text.feed(piece)) {
            Ok(true) => {}
            Ok(false) => break true,
            Err(problem) if text.bytes > 0 => {
                missing = Some(problem);
                break true;
            }
            Err(problem) => return Err(problem),
        }
        text.mark(unpacker.used());
        let is_over = unpacker.used() >= allowed || patience.is_over();
        let is_enough = text.prefix.is_enough() || text.bytes >= MOST_BYTES;
        if watch.stopped() || (is_over && !effort.exact && is_enough) {
            break false;
        }
    };
    if !whole {
        unpacker.end_early(&mut |piece| text.feed(piece))?;
    }
    let (rows, text_bytes, dialect, prefix) = text.finish(whole);
    let (rows, text_bytes, relative_error) = if whole {
        (rows as f64, text_bytes as f64, 0.0)
    } else {
        let share = unpacker.used().max(1) as f64 / packed_bytes as f64;
        let about = text_bytes as f64 / share;
        let all = unpacker.declared_bytes(about).unwrap_or(about);
        (rows as f64 / text_bytes.max(1) as f64 * all, all, prefix.relative_error(share, all / about))
    };
    let rows = (rows - f64::from(u8::from(dialect.header))).max(0.0);
    let contents = Contents {
        rows: rows as u64,
        decoded_bytes: text_bytes as u64,
        decoded_exactly: whole,
        numbers: (rows * f64::from(dialect.numeric_columns.unwrap_or(0))) as u64,
        other_columns: other_columns(&dialect),
        relative_error,
        decoded_error: relative_error,
    };
    Ok(Measured { contents, missing })
}

fn other_columns(dialect: &Dialect) -> u64 {
    dialect
        .columns
        .zip(dialect.numeric_columns)
        .map_or(0, |(all, numbers)| u64::from(all.saturating_sub(numbers)))
}

/// The text as it comes out: its beginning, until that shows how it is written; then its rows.
struct Text {
    format: Format,
    head: Vec<u8>,
    counting: Option<(Dialect, RecordCounter)>,
    bytes: u64,
    prefix: Prefix,
}

impl Text {
    fn new(format: Format) -> Self {
        Self { format, head: Vec::new(), counting: None, bytes: 0, prefix: Prefix::default() }
    }

    fn feed(&mut self, piece: &[u8]) {
        self.bytes += piece.len() as u64;
        if let Some((_, counter)) = &mut self.counting {
            return counter.feed(piece);
        }
        let (now, later) = piece.split_at(piece.len().min(HEAD_BYTES as usize - self.head.len()));
        self.head.extend(now);
        if self.head.len() as u64 == HEAD_BYTES {
            self.begin(false).1.feed(later);
        }
    }

    /// Starts counting, with the beginning that was kept.
    fn begin(&mut self, whole: bool) -> &mut (Dialect, RecordCounter) {
        let dialect = Dialect::of(&self.head, self.format, whole);
        let mut counter = RecordCounter::new(&dialect);
        counter.feed(&self.head[usize::from(dialect.top)..]);
        self.counting.insert((dialect, counter))
    }

    fn mark(&mut self, packed: u64) {
        let rows = self.counting.as_ref().map_or(0, |(_, counter)| counter.so_far());
        self.prefix.mark(packed, self.bytes, rows);
    }

    /// The rows, the bytes they are in, and how they are written. The last row needs no line end where the text is
    /// `whole`.
    fn finish(mut self, whole: bool) -> (u64, u64, Dialect, Prefix) {
        if self.counting.is_none() {
            self.begin(whole);
        }
        let (bytes, prefix) = (self.bytes, self.prefix);
        match self.counting {
            Some((dialect, counter)) if whole => (counter.finish(), bytes, dialect, prefix),
            Some((dialect, counter)) => (counter.so_far(), bytes, dialect, prefix),
            None => (0, bytes, Dialect::of(&[], self.format, true), prefix),
        }
    }
}

#[cfg(test)]
mod tests;
