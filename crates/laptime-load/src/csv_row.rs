//! One row of a CSV file: from text to numbers.

use csv::ByteRecord;

use crate::error::shown_text;

/// Why a cell has no value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum BadCell {
    /// It is no number at all.
    NotANumber { column: usize, text: String },
    /// It is `nan`, infinite or too large.
    NotFinite { column: usize, text: String },
}

/// Parses all cells of a record into `numbers`, which is cleared first.
pub(crate) fn parse_row(record: &ByteRecord, numbers: &mut Vec<f32>) -> Result<(), BadCell> {
    numbers.clear();
    for (index, cell) in record.iter().enumerate() {
        match parse_cell(cell) {
            Some(number) if number.is_finite() => numbers.push(number),
            Some(_) => return Err(BadCell::NotFinite { column: index + 1, text: shown_text(cell) }),
            None => return Err(BadCell::NotANumber { column: index + 1, text: shown_text(cell) }),
        }
    }
    Ok(())
}

/// Whether the first row is a header, judged by it and the row that follows.
///
/// A row without a single number cannot be data. A row that mixes text and numbers is a header only if the next
/// row is all numbers. An empty cell is no sign of a header: it is more often a value that is missing, and to
/// take its row for a header would drop data silently.
#[must_use]
pub fn is_header(first: &ByteRecord, second: Option<&ByteRecord>) -> bool {
    let numbers = first.iter().filter(|cell| parse_cell(cell).is_some()).count();
    let empty = first.iter().filter(|cell| bare(cell).is_empty()).count();
    let texts = first.len() - numbers - empty;
    texts > 0 && (numbers == 0 || second.is_some_and(all_numbers))
}

fn all_numbers(record: &ByteRecord) -> bool {
    record.iter().all(|cell| parse_cell(cell).is_some())
}

fn parse_cell(cell: &[u8]) -> Option<f32> {
    std::str::from_utf8(bare(cell)).ok()?.parse().ok()
}

/// The cell without the spaces around it, and without quotes that follow a space: the `csv` crate keeps those.
fn bare(cell: &[u8]) -> &[u8] {
    let cell = cell.trim_ascii();
    let unquoted = cell.strip_prefix(b"\"").and_then(|rest| rest.strip_suffix(b"\""));
    unquoted.map_or(cell, |inner| inner.trim_ascii())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parsed(cells: &[&str]) -> Result<Vec<f32>, BadCell> {
        let mut numbers = Vec::new();
        parse_row(&ByteRecord::from(cells.to_vec()), &mut numbers).map(|()| numbers)
    }

    fn header(first: &[&str], second: Option<&[&str]>) -> bool {
        let second = second.map(|cells| ByteRecord::from(cells.to_vec()));
        is_header(&ByteRecord::from(first.to_vec()), second.as_ref())
    }

    #[test]
    fn numbers_are_read_in_every_usual_form() {
        let cells = ["1", "-2.5", "+3", " 4 ", "1e3", ".5", "6.", " \"7\""];
        assert_eq!(parsed(&cells).unwrap(), [1.0, -2.5, 3.0, 4.0, 1000.0, 0.5, 6.0, 7.0]);
    }

    #[test]
    fn a_cell_that_is_no_number_is_named_with_its_column() {
        let bad = parsed(&["1", "abc"]).unwrap_err();
        assert_eq!(bad, BadCell::NotANumber { column: 2, text: "abc".into() });
        assert_eq!(parsed(&[""]).unwrap_err(), BadCell::NotANumber { column: 1, text: String::new() });
    }

    #[test]
    fn nan_infinity_and_overflow_are_not_finite() {
        for text in ["nan", "NaN", "inf", "-Infinity", "1e39"] {
            let expected = BadCell::NotFinite { column: 1, text: text.into() };
            assert_eq!(parsed(&[text]).unwrap_err(), expected);
        }
    }

    #[test]
    fn text_over_numbers_is_a_header() {
        assert!(header(&["a", "b"], Some(&["1", "2"])));
        assert!(header(&["", "a"], Some(&["1", "2"])));
        assert!(header(&["id", "2019"], Some(&["1", "2"])));
        assert!(header(&["a", "b"], None));
    }

    #[test]
    fn numbers_or_a_missing_value_are_no_header() {
        assert!(!header(&["1", "2"], Some(&["1", "2"])));
        assert!(!header(&["1", ""], Some(&["1", "2"])));
        assert!(!header(&["1", "x"], Some(&["1", "x"])));
        assert!(!header(&["nan", "1"], Some(&["1", "2"])));
    }
}
