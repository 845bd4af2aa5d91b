//! Where the records of a CSV text start: much faster than parsing them, and of the same mind as the parser.

/// A place in a CSV file: its byte, and the line for people.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Mark {
    pub(crate) byte: u64,
    /// Counted from 1.
    pub(crate) line: u64,
}

/// Finds records in text that comes block by block. Blank lines are none, quoted line ends are no ends.
#[derive(Debug)]
pub(crate) struct RecordScanner {
    state: State,
    at: Mark,
    start: Mark,
    blank: bool,
}

/// The states of the `csv` crate's parser, as far as they decide where a record ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    BetweenRecords,
    FieldStart,
    Plain,
    Quoted,
    /// After a quote within a quoted field: its end, or the first half of a doubled quote.
    QuoteInQuoted,
}

impl RecordScanner {
    pub(crate) fn new(at: Mark) -> Self {
        Self { state: State::BetweenRecords, at, start: at, blank: true }
    }

    /// Reads on, and tells the start of each record that ends in this block.
    pub(crate) fn feed(&mut self, block: &[u8], found: &mut impl FnMut(Mark)) {
        let base = self.at.byte;
        let quoted = block.contains(&b'"');
        let mut place = 0;
        while let Some(&byte) = block.get(place) {
            self.at.byte = base + place as u64;
            place += 1;
            self.step(byte, found);
            if self.state == State::Plain {
                place += self.skip(&block[place..], quoted);
            }
        }
        self.at.byte = base + block.len() as u64;
    }

    /// Passes over bytes that decide nothing, with one comparison each, and tells how many.
    fn skip(&mut self, rest: &[u8], quoted: bool) -> usize {
        // Digits, letters, `.` and `-` sort after the comma. Without quotes in the block even a comma decides
        // nothing, and all that is printed sorts after the line ends; only a blank line must be known as such.
        let last_deciding = if quoted || self.blank { b',' } else { b'\r' };
        let skipped = rest.iter().take_while(|&&byte| byte > last_deciding).count();
        let Some(&last) = rest[..skipped].last() else { return 0 };
        self.blank = false;
        if last == b',' {
            // The next block may have a quote, which opens a field only at its start.
            self.state = State::FieldStart;
        }
        skipped
    }

    /// Tells the last record, if the text ends without a line end.
    pub(crate) fn finish(mut self, found: &mut impl FnMut(Mark)) {
        self.end_record(found);
    }

    /// Where the record that has not ended yet started, and its bytes so far.
    pub(crate) fn unfinished(&self) -> Option<(Mark, u64)> {
        (self.state != State::BetweenRecords).then(|| (self.start, self.at.byte - self.start.byte))
    }

    fn step(&mut self, byte: u8, found: &mut impl FnMut(Mark)) {
        let line_end = matches!(byte, b'\n' | b'\r');
        if self.state == State::BetweenRecords && !line_end {
            self.start = self.at;
            self.state = State::FieldStart;
        }
        self.blank &= matches!(byte, b' ' | b'\t' | b'\n' | b'\r');
        match (self.state, byte) {
            (State::Quoted, b'"') => self.state = State::QuoteInQuoted,
            (State::Quoted, _) => {}
            (_, b'\n' | b'\r') => self.end_record(found),
            (_, b',') => self.state = State::FieldStart,
            (State::FieldStart | State::QuoteInQuoted, b'"') => self.state = State::Quoted,
            _ => self.state = State::Plain,
        }
        self.at.line += u64::from(byte == b'\n');
    }

    fn end_record(&mut self, found: &mut impl FnMut(Mark)) {
        if self.state != State::BetweenRecords && !self.blank {
            found(self.start);
        }
        self.state = State::BetweenRecords;
        self.blank = true;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const TOP: Mark = Mark { byte: 0, line: 1 };

    fn scan(blocks: &[&[u8]]) -> Vec<(u64, u64)> {
        let mut starts = Vec::new();
        let mut scanner = RecordScanner::new(TOP);
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
    fn a_record_that_never_ends_is_known_as_unfinished() {
        let mut scanner = RecordScanner::new(TOP);
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
