//! A file or folder of this machine as a source.

use std::collections::HashSet;
use std::fs::{self, File, Metadata};
use std::io;
use std::ops::{ControlFlow, Range};
use std::os::unix::fs::{FileExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::OFlags;

use super::{Object, Source, SourceError};

/// A file or folder of this machine.
#[derive(Clone, Debug)]
pub struct LocalSource {
    place: PathBuf,
    /// What names are relative to: the folder, or the one that the file is in.
    root: PathBuf,
}

impl LocalSource {
    /// The file or folder at a path.
    ///
    /// # Errors
    /// When there is none, or it may not be looked at.
    pub fn open(path: &Path) -> Result<Self, SourceError> {
        let root = if fs::metadata(path)?.is_dir() { Some(path) } else { path.parent() };
        Ok(Self { place: path.to_owned(), root: root.unwrap_or(Path::new("")).to_owned() })
    }

    fn name_of(&self, path: &Path) -> String {
        path.strip_prefix(&self.root).unwrap_or(path).to_string_lossy().into_owned()
    }
}

impl Source for LocalSource {
    fn place(&self) -> String {
        self.place.display().to_string()
    }

    /// Links are followed and each folder is entered once, as training does; what cannot be looked at is left out.
    fn list(&self, found: &mut dyn FnMut(Object) -> ControlFlow<()>) -> Result<(), SourceError> {
        let metadata = fs::metadata(&self.place)?;
        if !metadata.is_dir() {
            let _ = found(Object { name: self.name_of(&self.place), bytes: Some(metadata.len()) });
            return Ok(());
        }
        let mut entered = HashSet::from([identity(&metadata)]);
        let mut folders = vec![self.place.clone()];
        while let Some(folder) = folders.pop() {
            for entry in fs::read_dir(&folder)? {
                let path = entry?.path();
                let Ok(metadata) = fs::metadata(&path) else { continue };
                if metadata.is_dir() && entered.insert(identity(&metadata)) {
                    folders.push(path);
                } else if metadata.is_file() {
                    let object = Object { name: self.name_of(&path), bytes: Some(metadata.len()) };
                    if found(object).is_break() {
                        return Ok(());
                    }
                }
            }
        }
        Ok(())
    }

    fn read(&self, name: &str, range: Range<u64>) -> Result<Vec<u8>, SourceError> {
        // What became a pipe since it was listed is opened without waiting for a writer.
        let no_wait = OFlags::NONBLOCK.bits().cast_signed();
        let file = File::options().read(true).custom_flags(no_wait).open(self.root.join(name))?;
        let end = range.end.min(file.metadata()?.len());
        let length = usize::try_from(end.saturating_sub(range.start)).map_err(io::Error::other)?;
        let mut bytes = vec![0; length];
        file.read_exact_at(&mut bytes, range.start)?;
        Ok(bytes)
    }
}

/// What a folder is known by, whatever leads to it.
fn identity(metadata: &Metadata) -> (u64, u64) {
    (metadata.dev(), metadata.ino())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn listed(path: &Path) -> Vec<(String, Option<u64>)> {
        let mut objects = Vec::new();
        let mut keep = |object: Object| {
            objects.push((object.name, object.bytes));
            ControlFlow::Continue(())
        };
        LocalSource::open(path).unwrap().list(&mut keep).unwrap();
        objects.sort();
        objects
    }

    #[test]
    fn folders_are_listed_with_names_below_them_and_files_by_their_own() {
        let folder = tempfile::tempdir().unwrap();
        fs::create_dir(folder.path().join("a")).unwrap();
        fs::write(folder.path().join("a/x.csv"), "1,2\n").unwrap();
        fs::write(folder.path().join("y"), "").unwrap();
        std::os::unix::fs::symlink(folder.path(), folder.path().join("a/loop")).unwrap();
        assert_eq!(listed(folder.path()), [("a/x.csv".into(), Some(4)), ("y".into(), Some(0))]);
        assert_eq!(listed(&folder.path().join("a/x.csv")), [("x.csv".into(), Some(4))]);
    }

    #[test]
    fn ranges_end_where_the_file_does() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("x"), "0123456789").unwrap();
        let source = LocalSource::open(folder.path()).unwrap();
        assert_eq!(source.read("x", 2..5).unwrap(), b"234");
        assert_eq!(source.read("x", 8..u64::MAX).unwrap(), b"89");
        assert_eq!(source.read("x", 20..30).unwrap(), b"");
        assert!(source.read("z", 0..1).is_err());
    }
}
