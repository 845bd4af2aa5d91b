//! NPZ archives as a source: every array a column under its name.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use laptime_load::DataFile;
use laptime_load::pack::{Column, ColumnData, PackSchema, RowBlock};
use miniz_oxide::inflate::decompress_to_vec_with_limit;

use super::error::{SourceError, shown};
use super::npy::{MAX_HEADER_BYTES, RowForm, block_range, header_of, rows_of};
use super::source::{BLOCK_BYTES, BlockReader, PackSource};
use super::zip::{ZipEntry, checksum, zip_entries};

/// Where the elements of an array are.
#[derive(Debug)]
enum Elements {
    /// In the archive as they are, from this place on.
    Stored(u64),
    /// Unpacked, from this place on.
    Unpacked(Arc<Vec<u8>>, usize),
}

#[derive(Debug)]
struct PackedArray {
    elements: Elements,
    row: RowForm,
}

/// The arrays of an archive, all with the same rows. Compressed ones are unpacked when it is opened and held in memory.
#[derive(Debug)]
pub(super) struct NpzSource {
    file: DataFile,
    arrays: Vec<PackedArray>,
    schema: PackSchema,
    rows: u64,
    block_rows: u64,
}

impl NpzSource {
    pub(super) fn open(path: &Path) -> Result<Self, SourceError> {
        let file = DataFile::open(path)?;
        let damaged = |problem| SourceError::unfit_file(problem, path, "write it again with numpy.savez");
        let entries = zip_entries(&file)?.map_err(damaged)?;
        let (mut arrays, mut columns, mut all_rows) = (Vec::new(), Vec::new(), None);
        for entry in &entries {
            let Some(name) = entry.name.strip_suffix(".npy") else { continue };
            let (rows, array) = open_array(&file, path, entry)?;
            let first = *all_rows.get_or_insert(rows);
            if rows != first {
                let problem = format!("the array `{name}` has {rows} rows, the first one {first}");
                return Err(SourceError::unfit_file(
                    problem,
                    path,
                    "save arrays of the same length together",
                ));
            }
            columns.push(Column::new(name, array.row.kind()));
            arrays.push(array);
        }
        let rows = all_rows.ok_or_else(|| damaged("there are no arrays"))?;
        let row_bytes: usize = arrays.iter().map(|array: &PackedArray| array.row.bytes).sum();
        let block_rows = (BLOCK_BYTES / row_bytes.max(1) as u64).max(1);
        file.check_unchanged()?;
        Ok(Self { file, arrays, schema: PackSchema { columns }, rows, block_rows })
    }

    fn read(&self, array: &PackedArray, first: u64, rows: usize) -> Result<Vec<u8>, SourceError> {
        let row = &array.row;
        let mut bytes = match &array.elements {
            Elements::Stored(start) => {
                let mut bytes = vec![0; rows * row.bytes];
                self.file.read_at(&mut bytes, start + first * row.bytes as u64)?;
                bytes
            }
            Elements::Unpacked(all, start) => {
                let from = start + first as usize * row.bytes;
                all[from..from + rows * row.bytes].to_vec()
            }
        };
        row.to_little_endian(&mut bytes);
        Ok(bytes)
    }
}

fn open_array(file: &DataFile, path: &Path, entry: &ZipEntry) -> Result<(u64, PackedArray), SourceError> {
    let within = PathBuf::from(format!("{} in {}", entry.name, shown(path)));
    let mut packed = vec![
        0;
        if entry.deflated { entry.packed_bytes } else { entry.packed_bytes.min(12 + MAX_HEADER_BYTES as u64) }
            as usize
    ];
    file.read_at(&mut packed, entry.start)?;
    if entry.deflated {
        packed = unpacked(&packed, entry, &within)?;
    }
    let (header, start) = header_of(&packed, &within)?;
    let (rows, row) = rows_of(&header, &within)?;
    let expected = u128::from(rows) * row.bytes as u128 + start as u128;
    if expected > u128::from(entry.unpacked_bytes) {
        return Err(SourceError::unfit_file(
            "the array is cut off",
            &within,
            "write it again with numpy.savez",
        ));
    }
    let sum = if entry.deflated { checksum(0, &packed) } else { stored_checksum(file, entry)? };
    if sum != entry.checksum {
        let hint = "copy the archive again, or write it again with numpy.savez";
        return Err(SourceError::unfit_file("the array is damaged: its checksum is wrong", &within, hint));
    }
    let elements = match entry.deflated {
        true => Elements::Unpacked(Arc::new(packed), start),
        false => Elements::Stored(entry.start + start as u64),
    };
    Ok((rows, PackedArray { elements, row }))
}

/// The checksum of what is in the archive as it is. Read once more than needed, because blocks are read in any order.
fn stored_checksum(file: &DataFile, entry: &ZipEntry) -> Result<u32, SourceError> {
    let mut bytes = vec![0; entry.packed_bytes.min(BLOCK_BYTES) as usize];
    let (mut at, mut sum) = (0, 0);
    while at < entry.packed_bytes {
        let bytes = &mut bytes[..(entry.packed_bytes - at).min(BLOCK_BYTES) as usize];
        file.read_at(bytes, entry.start + at)?;
        sum = checksum(sum, bytes);
        at += bytes.len() as u64;
    }
    Ok(sum)
}

fn unpacked(packed: &[u8], entry: &ZipEntry, within: &Path) -> Result<Vec<u8>, SourceError> {
    // It grows as bytes come; the size that the archive declares is only where it must end.
    let limit = usize::try_from(entry.unpacked_bytes).unwrap_or(usize::MAX);
    let unpacked = decompress_to_vec_with_limit(packed, limit).ok().filter(|bytes| bytes.len() == limit);
    unpacked.ok_or_else(|| {
        SourceError::unfit_file(
            "the array cannot be unpacked",
            within,
            "write it again with numpy.savez_compressed",
        )
    })
}

impl PackSource for NpzSource {
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
        Ok(Box::new(NpzReader(self)))
    }
}

struct NpzReader<'a>(&'a NpzSource);

impl BlockReader for NpzReader<'_> {
    fn read(&mut self, block: usize) -> Result<Option<RowBlock>, SourceError> {
        let Some((first, rows)) = block_range(self.0.rows, self.0.block_rows, block) else { return Ok(None) };
        let read = |array| self.0.read(array, first, rows).map(ColumnData::Fixed);
        let columns: Result<Vec<ColumnData>, SourceError> = self.0.arrays.iter().map(read).collect();
        self.0.file.check_unchanged()?;
        Ok(Some(RowBlock { rows, columns: columns? }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mutation::npy;
    use std::fs;

    /// An archive as numpy.savez writes it.
    fn archive(files: &[(&str, Vec<u8>, bool)]) -> Vec<u8> {
        let (mut bytes, mut directory) = (Vec::new(), Vec::new());
        for (name, body, deflated) in files {
            let packed =
                if *deflated { miniz_oxide::deflate::compress_to_vec(body, 6) } else { body.clone() };
            let method = if *deflated { 8_u16 } else { 0 };
            let sizes = [packed.len() as u32, body.len() as u32].map(u32::to_le_bytes).concat();
            let lengths = [name.len() as u16, 0].map(u16::to_le_bytes).concat();
            let sum = checksum(0, body).to_le_bytes();
            let common =
                [&[20, 0, 0, 0][..], &method.to_le_bytes(), &[0; 4], &sum, &sizes, &lengths].concat();
            directory.extend(
                [
                    b"PK\x01\x02\x14\0",
                    &common[..],
                    &[0; 10],
                    &(bytes.len() as u32).to_le_bytes(),
                    name.as_bytes(),
                ]
                .concat(),
            );
            bytes.extend([b"PK\x03\x04", &common[..], name.as_bytes(), &packed].concat());
        }
        let start = bytes.len() as u32;
        let count = (files.len() as u16).to_le_bytes();
        let end = [
            b"PK\x05\x06\0\0\0\0",
            &count[..],
            &count,
            &(directory.len() as u32).to_le_bytes(),
            &start.to_le_bytes(),
            &[0, 0],
        ]
        .concat();
        [bytes, directory, end].concat()
    }

    fn read(bytes: &[u8]) -> Result<Vec<RowBlock>, SourceError> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.npz");
        fs::write(&path, bytes).unwrap();
        let source = NpzSource::open(&path)?;
        let mut reader = source.reader()?;
        (0..source.blocks().unwrap()).map(|block| Ok(reader.read(block)?.unwrap())).collect()
    }

    fn seeds() -> [Vec<u8>; 3] {
        let (x, y) = (
            npy(1, ">i2", "(3, 2)", &[0, 1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6]),
            npy(1, "|u1", "(3,)", &[7, 8, 9]),
        );
        [
            archive(&[("x.npy", x.clone(), false), ("y.npy", y.clone(), false)]),
            archive(&[("x.npy", x.clone(), true), ("y.npy", y.clone(), true)]),
            archive(&[("x.npy", x, true), ("y.npy", y, false), ("readme.txt", b"hi".to_vec(), false)]),
        ]
    }

    #[test]
    fn arrays_are_read_stored_or_compressed_in_the_order_of_this_machine() {
        let x: Vec<u8> = (1..=6_i16).flat_map(i16::to_le_bytes).collect();
        for seed in seeds() {
            let expected = RowBlock {
                rows: 3,
                columns: vec![ColumnData::Fixed(x.clone()), ColumnData::Fixed(vec![7, 8, 9])],
            };
            assert_eq!(read(&seed).unwrap(), [expected]);
        }
    }

    #[test]
    fn arrays_of_different_lengths_are_refused() {
        let (x, y) = (npy(1, "|u1", "(3,)", &[1, 2, 3]), npy(1, "|u1", "(2,)", &[1, 2]));
        let error = read(&archive(&[("x.npy", x, false), ("y.npy", y, false)])).unwrap_err().to_string();
        assert!(error.starts_with("the array `y` has 2 rows, the first one 3: "), "{error}");
    }

    #[test]
    fn an_array_with_another_checksum_is_refused_stored_or_compressed() {
        for (deflated, place) in [(false, b"\x05\0\x06"), (true, b"PK\x01")] {
            let x = npy(1, ">i2", "(3, 2)", &[0, 1, 0, 2, 0, 3, 0, 4, 0, 5, 0, 6]);
            let mut bytes = archive(&[("x.npy", x, deflated)]);
            // A number that is stored, or of what is compressed the checksum itself.
            let at = bytes.windows(3).position(|window| window == place).unwrap();
            bytes[if deflated { at + 16 } else { at }] ^= 1;
            let error = read(&bytes).unwrap_err().to_string();
            assert!(error.starts_with("the array is damaged: its checksum is wrong"), "{error}");
        }
    }

    #[test]
    fn no_damaged_archive_panics_or_takes_much_memory() {
        crate::mutation::survive_in_memory(&seeds(), |bytes| read(bytes).is_ok());
    }
}
