//! A folder of images as a source: a folder in it is a class, a file in that a sample.

use std::cell::RefCell;
use std::fs::{self, File};
use std::io::{self, Read};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use laptime_load::LoadError;
use laptime_load::image::{Crop, ImageTransform, Layout, Output, SampleKey, Scratch};
use laptime_load::pack::{Column, ColumnData, ColumnKind, Element, PackSchema, RowBlock};

use super::error::{SourceError, shown};
use super::source::{BLOCK_BYTES, BlockReader, PackSource};

/// Endings that name an image.
const ENDINGS: [&str; 3] = ["jpg", "jpeg", "png"];

/// Other files that are named in a remark.
const MOST_NAMED: usize = 3;

/// What becomes of each image.
pub(super) trait ImageForm: Sync {
    /// The column that images become.
    fn kind(&self) -> ColumnKind;

    /// Adds an encoded image to the column.
    fn add(&self, encoded: &[u8], file: &Path, column: &mut ColumnData) -> Result<(), SourceError>;
}

/// Images as they are stored.
pub(super) struct Encoded;

impl ImageForm for Encoded {
    fn kind(&self) -> ColumnKind {
        ColumnKind::Bytes
    }

    fn add(&self, encoded: &[u8], file: &Path, column: &mut ColumnData) -> Result<(), SourceError> {
        if !is_image(encoded) {
            return Err(SourceError::unfit_file(
                "it is neither a JPEG nor a PNG image, despite its name",
                file,
                "replace or remove it, and pack again",
            ));
        }
        push_bytes(column, encoded);
        Ok(())
    }
}

/// Images decoded once: the shorter side resized, the middle taken, as bytes of red, green and blue.
pub(super) struct Decoded {
    transform: ImageTransform,
}

thread_local! {
    /// Working space of the decoder, kept from image to image.
    static SCRATCH: RefCell<Scratch> = RefCell::new(Scratch::new());
}

impl Decoded {
    /// Decodes to squares of this side.
    pub(super) fn new(side: usize) -> Result<Self, SourceError> {
        let crop = Crop::Center { resize: Some(side) };
        let (layout, output) = (Layout::Hwc, Output::U8);
        let transform = ImageTransform { crop, layout, output, ..ImageTransform::new((side, side)) };
        transform.check().map_err(|error| SourceError::unfit(error.to_string(), "choose another --size"))?;
        Ok(Self { transform })
    }
}

impl ImageForm for Decoded {
    fn kind(&self) -> ColumnKind {
        let (height, width) = self.transform.size;
        ColumnKind::Fixed { element: Element::U8, shape: vec![height, width, 3] }
    }

    fn add(&self, encoded: &[u8], file: &Path, column: &mut ColumnData) -> Result<(), SourceError> {
        let ColumnData::Fixed(pixels) = column else { return Ok(()) };
        let start = pixels.len();
        pixels.resize(start + self.transform.output_len(), 0);
        // Nothing of a centre crop is random.
        let key = SampleKey { seed: 0, epoch: 0, index: 0 };
        let decode = |scratch: &RefCell<Scratch>| {
            self.transform.decode_into(encoded, key, &mut scratch.borrow_mut(), &mut pixels[start..])
        };
        SCRATCH.with(decode).map_err(|error| {
            let hint = error.hint().unwrap_or("replace or remove it, and pack again");
            SourceError::unfit_file(error.to_string(), file, hint)
        })
    }
}

/// Adds a row of bytes to a column of varying length.
pub(super) fn push_bytes(column: &mut ColumnData, row: &[u8]) {
    if let ColumnData::Variable { ends, bytes } = column {
        bytes.extend_from_slice(row);
        ends.push(bytes.len() as u64);
    }
}

fn is_image(bytes: &[u8]) -> bool {
    bytes.starts_with(b"\xff\xd8\xff") || bytes.starts_with(b"\x89PNG\r\n\x1a\n")
}

/// An empty column of this kind.
pub(super) fn empty_column(kind: &ColumnKind) -> ColumnData {
    match kind {
        ColumnKind::Fixed { .. } => ColumnData::Fixed(Vec::new()),
        ColumnKind::Bytes | ColumnKind::Ragged { .. } => {
            ColumnData::Variable { ends: Vec::new(), bytes: Vec::new() }
        }
    }
}

/// One image file.
#[derive(Debug)]
struct ImageFile {
    path: PathBuf,
    bytes: u64,
    class: Option<usize>,
}

/// A folder of images, in the order of their classes and names.
pub(super) struct ImageSource {
    schema: PackSchema,
    form: Box<dyn ImageForm>,
    files: Vec<ImageFile>,
    /// The first file of each block, and after them their number.
    starts: Vec<usize>,
    others: Others,
    without_images: Others,
}

/// What is left out, and the first names of it.
#[derive(Debug, Default)]
struct Others {
    count: usize,
    first: Vec<String>,
}

impl ImageSource {
    pub(super) fn open(folder: &Path, form: Box<dyn ImageForm>) -> Result<Self, SourceError> {
        let mut found = Found::default();
        let classes = found.classes(folder)?;
        if found.files.is_empty() {
            let hint =
                "name a folder with .jpg, .jpeg or .png files, or with a folder of them for each class";
            return Err(SourceError::unfit_file("there are no images", folder, hint));
        }
        let mut columns = vec![Column::new("image", form.kind())];
        if !classes.is_empty() {
            let kind = ColumnKind::Fixed { element: Element::I64, shape: Vec::new() };
            columns.push(Column { feature_names: classes, ..Column::new("label", kind) });
        }
        // A block holds what images become: decoded, a small file may be a hundred times as large.
        let least = columns[0].kind.row_bytes().unwrap_or(0) as u64;
        let starts = block_starts(found.files.iter().map(|file| file.bytes.max(least)));
        let Found { files, others, without_images, .. } = found;
        Ok(Self { schema: PackSchema { columns }, form, files, starts, others, without_images })
    }
}

/// Cuts samples into blocks of about [`BLOCK_BYTES`]; the last start is the end of all.
pub(super) fn block_starts(sizes: impl Iterator<Item = u64>) -> Vec<usize> {
    let (mut starts, mut bytes, mut count) = (vec![0], 0, 0);
    for (sample, size) in sizes.enumerate() {
        if bytes >= BLOCK_BYTES {
            starts.push(sample);
            bytes = 0;
        }
        bytes += size;
        count = sample + 1;
    }
    starts.push(count);
    starts
}

#[derive(Default)]
struct Found {
    files: Vec<ImageFile>,
    /// Files that are no images.
    others: Others,
    /// Folders beside classes that have no image, so that they are none and later classes count on without them.
    without_images: Others,
    inside: Inside,
}

impl Found {
    /// Looks at the folders of classes; without any image in one, at the files of the folder itself.
    fn classes(&mut self, folder: &Path) -> Result<Vec<String>, SourceError> {
        let entries = sorted(folder)?;
        self.inside.enter(folder)?;
        let (folders, files): (Vec<PathBuf>, Vec<PathBuf>) =
            entries.into_iter().partition(|path| path.is_dir());
        let mut classes = Vec::new();
        for class in &folders {
            let before = self.files.len();
            self.walk(class, Some(classes.len()))?;
            if self.files.len() > before {
                classes.push(class.file_name().unwrap_or_default().to_string_lossy().into_owned());
            } else {
                self.without_images.add(class);
            }
        }
        let with_classes = !classes.is_empty();
        for file in files {
            match is_image_name(&file) {
                true if with_classes => {
                    let hint = "put it into the folder of its class, or remove it";
                    return Err(SourceError::unfit_file(
                        "an image without a label, beside folders of classes",
                        &file,
                        hint,
                    ));
                }
                true => self.add(file, None)?,
                false => self.others.add(&file),
            }
        }
        Ok(classes)
    }

    fn walk(&mut self, folder: &Path, class: Option<usize>) -> Result<(), SourceError> {
        self.inside.enter(folder)?;
        for path in sorted(folder)? {
            if path.is_dir() {
                self.walk(&path, class)?;
            } else if is_image_name(&path) {
                self.add(path, class)?;
            } else {
                self.others.add(&path);
            }
        }
        self.inside.leave();
        Ok(())
    }

    fn add(&mut self, path: PathBuf, class: Option<usize>) -> Result<(), SourceError> {
        let metadata = fs::metadata(&path).map_err(|source| unreadable(&path, source))?;
        if !metadata.is_file() {
            return Err(LoadError::NotAFile { file: path }.into());
        }
        self.files.push(ImageFile { path, bytes: metadata.len(), class });
        Ok(())
    }
}

/// The folders that one is in: a link back to one of them would give its images again and again.
#[derive(Debug, Default)]
pub(super) struct Inside(Vec<(u64, u64)>);

impl Inside {
    pub(super) fn enter(&mut self, folder: &Path) -> Result<(), SourceError> {
        let metadata = fs::metadata(folder).map_err(|source| unreadable(folder, source))?;
        let identity = (metadata.dev(), metadata.ino());
        if self.0.contains(&identity) {
            let hint = "remove the link, and pack again";
            return Err(SourceError::unfit_file("a folder is linked into itself", folder, hint));
        }
        self.0.push(identity);
        Ok(())
    }

    pub(super) fn leave(&mut self) {
        self.0.pop();
    }
}

/// When a file was changed last, in nanoseconds since 1970.
pub(super) fn modified_ns(metadata: &fs::Metadata) -> Option<i64> {
    let since = metadata.modified().ok()?.duration_since(std::time::UNIX_EPOCH).ok()?;
    i64::try_from(since.as_nanos()).ok()
}

impl Others {
    fn add(&mut self, path: &Path) {
        self.count += 1;
        if self.first.len() < MOST_NAMED {
            self.first.push(shown(Path::new(path.file_name().unwrap_or_default())));
        }
    }

    /// Says what was left out, one or several of what is named.
    fn remark(&self, [one, several]: [&str; 2]) -> Option<String> {
        let Self { count, first } = self;
        let more = if *count > first.len() { ", …" } else { "" };
        let things = if *count == 1 { one } else { several };
        (*count > 0).then(|| format!("{count} {things} left out: {}{more}", first.join(", ")))
    }
}

fn unreadable(path: &Path, source: io::Error) -> SourceError {
    LoadError::Unreadable { file: path.to_owned(), source }.into()
}

/// What is in a folder, by name. What begins with a dot is not meant for anybody, and a pack beside its own source is
/// none of it.
pub(super) fn sorted(folder: &Path) -> Result<Vec<PathBuf>, SourceError> {
    let entries = fs::read_dir(folder).map_err(|source| unreadable(folder, source))?;
    let mut paths = Vec::new();
    for entry in entries {
        let entry = entry.map_err(|source| unreadable(folder, source))?;
        let (name, path) = (entry.file_name(), entry.path());
        if !name.as_encoded_bytes().starts_with(b".") && !is_pack(&path) {
            paths.push(path);
        }
    }
    paths.sort();
    Ok(paths)
}

/// Whether it is a pack, or one that is not finished.
fn is_pack(path: &Path) -> bool {
    let name = path.as_os_str().as_encoded_bytes();
    name.ends_with(b".pack.partial") || (name.ends_with(b".pack") && path.join("_manifest.json").is_file())
}

fn is_image_name(path: &Path) -> bool {
    let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
    ENDINGS.iter().any(|known| ending.eq_ignore_ascii_case(known))
}

impl PackSource for ImageSource {
    fn schema(&self) -> &PackSchema {
        &self.schema
    }

    fn blocks(&self) -> Option<usize> {
        Some(self.starts.len() - 1)
    }

    fn rows(&self) -> Option<u64> {
        Some(self.files.len() as u64)
    }

    fn rows_of(&self, block: usize) -> Option<u64> {
        let &[start, end] = self.starts.get(block..block + 2)? else { return None };
        Some((end - start) as u64)
    }

    fn reader(&self) -> Result<Box<dyn BlockReader + '_>, SourceError> {
        Ok(Box::new(ImageReader { source: self, encoded: Vec::new() }))
    }

    fn remarks(&self) -> Vec<String> {
        let files = self.others.remark(["file that is no image was", "files that are no images were"]);
        let folders =
            ["folder without images is no class and was", "folders without images are no classes and were"];
        // Without classes nobody takes a folder for one.
        let folders = self.without_images.remark(folders).filter(|_| self.schema.columns.len() > 1);
        files.into_iter().chain(folders).collect()
    }
}

struct ImageReader<'a> {
    source: &'a ImageSource,
    encoded: Vec<u8>,
}

impl BlockReader for ImageReader<'_> {
    fn read(&mut self, block: usize) -> Result<Option<RowBlock>, SourceError> {
        let source = self.source;
        let Some(&[start, end]) = source.starts.get(block..block + 2) else { return Ok(None) };
        let mut images = empty_column(&source.schema.columns[0].kind);
        let mut labels = Vec::new();
        for file in &source.files[start..end] {
            self.encoded.clear();
            let opened = File::open(&file.path).and_then(|mut opened| opened.read_to_end(&mut self.encoded));
            opened.map_err(|error| unreadable(&file.path, error))?;
            source.form.add(&self.encoded, &file.path, &mut images)?;
            labels.extend(file.class.map(|class| class as i64));
        }
        let mut columns = vec![images];
        if source.schema.columns.len() > 1 {
            columns.push(ColumnData::Fixed(labels.iter().flat_map(|label| label.to_le_bytes()).collect()));
        }
        Ok(Some(RowBlock { rows: end - start, columns }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::symlink;

    const JPEG: &[u8] = b"\xff\xd8\xff\xe0 pixels";

    fn folder_of(files: &[&str]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for name in files {
            let path = folder.path().join(name);
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, JPEG).unwrap();
        }
        folder
    }

    #[test]
    fn a_folder_that_is_linked_into_itself_is_refused() {
        let folder = folder_of(&["cat/1.jpg"]);
        symlink("..", folder.path().join("cat/loop")).unwrap();
        let error = ImageSource::open(folder.path(), Box::new(Encoded)).err().unwrap().to_string();
        assert!(error.starts_with("a folder is linked into itself: "), "{error}");
    }

    #[test]
    fn a_folder_without_images_is_said_to_be_no_class() {
        let folder = folder_of(&["cat/1.jpg", "fox/2.jpg"]);
        fs::create_dir(folder.path().join("dog")).unwrap();
        let source = ImageSource::open(folder.path(), Box::new(Encoded)).unwrap();
        assert_eq!(source.schema.columns[1].feature_names, ["cat", "fox"]);
        assert_eq!(source.remarks(), ["1 folder without images is no class and was left out: dog"]);
    }

    #[test]
    fn a_pack_among_its_own_images_is_none_of_them() {
        let folder = folder_of(&["1.jpg", "data.pack.partial/part-00000.arrow", "data.pack/_manifest.json"]);
        let source = ImageSource::open(folder.path(), Box::new(Encoded)).unwrap();
        assert_eq!((source.files.len(), source.remarks()), (1, Vec::new()));
    }

    #[test]
    fn a_block_of_decoded_images_takes_no_more_memory_than_one_of_large_files() {
        let folder = folder_of(&["1.jpg", "2.jpg", "3.jpg", "4.jpg", "5.jpg"]);
        let decoded = Decoded::new(1024).unwrap();
        let source = ImageSource::open(folder.path(), Box::new(decoded)).unwrap();
        assert_eq!(source.starts, [0, 1, 2, 3, 4, 5]);
    }
}
