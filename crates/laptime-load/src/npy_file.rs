//! An NPY file: a header that is checked against the file, then rows of one size at known places.

use std::ops::Range;

use crate::data_file::DataFile;
use crate::dtype::Element;
use crate::error::{LoadError, shown_text};
use crate::limits::Limits;
use crate::npy_header::{Dtype, NpyHeader, parse_header};
use crate::table::Table;

const MAGIC: &[u8] = b"\x93NUMPY";

/// Longest header that is read; those of plain arrays take about a hundred bytes.
const MAX_HEADER_BYTES: u64 = 64 << 10;

/// An NPY file of two dimensions whose size matches its header.
#[derive(Debug)]
pub(crate) struct NpyFile {
    file: DataFile,
    element: Element,
    rows: u64,
    columns: usize,
    row_bytes: u64,
    data_start: u64,
    chunk_rows: u64,
}

impl NpyFile {
    pub(crate) fn open(file: DataFile, limits: &Limits) -> Result<Self, LoadError> {
        let (text, data_start) = read_header(&file)?;
        let header =
            parse_header(&text).map_err(|problem| LoadError::BadHeader { file: file.path(), problem })?;
        let element = element_of(&file, &header)?;
        let (rows, columns) = shape_of(&file, &header)?;
        let row_bytes = check_size(&file, rows, columns, element, data_start)?;
        // Every column takes at least a byte of a file that exists, so their number fits a usize.
        let columns = columns as usize;
        file.check_unchanged()?;
        let chunk_rows = limits.chunk_rows(columns);
        Ok(Self { file, element, rows, columns, row_bytes, data_start, chunk_rows })
    }

    pub(crate) fn rows(&self) -> u64 {
        self.rows
    }

    pub(crate) fn columns(&self) -> usize {
        self.columns
    }

    /// Cuts a range of rows into chunks.
    pub(crate) fn chunks(&self, rows: &Range<u64>) -> Vec<Range<u64>> {
        let starts = (rows.start..rows.end).step_by(usize::try_from(self.chunk_rows).unwrap_or(usize::MAX));
        starts.map(|start| start..start.saturating_add(self.chunk_rows).min(rows.end)).collect()
    }

    /// Adds rows to the table; `raw` is working space.
    pub(crate) fn read(
        &self,
        rows: &Range<u64>,
        raw: &mut Vec<u8>,
        table: &mut Table,
    ) -> Result<(), LoadError> {
        // The products stay below the size of the file, which was checked against them.
        raw.resize(((rows.end - rows.start) * self.row_bytes) as usize, 0);
        self.file.read_at(raw, self.data_start + rows.start * self.row_bytes)?;
        self.file.check_unchanged()?;
        let _parse = laptime_record::stage!("parse");
        let before = table.rows();
        table.reserve((rows.end - rows.start) as usize);
        self.element.decode(raw, table);
        self.check_finite(table, before, rows.start)
    }

    /// Looks at the rows added last.
    fn check_finite(&self, table: &Table, from: usize, first_row: u64) -> Result<(), LoadError> {
        let features = table.features_of(from..table.rows());
        let targets = &table.targets()[from..];
        let bad_feature = features.iter().position(|number| !number.is_finite());
        let bad_target = targets.iter().position(|number| !number.is_finite());
        let width = table.width().max(1);
        let bad_feature = bad_feature.map(|index| (index / width, index % width));
        match bad_feature.into_iter().chain(bad_target.map(|row| (row, table.width()))).min() {
            None => Ok(()),
            Some((row, column)) => Err(LoadError::NotFiniteElement {
                file: self.file.path(),
                row: first_row + row as u64,
                column,
            }),
        }
    }
}

/// The text of the header, and where the data starts.
fn read_header(file: &DataFile) -> Result<(Vec<u8>, u64), LoadError> {
    let mut start = [0; 8];
    if file.bytes() < start.len() as u64 {
        return Err(LoadError::NotNpy { file: file.path() });
    }
    file.read_at(&mut start, 0)?;
    let [magic @ .., major, minor] = start;
    if magic != *MAGIC {
        return Err(LoadError::NotNpy { file: file.path() });
    }
    let length_bytes: u64 = match major {
        1 => 2,
        2 | 3 => 4,
        _ => return Err(LoadError::UnknownNpyVersion { file: file.path(), major, minor }),
    };
    let text_start = start.len() as u64 + length_bytes;
    check_bytes(file, text_start.into())?;
    let mut length = [0; 4];
    file.read_at(&mut length[..length_bytes as usize], start.len() as u64)?;
    read_header_text(file, text_start, u32::from_le_bytes(length).into())
}

fn read_header_text(file: &DataFile, start: u64, length: u64) -> Result<(Vec<u8>, u64), LoadError> {
    let data_start = start + length;
    check_bytes(file, data_start.into())?;
    if length > MAX_HEADER_BYTES {
        return Err(LoadError::BadHeader { file: file.path(), problem: "it is longer than any of an array" });
    }
    let mut text = vec![0; length as usize];
    file.read_at(&mut text, start)?;
    Ok((text, data_start))
}

fn check_bytes(file: &DataFile, expected_bytes: u128) -> Result<(), LoadError> {
    let found_bytes = file.bytes();
    if expected_bytes <= found_bytes.into() {
        return Ok(());
    }
    Err(LoadError::Truncated { file: file.path(), expected_bytes, found_bytes })
}

fn element_of(file: &DataFile, header: &NpyHeader) -> Result<Element, LoadError> {
    let unsupported = |code: &str| {
        let dtype = shown_text(code.as_bytes());
        LoadError::UnsupportedDtype { file: file.path(), dtype }
    };
    match &header.dtype {
        Dtype::Structured => Err(unsupported("a record of several fields")),
        Dtype::Code(code) => Element::from_code(code).ok_or_else(|| unsupported(code)),
    }
}

fn shape_of(file: &DataFile, header: &NpyHeader) -> Result<(u64, u64), LoadError> {
    let &[rows, columns] = header.shape.as_slice() else {
        return Err(LoadError::WrongDimensions { file: file.path(), found: header.shape.len() });
    };
    if header.fortran_order {
        return Err(LoadError::FortranOrder { file: file.path() });
    }
    if columns < 2 {
        return Err(LoadError::TooFewColumns { file: file.path(), columns });
    }
    if rows == 0 {
        return Err(LoadError::Empty { file: file.path() });
    }
    Ok((rows, columns))
}

/// The bytes of a row, if all the rows fit into the file.
fn check_size(
    file: &DataFile,
    rows: u64,
    columns: u64,
    element: Element,
    data_start: u64,
) -> Result<u64, LoadError> {
    let row_bytes = u128::from(columns) * element.bytes() as u128;
    let total = row_bytes.checked_mul(rows.into()).and_then(|bytes| bytes.checked_add(data_start.into()));
    let problem = "the shape is larger than any file";
    let total = total.ok_or_else(|| LoadError::BadHeader { file: file.path(), problem })?;
    check_bytes(file, total)?;
    u64::try_from(row_bytes).map_err(|_| LoadError::BadHeader { file: file.path(), problem })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mutation::npy;
    use std::fs;
    use tempfile::TempDir;

    const TINY: Limits = Limits { in_memory_bytes: 0, chunk_bytes: 24 };

    fn open(bytes: &[u8]) -> (TempDir, Result<NpyFile, LoadError>) {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.npy");
        fs::write(&path, bytes).unwrap();
        let file = NpyFile::open(DataFile::open(&path).unwrap(), &TINY);
        (folder, file)
    }

    fn refused(bytes: &[u8]) -> LoadError {
        open(bytes).1.unwrap_err()
    }

    fn floats(numbers: &[f32]) -> Vec<u8> {
        numbers.iter().flat_map(|number| number.to_le_bytes()).collect()
    }

    #[test]
    fn every_version_of_the_format_is_read() {
        for version in 1..=3 {
            let (_folder, file) =
                open(&npy(version, "<f4", "(2, 3)", &floats(&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0])));
            let file = file.unwrap();
            assert_eq!((file.rows(), file.columns()), (2, 3));
            let mut table = Table::empty(2);
            file.read(&(0..2), &mut Vec::new(), &mut table).unwrap();
            assert_eq!(table, Table::new(2, vec![1.0, 2.0, 4.0, 5.0], vec![3.0, 6.0]));
        }
    }

    #[test]
    fn any_range_of_rows_can_be_read() {
        let numbers: Vec<f32> = (0..50_u8).flat_map(|row| [f32::from(row), f32::from(row)]).collect();
        let (_folder, file) = open(&npy(1, "<f4", "(50, 2)", &floats(&numbers)));
        let file = file.unwrap();
        for range in [0..50, 7..8, 13..37, 49..50] {
            let mut table = Table::empty(1);
            for chunk in file.chunks(&range) {
                assert!(chunk.end - chunk.start <= 3, "a chunk of 24 bytes has three rows of two numbers");
                file.read(&chunk, &mut Vec::new(), &mut table).unwrap();
            }
            let expected: Vec<f32> = range.map(|row| row as f32).collect();
            assert_eq!(table.targets(), expected);
        }
    }

    #[test]
    fn a_declared_size_is_not_trusted() {
        let truncated = |bytes: &[u8]| matches!(refused(bytes), LoadError::Truncated { .. });
        assert!(truncated(&npy(1, "<f4", "(3, 3)", &[0; 35])));
        assert!(truncated(&npy(1, "<f4", "(1000000000000, 1000)", &[0; 36])));
        assert!(truncated(&npy(1, "|u1", "(18446744073709551615, 18446744073709551615)", &[0; 36])));
        let overflow = refused(&npy(1, "<f8", "(18446744073709551615, 18446744073709551615)", &[0; 36]));
        assert!(matches!(overflow, LoadError::BadHeader { .. }), "{overflow}");
        let mut long_header = npy(2, "<f4", "(3, 3)", &[0; 36]);
        long_header[8..12].copy_from_slice(&u32::MAX.to_le_bytes());
        assert!(truncated(&long_header));
    }

    #[test]
    fn what_cannot_be_trained_on_is_refused_with_its_reason() {
        let data = [0; 64];
        assert!(matches!(refused(b"PK\x03\x04 an archive"), LoadError::NotNpy { .. }));
        assert!(matches!(refused(b"\x93NUM"), LoadError::NotNpy { .. }));
        assert!(matches!(refused(b"\x93NUMPY\x01\x00"), LoadError::Truncated { .. }));
        assert!(matches!(
            refused(&npy(9, "<f4", "(2, 2)", &data)),
            LoadError::UnknownNpyVersion { major: 9, .. }
        ));
        assert!(matches!(
            refused(&npy(1, "<f4", "(4,)", &data)),
            LoadError::WrongDimensions { found: 1, .. }
        ));
        assert!(matches!(
            refused(&npy(1, "<f4", "(2, 2, 2)", &data)),
            LoadError::WrongDimensions { found: 3, .. }
        ));
        assert!(matches!(refused(&npy(1, "<f4", "(0, 2)", &data)), LoadError::Empty { .. }));
        assert!(matches!(
            refused(&npy(1, "<f4", "(4, 1)", &data)),
            LoadError::TooFewColumns { columns: 1, .. }
        ));
        assert!(matches!(refused(&npy(1, "|O", "(2, 2)", &data)), LoadError::UnsupportedDtype { .. }));
        let header = String::from_utf8_lossy(&npy(1, "<f4", "(2, 2)", b"")[10..]).replace("False", "True ");
        let mut fortran = npy(1, "<f4", "(2, 2)", &data);
        fortran.splice(10..10 + header.len(), header.bytes());
        assert!(matches!(refused(&fortran), LoadError::FortranOrder { .. }));
    }

    #[test]
    fn an_element_that_is_not_finite_is_named_as_numpy_does() {
        let element = |numbers: &[f32]| {
            let (_folder, file) = open(&npy(1, "<f4", "(2, 3)", &floats(numbers)));
            match file.unwrap().read(&(0..2), &mut Vec::new(), &mut Table::empty(2)).unwrap_err() {
                LoadError::NotFiniteElement { row, column, .. } => (row, column),
                other => panic!("{other}"),
            }
        };
        assert_eq!(element(&[0.0, 0.0, 0.0, 0.0, f32::NAN, 0.0]), (1, 1));
        assert_eq!(element(&[0.0, 0.0, f32::INFINITY, f32::NAN, 0.0, 0.0]), (0, 2));
    }

    #[test]
    fn a_file_that_is_cut_off_while_in_use_is_refused() {
        let (folder, file) = open(&npy(1, "<f4", "(2, 3)", &[0; 24]));
        let file = file.unwrap();
        fs::write(folder.path().join("a.npy"), npy(1, "<f4", "(2, 3)", &[0; 20])).unwrap();
        let error = file.read(&(0..2), &mut Vec::new(), &mut Table::empty(2)).unwrap_err();
        assert!(matches!(error, LoadError::Changed { .. }), "{error}");
    }
}
