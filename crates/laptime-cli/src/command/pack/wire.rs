//! Blocks of rows on their way from a node: little-endian, each part after its length.

use laptime_load::pack::{ColumnData, RowBlock};

/// The bytes of a block.
pub(super) fn to_bytes(block: &RowBlock) -> Vec<u8> {
    let mut bytes = number(block.rows);
    bytes.extend(number(block.columns.len()));
    for column in &block.columns {
        let (ends, rows) = match column {
            ColumnData::Fixed(rows) => (None, rows),
            ColumnData::Variable { ends, bytes } => (Some(ends), bytes),
        };
        bytes.push(u8::from(ends.is_some()));
        if let Some(ends) = ends {
            bytes.extend(number(ends.len()));
            ends.iter().for_each(|end| bytes.extend(end.to_le_bytes()));
        }
        bytes.extend(number(rows.len()));
        bytes.extend(rows);
    }
    bytes
}

/// The block that the bytes are of; `None` when they are of none.
pub(super) fn from_bytes(mut bytes: &[u8]) -> Option<RowBlock> {
    let rest = &mut bytes;
    let (rows, count) = (take_number(rest)?, take_number(rest)?);
    let mut columns = Vec::new();
    for _ in 0..count {
        columns.push(column(rest)?);
    }
    rest.is_empty().then_some(RowBlock { rows, columns })
}

fn column(rest: &mut &[u8]) -> Option<ColumnData> {
    match take(rest, 1)? {
        [0] => Some(ColumnData::Fixed(take_part(rest, 1)?.to_vec())),
        [1] => {
            let ends = take_part(rest, 8)?.as_chunks().0.iter().map(|end| u64::from_le_bytes(*end)).collect();
            Some(ColumnData::Variable { ends, bytes: take_part(rest, 1)?.to_vec() })
        }
        _ => None,
    }
}

fn number(number: usize) -> Vec<u8> {
    (number as u64).to_le_bytes().to_vec()
}

fn take_number(rest: &mut &[u8]) -> Option<usize> {
    let bytes = take(rest, 8)?.try_into().ok()?;
    usize::try_from(u64::from_le_bytes(bytes)).ok()
}

/// As many pieces of that size as a number before them says.
fn take_part<'a>(rest: &mut &'a [u8], size: usize) -> Option<&'a [u8]> {
    let count = take_number(rest)?;
    take(rest, count.checked_mul(size)?)
}

fn take<'a>(rest: &mut &'a [u8], bytes: usize) -> Option<&'a [u8]> {
    let (taken, after) = rest.split_at_checked(bytes)?;
    *rest = after;
    Some(taken)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn block() -> RowBlock {
        let ends = vec![2, 2, 5];
        let texts = ColumnData::Variable { ends, bytes: b"abcde".to_vec() };
        RowBlock { rows: 3, columns: vec![ColumnData::Fixed(vec![7; 24]), texts] }
    }

    #[test]
    fn a_block_arrives_as_it_was_sent() {
        let empty = RowBlock { rows: 0, columns: vec![ColumnData::Fixed(Vec::new())] };
        for block in [block(), empty] {
            assert_eq!(from_bytes(&to_bytes(&block)), Some(block));
        }
    }

    #[test]
    fn a_block_that_was_cut_off_or_has_too_much_is_none() {
        let bytes = to_bytes(&block());
        assert!((0..bytes.len()).all(|length| from_bytes(&bytes[..length]).is_none()));
        assert_eq!(from_bytes(&[bytes, vec![0]].concat()), None);
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic_or_take_memory(at in 0..80_usize, byte: u8) {
            let mut bytes = to_bytes(&block());
            let at = at % bytes.len();
            bytes[at] = byte;
            let _ = from_bytes(&bytes);
        }
    }
}
