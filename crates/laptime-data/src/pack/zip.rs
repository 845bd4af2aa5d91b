//! The directory of a ZIP archive: where its files are, nothing of which is trusted.

use laptime_load::DataFile;

use super::error::SourceError;

/// The end of a directory is at most this far from the end of the archive: a comment of 64 KiB and itself.
const LONGEST_END: u64 = 65_557;

/// Files in one archive; more are no arrays of one dataset.
const MOST_ENTRIES: u64 = 10_000;

/// A file of the archive.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct ZipEntry {
    pub(super) name: String,
    pub(super) deflated: bool,
    pub(super) start: u64,
    pub(super) packed_bytes: u64,
    pub(super) unpacked_bytes: u64,
    /// The checksum of the file, unpacked.
    pub(super) checksum: u32,
}

type Parsed<T> = Result<T, &'static str>;

/// The files of an archive, all within it; the inner error says what is wrong with its directory.
pub(super) fn zip_entries(file: &DataFile) -> Result<Parsed<Vec<ZipEntry>>, SourceError> {
    let length = file.bytes().min(LONGEST_END + 76);
    let mut tail = vec![0; length as usize];
    file.read_at(&mut tail, file.bytes() - length)?;
    let directory = match directory_of(&tail, file.bytes() - length) {
        Ok(directory) => directory,
        Err(problem) => return Ok(Err(problem)),
    };
    if directory.start.checked_add(directory.bytes).is_none_or(|end| end > file.bytes()) {
        return Ok(Err("its directory is cut off"));
    }
    let mut text = vec![0; directory.bytes as usize];
    file.read_at(&mut text, directory.start)?;
    let mut entries = match entries_of(&text, directory.entries) {
        Ok(entries) => entries,
        Err(problem) => return Ok(Err(problem)),
    };
    for entry in &mut entries {
        if let Err(problem) = find_start(file, entry)? {
            return Ok(Err(problem));
        }
    }
    Ok(Ok(entries))
}

struct Directory {
    start: u64,
    bytes: u64,
    entries: u64,
}

/// Where the directory is, by the last bytes of the archive, which begin at `tail_start`.
fn directory_of(tail: &[u8], tail_start: u64) -> Parsed<Directory> {
    let end =
        tail.windows(4).rposition(|window| window == b"PK\x05\x06").ok_or("it is no archive, or cut off")?;
    let record = &tail[end..];
    let narrow = Directory {
        entries: number::<2>(record, 10)?,
        bytes: number::<4>(record, 12)?,
        start: number::<4>(record, 16)?,
    };
    if narrow.entries != u64::from(u16::MAX) && narrow.start != u64::from(u32::MAX) {
        return if narrow.entries > MOST_ENTRIES { Err("it has more than 10,000 files") } else { Ok(narrow) };
    }
    // Beyond 4 GiB the numbers are in a record that a pointer just before this one names.
    let pointer = end.checked_sub(20).and_then(|at| tail.get(at..end)).ok_or("its directory is damaged")?;
    let at = number::<8>(pointer, 8)?.checked_sub(tail_start).ok_or("its directory is damaged")?;
    let wide = usize::try_from(at).ok().and_then(|at| tail.get(at..)).ok_or("its directory is damaged")?;
    if !pointer.starts_with(b"PK\x06\x07") || !wide.starts_with(b"PK\x06\x06") {
        return Err("its directory is damaged");
    }
    let wide = Directory {
        entries: number::<8>(wide, 32)?,
        bytes: number::<8>(wide, 40)?,
        start: number::<8>(wide, 48)?,
    };
    if wide.entries > MOST_ENTRIES { Err("it has more than 10,000 files") } else { Ok(wide) }
}

fn entries_of(mut text: &[u8], count: u64) -> Parsed<Vec<ZipEntry>> {
    let mut entries = Vec::new();
    for _ in 0..count {
        if !text.starts_with(b"PK\x01\x02") {
            return Err("its directory is damaged");
        }
        let [name, extra, comment] =
            [28, 30, 32].map(|at| number::<2>(text, at).map(|length| length as usize));
        let (name, extra, comment) = (name?, extra?, comment?);
        let names = text.get(46..46 + name + extra + comment).ok_or("its directory is cut off")?;
        if number::<2>(text, 8)? & 1 == 1 {
            return Err("it is encrypted");
        }
        let mut entry = ZipEntry {
            name: String::from_utf8_lossy(&names[..name]).into_owned(),
            deflated: match number::<2>(text, 10)? {
                0 => false,
                8 => true,
                _ => return Err("it is compressed in another way than NumPy does"),
            },
            checksum: number::<4>(text, 16)? as u32,
            packed_bytes: number::<4>(text, 20)?,
            unpacked_bytes: number::<4>(text, 24)?,
            start: number::<4>(text, 42)?,
        };
        widen(&mut entry, &names[name..name + extra])?;
        entries.push(entry);
        text = &text[46 + name + extra + comment..];
    }
    Ok(entries)
}

/// Takes the numbers that do not fit 32 bits from the extra field of ZIP64.
fn widen(entry: &mut ZipEntry, mut extra: &[u8]) -> Parsed<()> {
    while extra.len() >= 4 {
        let (id, length) = (number::<2>(extra, 0)?, number::<2>(extra, 2)? as usize);
        let body = extra.get(4..4 + length).ok_or("its directory is damaged")?;
        if id == 1 {
            let mut wide = body.chunks_exact(8);
            for field in [&mut entry.unpacked_bytes, &mut entry.packed_bytes, &mut entry.start] {
                if *field == u64::from(u32::MAX) {
                    *field = number::<8>(wide.next().ok_or("its directory is damaged")?, 0)?;
                }
            }
        }
        extra = &extra[4 + length..];
    }
    Ok(())
}

/// Goes from the local header, where the directory points, to the file's bytes.
fn find_start(file: &DataFile, entry: &mut ZipEntry) -> Result<Parsed<()>, SourceError> {
    const CUT_OFF: &str = "a file in it is cut off";
    if entry.start.checked_add(30).is_none_or(|end| end > file.bytes()) {
        return Ok(Err(CUT_OFF));
    }
    let mut local = [0; 30];
    file.read_at(&mut local, entry.start)?;
    if !local.starts_with(b"PK\x03\x04") {
        return Ok(Err("its directory is damaged"));
    }
    let lengths = [26, 28].map(|at| u64::from(u16::from_le_bytes([local[at], local[at + 1]])));
    entry.start += 30 + lengths[0] + lengths[1];
    if entry.start.checked_add(entry.packed_bytes).is_none_or(|end| end > file.bytes()) {
        return Ok(Err(CUT_OFF));
    }
    if !entry.deflated && entry.packed_bytes != entry.unpacked_bytes {
        return Ok(Err("its directory is damaged"));
    }
    Ok(Ok(()))
}

/// A little-endian number of `N` bytes.
fn number<const N: usize>(bytes: &[u8], at: usize) -> Parsed<u64> {
    let field = bytes.get(at..at + N).ok_or("its directory is cut off")?;
    Ok(field.iter().rev().fold(0, |number, byte| number << 8 | u64::from(*byte)))
}

/// What every byte at a distance from the end changes in a checksum, for eight distances.
static CHECKSUM_TABLES: [[u32; 256]; 8] = checksum_tables();

const fn checksum_tables() -> [[u32; 256]; 8] {
    // The polynomial of ZIP, Ethernet and PNG.
    const POLYNOMIAL: u32 = 0xedb8_8320;
    let mut tables = [[0; 256]; 8];
    let mut byte = 0;
    while byte < 256 {
        let (mut sum, mut bit) = (byte as u32, 0);
        while bit < 8 {
            sum = if sum & 1 == 1 { sum >> 1 ^ POLYNOMIAL } else { sum >> 1 };
            bit += 1;
        }
        tables[0][byte] = sum;
        byte += 1;
    }
    let mut distance = 1;
    while distance < 8 {
        let mut byte = 0;
        while byte < 256 {
            let before: u32 = tables[distance - 1][byte];
            tables[distance][byte] = before >> 8 ^ tables[0][(before & 0xff) as usize];
            byte += 1;
        }
        distance += 1;
    }
    tables
}

/// The CRC-32 of bytes that follow those of an earlier checksum, which is 0 at first.
pub(super) fn checksum(before: u32, bytes: &[u8]) -> u32 {
    let table = |distance: usize, byte: u32| CHECKSUM_TABLES[distance][(byte & 0xff) as usize];
    let (eights, rest) = bytes.as_chunks::<8>();
    let mut sum = !before;
    for &[a, b, c, d, e, f, g, h] in eights {
        let first = u32::from_le_bytes([a, b, c, d]) ^ sum;
        let second = u32::from_le_bytes([e, f, g, h]);
        sum = table(7, first) ^ table(6, first >> 8) ^ table(5, first >> 16) ^ table(4, first >> 24);
        sum ^= table(3, second) ^ table(2, second >> 8) ^ table(1, second >> 16) ^ table(0, second >> 24);
    }
    !rest.iter().fold(sum, |sum, byte| sum >> 8 ^ table(0, sum ^ u32::from(*byte)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn checksums_are_those_of_zip_however_the_bytes_come() {
        assert_eq!(checksum(0, b"123456789"), 0xcbf4_3926);
        let bytes: Vec<u8> = (0..=255).cycle().take(1000).collect();
        let whole = checksum(0, &bytes);
        for cut in [0, 1, 7, 8, 9, 999] {
            assert_eq!(checksum(checksum(0, &bytes[..cut]), &bytes[cut..]), whole);
        }
    }
}
