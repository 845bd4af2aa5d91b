//! NPZ: a ZIP archive of arrays, of which the directory and the header of each array are read.

use miniz_oxide::inflate::core::inflate_flags::TINFL_FLAG_USING_NON_WRAPPING_OUTPUT_BUF;
use miniz_oxide::inflate::core::{DecompressorOxide, decompress};

use super::super::problem::FileProblem;
use super::super::stored::Stored;
use super::npy::{Array, header_place, read_array};
use super::{Contents, Measured};

/// The end of a directory is at most this far from the end of the archive: a comment of 64 KiB and itself.
const LONGEST_END: u64 = 65_557;

/// Arrays in one archive; more are not looked at.
const MOST_ARRAYS: u64 = 10_000;

/// Bytes of an array that are unpacked to find its header. NumPy's own take 128; ours may take more columns.
const HEADER_BYTES: usize = 4 << 10;

const BAD: FileProblem = FileProblem::Damaged("its directory cannot be understood");

/// What is in an NPZ archive. Its arrays share their rows, so those of the longest count.
pub(crate) fn measure_npz(stored: &(impl Stored + ?Sized)) -> Result<Measured, FileProblem> {
    if stored.bytes() < 4 || !stored.take(0, 4)?.starts_with(b"PK") {
        return Err(FileProblem::NotThat("NPZ"));
    }
    let mut place = directory_place(stored)?;
    if place.entries > MOST_ARRAYS {
        return Err(FileProblem::NotUnderstood("an archive of more than 10,000 arrays"));
    }
    let mut contents = Contents { decoded_exactly: true, ..Contents::default() };
    for _ in 0..place.entries {
        let entry = read_entry(stored, &mut place.position)?;
        if entry.is_array {
            add(&mut contents, &read_packed(stored, &entry)?.contents()?)?;
        }
    }
    Ok(contents.into())
}

fn add(all: &mut Contents, one: &Contents) -> Result<(), FileProblem> {
    all.rows = all.rows.max(one.rows);
    all.decoded_bytes = all.decoded_bytes.checked_add(one.decoded_bytes).ok_or(BAD)?;
    all.numbers = all.numbers.checked_add(one.numbers).ok_or(BAD)?;
    all.other_columns += one.other_columns;
    Ok(())
}

/// Where the directory is and how many entries it has.
struct Directory {
    position: u64,
    entries: u64,
}

fn directory_place(stored: &(impl Stored + ?Sized)) -> Result<Directory, FileProblem> {
    let bytes = stored.bytes();
    let length = bytes.min(LONGEST_END);
    let tail = stored.take(bytes - length, length)?;
    let starts = tail.windows(4).rposition(|window| window == b"PK\x05\x06");
    let start = starts.ok_or(FileProblem::Truncated)?;
    let end = &tail[start..];
    let entries = u64::from(u16_at(end, 10)?);
    let position = u64::from(u32_at(end, 16)?);
    if entries != u64::from(u16::MAX) && position != u64::from(u32::MAX) {
        return Ok(Directory { position, entries });
    }
    // An archive beyond 4 GiB: the larger numbers are in a record that a pointer just before this one names.
    let pointer = start.checked_sub(20).and_then(|at| tail.get(at..start)).ok_or(BAD)?;
    if !pointer.starts_with(b"PK\x06\x07") {
        return Err(BAD);
    }
    let record = stored.take(u64_at(pointer, 8)?, 56)?;
    if !record.starts_with(b"PK\x06\x06") {
        return Err(BAD);
    }
    Ok(Directory { position: u64_at(&record, 48)?, entries: u64_at(&record, 32)? })
}

/// One file of the archive.
struct Entry {
    is_array: bool,
    deflated: bool,
    decoded_bytes: u64,
    local_header: u64,
}

fn read_entry(stored: &(impl Stored + ?Sized), position: &mut u64) -> Result<Entry, FileProblem> {
    let fixed = stored.take(*position, 46)?;
    if !fixed.starts_with(b"PK\x01\x02") {
        return Err(BAD);
    }
    let [name, extra, comment] = [28, 30, 32].map(|at| u16_at(&fixed, at).map(u64::from));
    let (name, extra, comment) = (name?, extra?, comment?);
    let names = stored.take(*position + 46, name + extra)?;
    let (file_name, extra_fields) = names.split_at(name as usize);
    let deflated = match u16_at(&fixed, 10)? {
        0 => false,
        8 => true,
        _ => return Err(FileProblem::NotUnderstood("an archive compressed in another way than NumPy does")),
    };
    let mut entry = Entry {
        is_array: file_name.ends_with(b".npy"),
        deflated,
        decoded_bytes: u64::from(u32_at(&fixed, 24)?),
        local_header: u64::from(u32_at(&fixed, 42)?),
    };
    let packed_bytes = u32_at(&fixed, 20)?;
    widen(&mut entry, packed_bytes, extra_fields);
    *position = position.checked_add(46 + name + extra + comment).ok_or(BAD)?;
    Ok(entry)
}

/// Takes the numbers that do not fit 32 bits from the extra field of ZIP64.
fn widen(entry: &mut Entry, packed_bytes: u32, mut extra: &[u8]) {
    while let (Ok(id), Ok(length)) = (u16_at(extra, 0), u16_at(extra, 2)) {
        let Some(body) = extra.get(4..4 + usize::from(length)) else { return };
        if id == 1 {
            let mut wide = body.chunks_exact(8).filter_map(|chunk| u64_at(chunk, 0).ok());
            let mut take = |is_wide: bool| if is_wide { wide.next() } else { None };
            entry.decoded_bytes =
                take(entry.decoded_bytes == u64::from(u32::MAX)).unwrap_or(entry.decoded_bytes);
            take(packed_bytes == u32::MAX);
            entry.local_header =
                take(entry.local_header == u64::from(u32::MAX)).unwrap_or(entry.local_header);
        }
        extra = &extra[4 + usize::from(length)..];
    }
}

/// The array that an entry holds, by the first bytes of it.
fn read_packed(stored: &(impl Stored + ?Sized), entry: &Entry) -> Result<Array, FileProblem> {
    let local = stored.take(entry.local_header, 30)?;
    if !local.starts_with(b"PK\x03\x04") {
        return Err(BAD);
    }
    let skipped = 30 + u64::from(u16_at(&local, 26)?) + u64::from(u16_at(&local, 28)?);
    let start = entry.local_header.checked_add(skipped).ok_or(BAD)?;
    let left = stored.bytes().saturating_sub(start);
    let packed = stored.take(start, left.min(HEADER_BYTES as u64))?;
    let unpacked = if entry.deflated { inflated(&packed) } else { packed };
    let (length, start) = header_place(&unpacked[..unpacked.len().min(12)])?;
    let header = unpacked.get(start as usize..(start + length) as usize);
    let array = read_array(header.ok_or(FileProblem::Damaged("a header is longer than NumPy writes"))?)?;
    let expected = array.bytes().and_then(|bytes| bytes.checked_add(start + length));
    if expected.is_some_and(|bytes| bytes != entry.decoded_bytes) {
        return Err(FileProblem::Damaged("an array has another size than the directory says"));
    }
    Ok(array)
}

/// As many bytes as the header can take; a stream that goes on is no failure.
fn inflated(packed: &[u8]) -> Vec<u8> {
    let mut unpacked = vec![0; HEADER_BYTES];
    let mut state = DecompressorOxide::new();
    let flags = TINFL_FLAG_USING_NON_WRAPPING_OUTPUT_BUF;
    let (_, _, written) = decompress(&mut state, packed, &mut unpacked, 0, flags);
    unpacked.truncate(written);
    unpacked
}

fn field<const N: usize>(bytes: &[u8], at: usize) -> Result<[u8; N], FileProblem> {
    bytes.get(at..at + N).and_then(|field| field.try_into().ok()).ok_or(BAD)
}

fn u16_at(bytes: &[u8], at: usize) -> Result<u16, FileProblem> {
    field(bytes, at).map(u16::from_le_bytes)
}

fn u32_at(bytes: &[u8], at: usize) -> Result<u32, FileProblem> {
    field(bytes, at).map(u32::from_le_bytes)
}

fn u64_at(bytes: &[u8], at: usize) -> Result<u64, FileProblem> {
    field(bytes, at).map(u64::from_le_bytes)
}
