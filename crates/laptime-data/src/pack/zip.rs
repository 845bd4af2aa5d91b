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
