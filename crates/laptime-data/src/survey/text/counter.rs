//! Counts the records of a text from its beginning, as fast as its line ends and quotes can be found.

use memchr::{memchr_iter, memchr3_iter};

use super::dialect::Dialect;

/// Counts records in text that comes piece by piece. Blank lines are none, quoted line ends are no ends.
#[derive(Clone, Debug)]
pub(crate) struct RecordCounter {
    delimiter: Option<u8>,
    records: u64,
    state: State,
    /// Whether the record that has not ended has more than blanks.
    filled: bool,
    /// The byte before the piece, and how many came before it.
    last: u8,
    position: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Outside,
    Inside,
    /// A quote within a quoted field, there: its end, or the first half of a doubled quote.
    AfterQuote(u64),
}

impl RecordCounter {
    pub(crate) fn new(dialect: &Dialect) -> Self {
        Self {
            delimiter: dialect.delimiter,
            records: 0,
            state: State::Outside,
            filled: false,
            last: b'\n',
            position: 0,
        }
    }

    /// Reads on.
    pub(crate) fn feed(&mut self, piece: &[u8]) {
        match self.delimiter {
            Some(_) => self.feed_fields(piece),
            None => self.feed_lines(piece),
        }
        self.position += piece.len() as u64;
        self.last = piece.last().copied().unwrap_or(self.last);
    }

    fn feed_lines(&mut self, piece: &[u8]) {
        let mut from = 0;
        for at in memchr_iter(b'\n', piece) {
            self.end_record(&piece[from..at]);
            from = at + 1;
        }
        self.filled |= has_content(&piece[from..]);
    }

    fn feed_fields(&mut self, piece: &[u8]) {
        let mut from = 0;
        for at in memchr3_iter(b'\n', b'\r', b'"', piece) {
            if piece[at] == b'"' {
                let before = if at == 0 { self.last } else { piece[at - 1] };
                self.quote(self.position + at as u64, before);
            } else if self.state != State::Inside {
                self.state = State::Outside;
                self.end_record(&piece[from..at]);
                from = at + 1;
            }
        }
        self.filled |= has_content(&piece[from..]);
    }

    fn quote(&mut self, place: u64, before: u8) {
        self.state = match self.state {
            State::Inside => State::AfterQuote(place),
            State::AfterQuote(first) if first + 1 == place => State::Inside,
            // A quote opens a field only where one starts.
            _ if matches!(before, b'\n' | b'\r') || Some(before) == self.delimiter => State::Inside,
            _ => State::Outside,
        };
    }

    fn end_record(&mut self, rest: &[u8]) {
        self.records += u64::from(self.filled || has_content(rest));
        self.filled = false;
    }

    /// All records; the last one may lack its line end.
    pub(crate) fn finish(mut self) -> u64 {
        self.end_record(&[]);
        self.records
    }
}

fn has_content(text: &[u8]) -> bool {
    text.iter().any(|byte| !matches!(byte, b' ' | b'\t' | b'\r'))
}

#[cfg(test)]
mod tests {
    use super::super::super::format::Format;
    use super::*;
    use crate::record_scanner::{Mark, RecordScanner};
    use proptest::prelude::*;

    fn counted(pieces: &[&[u8]], format: Format) -> u64 {
        let mut counter = RecordCounter::new(&Dialect::of(b"a,b\n", format, true));
        pieces.iter().for_each(|piece| counter.feed(piece));
        counter.finish()
    }

    #[test]
    fn quoted_line_ends_and_blank_lines_are_no_records() {
        assert_eq!(counted(&[b"a,b\n1,\"x\ny\"\n\n \n3,4"], Format::Csv), 3);
        assert_eq!(counted(&[b"1,\"a\"\"\nb\"\r\n2,c\r\n"], Format::Csv), 2);
        assert_eq!(counted(&[b"5\" pipe,1\n6\" pipe,2\n"], Format::Csv), 2);
        assert_eq!(counted(&[b"{\"a\": \"x\"}\n\n{}\r\n[]"], Format::JsonLines), 3);
    }

    /// What the reader of training data finds, which agrees with the `csv` crate by its own tests.
    fn scanned(text: &[u8]) -> u64 {
        let mut records = 0;
        let mut scanner = RecordScanner::new(Mark { byte: 0, line: 1 });
        scanner.feed(text, &mut |_| records += 1);
        scanner.finish(&mut |_| records += 1);
        records
    }

    proptest! {
        #[test]
        fn it_counts_what_training_reads(text in "[\",\r\n \t1a]{0,60}", cut in 0_usize..60) {
            let (first, rest) = text.as_bytes().split_at(cut.min(text.len()));
            prop_assert_eq!(counted(&[first, rest], Format::Csv), scanned(text.as_bytes()));
        }
    }
}
