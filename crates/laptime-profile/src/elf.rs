//! ELF files, as far as it takes to find where a library keeps a named thing.
//!
//! Only 64-bit little-endian files with section headers are understood, which is what Linux loads on the
//! machines laptime runs on. Everything in the file is doubted.

use std::collections::HashMap;
use std::fs::File;
use std::os::unix::fs::FileExt;

/// The most that is read of one table: Python exports about 2,000 names, of 24 bytes each.
const MOST_TABLE_BYTES: u64 = 16 << 20;
const SECTION_BYTES: usize = 64;
const SEGMENT_BYTES: usize = 56;
const SYMBOL_BYTES: usize = 24;
const SECTION_IS_DYNAMIC_SYMBOLS: u32 = 11;
const SEGMENT_IS_LOADED: u32 = 1;

/// Bytes by their place in a file.
pub(crate) trait ReadAt {
    /// That many bytes from a place on; `None` when they are not all there.
    fn bytes(&self, from: u64, length: usize) -> Option<Vec<u8>>;
}

impl ReadAt for File {
    fn bytes(&self, from: u64, length: usize) -> Option<Vec<u8>> {
        let known = self.metadata().ok()?.len();
        (from.checked_add(length as u64)? <= known).then_some(())?;
        let mut bytes = vec![0; length];
        self.read_exact_at(&mut bytes, from).ok()?;
        Some(bytes)
    }
}

/// Where a file wants its names, relative to where it is loaded.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(crate) struct Exported {
    /// Address of each name that was asked for and is there.
    pub(crate) addresses: HashMap<String, u64>,
    /// The address of the first byte that is loaded; addresses are moved with it.
    pub(crate) first_loaded: u64,
}

/// The exported names among those wanted; `None` when the file is not one that can be read.
pub(crate) fn exported(file: &impl ReadAt, wanted: &[&str]) -> Option<Exported> {
    let head = file.bytes(0, 64)?;
    (head.get(..6)? == b"\x7fELF\x02\x01").then_some(())?;
    let first_loaded = first_loaded(file, &head)?;
    let sections = table(file, long(&head, 40)?, short(&head, 58)?, short(&head, 60)?, SECTION_BYTES)?;
    let dynamic = sections.iter().find(|section| int(section, 4) == Some(SECTION_IS_DYNAMIC_SYMBOLS))?;
    let names = sections.get(usize::try_from(int(dynamic, 40)?).ok()?)?;
    let (symbols, names) = (content(file, dynamic)?, content(file, names)?);
    let mut addresses = HashMap::new();
    for symbol in symbols.chunks_exact(SYMBOL_BYTES) {
        let Some(name) = int(symbol, 0).and_then(|at| text(&names, at)) else { continue };
        // Section 0 means that the name is wanted from elsewhere, not given.
        let given = short(symbol, 6).is_some_and(|section| section != 0);
        if let Some(name) = wanted.iter().find(|wanted| wanted.as_bytes() == name).filter(|_| given) {
            addresses.insert((*name).to_owned(), long(symbol, 8)?);
        }
    }
    Some(Exported { addresses, first_loaded })
}

fn first_loaded(file: &impl ReadAt, head: &[u8]) -> Option<u64> {
    let segments = table(file, long(head, 32)?, short(head, 54)?, short(head, 56)?, SEGMENT_BYTES)?;
    let loaded = segments.iter().filter(|segment| int(segment, 0) == Some(SEGMENT_IS_LOADED));
    loaded.filter_map(|segment| long(segment, 16)).min()
}

/// The entries of a table, each at least `least` bytes long.
fn table(file: &impl ReadAt, from: u64, each: u16, count: u16, least: usize) -> Option<Vec<Vec<u8>>> {
    let each = usize::from(each);
    (each >= least).then_some(())?;
    let bytes = file.bytes(from, each.checked_mul(usize::from(count))?)?;
    Some(bytes.chunks_exact(each).map(<[u8]>::to_vec).collect())
}

fn content(file: &impl ReadAt, section: &[u8]) -> Option<Vec<u8>> {
    let length = long(section, 32).filter(|length| *length <= MOST_TABLE_BYTES)?;
    file.bytes(long(section, 24)?, usize::try_from(length).ok()?)
}

fn text(names: &[u8], at: u32) -> Option<&[u8]> {
    names.get(usize::try_from(at).ok()?..)?.split(|byte| *byte == 0).next()
}

fn short(bytes: &[u8], at: usize) -> Option<u16> {
    Some(u16::from_le_bytes(bytes.get(at..at + 2)?.try_into().ok()?))
}

fn int(bytes: &[u8], at: usize) -> Option<u32> {
    Some(u32::from_le_bytes(bytes.get(at..at + 4)?.try_into().ok()?))
}

fn long(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(bytes.get(at..at + 8)?.try_into().ok()?))
}

#[cfg(test)]
mod tests {
    use super::*;

    impl ReadAt for Vec<u8> {
        fn bytes(&self, from: u64, length: usize) -> Option<Vec<u8>> {
            let from = usize::try_from(from).ok()?;
            Some(self.get(from..from.checked_add(length)?)?.to_vec())
        }
    }

    /// A file that exports `_PyRuntime` at 0x5000 and wants `malloc` from elsewhere.
    fn small_file() -> Vec<u8> {
        let mut file = vec![0; 64 + SEGMENT_BYTES + 3 * SECTION_BYTES];
        file[..6].copy_from_slice(b"\x7fELF\x02\x01");
        let mut put = |at: usize, bytes: &[u8]| file[at..at + bytes.len()].copy_from_slice(bytes);
        let (segments, sections) = (64_u64, 64 + SEGMENT_BYTES as u64);
        put(32, &segments.to_le_bytes());
        put(40, &sections.to_le_bytes());
        put(54, &(SEGMENT_BYTES as u16).to_le_bytes());
        put(56, &1_u16.to_le_bytes());
        put(58, &(SECTION_BYTES as u16).to_le_bytes());
        put(60, &3_u16.to_le_bytes());
        put(64, &SEGMENT_IS_LOADED.to_le_bytes());
        put(64 + 16, &0x1000_u64.to_le_bytes());
        let names = b"\0_PyRuntime\0malloc\0";
        let content = file.len() as u64;
        let mut put = |at: usize, bytes: &[u8]| file[at..at + bytes.len()].copy_from_slice(bytes);
        let [symbols, texts] = [1, 2].map(|at| 64 + SEGMENT_BYTES + at * SECTION_BYTES);
        put(symbols + 4, &SECTION_IS_DYNAMIC_SYMBOLS.to_le_bytes());
        put(symbols + 24, &content.to_le_bytes());
        put(symbols + 32, &(2 * SYMBOL_BYTES as u64).to_le_bytes());
        put(symbols + 40, &2_u32.to_le_bytes());
        put(texts + 24, &(content + 2 * SYMBOL_BYTES as u64).to_le_bytes());
        put(texts + 32, &(names.len() as u64).to_le_bytes());
        for (name, section, address) in [(1_u32, 5_u16, 0x5000_u64), (12, 0, 0)] {
            file.extend(name.to_le_bytes());
            file.extend([0, 0]);
            file.extend(section.to_le_bytes());
            file.extend(address.to_le_bytes());
            file.extend([0; 8]);
        }
        file.extend(names);
        file
    }

    #[test]
    fn what_is_exported_is_found_and_what_is_wanted_from_elsewhere_is_not() {
        let found = exported(&small_file(), &["_PyRuntime", "malloc", "printf"]).unwrap();
        assert_eq!(found.addresses, [("_PyRuntime".to_owned(), 0x5000)].into());
        assert_eq!(found.first_loaded, 0x1000);
    }

    #[test]
    fn a_mutated_file_is_refused_or_read_but_never_breaks_the_reader() {
        let whole = small_file();
        let mut random = fastrand::Rng::with_seed(5);
        for _ in 0..20_000 {
            let mut file = whole.clone();
            for _ in 0..random.usize(1..6) {
                let at = random.usize(..file.len());
                file[at] = random.u8(..);
            }
            file.truncate(random.usize(..=file.len()));
            let _ = exported(&file, &["_PyRuntime"]);
        }
    }
}
