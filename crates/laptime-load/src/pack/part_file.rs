//! A file that is mapped into memory where that is safe, and read where it is not.

#![expect(unsafe_code, reason = "mapping a file")]

use std::fs::File;
use std::os::fd::AsFd;
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use memmap2::Mmap;
use rustix::fs::fstatfs;

use super::error::PackError;

/// File systems whose pages can fail to arrive, by the number `statfs` has for them. Reading from a mapping then
/// ends the process; a read returns an error.
const OVER_A_NETWORK: [u64; 13] = [
    0x6969,      // NFS
    0x0bd0_0bd0, // Lustre
    0x6573_5546, // FUSE
    0xff53_4d42, // CIFS
    0xfe53_4d42, // SMB 2
    0x517b,      // SMB
    0x00c3_6400, // Ceph
    0x0102_1997, // 9p
    0x5346_414f, // AFS
    0x7375_7245, // Coda
    0x4750_4653, // GPFS
    0x0116_1970, // GFS 2
    0x1983_0326, // BeeGFS
];

/// An open file of a pack. It stays readable when another takes its name.
#[derive(Debug)]
pub(super) struct PartFile {
    path: PathBuf,
    bytes: u64,
    access: Access,
}

#[derive(Debug)]
enum Access {
    Mapped(Mmap),
    Read(File),
    #[cfg(test)]
    Failing(Fault),
}

/// What a disk may do instead of answering.
#[cfg(test)]
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Fault {
    Hangs,
    Panics,
}

#[cfg(test)]
impl Fault {
    fn happen(self) -> ! {
        assert!(self == Self::Hangs, "the disk burns");
        loop {
            std::thread::park();
        }
    }
}

/// Whether files are mapped.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mapping {
    /// Unless they lie on a network file system.
    WhereSafe,
    #[cfg(test)]
    Never,
    /// Not even read.
    #[cfg(test)]
    Failing(Fault),
}

impl PartFile {
    /// Takes a file that must have as many bytes as the manifest says.
    pub(super) fn new(file: File, path: &Path, expected: u64, mapping: Mapping) -> Result<Self, PackError> {
        let found = file.metadata().map_err(PackError::io("read", path))?.len();
        if found != expected {
            return Err(PackError::WrongSize { path: path.to_owned(), expected, found });
        }
        #[cfg(test)]
        if let Mapping::Failing(fault) = mapping {
            return Ok(Self { path: path.to_owned(), bytes: expected, access: Access::Failing(fault) });
        }
        let access = if mapping == Mapping::WhereSafe && is_local(&file) {
            // SAFETY: parts are written once, made read-only and only ever replaced by renaming, so the bytes
            // under the mapping do not change; that a file of the user's can be truncated in place is documented.
            let map = unsafe { Mmap::map(&file) };
            Access::Mapped(map.map_err(PackError::io("map", path))?)
        } else {
            Access::Read(file)
        };
        Ok(Self { path: path.to_owned(), bytes: expected, access })
    }

    pub(super) fn path(&self) -> &Path {
        &self.path
    }

    /// All bytes, if the file is mapped.
    pub(super) fn mapped(&self) -> Option<&[u8]> {
        match &self.access {
            Access::Mapped(map) => Some(map),
            _ => None,
        }
    }

    /// Fills `out` from an offset.
    pub(super) fn read(&self, offset: u64, out: &mut [u8]) -> Result<(), PackError> {
        match &self.access {
            Access::Mapped(map) => {
                let from =
                    usize::try_from(offset).ok().and_then(|offset| map.get(offset..)?.get(..out.len()));
                out.copy_from_slice(from.ok_or_else(|| self.too_short(map.len() as u64))?);
                Ok(())
            }
            Access::Read(file) => {
                file.read_exact_at(out, offset).map_err(|error| self.explained(file, error))
            }
            #[cfg(test)]
            Access::Failing(fault) => fault.happen(),
        }
    }

    fn explained(&self, file: &File, error: std::io::Error) -> PackError {
        match file.metadata() {
            Ok(now) if now.len() < self.bytes => self.too_short(now.len()),
            _ => PackError::io("read", &self.path)(error),
        }
    }

    fn too_short(&self, found: u64) -> PackError {
        PackError::WrongSize { path: self.path.clone(), expected: self.bytes, found }
    }

    /// Asks the system to read these bytes soon, without waiting for it.
    pub(super) fn read_ahead(&self, offset: u64, bytes: u64) {
        // It is only a wish, so what the system answers does not matter.
        match &self.access {
            Access::Mapped(map) => {
                let (offset, bytes) = (offset as usize, bytes as usize);
                let _ = map.advise_range(memmap2::Advice::WillNeed, offset, bytes);
            }
            Access::Read(file) => {
                let bytes = std::num::NonZeroU64::new(bytes);
                let _ = rustix::fs::fadvise(file, offset, bytes, rustix::fs::Advice::WillNeed);
            }
            #[cfg(test)]
            Access::Failing(_) => {}
        }
    }
}

fn is_local(file: impl AsFd) -> bool {
    // The sign of the number differs between machines; its lowest 32 bits are the magic.
    fstatfs(file).is_ok_and(|found| !OVER_A_NETWORK.contains(&(found.f_type as u64 & 0xffff_ffff)))
}
