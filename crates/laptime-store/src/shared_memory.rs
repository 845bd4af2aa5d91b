//! Shared memory: where this user's rings are, and what share of it they may take.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::statvfs;

use crate::disk::{Disk, RealDisk};

/// All rings of a user may take this share of what is free: loader workers need shared memory too.
pub(crate) const SHARE_OF_FREE: u64 = 16;

/// Where this user's rings are.
#[must_use]
pub fn ring_directory() -> PathBuf {
    PathBuf::from(format!("/dev/shm/laptime-{}", rustix::process::getuid().as_raw()))
}

/// The folder for a new ring of this size.
///
/// # Errors
/// When shared memory is missing, or all rings would take more than their share of it.
pub(crate) fn room_for(ring_bytes: u64) -> io::Result<PathBuf> {
    let folder = ring_directory();
    RealDisk.create_folder(&folder)?;
    refuse_foreign(&folder)?;
    refuse_when_scarce(&folder, ring_bytes)?;
    Ok(folder)
}

fn refuse_foreign(folder: &Path) -> io::Result<()> {
    let metadata = fs::symlink_metadata(folder)?;
    let ours = metadata.is_dir() && metadata.uid() == rustix::process::getuid().as_raw();
    if ours {
        Ok(())
    } else {
        Err(io::Error::new(io::ErrorKind::PermissionDenied, "the ring folder is not ours"))
    }
}

fn refuse_when_scarce(folder: &Path, ring_bytes: u64) -> io::Result<()> {
    let space = statvfs(folder)?;
    let free = space.f_bavail.saturating_mul(space.f_frsize);
    let rings = fs::read_dir(folder)?.count() as u64;
    // What other rings took is no longer free, so it counts towards what was free before them.
    let taken = rings.saturating_mul(ring_bytes);
    if (taken + ring_bytes).saturating_mul(SHARE_OF_FREE) <= free.saturating_add(taken) {
        Ok(())
    } else {
        Err(io::Error::new(io::ErrorKind::StorageFull, "shared memory is scarce"))
    }
}
