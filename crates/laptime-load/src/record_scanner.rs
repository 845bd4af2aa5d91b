//! Where the records of a text start: much faster than parsing them, and of the same mind as the `csv` crate.

use memchr::{memchr_iter, memchr3_iter};

/// A place in a text file: its byte, and the line for people.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Mark {
    /// Counted from 0.
    pub byte: u64,
    /// Counted from 1.
    pub line: u64,
}

/// Finds records in text that comes block by block, as fast as line ends and quotes can be found. Blank lines
/// are none, quoted line ends are no ends.
#[derive(Clone, Debug)]
pub struct RecordScanner {
    delimiter: Option<u8>,
    state: State,
    /// Where the next block begins.
    at: Mark,
    /// Where the record that has not ended starts, and whether it has more than blanks.
    start: Mark,
    filled: bool,
    /// The byte before the block.
    last: u8,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Outside,
    Quoted,
    /// A quote within a quoted field, there: its end, or the first half of a doubled quote.
    AfterQuote(u64),
}

impl RecordScanner {
    /// Scans from the start of a record on. Fields have this delimiter; without one a line is a record,
    /// whatever is in it.
    #[must_use]
    pub fn new(at: Mark, delimiter: Option<u8>) -> Self {
        Self { delimiter, state: State::Outside, at, start: at, filled: false, last: b'\n' }
    }

    /// Reads on, and calls `found` with the start of each record that ends in this block.
    pub fn feed(&mut self, block: &[u8], found: &mut impl FnMut(Mark)) {
        let rest = match self.delimiter {
            Some(_) => self.feed_fields(block, found),
            None => self.feed_lines(block, found),
        };
        self.filled |= has_content(&block[rest..]);
        self.at.byte += block.len() as u64;
        self.last = block.last().copied().unwrap_or(self.last);
    }

    /// Says where the record that does not end in the block goes on.
    fn feed_lines(&mut self, block: &[u8], found: &mut impl FnMut(Mark)) -> usize {
        let mut from = 0;
        for place in memchr_iter(b'\n', block) {
            self.at.line += 1;
            self.end_record(&block[from..place], place, found);
            from = place + 1;
        }
        from
    }

    fn feed_fields(&mut self, block: &[u8], found: &mut impl FnMut(Mark)) -> usize {
        let mut from = 0;
        for place in memchr3_iter(b'\n', b'\r', b'"', block) {
            let byte = block[place];
            self.at.line += u64::from(byte == b'\n');
            if byte == b'"' {
                let before = if place == 0 { self.last } else { block[place - 1] };
                self.quote(self.at.byte + place as u64, before);
            } else if self.state != State::Quoted {
                self.state = State::Outside;
                self.end_record(&block[from..place], place, found);
                from = place + 1;
            }
        }
        from
    }

    fn quote(&mut self, place: u64, before: u8) {
        self.state = match self.state {
            State::Quoted => State::AfterQuote(place),
            State::AfterQuote(first) if first + 1 == place => State::Quoted,
            // A quote opens a field only where one starts.
            _ if matches!(before, b'\n' | b'\r') || Some(before) == self.delimiter => State::Quoted,
            _ => State::Outside,
        };
    }

    /// A line ends at a place of the block; `rest` is what of its record lies there.
    fn end_record(&mut self, rest: &[u8], place: usize, found: &mut impl FnMut(Mark)) {
        if self.filled || has_content(rest) {
            found(self.start);
        }
        self.filled = false;
        self.start = Mark { byte: self.at.byte + place as u64 + 1, line: self.at.line };
    }

    /// Calls `found` with the last record, if the text ends without a line end.
    pub fn finish(self, found: &mut impl FnMut(Mark)) {
        if self.filled {
            found(self.start);
        }
    }

    /// Where the record that has not ended yet started, and its bytes so far.
    #[must_use]
    pub fn unfinished(&self) -> Option<(Mark, u64)> {
        let bytes = self.at.byte - self.start.byte;
        (bytes > 0).then_some((self.start, bytes))
    }
}

fn has_content(text: &[u8]) -> bool {
    text.iter().any(|byte| !matches!(byte, b' ' | b'\t' | b'\r'))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const TOP: Mark = Mark { byte: 0, line: 1 };

    fn scan(blocks: &[&[u8]]) -> Vec<(u64, u64)> {
        let mut starts = Vec::new();
        let mut scanner = RecordScanner::new(TOP, Some(b','));
        let mut found = |mark: Mark| starts.push((mark.byte, mark.line));
        for block in blocks {
            scanner.feed(block, &mut found);
        }
        scanner.finish(&mut found);
        starts
    }

    /// Non-blank records as the `csv` crate sees them: how many, and where each ends.
    fn records_of_parser(text: &[u8]) -> usize {
        let mut reader = csv::ReaderBuilder::new().has_headers(false).flexible(true).from_reader(text);
        let mut record = csv::ByteRecord::new();
        let mut records = 0;
        while reader.read_byte_record(&mut record).unwrap() {
            let start = record.position().unwrap().byte() as usize;
            let raw = &text[start..reader.position().byte() as usize];
            records += usize::from(!raw.iter().all(|byte| b" \t\r\n".contains(byte)));
        }
        records
    }

    #[test]
    fn records_are_found_at_their_first_byte_and_line() {
        assert_eq!(scan(&[b"1,2\n3,4\n"]), [(0, 1), (4, 2)]);
        assert_eq!(scan(&[b"\r\n\r\n1,2\r\n \t\r\n3,4"]), [(4, 3), (13, 5)]);
        assert_eq!(scan(&[b""]), []);
        assert_eq!(scan(&[b"\n \n"]), []);
    }

    #[test]
    fn a_line_end_within_quotes_ends_no_record() {
        assert_eq!(scan(&[b"\"a\n\"\"b\",2\n3,4\n"]), [(0, 1), (10, 3)]);
        assert_eq!(scan(&[b"a\"b\n\"c"]), [(0, 1), (4, 2)]);
    }

    #[test]
    fn another_delimiter_opens_other_fields_and_without_one_a_line_is_a_record() {
        let count = |text: &[u8], delimiter| {
            let (mut records, mut scanner) = (0, RecordScanner::new(TOP, delimiter));
            scanner.feed(text, &mut |_| records += 1);
            scanner.finish(&mut |_| records += 1);
            records
        };
        assert_eq!(count(b"1;\"a\nb\"\n2;c\n", Some(b';')), 2);
        assert_eq!(count(b"1;\"a\nb\"\n2;c\n", Some(b',')), 3);
        assert_eq!(count(b"5\" pipe,1\n6\" pipe,2\n", Some(b',')), 2);
        assert_eq!(count(b"{\"a\": \"x\"}\n\n{}\r\n[]", None), 3);
    }

    #[test]
    fn a_record_that_never_ends_is_known_as_unfinished() {
        let mut scanner = RecordScanner::new(TOP, Some(b','));
        scanner.feed(b"1,2\n\"", &mut |_| {});
        scanner.feed(&[b'x'; 100], &mut |_| {});
        assert_eq!(scanner.unfinished(), Some((Mark { byte: 4, line: 2 }, 101)));
    }

    proptest! {
        #[test]
        fn scanner_and_parser_find_the_same_records(text in "[\",\r\n \t1a]{0,60}") {
            prop_assert_eq!(scan(&[text.as_bytes()]).len(), records_of_parser(text.as_bytes()));
        }

        #[test]
        fn the_cut_between_blocks_does_not_matter(text in "[\",\r\n 1]{0,60}", cut in 0_usize..60) {
            let (first, rest) = text.as_bytes().split_at(cut.min(text.len()));
            prop_assert_eq!(scan(&[text.as_bytes()]), scan(&[first, rest]));
        }
    }
}
