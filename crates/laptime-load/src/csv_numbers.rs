//! The numbers of a CSV row, parsed from its fields.

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

/// The number in a cell of a CSV file, rounded once to 32 bits; `None` when it has none.
#[must_use]
pub fn parse_cell(cell: &[u8]) -> Option<f32> {
    std::str::from_utf8(bare(cell)).ok()?.parse().ok()
}

/// The cell without the spaces around it, and without quotes that follow a space: the `csv` crate keeps those.
pub(crate) fn bare(cell: &[u8]) -> &[u8] {
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
}
