//! Rows on their way into a pack.

use std::ops::Range;

use super::error::PackError;
use super::schema::{ColumnKind, PackSchema};

/// One column of a [`RowBlock`], little-endian.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ColumnData {
    /// Row after row, all of the same length.
    Fixed(Vec<u8>),
    /// Rows of varying length.
    Variable {
        /// Where each row ends: in bytes for encoded bytes, in elements for sequences.
        ends: Vec<u64>,
        /// Row after row.
        bytes: Vec<u8>,
    },
}

/// Some rows, in the order in which they shall be stored.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RowBlock {
    /// How many.
    pub rows: usize,
    /// Their columns, in the order of the schema.
    pub columns: Vec<ColumnData>,
}

impl RowBlock {
    /// Whether the block has what the schema says.
    pub(super) fn check(&self, schema: &PackSchema) -> Result<(), PackError> {
        if self.columns.len() != schema.columns.len() {
            return Err(PackError::BadBlock { column: String::new(), problem: "columns are missing" });
        }
        for (data, column) in self.columns.iter().zip(&schema.columns) {
            if let Some(problem) = data.problem(&column.kind, self.rows) {
                return Err(PackError::BadBlock { column: column.name.clone(), problem });
            }
        }
        Ok(())
    }

    /// Adds some rows of another block that fits the same schema.
    pub(super) fn append(&mut self, from: &Self, rows: Range<usize>, schema: &PackSchema) {
        self.rows += rows.len();
        let columns = self.columns.iter_mut().zip(&from.columns);
        for ((data, from), column) in columns.zip(&schema.columns) {
            data.append(from, rows.clone(), &column.kind);
        }
    }

    /// Forgets the rows and keeps their memory for the next ones.
    pub(super) fn clear(&mut self) {
        self.rows = 0;
        for column in &mut self.columns {
            match column {
                ColumnData::Fixed(bytes) => bytes.clear(),
                ColumnData::Variable { ends, bytes } => {
                    ends.clear();
                    bytes.clear();
                }
            }
        }
    }
}

impl ColumnData {
    fn append(&mut self, from: &Self, rows: Range<usize>, kind: &ColumnKind) {
        match (self, from) {
            (Self::Fixed(bytes), Self::Fixed(from)) => {
                let row = kind.row_bytes().unwrap_or(0);
                bytes.extend(&from[rows.start * row..rows.end * row]);
            }
            (Self::Variable { ends, bytes }, Self::Variable { ends: from_ends, bytes: from }) => {
                let element = kind.element().bytes();
                let begin = rows.start.checked_sub(1).map_or(0, |before| from_ends[before]);
                let end = rows.end.checked_sub(1).map_or(0, |last| from_ends[last]);
                let moved = (bytes.len() / element) as u64;
                ends.extend(from_ends[rows].iter().map(|end| end - begin + moved));
                bytes.extend(&from[begin as usize * element..end as usize * element]);
            }
            // Both fit the same schema.
            _ => {}
        }
    }

    /// Row after row.
    pub(super) fn values(&self) -> &[u8] {
        match self {
            Self::Fixed(bytes) | Self::Variable { bytes, .. } => bytes,
        }
    }

    /// The offsets of rows of varying length as Arrow stores them: 0, then the ends.
    pub(super) fn offsets(&self) -> Option<Vec<u8>> {
        match self {
            Self::Fixed(_) => None,
            Self::Variable { ends, .. } => {
                Some(std::iter::once(&0).chain(ends).flat_map(|end| end.to_le_bytes()).collect())
            }
        }
    }

    /// Bytes it will take in the file.
    pub(super) fn stored_bytes(&self) -> usize {
        match self {
            Self::Fixed(bytes) => bytes.len(),
            Self::Variable { ends, bytes } => bytes.len() + 8 * ends.len(),
        }
    }

    fn problem(&self, kind: &ColumnKind, rows: usize) -> Option<&'static str> {
        match (self, kind.row_bytes()) {
            (Self::Fixed(bytes), Some(row)) => (row.checked_mul(rows) != Some(bytes.len()))
                .then_some("its bytes are not the rows times the bytes of a row"),
            (Self::Variable { ends, bytes }, None) => {
                let element = kind.element().bytes() as u64;
                let end = ends.last().map_or(Some(0), |end| end.checked_mul(element));
                if ends.len() != rows {
                    Some("it has another number of ends than of rows")
                } else if !ends.is_sorted() {
                    Some("a row ends before it begins")
                } else {
                    (end != Some(bytes.len() as u64)).then_some("the last row does not end with its bytes")
                }
            }
            _ => Some("it is of another kind than the schema says"),
        }
    }
}
