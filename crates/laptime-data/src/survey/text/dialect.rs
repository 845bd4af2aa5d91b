//! How a text file is written: what separates its fields, and what its first rows say of the others.

use csv::{ByteRecord, ReaderBuilder};
use laptime_load::is_header;

use super::super::format::Format;

/// The most bytes of a file's beginning that are looked at; a first row that is longer stays unknown.
pub(crate) const HEAD_BYTES: u64 = 16 << 10;

const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// How a text file is written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Dialect {
    /// What separates fields; `None` where a line is a record whatever is in it.
    pub(crate) delimiter: Option<u8>,
    /// Fields of a record, where the beginning shows it.
    pub(crate) columns: Option<u32>,
    /// Fields that hold a number.
    pub(crate) numeric_columns: Option<u32>,
    pub(crate) header: bool,
    /// Bytes before the first record: a mark of the byte order, or none.
    pub(crate) top: u8,
    /// Whether a quote was seen, so that line ends may be part of a field.
    pub(crate) quotes: bool,
}

impl Dialect {
    /// By the beginning of the file, at most [`HEAD_BYTES`] of it; `whole` if that is all.
    pub(crate) fn of(head: &[u8], format: Format, whole: bool) -> Self {
        let top = top_of(head);
        let (text, top) = (&head[top..], top as u8);
        let lines =
            Self { delimiter: None, columns: None, numeric_columns: None, header: false, top, quotes: false };
        if format == Format::JsonLines {
            return lines;
        }
        let delimiter = if format == Format::Tsv { b'\t' } else { likely_delimiter(text) };
        let fields = Self { delimiter: Some(delimiter), quotes: text.contains(&b'"'), ..lines };
        let mut reader =
            ReaderBuilder::new().delimiter(delimiter).has_headers(false).flexible(true).from_reader(text);
        let (mut first, mut second) = (ByteRecord::new(), ByteRecord::new());
        let mut read = |record: &mut ByteRecord| {
            let found = reader.read_byte_record(record).unwrap_or(false);
            // A record that the end of the head cuts off is not to be judged by.
            found && (whole || reader.position().byte() < text.len() as u64)
        };
        if !read(&mut first) {
            return fields;
        }
        let two = read(&mut second);
        let header = is_header(&first, two.then_some(&second));
        let typical = if header && two { &second } else { &first };
        Self {
            columns: u32::try_from(first.len()).ok(),
            numeric_columns: (two || !header).then(|| numbers(typical)),
            header,
            ..fields
        }
    }
}

/// Bytes before the first record.
pub(crate) fn top_of(head: &[u8]) -> usize {
    if head.starts_with(BYTE_ORDER_MARK) { BYTE_ORDER_MARK.len() } else { 0 }
}

fn numbers(record: &ByteRecord) -> u32 {
    let is_number =
        |cell: &&[u8]| std::str::from_utf8(cell).is_ok_and(|cell| cell.trim().parse::<f64>().is_ok());
    record.iter().filter(is_number).count() as u32
}

/// What separates the fields of the first line: the most frequent of the usual ones.
fn likely_delimiter(text: &[u8]) -> u8 {
    let line = text.split(|byte| matches!(byte, b'\n' | b'\r')).find(|line| !line.is_empty());
    let mut inside = false;
    let mut counts = [(b',', 0_u32), (b';', 0), (b'\t', 0), (b'|', 0)];
    for &byte in line.unwrap_or_default() {
        inside ^= byte == b'"';
        if let Some((_, count)) = counts.iter_mut().find(|(known, _)| *known == byte && !inside) {
            *count += 1;
        }
    }
    // Of equals the first: a comma.
    counts.into_iter().rev().max_by_key(|(_, count)| *count).map_or(b',', |(delimiter, _)| delimiter)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn csv(text: &str) -> Dialect {
        Dialect::of(text.as_bytes(), Format::Csv, true)
    }

    #[test]
    fn the_delimiter_is_what_separates_the_first_line() {
        assert_eq!(csv("a,b\n").delimiter, Some(b','));
        assert_eq!(csv("\n1;2,5;3\n").delimiter, Some(b';'));
        assert_eq!(csv("\"a;b;c\",2\n").delimiter, Some(b','));
        assert_eq!(csv("one\n").delimiter, Some(b','));
        assert_eq!(Dialect::of(b"a,b,c\td\n", Format::Tsv, true).delimiter, Some(b'\t'));
        assert_eq!(Dialect::of(b"{\"a\": 1}\n", Format::JsonLines, true).delimiter, None);
    }

    #[test]
    fn the_first_rows_tell_header_columns_and_numbers() {
        let dialect = csv("id,name,x\n1,ada,2.5\n2,bob,3\n");
        assert!(dialect.header);
        assert_eq!((dialect.columns, dialect.numeric_columns), (Some(3), Some(2)));
        let plain = csv("1,2\n3,4\n");
        assert!(!plain.header);
        assert_eq!(plain.numeric_columns, Some(2));
    }

    #[test]
    fn a_row_that_the_head_cuts_off_tells_nothing() {
        let dialect = Dialect::of(b"1,2,3,4", Format::Csv, false);
        assert_eq!((dialect.columns, dialect.numeric_columns), (None, None));
        assert_eq!(csv("\u{feff}a,b\n1,2\n").top, 3);
    }
}
