//! A pack as rows of features and a target.

use std::ops::Range;
use std::path::{Path, PathBuf};

use crate::error::LoadError;
use crate::limits::Limits;
use crate::pack::{Column, ColumnKind, Element, Pack};
use crate::table::Table;

/// A pack with one column of features and one target.
#[derive(Debug)]
pub(crate) struct PackFile {
    path: PathBuf,
    pack: Pack,
    features: usize,
    target: usize,
    target_element: Element,
    width: usize,
    chunk_rows: u64,
}

impl PackFile {
    pub(crate) fn open(path: &Path, limits: &Limits) -> Result<Self, LoadError> {
        let pack = Pack::open(path)?;
        let unfit = |problem| LoadError::UnfitPack { file: path.to_owned(), problem };
        let [first, second] = pack.schema().columns.as_slice() else {
            return Err(unfit("it has not two columns, features and a target"));
        };
        // The target stands last, whatever it is called.
        let width = width_of(first).ok_or_else(|| unfit("its first column has not float32 features"))?;
        let target_element =
            scalar_of(second).ok_or_else(|| unfit("its last column is not one number a sample"))?;
        let chunk_rows = limits.chunk_rows(width + 1);
        Ok(Self { path: path.to_owned(), features: 0, target: 1, target_element, width, chunk_rows, pack })
    }

    pub(crate) fn rows(&self) -> u64 {
        self.pack.rows()
    }

    pub(crate) fn columns(&self) -> usize {
        self.width + 1
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
        table.reserve((rows.end - rows.start) as usize);
        let mut row = rows.start;
        while row < rows.end {
            let (batch, first) = self.pack.locate(row);
            self.pack.ensure_checked(batch)?;
            let (features, targets) =
                (self.pack.buffer(batch, self.features, 0), self.pack.buffer(batch, self.target, 0));
            let target_bytes = self.target_element.bytes();
            let in_batch = targets.bytes as usize / target_bytes - first;
            let count = in_batch.min((rows.end - row) as usize);
            let row_bytes = 4 * self.width;
            raw.resize(count * (row_bytes + target_bytes), 0);
            let (x, y) = raw.split_at_mut(count * row_bytes);
            self.pack.read(features.part, features.offset + (first * row_bytes) as u64, x)?;
            self.pack.read(targets.part, targets.offset + (first * target_bytes) as u64, y)?;
            self.decode(x, y, row, table)?;
            row += count as u64;
        }
        Ok(())
    }

    fn decode(&self, x: &[u8], y: &[u8], first: u64, table: &mut Table) -> Result<(), LoadError> {
        let _parse = laptime_record::stage!("parse");
        let rows = x.chunks_exact(4 * self.width).zip(y.chunks_exact(self.target_element.bytes()));
        for (row, (x, y)) in rows.enumerate() {
            let features = x.chunks_exact(4).map(|bytes| f32::from_le_bytes(fixed(bytes)));
            let target = number(self.target_element, y);
            let bad = features.clone().chain([target]).position(|number| !number.is_finite());
            if let Some(column) = bad {
                let row = first + row as u64;
                return Err(LoadError::NotFiniteElement { file: self.path.clone(), row, column });
            }
            table.push(features, target);
        }
        Ok(())
    }
}

fn width_of(column: &Column) -> Option<usize> {
    match &column.kind {
        ColumnKind::Fixed { element: Element::F32, .. } => column.kind.elements(),
        _ => None,
    }
}

fn scalar_of(column: &Column) -> Option<Element> {
    match &column.kind {
        ColumnKind::Fixed { element, shape } if shape.is_empty() && *element != Element::F16 => {
            Some(*element)
        }
        _ => None,
    }
}

/// The first bytes as an array; shorter ones are filled up with zeros.
fn fixed<const N: usize>(bytes: &[u8]) -> [u8; N] {
    let mut array = [0; N];
    array.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
    array
}

/// A number of any type as training takes it.
fn number(element: Element, bytes: &[u8]) -> f32 {
    match element {
        Element::Bool | Element::U8 => f32::from(u8::from_le_bytes(fixed(bytes))),
        Element::I8 => f32::from(i8::from_le_bytes(fixed(bytes))),
        Element::U16 => f32::from(u16::from_le_bytes(fixed(bytes))),
        Element::I16 => f32::from(i16::from_le_bytes(fixed(bytes))),
        Element::U32 => u32::from_le_bytes(fixed(bytes)) as f32,
        Element::I32 => i32::from_le_bytes(fixed(bytes)) as f32,
        Element::U64 => u64::from_le_bytes(fixed(bytes)) as f32,
        Element::I64 => i64::from_le_bytes(fixed(bytes)) as f32,
        Element::F64 => f64::from_le_bytes(fixed(bytes)) as f32,
        // Half precision is refused when a pack is opened.
        Element::F32 | Element::F16 => f32::from_le_bytes(fixed(bytes)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::pack::{ColumnData, PackOptions, PackSchema, PackWriter, Provenance, RowBlock};

    const TINY: Limits = Limits { in_memory_bytes: 0, chunk_bytes: 24 };

    fn write(path: &Path, target: Element, columns: Vec<ColumnData>, rows: usize) {
        let x = ColumnKind::Fixed { element: Element::F32, shape: vec![2] };
        let y = ColumnKind::Fixed { element: target, shape: Vec::new() };
        let schema = PackSchema { columns: vec![Column::new("x", x), Column::new("y", y)] };
        let options = PackOptions { batch_rows: Some(4), ..PackOptions::default() };
        let mut writer = PackWriter::create(path, schema, Provenance::default(), options).unwrap();
        writer.write(&RowBlock { rows, columns }).unwrap();
        writer.finish().unwrap();
    }

    fn bytes(numbers: impl Iterator<Item = f32>) -> Vec<u8> {
        numbers.flat_map(f32::to_le_bytes).collect()
    }

    #[test]
    fn any_range_of_a_pack_is_read_as_it_was_written() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.pack");
        let x = bytes((0..20_u8).map(f32::from));
        let y: Vec<u8> = (0..10_i64).flat_map(i64::to_le_bytes).collect();
        write(&path, Element::I64, vec![ColumnData::Fixed(x), ColumnData::Fixed(y)], 10);
        let file = PackFile::open(&path, &TINY).unwrap();
        assert_eq!((file.rows(), file.columns()), (10, 3));
        for range in [0..10, 3..4, 2..9] {
            let mut table = Table::empty(2);
            for chunk in file.chunks(&range) {
                file.read(&chunk, &mut Vec::new(), &mut table).unwrap();
            }
            let targets: Vec<f32> = range.clone().map(|row| row as f32).collect();
            assert_eq!(table.targets(), targets);
            assert_eq!(table.features()[0], range.start as f32 * 2.0);
        }
    }

    #[test]
    fn a_number_that_is_missing_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.pack");
        let x = bytes([0.0, 1.0, 2.0, f32::NAN].into_iter());
        write(
            &path,
            Element::F32,
            vec![ColumnData::Fixed(x), ColumnData::Fixed(bytes([0.0, 0.0].into_iter()))],
            2,
        );
        let file = PackFile::open(&path, &TINY).unwrap();
        let error = file.read(&(0..2), &mut Vec::new(), &mut Table::empty(2)).unwrap_err();
        assert!(matches!(error, LoadError::NotFiniteElement { row: 1, column: 1, .. }), "{error}");
    }
}
