//! A block out of the middle of a text file: how many records end in it, when nobody knows whether it begins
//! inside a quoted field.
//!
//! Both ways are tried. Under the right one the records have the columns of the first, and quotes stand where
//! fields begin and end; under the wrong one text and markup have changed places, which shows.

use super::dialect::Dialect;

/// The record ends of a block, read one way.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Reading {
    ends: u64,
    /// Whole records with the right number of columns.
    fits: i64,
    /// Whole records with another, and quotes where none can be.
    misfits: i64,
}

/// Records that end in a block which lies behind `before`, a byte of the file.
pub(super) fn records_ending_in(block: &[u8], before: u8, dialect: &Dialect) -> u64 {
    let outside = read(block, before, dialect, false);
    if !dialect.quotes || dialect.delimiter.is_none() {
        return outside.ends;
    }
    let inside = read(block, before, dialect, true);
    let score = |reading: &Reading| reading.fits - reading.misfits;
    if score(&inside) > score(&outside) { inside.ends } else { outside.ends }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum State {
    FieldStart,
    Plain,
    Quoted,
    QuoteInQuoted,
}

fn read(block: &[u8], before: u8, dialect: &Dialect, inside: bool) -> Reading {
    let line_end = |byte: u8| byte == b'\n' || (byte == b'\r' && dialect.delimiter.is_some());
    let mut state = match inside {
        true => State::Quoted,
        false if line_end(before) || Some(before) == dialect.delimiter => State::FieldStart,
        false => State::Plain,
    };
    let mut reading = Reading::default();
    let mut filled = inside || !(line_end(before) || is_blank(before));
    // Of the record that the block begins in, the columns are not known.
    let (mut whole, mut columns) = (line_end(before) && !inside, 1_u32);
    for &byte in block {
        if state != State::Quoted && line_end(byte) {
            if filled {
                reading.ends += 1;
                if let (true, Some(expected)) = (whole, dialect.columns) {
                    *(if columns == expected { &mut reading.fits } else { &mut reading.misfits }) += 1;
                }
            }
            (state, filled, whole, columns) = (State::FieldStart, false, true, 1);
            continue;
        }
        filled |= !is_blank(byte);
        state = match (state, byte) {
            (_, b'"') if dialect.delimiter.is_none() => State::Plain,
            (State::Quoted, b'"') => State::QuoteInQuoted,
            (State::Quoted, _) => State::Quoted,
            (_, byte) if Some(byte) == dialect.delimiter => {
                columns = columns.saturating_add(1);
                State::FieldStart
            }
            (State::FieldStart | State::QuoteInQuoted, b'"') => State::Quoted,
            (State::QuoteInQuoted, _) | (State::Plain, b'"') => {
                reading.misfits += 1;
                State::Plain
            }
            _ => State::Plain,
        };
    }
    reading
}

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r')
}

#[cfg(test)]
mod tests {
    use super::super::super::format::Format;
    use super::*;

    fn dialect(head: &str) -> Dialect {
        Dialect::of(head.as_bytes(), Format::Csv, true)
    }

    #[test]
    fn every_way_to_cut_a_plain_file_gives_each_record_once() {
        let text = b"1,2\n3,44\r\n\r\n5,6\n";
        let dialect = dialect("1,2\n");
        for cut in 1..text.len() {
            let (first, second) = text.split_at(cut);
            let both = records_ending_in(first, b'\n', &dialect)
                + records_ending_in(second, first[first.len() - 1], &dialect);
            assert_eq!(both, 3, "cut at {cut}");
        }
    }

    #[test]
    fn a_block_that_begins_inside_quotes_is_recognised() {
        let record = "7,\"first line\nsecond, line\nthird\",8\n";
        let text = record.repeat(40);
        let dialect = dialect(&text);
        for start in 1..record.len() {
            let block = &text.as_bytes()[start..start + 20 * record.len()];
            let ends = records_ending_in(block, text.as_bytes()[start - 1], &dialect);
            assert_eq!(ends, 20, "from byte {start}");
        }
    }

    #[test]
    fn a_block_of_nothing_but_quoted_text_has_no_records() {
        let dialect = dialect("a,b,c\n1,\"x\",3\n");
        assert!(dialect.quotes);
        assert_eq!(records_ending_in(b"some words\nof a long text\nwithout end\n", b'x', &dialect), 0);
        assert_eq!(records_ending_in(b"2,3\n4,5,6\n7,8,9\n", b',', &dialect), 3);
    }
}
