//! NPY files as a source: the rows of an array, or of a pair of features and target, as they are.

use std::path::{Path, PathBuf};

use laptime_load::pack::{Column, ColumnData, ColumnKind, Element, PackSchema, RowBlock};
use laptime_load::{DataFile, Dtype, LoadError, NpyHeader, parse_header, shown_text};

use super::error::{SourceError, shown};
use super::source::{BLOCK_BYTES, BlockReader, PackSource};

/// Longest header that is read; those of plain arrays take about a hundred bytes.
pub(super) const MAX_HEADER_BYTES: usize = 64 << 10;

/// One array in a file.
#[derive(Debug)]
pub(super) struct NpyArray {
    file: DataFile,
    start: u64,
    pub(super) rows: u64,
    row: RowForm,
}

/// What the rows of an array are.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct RowForm {
    pub(super) element: Element,
    pub(super) shape: Vec<usize>,
    /// Bytes of a row, which is at least one.
    pub(super) bytes: usize,
    pub(super) big_endian: bool,
}

impl NpyArray {
    pub(super) fn open(path: &Path) -> Result<Self, SourceError> {
        let file = DataFile::open(path)?;
        let mut head = vec![0; file.bytes().min(12 + MAX_HEADER_BYTES as u64) as usize];
        file.read_at(&mut head, 0)?;
        let (header, start) = header_of(&head, path)?;
        let (rows, row) = rows_of(&header, path)?;
        let expected_bytes = u128::from(rows) * row.bytes as u128 + start as u128;
        if expected_bytes > file.bytes().into() {
            let found_bytes = file.bytes();
            return Err(LoadError::Truncated { file: file.path(), expected_bytes, found_bytes }.into());
        }
        Ok(Self { file, start: start as u64, rows, row })
    }

    fn read(&self, first: u64, rows: usize) -> Result<Vec<u8>, SourceError> {
        let mut bytes = vec![0; rows * self.row.bytes];
        self.file.read_at(&mut bytes, self.start + first * self.row.bytes as u64)?;
        self.file.check_unchanged()?;
        self.row.to_little_endian(&mut bytes);
        Ok(bytes)
    }
}

impl RowForm {
    pub(super) fn kind(&self) -> ColumnKind {
        ColumnKind::Fixed { element: self.element, shape: self.shape.clone() }
    }

    pub(super) fn to_little_endian(&self, bytes: &mut [u8]) {
        if self.big_endian {
            bytes.chunks_exact_mut(self.element.bytes()).for_each(<[u8]>::reverse);
        }
    }
}

/// The header at the start of a file, and where the elements begin.
pub(super) fn header_of(head: &[u8], file: &Path) -> Result<(NpyHeader, usize), SourceError> {
    let file = || file.to_owned();
    let [b'\x93', b'N', b'U', b'M', b'P', b'Y', major, minor, rest @ ..] = head else {
        return Err(LoadError::NotNpy { file: file() }.into());
    };
    let bad = |problem| LoadError::BadHeader { file: file(), problem };
    let (length, text_start) = match (major, rest) {
        (1, [a, b, ..]) => (usize::from(u16::from_le_bytes([*a, *b])), 10),
        (2 | 3, [a, b, c, d, ..]) => (u32::from_le_bytes([*a, *b, *c, *d]) as usize, 12),
        (1..=3, _) => return Err(bad("it is cut off").into()),
        _ => return Err(LoadError::UnknownNpyVersion { file: file(), major: *major, minor: *minor }.into()),
    };
    let text = head.get(text_start..).and_then(|text| text.get(..length));
    let text = text.ok_or_else(|| bad("it is longer than any of an array, or cut off"))?;
    Ok((parse_header(text).map_err(bad)?, text_start + length))
}

/// How many rows an array has, and what they are.
pub(super) fn rows_of(header: &NpyHeader, file: &Path) -> Result<(u64, RowForm), SourceError> {
    let unsupported = |code: &str| LoadError::UnsupportedDtype {
        file: file.to_owned(),
        dtype: shown_text(code.as_bytes()),
    };
    let (element, big_endian) = match &header.dtype {
        Dtype::Structured => return Err(unsupported("a record of several fields").into()),
        Dtype::Code(code) => element_of(code).ok_or_else(|| unsupported(code))?,
    };
    let Some((&rows, shape)) = header.shape.split_first() else {
        return Err(SourceError::unfit_file(
            "the array is a single number, without rows",
            file,
            "save an array whose first dimension counts the samples",
        ));
    };
    // Fortran order is the same as any other where there is at most one dimension.
    if header.fortran_order && !shape.is_empty() {
        return Err(LoadError::FortranOrder { file: file.to_owned() }.into());
    }
    if rows == 0 {
        return Err(LoadError::Empty { file: file.to_owned() }.into());
    }
    let bytes = shape.iter().try_fold(element.bytes() as u64, |bytes, side| bytes.checked_mul(*side));
    let bytes = bytes.and_then(|bytes| usize::try_from(bytes).ok()).filter(|bytes| *bytes > 0);
    let problem = "a row has no elements, or more than any memory";
    let bytes = bytes.ok_or(LoadError::BadHeader { file: file.to_owned(), problem })?;
    // No side is larger than the bytes of a row, so all fit.
    let shape = shape.iter().map(|side| *side as usize).collect();
    Ok((rows, RowForm { element, shape, bytes, big_endian }))
}

/// The element that a code such as `<f4` stands for, and whether its bytes are in reverse.
fn element_of(code: &str) -> Option<(Element, bool)> {
    let (order, name) = code.split_at_checked(1)?;
    let big_endian = match order {
        ">" => true,
        "<" | "|" => false,
        "=" => cfg!(target_endian = "big"),
        _ => return None,
    };
    let element = match name {
        "b1" => Element::Bool,
        "u1" => Element::U8,
        "i1" => Element::I8,
        "u2" => Element::U16,
        "i2" => Element::I16,
        "u4" => Element::U32,
        "i4" => Element::I32,
        "u8" => Element::U64,
        "i8" => Element::I64,
        "f2" => Element::F16,
        "f4" => Element::F32,
        "f8" => Element::F64,
        _ => return None,
    };
    Some((element, big_endian && element.bytes() > 1))
}

/// Arrays with the same rows, a column each.
#[derive(Debug)]
pub(super) struct NpySource {
    arrays: Vec<NpyArray>,
    schema: PackSchema,
    rows: u64,
    block_rows: u64,
    remark: Option<String>,
}

impl NpySource {
    /// Opens an array; beside `x.npy`, a `y.npy` is its target.
    pub(super) fn open(path: &Path) -> Result<Self, SourceError> {
        let mut named = vec![("x".to_owned(), path.to_owned())];
        let target = target_beside(path);
        named.extend(target.iter().map(|target| ("y".to_owned(), target.clone())));
        let mut source = Self::of(&named)?;
        source.remark = target.map(|target| format!("{} is taken as the target", shown(&target)));
        Ok(source)
    }

    fn of(named: &[(String, PathBuf)]) -> Result<Self, SourceError> {
        let mut arrays: Vec<NpyArray> = Vec::new();
        let mut columns = Vec::new();
        for (name, path) in named {
            let array = NpyArray::open(path)?;
            if let Some(first) = arrays.first().filter(|first| first.rows != array.rows) {
                let problem =
                    format!("{} rows where {} has {}", array.rows, shown(&first.file.path()), first.rows);
                return Err(SourceError::unfit_file(problem, path, "save both with the same number of rows"));
            }
            columns.push(Column::new(name.clone(), array.row.kind()));
            arrays.push(array);
        }
        let rows = arrays.first().map_or(0, |array| array.rows);
        let row_bytes: usize = arrays.iter().map(|array| array.row.bytes).sum();
        let block_rows = (BLOCK_BYTES / row_bytes.max(1) as u64).max(1);
        Ok(Self { arrays, schema: PackSchema { columns }, rows, block_rows, remark: None })
    }
}

/// The file of targets that belongs to one of features: `y.npy` to `x.npy`, `train_y.npy` to `train_x.npy`.
pub(super) fn target_beside(path: &Path) -> Option<PathBuf> {
    let stem = path.file_stem()?.to_str()?;
    let (before, letter) = stem.char_indices().next_back().map(|(at, letter)| (&stem[..at], letter))?;
    let target = match letter {
        'x' => 'y',
        'X' => 'Y',
        _ => return None,
    };
    let stands_alone = before.is_empty() || before.ends_with(['_', '-', '.']);
    let beside = path.with_file_name(format!("{before}{target}.npy"));
    (stands_alone && beside.is_file()).then_some(beside)
}

/// The rows that a block of equal blocks has.
pub(super) fn block_range(rows: u64, block_rows: u64, block: usize) -> Option<(u64, usize)> {
    let first = (block as u64).checked_mul(block_rows).filter(|first| *first < rows)?;
    Some((first, (rows - first).min(block_rows) as usize))
}

impl PackSource for NpySource {
    fn schema(&self) -> &PackSchema {
        &self.schema
    }

    fn blocks(&self) -> Option<usize> {
        Some(self.rows.div_ceil(self.block_rows) as usize)
    }

    fn rows(&self) -> Option<u64> {
        Some(self.rows)
    }

    fn rows_of(&self, block: usize) -> Option<u64> {
        block_range(self.rows, self.block_rows, block).map(|(_, rows)| rows as u64)
    }

    fn reader(&self) -> Result<Box<dyn BlockReader + '_>, SourceError> {
        Ok(Box::new(NpyReader(self)))
    }

    fn remarks(&self) -> Vec<String> {
        self.remark.iter().cloned().collect()
    }
}

struct NpyReader<'a>(&'a NpySource);

impl BlockReader for NpyReader<'_> {
    fn read(&mut self, block: usize) -> Result<Option<RowBlock>, SourceError> {
        let Some((first, rows)) = block_range(self.0.rows, self.0.block_rows, block) else { return Ok(None) };
        let columns: Result<Vec<ColumnData>, SourceError> =
            self.0.arrays.iter().map(|array| array.read(first, rows).map(ColumnData::Fixed)).collect();
        Ok(Some(RowBlock { rows, columns: columns? }))
    }
}
