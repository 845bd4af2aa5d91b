//! Writing a pack: beside its final name, part by part, and renamed when it is whole.

use std::ffi::OsString;
use std::fs::{self, File, Permissions};
use std::io::{self, Write};
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use rustix::fs::{CWD, FlockOperation, RenameFlags, flock, renameat_with};

use super::block::{ColumnData, RowBlock};
use super::error::PackError;
use super::manifest::{MANIFEST, Manifest, PartEntry, part_name};
use super::options::PackOptions;
use super::part_writer::PartWriter;
use super::provenance::Provenance;
use super::schema::PackSchema;

/// What is known of the finished parts, within the folder that is being written.
const PROGRESS: &str = "_progress.json";

/// What was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PackSummary {
    /// Samples.
    pub rows: u64,
    /// Files with samples.
    pub parts: usize,
    /// Bytes of these files.
    pub bytes: u64,
}

/// Writes a pack to `NAME.partial` and gives it its name at the end, when all of it is on the disk.
///
/// Whatever happens before, nothing is under the final name. Finished parts of an interrupted pack are kept and
/// are not written again; see [`PackWriter::resumed_rows`].
#[derive(Debug)]
pub struct PackWriter {
    target: PathBuf,
    partial: PathBuf,
    /// Locked as long as this writer lives, so that no second one writes here.
    folder: File,
    options: PackOptions,
    manifest: Manifest,
    resumed_rows: u64,
    part: Option<PartWriter>,
    /// Rows of the next record batch so far.
    gathered: RowBlock,
    /// Whether something could not be written: rows are missing then, and the pack must not get its name.
    failed: bool,
}

impl PackWriter {
    /// Begins a pack, or goes on with one of the same source, schema and layout that was interrupted.
    pub fn create(
        target: &Path,
        schema: PackSchema,
        provenance: Provenance,
        options: PackOptions,
    ) -> Result<Self, PackError> {
        schema.check()?;
        // Without a slash at its end, after which the folder beside it would be one inside it.
        let target: PathBuf = target.components().collect();
        check_target(&target, &options)?;
        let partial = beside(&target, ".partial");
        fs::create_dir_all(&partial).map_err(PackError::io("create", &partial))?;
        let folder = File::open(&partial).map_err(PackError::io("open", &partial))?;
        lock(&folder, &partial)?;
        let batch_rows = schema.row_bytes().map_or(0, |bytes| options.rows_of(bytes) as u64);
        let provenance = Provenance { laptime_version: env!("CARGO_PKG_VERSION").to_owned(), ..provenance };
        let fresh = Manifest { rows: 0, batch_rows, schema, provenance, parts: Vec::new() };
        let manifest = resumable(&partial, &fresh).unwrap_or(fresh);
        clear(&partial, &manifest.parts).map_err(PackError::io("clear", &partial))?;
        let gathered = empty_block(&manifest.schema);
        let resumed_rows = manifest.rows;
        let (part, failed) = (None, false);
        Ok(Self { target, partial, folder, options, manifest, resumed_rows, part, gathered, failed })
    }

    /// Rows that are in finished parts of an interrupted pack: begin writing with the row after them.
    pub const fn resumed_rows(&self) -> u64 {
        self.resumed_rows
    }

    /// Adds rows.
    pub fn write(&mut self, block: &RowBlock) -> Result<(), PackError> {
        self.check_whole()?;
        block.check(&self.manifest.schema)?;
        if self.manifest.batch_rows == 0 && block.rows > 0 {
            // The first rows tell how long rows are about.
            let bytes = block.columns.iter().map(ColumnData::stored_bytes).sum::<usize>();
            self.manifest.batch_rows = self.options.rows_of(bytes.div_ceil(block.rows)) as u64;
        }
        let mut from = 0;
        while from < block.rows {
            let missing = self.manifest.batch_rows as usize - self.gathered.rows;
            let until = block.rows.min(from + missing);
            self.gathered.append(block, from..until, &self.manifest.schema);
            from = until;
            if self.gathered.rows as u64 == self.manifest.batch_rows {
                let written = self.write_batch();
                self.noted(written)?;
            }
        }
        Ok(())
    }

    fn check_whole(&self) -> Result<(), PackError> {
        if self.failed { Err(PackError::Unfinished { path: self.partial.clone() }) } else { Ok(()) }
    }

    /// Remembers that something failed, should the caller go on.
    fn noted(&mut self, written: Result<(), PackError>) -> Result<(), PackError> {
        self.failed |= written.is_err();
        written
    }

    fn write_batch(&mut self) -> Result<(), PackError> {
        let schema = &self.manifest.schema;
        let part = match &mut self.part {
            Some(part) => part,
            None => {
                let name = part_name(self.manifest.parts.len());
                self.part.insert(PartWriter::create(&self.partial, name, schema)?)
            }
        };
        let rows = self.gathered.rows as u64;
        let offsets: Vec<_> = self.gathered.columns.iter().map(ColumnData::offsets).collect();
        let buffers: Vec<&[u8]> = self
            .gathered
            .columns
            .iter()
            .zip(&offsets)
            .flat_map(|(column, offsets)| offsets.as_deref().into_iter().chain([column.values()]))
            .collect();
        part.write(schema, rows, &buffers)?;
        self.gathered.clear();
        if part.bytes() >= self.options.part_bytes {
            self.finish_part()?;
        }
        Ok(())
    }

    fn finish_part(&mut self) -> Result<(), PackError> {
        if let Some(part) = self.part.take() {
            let entry = part.finish(&self.manifest.schema)?;
            let rows = self.manifest.rows;
            self.manifest.rows += entry.rows;
            self.manifest.parts.push(entry);
            if let Err(error) = self.put(PROGRESS) {
                // A part that nobody knows of would only take room.
                self.manifest.rows = rows;
                self.manifest.parts.pop();
                return Err(error);
            }
        }
        Ok(())
    }

    /// Writes the manifest so far under a name, whole or not at all.
    fn put(&self, name: &str) -> Result<(), PackError> {
        let (path, new) = (self.partial.join(name), self.partial.join("_new.json"));
        let write = || {
            let text = self.manifest.text().map_err(io::Error::other)?;
            let mut file = File::create(&new)?;
            file.write_all(text.as_bytes())?;
            if name == MANIFEST {
                file.set_permissions(Permissions::from_mode(0o444))?;
            }
            file.sync_all()?;
            fs::rename(&new, &path)?;
            self.folder.sync_all()
        };
        write().map_err(|error| {
            let _ = fs::remove_file(&new);
            PackError::io("write", &path)(error)
        })
    }

    /// Writes what is left, and gives the pack its name.
    pub fn finish(mut self) -> Result<PackSummary, PackError> {
        self.check_whole()?;
        let written = self.write_rest();
        self.noted(written)?;
        if self.manifest.rows == 0 {
            return Err(PackError::Empty { path: self.target.clone() });
        }
        self.put(MANIFEST)?;
        fs::remove_file(self.partial.join(PROGRESS)).map_err(PackError::io("clear", &self.partial))?;
        self.give_name().map_err(PackError::io("name", &self.target))?;
        let parts = &self.manifest.parts;
        let bytes = parts.iter().map(|part| part.bytes).sum();
        Ok(PackSummary { rows: self.manifest.rows, parts: parts.len(), bytes })
    }

    fn write_rest(&mut self) -> Result<(), PackError> {
        if self.gathered.rows > 0 {
            self.write_batch()?;
        }
        self.finish_part()
    }

    fn give_name(&self) -> io::Result<()> {
        let fresh = renameat_with(CWD, &self.partial, CWD, &self.target, RenameFlags::NOREPLACE);
        match fresh {
            Err(rustix::io::Errno::EXIST) if self.options.overwrite => self.replace()?,
            // Some file systems know no flags.
            Err(rustix::io::Errno::INVAL | rustix::io::Errno::NOSYS) => self.give_name_without_flags()?,
            done => done?,
        }
        let parent = self.target.parent().filter(|parent| !parent.as_os_str().is_empty());
        File::open(parent.unwrap_or(Path::new(".")))?.sync_all()
    }

    fn give_name_without_flags(&self) -> io::Result<()> {
        if self.options.overwrite && is_pack(&self.target) {
            remove(&self.target)?;
        }
        // Refuses what is there, but for an empty folder.
        fs::rename(&self.partial, &self.target)
    }

    /// Both names are exchanged at once, so that there is a whole pack at any time.
    fn replace(&self) -> io::Result<()> {
        if !is_pack(&self.target) {
            // It has come to lie there while this pack was written.
            return Err(io::ErrorKind::AlreadyExists.into());
        }
        // Until it is removed, the old pack has the name under which the next writer writes.
        let old = File::open(&self.target)?;
        let _ = flock(&old, FlockOperation::NonBlockingLockExclusive);
        match renameat_with(CWD, &self.partial, CWD, &self.target, RenameFlags::EXCHANGE) {
            Ok(()) => remove(&self.partial),
            Err(rustix::io::Errno::INVAL | rustix::io::Errno::NOSYS) => self.give_name_without_flags(),
            Err(error) => Err(error.into()),
        }
    }
}

impl Drop for PackWriter {
    /// What is not finished takes no room; finished parts stay for the next try.
    fn drop(&mut self) {
        if self.part.take().is_some() || self.failed {
            let _ = fs::remove_file(self.partial.join(part_name(self.manifest.parts.len())));
        }
        if self.manifest.parts.is_empty() {
            // Fails, as it should, when something else is in there.
            let _ = fs::remove_dir(&self.partial);
        }
    }
}

/// Only a pack is ever replaced: a folder of something else would be lost with all that is in it.
fn check_target(target: &Path, options: &PackOptions) -> Result<(), PackError> {
    match target.symlink_metadata() {
        Ok(_) if !options.overwrite => Err(PackError::Exists { path: target.to_owned() }),
        Ok(_) if !is_pack(target) => Err(PackError::NotReplaced { path: target.to_owned() }),
        _ => Ok(()),
    }
}

fn is_pack(path: &Path) -> bool {
    path.join(MANIFEST).is_file()
}

/// Locks the folder that is written to, where its file system knows locks.
pub(super) fn lock(folder: &File, path: &Path) -> Result<(), PackError> {
    use rustix::io::Errno;
    match flock(folder, FlockOperation::NonBlockingLockExclusive) {
        // Lustre without the option `flock`, for one.
        Ok(()) | Err(Errno::NOSYS | Errno::OPNOTSUPP | Errno::NOLCK | Errno::INVAL) => {}
        Err(Errno::WOULDBLOCK) => return Err(PackError::Busy { path: path.to_owned() }),
        Err(error) => return Err(PackError::io("lock", path)(error.into())),
    }
    // Before it was locked another writer may have finished, and given the folder its name.
    let opened = folder.metadata().map_err(PackError::io("open", path))?;
    let is_there = path.metadata().is_ok_and(|now| (now.dev(), now.ino()) == (opened.dev(), opened.ino()));
    if is_there { Ok(()) } else { Err(PackError::Busy { path: path.to_owned() }) }
}

fn beside(target: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(target);
    name.push(suffix);
    PathBuf::from(name)
}

fn remove(path: &Path) -> io::Result<()> {
    if path.symlink_metadata()?.is_dir() { fs::remove_dir_all(path) } else { fs::remove_file(path) }
}

/// What an interrupted writer of the same pack has finished.
fn resumable(partial: &Path, fresh: &Manifest) -> Option<Manifest> {
    let path = partial.join(PROGRESS);
    let found = Manifest::parse(&fs::read(&path).ok()?, &path).ok()?;
    let same_layout = fresh.batch_rows == 0 || fresh.batch_rows == found.batch_rows;
    let same = found.schema == fresh.schema && found.provenance == fresh.provenance && same_layout;
    // A shorter last batch ends a pack: nothing can follow it.
    let goes_on = found.rows.is_multiple_of(found.batch_rows);
    let whole = |part: &PartEntry| {
        partial
            .join(&part.file)
            .symlink_metadata()
            .is_ok_and(|file| file.is_file() && file.len() == part.bytes)
    };
    (same && goes_on && found.parts.iter().all(whole)).then_some(found)
}

/// Removes what an interrupted writer left, but for its finished parts.
fn clear(partial: &Path, finished: &[PartEntry]) -> io::Result<()> {
    for entry in fs::read_dir(partial)? {
        let entry = entry?;
        let name = entry.file_name();
        let kept = name == PROGRESS && !finished.is_empty() || finished.iter().any(|part| name == *part.file);
        if !kept {
            fs::remove_file(entry.path())?;
        }
    }
    Ok(())
}

fn empty_block(schema: &PackSchema) -> RowBlock {
    let empty = |fixed: Option<usize>| match fixed {
        Some(_) => ColumnData::Fixed(Vec::new()),
        None => ColumnData::Variable { ends: Vec::new(), bytes: Vec::new() },
    };
    RowBlock {
        rows: 0,
        columns: schema.columns.iter().map(|column| empty(column.kind.row_bytes())).collect(),
    }
}
