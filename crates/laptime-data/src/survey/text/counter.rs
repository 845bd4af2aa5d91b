//! Counts the records of a text from its beginning, as training reads them.

use laptime_load::{Mark, RecordScanner};

use super::dialect::Dialect;

/// Counts records in text that comes piece by piece.
#[derive(Clone, Debug)]
pub(crate) struct RecordCounter {
    scanner: RecordScanner,
    records: u64,
}

impl RecordCounter {
    pub(crate) fn new(dialect: &Dialect) -> Self {
        let scanner = RecordScanner::new(Mark { byte: 0, line: 1 }, dialect.delimiter);
        Self { scanner, records: 0 }
    }

    /// Reads on.
    pub(crate) fn feed(&mut self, piece: &[u8]) {
        self.scanner.feed(piece, &mut |_| self.records += 1);
    }

    /// The records that have ended so far.
    pub(crate) fn so_far(&self) -> u64 {
        self.records
    }

    /// All records; the last one may lack its line end.
    pub(crate) fn finish(mut self) -> u64 {
        self.scanner.finish(&mut |_| self.records += 1);
        self.records
    }
}

#[cfg(test)]
mod tests {
    use super::super::super::format::Format;
    use super::*;

    #[test]
    fn quoted_line_ends_and_blank_lines_are_no_records() {
        let counted = |pieces: &[&[u8]], format: Format| {
            let mut counter = RecordCounter::new(&Dialect::of(b"a,b\n", format, true));
            pieces.iter().for_each(|piece| counter.feed(piece));
            counter.finish()
        };
        assert_eq!(counted(&[b"a,b\n1,\"x", b"\ny\"\n\n \n3,4"], Format::Csv), 3);
        assert_eq!(counted(&[b"{\"a\": \"x\"}\n\n{}\r\n[]"], Format::JsonLines), 3);
    }
}
