//! Memory of another process, read while that process runs.

#![expect(unsafe_code, reason = "the system call that reads another process' memory")]

use std::io;

/// Bytes that are read at once around a stack frame: older frames lie just below newer ones.
const WINDOW_BYTES: usize = 4096;

/// What can be read by address.
pub(crate) trait Memory {
    /// Fills `into` from an address, or fails.
    fn read(&self, address: u64, into: &mut [u8]) -> io::Result<()>;

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
        let local = libc::iovec { iov_base: into.as_mut_ptr().cast(), iov_len: into.len() };
        let remote = libc::iovec { iov_base: address as *mut libc::c_void, iov_len: into.len() };
        let pid = libc::pid_t::try_from(self.pid).map_err(|_| io::ErrorKind::InvalidInput)?;
        // SAFETY: the local vector names a live buffer of that length; the remote one is only an address in
        // the other process, which the kernel checks.
        let read = unsafe { libc::process_vm_readv(pid, &raw const local, 1, &raw const remote, 1, 0) };
        match usize::try_from(read) {
            Err(_) => Err(io::Error::last_os_error()),
            Ok(read) if read == into.len() => Ok(()),
            Ok(_) => Err(io::ErrorKind::UnexpectedEof.into()),
        }
    }
}

/// Reads small pieces that lie close together with few system calls. What it holds is a moment's; a new
/// one is made for every stack.
pub(crate) struct Window<'a, M> {
    memory: &'a M,
    begin: u64,
    bytes: Vec<u8>,
}

impl<'a, M: Memory> Window<'a, M> {
    /// Nothing is read yet.
    pub(crate) fn new(memory: &'a M) -> Self {
        Self { memory, begin: 0, bytes: Vec::new() }
    }

    /// That many bytes at an address.
    pub(crate) fn at(&mut self, address: u64, length: usize) -> io::Result<&[u8]> {
        if self.held(address, length).is_none() {
            self.slide(address, length)?;
        }
        self.held(address, length).ok_or_else(|| io::ErrorKind::UnexpectedEof.into())
    }

    fn held(&self, address: u64, length: usize) -> Option<&[u8]> {
        let from = usize::try_from(address.checked_sub(self.begin)?).ok()?;
        self.bytes.get(from..from.checked_add(length)?)
    }

    fn slide(&mut self, address: u64, length: usize) -> io::Result<()> {
        let end = address.checked_add(length as u64).ok_or(io::ErrorKind::InvalidInput)?;
        self.begin = end.saturating_sub(WINDOW_BYTES as u64);
        self.bytes.resize(WINDOW_BYTES, 0);
        if self.memory.read(self.begin, &mut self.bytes).is_ok() {
            return Ok(());
        }
        // The page before may not be there.
        self.begin = address;
        self.bytes.resize(length, 0);
        self.memory.read(address, &mut self.bytes).inspect_err(|_| self.bytes.clear())
    }
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
    fn a_window_that_cannot_reach_back_reads_just_what_was_asked() {
        let memory = ScriptedMemory([(0x1000, (0..=255).collect())].into());
        let mut window = Window::new(&memory);
        assert_eq!(window.at(0x1010, 4).unwrap(), [16, 17, 18, 19]);
        assert_eq!(window.at(0x1011, 2).unwrap(), [17, 18]);
        assert!(window.at(0x10ff, 2).is_err());
        assert!(window.at(u64::MAX, 2).is_err());
    }
}
