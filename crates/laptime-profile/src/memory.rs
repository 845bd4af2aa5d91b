//! Memory of another process, read while that process runs.

#![expect(unsafe_code, reason = "the system call that reads another process' memory")]

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::collections::btree_map::Entry;
use std::io;

/// Bytes of a page: memory is there or missing by whole pages.
const PAGE_BYTES: usize = 4096;
/// Pages that are read at once at most; the kernel takes 1,024.
const MOST_PAGES: usize = 512;

/// What can be read by address.
pub(crate) trait Memory {
    /// Fills `into` from an address, or fails.
    fn read(&self, address: u64, into: &mut [u8]) -> io::Result<()>;

    /// Fills pieces, each from its address, in order; says how many it could.
    fn read_each(&self, pieces: &mut [(u64, &mut [u8])]) -> usize {
        let read = pieces.iter_mut().map(|(address, into)| self.read(*address, into));
        read.take_while(io::Result::is_ok).count()
    }

    /// The word at an address.
    fn word(&self, address: u64) -> io::Result<u64> {
        let mut bytes = [0; 8];
        self.read(address, &mut bytes)?;
        Ok(u64::from_le_bytes(bytes))
    }
}

/// The memory of a process of this machine.
#[derive(Clone, Copy, Debug)]
pub(crate) struct ProcessMemory {
    pub(crate) pid: u32,
}

impl Memory for ProcessMemory {
    fn read(&self, address: u64, into: &mut [u8]) -> io::Result<()> {
        let length = into.len();
        match self.read_vectors(&mut [(address, into)])? {
            read if read == length => Ok(()),
            _ => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }

    fn read_each(&self, pieces: &mut [(u64, &mut [u8])]) -> usize {
        let read = self.read_vectors(pieces).unwrap_or(0);
        let ends = pieces.iter().scan(0, |sum, (_, into)| {
            *sum += into.len();
            Some(*sum)
        });
        ends.take_while(|end| *end <= read).count()
    }
}

impl ProcessMemory {
    /// Reads all pieces with one system call; says how many bytes came before the first that is not there.
    fn read_vectors(&self, pieces: &mut [(u64, &mut [u8])]) -> io::Result<usize> {
        let vector = |base: *mut libc::c_void, length| libc::iovec { iov_base: base, iov_len: length };
        let remote: Vec<_> =
            pieces.iter().map(|(address, into)| vector(*address as *mut libc::c_void, into.len())).collect();
        let local: Vec<_> =
            pieces.iter_mut().map(|(_, into)| vector(into.as_mut_ptr().cast(), into.len())).collect();
        let pid = libc::pid_t::try_from(self.pid).map_err(|_| io::ErrorKind::InvalidInput)?;
        let count = pieces.len() as libc::c_ulong;
        // SAFETY: the local vectors name live buffers of their lengths that nobody else uses; the remote ones
        // are only addresses in the other process, which the kernel checks.
        let read = unsafe { libc::process_vm_readv(pid, local.as_ptr(), count, remote.as_ptr(), count, 0) };
        usize::try_from(read).map_err(|_| io::Error::last_os_error())
    }
}

/// A moment of another memory, by pages. What the last look needed is read again with one system call, so
/// that a look costs little and sees little change.
pub(crate) struct Snapshot<M> {
    memory: M,
    pages: RefCell<BTreeMap<u64, Page>>,
}

struct Page {
    bytes: Box<[u8; PAGE_BYTES]>,
    used: bool,
}

impl<M: Memory> Snapshot<M> {
    /// Nothing is read yet.
    pub(crate) fn of(memory: M) -> Self {
        Self { memory, pages: RefCell::default() }
    }

    /// The memory itself, as it is now.
    pub(crate) fn memory(&self) -> &M {
        &self.memory
    }

    /// Forgets what was not asked for since the last time, and reads the rest anew.
    pub(crate) fn renew(&mut self) {
        let pages = self.pages.get_mut();
        pages.retain(|_, page| std::mem::take(&mut page.used));
        while pages.len() > MOST_PAGES {
            pages.pop_last();
        }
        let mut pieces: Vec<(u64, &mut [u8])> =
            pages.iter_mut().map(|(address, page)| (*address, page.bytes.as_mut_slice())).collect();
        if pieces.is_empty() {
            return;
        }
        let read = self.memory.read_each(&mut pieces);
        if let Some(missing) = pages.keys().nth(read).copied() {
            // What comes after it was not read either.
            pages.split_off(&missing);
        }
    }

    /// Copies what a page has from a place on.
    fn copy(&self, address: u64, into: &mut [u8]) -> io::Result<()> {
        let (begin, within) = split(address);
        let mut pages = self.pages.borrow_mut();
        let page = match pages.entry(begin) {
            Entry::Occupied(known) => known.into_mut(),
            Entry::Vacant(place) => {
                let mut bytes = Box::new([0; PAGE_BYTES]);
                self.memory.read(begin, bytes.as_mut_slice())?;
                place.insert(Page { bytes, used: true })
            }
        };
        page.used = true;
        let from = page.bytes.get(within..within + into.len()).ok_or(io::ErrorKind::UnexpectedEof)?;
        into.copy_from_slice(from);
        Ok(())
    }
}

impl<M: Memory> Memory for Snapshot<M> {
    fn read(&self, address: u64, into: &mut [u8]) -> io::Result<()> {
        let mut place = address;
        let mut rest = into;
        while !rest.is_empty() {
            let (_, within) = split(place);
            let (here, beyond) = rest.split_at_mut(rest.len().min(PAGE_BYTES - within));
            self.copy(place, here)?;
            place = place.checked_add(here.len() as u64).ok_or(io::ErrorKind::InvalidInput)?;
            rest = beyond;
        }
        Ok(())
    }
}

/// The begin of an address' page, and the place within it.
fn split(address: u64) -> (u64, usize) {
    let within = address % PAGE_BYTES as u64;
    (address - within, within as usize)
}

/// The little-endian word at a place in bytes; `None` past their end.
pub(crate) fn word_at(bytes: &[u8], at: usize) -> Option<u64> {
    Some(u64::from_le_bytes(bytes.get(at..at.checked_add(8)?)?.try_into().ok()?))
}

#[cfg(test)]
pub(crate) mod tests {
    use std::collections::BTreeMap;

    use super::*;

    /// Memory made of pieces.
    #[derive(Default)]
    pub(crate) struct ScriptedMemory(pub(crate) BTreeMap<u64, Vec<u8>>);

    impl ScriptedMemory {
        pub(crate) fn put_word(&mut self, at: u64, value: u64) {
            let (begin, piece) = self.0.range_mut(..=at).next_back().unwrap();
            let from = usize::try_from(at - begin).unwrap();
            piece[from..from + 8].copy_from_slice(&value.to_le_bytes());
        }
    }

    impl Memory for ScriptedMemory {
        fn read(&self, address: u64, into: &mut [u8]) -> io::Result<()> {
            let missing = || io::Error::from_raw_os_error(libc::EFAULT);
            let (begin, piece) = self.0.range(..=address).next_back().ok_or_else(missing)?;
            let from = usize::try_from(address - begin).map_err(|_| missing())?;
            let end = from.checked_add(into.len()).ok_or_else(missing)?;
            into.copy_from_slice(piece.get(from..end).ok_or_else(missing)?);
            Ok(())
        }
    }

    #[test]
    fn memory_of_this_process_is_read_and_a_bad_address_is_an_error() {
        let here = [7_u64, 8, 9];
        let memory = ProcessMemory { pid: std::process::id() };
        assert_eq!(memory.word(here.as_ptr() as u64 + 8).unwrap(), 8);
        assert_eq!(memory.word(1).unwrap_err().raw_os_error(), Some(libc::EFAULT));
    }

    #[test]
    fn a_snapshot_holds_its_moment_until_it_is_renewed_and_forgets_what_nobody_needs() {
        let pages = [(0x1000, vec![1; 2 * PAGE_BYTES]), (0x8000, vec![3; PAGE_BYTES])];
        let mut snapshot = Snapshot::of(ScriptedMemory(pages.into()));
        let word = |snapshot: &Snapshot<_>, at| snapshot.word(at).ok();
        let ones = u64::from_le_bytes([1; 8]);
        // Across the border of two pages.
        assert_eq!(word(&snapshot, 0x1ffc), Some(ones));
        assert_eq!(word(&snapshot, 0x8000), Some(u64::from_le_bytes([3; 8])));
        assert!(snapshot.word(0x4000).is_err() && snapshot.word(u64::MAX - 3).is_err());
        snapshot.memory.put_word(0x1000, 7);
        assert_eq!(word(&snapshot, 0x1000), Some(ones));
        snapshot.renew();
        assert_eq!(word(&snapshot, 0x1000), Some(7));
        snapshot.renew();
        assert_eq!(snapshot.pages.get_mut().keys().copied().collect::<Vec<_>>(), [0x1000]);
    }

    #[test]
    fn a_page_that_is_gone_takes_only_what_was_not_read_with_it() {
        let pages =
            [(0x1000, vec![1; PAGE_BYTES]), (0x4000, vec![2; PAGE_BYTES]), (0x9000, vec![3; PAGE_BYTES])];
        let mut snapshot = Snapshot::of(ScriptedMemory(pages.into()));
        for at in [0x1000, 0x4000, 0x9000] {
            snapshot.word(at).unwrap();
        }
        snapshot.memory.0.remove(&0x4000);
        snapshot.renew();
        assert!(snapshot.word(0x4000).is_err());
        assert_eq!(snapshot.word(0x9000).unwrap(), u64::from_le_bytes([3; 8]));
    }
}
