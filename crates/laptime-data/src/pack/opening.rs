//! Which source a path is, and what is known of where it comes from.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use laptime_load::LoadError;
use laptime_load::pack::Provenance;

use super::csv::{CsvSource, TableOptions, TargetType};
use super::error::{SourceError, shown};
use super::images::{Decoded, Encoded, ImageForm, ImageSource, Inside, modified_ns, sorted};
use super::npy::{NpySource, target_beside};
use super::npz::NpzSource;
use super::python::{MappedSource, PythonCommand, PythonSource, Task};
use super::source::PackSource;
use super::tar::TarSource;

/// How a source is read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct OpenOptions {
    /// How tables are read.
    pub table: TableOptions,
    /// Side of the square that images are decoded to; they are kept as they are when not given.
    pub decode: Option<usize>,
    /// A function that is applied to chunks, as `file.py:function`.
    pub map: Option<String>,
    /// How Python is started.
    pub python: PythonCommand,
}

/// A source that was recognised.
pub struct Opened {
    /// Its rows.
    pub source: Box<dyn PackSource>,
    /// Where they come from.
    pub provenance: Provenance,
    /// What it is, as people call it.
    pub format: &'static str,
    /// Whether Python code makes the rows, which takes long to do again.
    pub costly: bool,
}

/// What a path is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Form {
    Csv,
    Npy,
    Npz,
    Tar,
    Table(&'static str),
    Images,
    HuggingFace,
    Python,
}

impl Form {
    fn name(self) -> &'static str {
        match self {
            Self::Csv => "CSV",
            Self::Npy => "NPY",
            Self::Npz => "NPZ",
            Self::Tar => "WebDataset",
            Self::Table(name) => name,
            Self::Images => "images",
            Self::HuggingFace => "Hugging Face Arrow",
            Self::Python => "Python dataset",
        }
    }
}

/// Opens what the paths name: one file, folder or `file.py:dataset`, or several shards.
///
/// # Errors
/// When there is none, or none that can be packed.
pub fn open_source(paths: &[PathBuf], options: &OpenOptions) -> Result<Opened, SourceError> {
    let Some(first) = paths.first() else {
        return Err(SourceError::unfit("there is no source", "name a file, a folder or file.py:dataset"));
    };
    let form = form_of(first)?;
    for path in &paths[1..] {
        if !matches!(form, Form::Tar | Form::Table(_)) || form_of(path)? != form {
            let hint = "name one source; of .tar, .parquet and .arrow files several, all of a kind";
            return Err(SourceError::unfit_file("a second source beside the first", path, hint));
        }
    }
    check_options(form, options)?;
    // Looked at first: what changes while the source is opened must not pass for what was opened.
    let provenance = provenance(form, paths, options);
    let source = open_form(form, first, paths, options)?;
    let source = match &options.map {
        Some(spec) => Box::new(MappedSource::open(source, spec, &options.python)?),
        None => source,
    };
    let costly = form == Form::Python || options.map.is_some();
    Ok(Opened { source, provenance, format: form.name(), costly })
}

/// Refuses options that say nothing about this source, instead of passing over them.
fn check_options(form: Form, options: &OpenOptions) -> Result<(), SourceError> {
    let is_table = matches!(form, Form::Csv | Form::Table(_) | Form::HuggingFace);
    if !is_table && options.table != TableOptions::default() {
        let problem =
            format!("a target and missing values are chosen for tables only, and this is {}", form.name());
        return Err(SourceError::unfit(problem, "leave --target, --target-type and --allow-nan out"));
    }
    if options.decode.is_some() && !matches!(form, Form::Images | Form::Tar) {
        let problem = format!("only images can be decoded, and this is {}", form.name());
        return Err(SourceError::unfit(problem, "leave --decode and --size out"));
    }
    Ok(())
}

fn open_form(
    form: Form,
    first: &Path,
    paths: &[PathBuf],
    options: &OpenOptions,
) -> Result<Box<dyn PackSource>, SourceError> {
    Ok(match form {
        Form::Csv => Box::new(CsvSource::open(first, &options.table)?),
        Form::Npy => Box::new(NpySource::open(first)?),
        Form::Npz => Box::new(NpzSource::open(first)?),
        Form::Tar => Box::new(TarSource::open(paths, image_form(options)?)?),
        Form::Images => Box::new(ImageSource::open(first, image_form(options)?)?),
        Form::Table(_) => {
            let files = paths.iter().map(|path| path.to_string_lossy().into_owned()).collect();
            Box::new(PythonSource::open(&options.python, Task::table(files, &options.table))?)
        }
        Form::HuggingFace => {
            let files = one_split(first)?.iter().map(|path| path.to_string_lossy().into_owned()).collect();
            Box::new(PythonSource::open(&options.python, Task::table(files, &options.table))?)
        }
        Form::Python => {
            Box::new(PythonSource::open(&options.python, Task::dataset(&first.to_string_lossy()))?)
        }
    })
}

fn image_form(options: &OpenOptions) -> Result<Box<dyn ImageForm>, SourceError> {
    match options.decode {
        None => Ok(Box::new(Encoded)),
        Some(side) => Ok(Box::new(Decoded::new(side)?)),
    }
}

fn form_of(path: &Path) -> Result<Form, SourceError> {
    let text = path.to_string_lossy();
    if text.rsplit_once(':').is_some_and(|(file, name)| file.ends_with(".py") && !name.is_empty()) {
        return Ok(Form::Python);
    }
    let metadata = fs::metadata(path).map_err(|source| match source.kind() {
        std::io::ErrorKind::NotFound => LoadError::NotFound { file: path.to_owned(), source },
        _ => LoadError::Unreadable { file: path.to_owned(), source },
    })?;
    if metadata.is_dir() {
        if path.join("dataset_dict.json").is_file() {
            let hint = format!("name one of them, such as {}", shown(&path.join("train")));
            return Err(SourceError::unfit_file("it has several splits", path, hint));
        }
        return Ok(if arrow_files(path).is_empty() { Form::Images } else { Form::HuggingFace });
    }
    let ending = path.extension().map(|ending| ending.to_string_lossy().to_lowercase());
    match ending.as_deref() {
        Some("csv") => Ok(Form::Csv),
        Some("npy") => Ok(Form::Npy),
        Some("npz") => Ok(Form::Npz),
        Some("tar") => Ok(Form::Tar),
        Some("parquet" | "pq") => Ok(Form::Table("Parquet")),
        Some("arrow" | "feather") => Ok(Form::Table("Arrow")),
        Some("py") => {
            let hint = format!("say which dataset of it: {}:dataset", shown(path));
            Err(SourceError::unfit_file("a Python file has no rows by itself", path, hint))
        }
        _ => Err(SourceError::unfit_file(
            "the format is not known",
            path,
            "name a .csv, .npy, .npz, .parquet, .arrow or .tar file, a folder of images, or file.py:dataset",
        )),
    }
}

/// The Arrow files of a dataset that Hugging Face saved; of a pack there are none, and none of anything else.
fn arrow_files(folder: &Path) -> Vec<PathBuf> {
    if let Some(files) = listed_files(folder) {
        return files;
    }
    let is_dataset = ["state.json", "dataset_info.json"].iter().any(|name| folder.join(name).is_file());
    let entries = fs::read_dir(folder).into_iter().flatten().flatten().map(|entry| entry.path());
    let is_arrow = |path: &PathBuf| path.extension().is_some_and(|ending| ending == "arrow");
    // What its `map` and `filter` keep for the next time lies beside, and has the rows again.
    let is_kept =
        |path: &PathBuf| path.file_name().is_some_and(|name| name.as_encoded_bytes().starts_with(b"cache-"));
    let mut files: Vec<PathBuf> =
        entries.filter(|path| is_dataset && is_arrow(path) && !is_kept(path)).collect();
    files.sort();
    files
}

/// The files that a saved dataset says it has, in its order.
fn listed_files(folder: &Path) -> Option<Vec<PathBuf>> {
    let state: serde_json::Value = serde_json::from_slice(&fs::read(folder.join("state.json")).ok()?).ok()?;
    let names = state.get("_data_files")?.as_array()?.iter();
    // Whatever it says, they are in this folder.
    let files: Option<Vec<PathBuf>> = names
        .map(|file| Path::new(file.get("filename")?.as_str()?).file_name().map(|name| folder.join(name)))
        .collect();
    files.filter(|files| !files.is_empty())
}

/// The files of a dataset that is all of one split: in the cache of Hugging Face those to train and to test with lie side
/// by side.
fn one_split(folder: &Path) -> Result<Vec<PathBuf>, SourceError> {
    let files = arrow_files(folder);
    let splits: BTreeSet<String> = files.iter().map(|file| split_of(file)).collect();
    if splits.len() > 1 && listed_files(folder).is_none() {
        let first = splits.first().map_or("", String::as_str);
        let hint =
            format!("name the files of one of them: laptime pack {}*.arrow", shown(&folder.join(first)));
        return Err(SourceError::unfit_file("it has several splits", folder, hint));
    }
    Ok(files)
}

/// The name of a file without its number among others: `glue-train-00000-of-00003.arrow` is of `glue-train`.
fn split_of(file: &Path) -> String {
    let stem = file.file_stem().unwrap_or_default().to_string_lossy().into_owned();
    let is_number = |text: &str| !text.is_empty() && text.bytes().all(|byte| byte.is_ascii_digit());
    let numbered = stem.rsplit_once("-of-").filter(|(_, all)| is_number(all));
    let before =
        numbered.and_then(|(before, _)| before.rsplit_once('-')).filter(|(_, number)| is_number(number));
    before.map_or(stem.as_str(), |(name, _)| name).to_owned()
}

/// Where the rows come from: what makes an interrupted pack one of the same source.
fn provenance(form: Form, paths: &[PathBuf], options: &OpenOptions) -> Provenance {
    let source = paths.iter().map(|path| path.to_string_lossy()).collect::<Vec<_>>().join(" ");
    let map = options.map.as_deref().map(script_of);
    let files = paths.iter().flat_map(|path| match form {
        Form::Images => all_below(path),
        Form::HuggingFace => arrow_files(path),
        Form::Python => vec![script_of(&path.to_string_lossy())],
        Form::Npy => std::iter::once(path.clone()).chain(target_beside(path)).collect(),
        _ => vec![path.clone()],
    });
    let (mut source_bytes, mut newest) = (0, None);
    for metadata in files.chain(map).filter_map(|path| fs::metadata(path).ok()) {
        // A folder counts by when a name in it changed last: a file that is moved stays as it is, and gets another label.
        source_bytes += if metadata.is_dir() { 0 } else { metadata.len() };
        newest = newest.max(modified_ns(&metadata));
    }
    Provenance {
        source,
        source_bytes,
        source_modified_ns: newest,
        how: how(form, options),
        ..Provenance::default()
    }
}

fn script_of(spec: &str) -> PathBuf {
    PathBuf::from(spec.rsplit_once(':').map_or(spec, |(file, _)| file))
}

/// A folder and what is below it, as far as it can be looked at.
fn all_below(folder: &Path) -> Vec<PathBuf> {
    fn add(folder: &Path, inside: &mut Inside, all: &mut Vec<PathBuf>) {
        if inside.enter(folder).is_err() {
            return;
        }
        all.push(folder.to_owned());
        for path in sorted(folder).unwrap_or_default() {
            if path.is_dir() { add(&path, inside, all) } else { all.push(path) }
        }
        inside.leave();
    }
    let mut all = Vec::new();
    add(folder, &mut Inside::default(), &mut all);
    all
}

fn how(form: Form, options: &OpenOptions) -> String {
    let mut words = vec![form.name().to_owned()];
    words.extend(options.table.target.as_ref().map(|target| format!("target {target}")));
    words.extend((options.table.target_type == TargetType::Int64).then(|| "target as int64".to_owned()));
    words.extend(options.table.allow_nan.then(|| "NaN allowed".to_owned()));
    words.extend(options.decode.map(|side| format!("decoded to {side} x {side}")));
    words.extend(options.map.as_ref().map(|map| format!("mapped by {map}")));
    words.join(", ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_image_that_gets_another_label_makes_another_source() {
        let folder = tempfile::tempdir().unwrap();
        let path = |name: &str| folder.path().join(name);
        for class in ["cat", "dog"] {
            fs::create_dir(path(class)).unwrap();
            fs::write(path(class).join("1.jpg"), b"\xff\xd8\xff").unwrap();
        }
        let stamp = || provenance(Form::Images, &[folder.path().to_owned()], &OpenOptions::default());
        let before = stamp();
        assert_eq!((before.source_bytes, &stamp()), (6, &before));
        // So long after, that the clock of the file system shows it.
        while stamp() == before {
            fs::rename(path("cat/1.jpg"), path("dog/2.jpg")).unwrap();
            fs::rename(path("dog/2.jpg"), path("cat/1.jpg")).unwrap();
        }
    }

    #[test]
    fn the_split_of_a_file_is_its_name_without_its_number() {
        for (file, split) in [
            ("glue-train.arrow", "glue-train"),
            ("glue-train-00000-of-00003.arrow", "glue-train"),
            ("one-of-a-kind.arrow", "one-of-a-kind"),
        ] {
            assert_eq!(split_of(Path::new(file)), split);
        }
    }
}
