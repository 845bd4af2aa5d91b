//! Whether a CSV file begins with a header.

use csv::ByteRecord;

use crate::csv_numbers::{bare, parse_cell};

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

#[cfg(test)]
mod tests {
    use super::*;

    fn header(first: &[&str], second: Option<&[&str]>) -> bool {
        let second = second.map(|cells| ByteRecord::from(cells.to_vec()));
        is_header(&ByteRecord::from(first.to_vec()), second.as_ref())
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
