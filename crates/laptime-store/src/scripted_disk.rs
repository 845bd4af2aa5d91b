//! A disk that does what a test tells it: fills up, fails, writes short, loses its files.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard};

use crate::disk::{Disk, Segment};

#[derive(Default)]
pub(crate) struct Script {
    pub(crate) files: BTreeMap<PathBuf, Vec<u8>>,
    /// Bytes that can still be written; `None` for no end.
    pub(crate) space: Option<usize>,
    /// The most one append takes; 0 for no limit.
    pub(crate) largest_append: usize,
    /// Errors to return from the next appends, one each; `None` lets one pass.
    pub(crate) faults: Vec<Option<io::ErrorKind>>,
    pub(crate) removed: bool,
    pub(crate) truncate_fails: bool,
}

#[derive(Clone, Default)]
pub(crate) struct ScriptedDisk(pub(crate) Arc<Mutex<Script>>);

struct ScriptedSegment {
    script: Arc<Mutex<Script>>,
    path: PathBuf,
    removed_content: Vec<u8>,
}

impl ScriptedDisk {
    pub(crate) fn script(&self) -> MutexGuard<'_, Script> {
        self.0.lock().unwrap()
    }

    /// All bytes of all files, in the order of their names.
    pub(crate) fn content(&self) -> Vec<u8> {
        self.script().files.values().flatten().copied().collect()
    }

    /// The folder is removed with everything in it.
    pub(crate) fn remove_everything(&self) {
        self.script().removed = true;
    }
}

impl Disk for ScriptedDisk {
    fn create_folder(&mut self, _: &Path) -> io::Result<()> {
        Ok(())
    }

    fn create_segment(&mut self, path: &Path) -> io::Result<Box<dyn Segment>> {
        let mut script = self.script();
        if script.removed {
            return Err(io::ErrorKind::NotFound.into());
        }
        script.files.insert(path.to_owned(), Vec::new());
        Ok(Box::new(ScriptedSegment {
            script: Arc::clone(&self.0),
            path: path.to_owned(),
            removed_content: Vec::new(),
        }))
    }

    fn publish(&mut self, path: &Path, content: &[u8]) -> io::Result<()> {
        self.script().files.insert(path.to_owned(), content.to_vec());
        Ok(())
    }
}

impl Segment for ScriptedSegment {
    fn append(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let mut script = self.script.lock().unwrap();
        if !script.faults.is_empty()
            && let Some(kind) = script.faults.remove(0)
        {
            return Err(kind.into());
        }
        let limit = if script.largest_append == 0 { bytes.len() } else { script.largest_append };
        let taken = bytes.len().min(limit).min(script.space.unwrap_or(usize::MAX));
        if taken == 0 {
            return Err(io::ErrorKind::StorageFull.into());
        }
        if let Some(space) = &mut script.space {
            *space -= taken;
        }
        script.files.get_mut(&self.path).unwrap().extend_from_slice(&bytes[..taken]);
        Ok(taken)
    }

    fn truncate(&mut self, length: u64) -> io::Result<()> {
        let mut script = self.script.lock().unwrap();
        if script.truncate_fails {
            return Err(io::ErrorKind::Other.into());
        }
        let file = script.files.get_mut(&self.path).unwrap();
        let freed = file.len() - length as usize;
        file.truncate(length as usize);
        if let Some(space) = &mut script.space {
            *space += freed;
        }
        Ok(())
    }

    fn sync(&mut self) -> io::Result<()> {
        Ok(())
    }

    fn is_linked(&self) -> bool {
        !self.script.lock().unwrap().removed
    }

    fn read_back(&mut self) -> io::Result<Vec<u8>> {
        let mut script = self.script.lock().unwrap();
        self.removed_content = script.files.remove(&self.path).unwrap_or_default();
        Ok(self.removed_content.clone())
    }
}
