//! Tar shards as WebDataset writes them: files that share a name up to the first dot are one sample.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use laptime_load::pack::{Column, ColumnData, ColumnKind, Element, PackSchema, RowBlock};
use laptime_load::{DataFile, shown_text};

use super::error::{SourceError, shown};
use super::images::{ImageForm, block_starts, empty_column, modified_ns, push_bytes};
use super::source::{BlockReader, PackSource};
use crate::tar_header::{
    Extra, MAX_NAME_BYTES, RECORD, checked_size, name_of, read_pax, split_name, until_zero,
};

/// A file within an archive.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Member {
    name: Vec<u8>,
    start: u64,
    bytes: u64,
}

/// What an archive has.
#[derive(Debug, Default)]
struct Members {
    files: Vec<Member>,
    /// Links to other files, whose bytes are elsewhere.
    links: u64,
}

/// Reads at a place of an archive; a trait, so that tests need no file.
trait Archive {
    fn bytes(&self) -> u64;
    fn take(&self, start: u64, bytes: usize) -> Result<Vec<u8>, SourceError>;
}

impl Archive for DataFile {
    fn bytes(&self) -> u64 {
        self.bytes()
    }

    fn take(&self, start: u64, bytes: usize) -> Result<Vec<u8>, SourceError> {
        let mut taken = vec![0; bytes];
        self.read_at(&mut taken, start)?;
        Ok(taken)
    }
}

/// The regular files of an archive, in order; `Err` says what is wrong with it.
fn members(archive: &impl Archive) -> Result<Result<Members, &'static str>, SourceError> {
    let (mut found, mut at, mut extra) = (Members::default(), 0, Extra::default());
    while at < archive.bytes() {
        if archive.bytes() - at < RECORD {
            return Ok(Err("it is cut off in a header"));
        }
        let header = archive.take(at, RECORD as usize)?;
        if header.iter().all(|byte| *byte == 0) {
            break;
        }
        let Some(mut bytes) = checked_size(&header) else { return Ok(Err("a header is damaged")) };
        let start = at + RECORD;
        let kind = header[156];
        if !matches!(kind, b'x' | b'g' | b'L') {
            bytes = extra.bytes.take().unwrap_or(bytes);
        }
        if bytes > archive.bytes() - start {
            return Ok(Err("it is cut off in a file"));
        }
        match kind {
            b'L' | b'x' if bytes > MAX_NAME_BYTES => return Ok(Err("a name is longer than any path")),
            b'L' => extra.name = Some(until_zero(&archive.take(start, bytes as usize)?).to_vec()),
            b'x' => read_pax(&archive.take(start, bytes as usize)?, &mut extra),
            // The last is a file that wishes to lie in one piece.
            b'0' | 0 | b'7' => {
                let name = extra.name.take().unwrap_or_else(|| name_of(&header));
                found.files.push(Member { name, start, bytes });
            }
            _ => {
                extra.name = None;
                found.links += u64::from(matches!(kind, b'1' | b'2'));
            }
        }
        // No overflow: what was added is within the file, or its padding.
        at = start + bytes.next_multiple_of(RECORD);
    }
    Ok(Ok(found))
}

/// What a file of a sample becomes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Part {
    Image,
    Label,
    Bytes,
}

fn part_of(ending: &[u8]) -> Part {
    match ending.to_ascii_lowercase().as_slice() {
        b"jpg" | b"jpeg" | b"png" => Part::Image,
        b"cls" => Part::Label,
        _ => Part::Bytes,
    }
}

/// The column that a file of a sample is in.
fn column_name(ending: &[u8]) -> String {
    match part_of(ending) {
        Part::Image => "image".to_owned(),
        Part::Label => "label".to_owned(),
        Part::Bytes => String::from_utf8_lossy(ending).into_owned(),
    }
}

/// One sample: where its file of each column is.
#[derive(Debug)]
struct Sample {
    shard: usize,
    key: Vec<u8>,
    places: Vec<(u64, u64)>,
}

/// An archive that is opened when it is read: of a thousand shards not all can be open at once.
#[derive(Debug)]
struct Shard {
    path: PathBuf,
    bytes: u64,
    modified_ns: Option<i64>,
}

impl Shard {
    /// Looks at an archive, and lists what is in it.
    fn index(path: &Path) -> Result<(Self, Members), SourceError> {
        let file = DataFile::open(path)?;
        let shard = Self { path: path.to_owned(), bytes: file.bytes(), modified_ns: modified_at(path) };
        let hint = "copy or write the archive again, with tar or WebDataset";
        let members = members(&file)?.map_err(|problem| SourceError::unfit_file(problem, path, hint))?;
        file.check_unchanged()?;
        Ok((shard, members))
    }

    /// Opens it again, if it is still the same.
    fn open(&self) -> Result<DataFile, SourceError> {
        let file = DataFile::open(&self.path)?;
        let same = file.bytes() == self.bytes && modified_at(&self.path) == self.modified_ns;
        if same { Ok(file) } else { Err(file.changed().into()) }
    }
}

fn modified_at(path: &Path) -> Option<i64> {
    fs::metadata(path).ok().as_ref().and_then(modified_ns)
}

/// Shards of samples with the same columns.
pub(super) struct TarSource {
    shards: Vec<Shard>,
    samples: Vec<Sample>,
    links: u64,
    starts: Vec<usize>,
    parts: Vec<Part>,
    schema: PackSchema,
    form: Box<dyn ImageForm>,
}

impl TarSource {
    pub(super) fn open(paths: &[PathBuf], form: Box<dyn ImageForm>) -> Result<Self, SourceError> {
        let mut index = Index::default();
        let (mut shards, mut links) = (Vec::new(), 0);
        for path in paths {
            let (shard, members) = Shard::index(path)?;
            index.add_shard(shards.len(), path, &members.files)?;
            shards.push(shard);
            links += members.links;
        }
        let Some(first) = paths.first().filter(|_| !index.samples.is_empty()) else {
            let hint = "a sample is files with the same name, such as 0001.jpg and 0001.cls";
            let named = paths.first().map_or(Path::new(""), PathBuf::as_path);
            return Err(SourceError::unfit_file("there are no samples", named, hint));
        };
        if index.columns.is_empty() {
            return Err(SourceError::unfit_file("there are no samples", first, "name an archive of samples"));
        }
        let schema = PackSchema {
            columns: index.columns.iter().map(|(name, part)| column(name, *part, &*form)).collect(),
        };
        // Decoded, a small image may be a hundred times as large.
        let least: usize = schema.columns.iter().filter_map(|column| column.kind.row_bytes()).sum();
        let stored = |sample: &Sample| sample.places.iter().map(|(_, bytes)| bytes).sum::<u64>();
        let starts = block_starts(index.samples.iter().map(|sample| stored(sample).max(least as u64)));
        let parts = index.columns.iter().map(|(_, part)| *part).collect();
        Ok(Self { shards, samples: index.samples, links, starts, parts, schema, form })
    }

    fn add(
        &self,
        sample: &Sample,
        shard: &DataFile,
        columns: &mut [ColumnData],
        raw: &mut Vec<u8>,
    ) -> Result<(), SourceError> {
        for ((&(start, bytes), part), column) in sample.places.iter().zip(&self.parts).zip(columns) {
            raw.resize(bytes as usize, 0);
            shard.read_at(raw, start)?;
            let named = || PathBuf::from(format!("{} in {}", shown_text(&sample.key), shown(&shard.path())));
            match part {
                Part::Image => self.form.add(raw, &named(), column)?,
                Part::Bytes => push_bytes(column, raw),
                Part::Label => {
                    let text = std::str::from_utf8(raw).ok().and_then(|text| text.trim().parse::<i64>().ok());
                    let hint = "write the class as a whole number into the .cls file";
                    let problem = format!("the label `{}` is not a whole number", shown_text(raw));
                    let label = text.ok_or_else(|| SourceError::unfit_file(problem, &named(), hint))?;
                    if let ColumnData::Fixed(labels) = column {
                        labels.extend(label.to_le_bytes());
                    }
                }
            }
        }
        Ok(())
    }
}

fn column(name: &str, part: Part, form: &dyn ImageForm) -> Column {
    let kind = match part {
        Part::Image => form.kind(),
        Part::Label => ColumnKind::Fixed { element: Element::I64, shape: Vec::new() },
        Part::Bytes => ColumnKind::Bytes,
    };
    Column::new(name, kind)
}

/// The samples found so far.
#[derive(Default)]
struct Index {
    /// As the first sample has them, its label last.
    columns: Vec<(String, Part)>,
    samples: Vec<Sample>,
}

impl Index {
    fn add_shard(&mut self, shard: usize, path: &Path, members: &[Member]) -> Result<(), SourceError> {
        let named = members.iter().filter_map(|member| split_name(&member.name).map(|parts| (member, parts)));
        let mut named = named.peekable();
        while let Some((first, (key, ending))) = named.next() {
            let mut files = vec![(ending, first)];
            while let Some((member, (_, ending))) = named.next_if(|(_, (next, _))| *next == key) {
                files.push((ending, member));
            }
            self.add_sample(shard, path, key, &files)?;
        }
        Ok(())
    }

    fn add_sample(
        &mut self,
        shard: usize,
        path: &Path,
        key: &[u8],
        files: &[(&[u8], &Member)],
    ) -> Result<(), SourceError> {
        if self.samples.is_empty() {
            self.columns = files.iter().map(|(ending, _)| (column_name(ending), part_of(ending))).collect();
            self.columns.sort_by_key(|(_, part)| *part == Part::Label);
            let mut names = BTreeSet::new();
            if let Some((twice, _)) = self.columns.iter().find(|(name, _)| !names.insert(name)) {
                let problem =
                    format!("the sample `{}` has two files for the column {twice}", shown_text(key));
                let hint = "give one of them a name of more parts, such as 0001.mask.png beside 0001.jpg";
                return Err(SourceError::unfit_file(problem, path, hint));
            }
        }
        let place_of = |(name, _): &(String, Part)| {
            let found = files.iter().find(|(ending, _)| column_name(ending) == *name);
            found.map(|(_, member)| (member.start, member.bytes)).ok_or_else(|| name.clone())
        };
        let places: Result<Vec<(u64, u64)>, String> = self.columns.iter().map(place_of).collect();
        let places = places.map_err(|missing| {
            let problem =
                format!("the sample `{}` has no {missing}, which the first one has", shown_text(key));
            SourceError::unfit_file(problem, path, "give every sample the same files")
        })?;
        if files.len() != self.columns.len() {
            let problem = format!("the sample `{}` has other files than the first one", shown_text(key));
            return Err(SourceError::unfit_file(
                problem,
                path,
                "give every sample the same files, each once",
            ));
        }
        self.samples.push(Sample { shard, key: key.to_vec(), places });
        Ok(())
    }
}

impl PackSource for TarSource {
    fn schema(&self) -> &PackSchema {
        &self.schema
    }

    fn blocks(&self) -> Option<usize> {
        Some(self.starts.len() - 1)
    }

    fn rows(&self) -> Option<u64> {
        Some(self.samples.len() as u64)
    }

    fn rows_of(&self, block: usize) -> Option<u64> {
        let &[start, end] = self.starts.get(block..block + 2)? else { return None };
        Some((end - start) as u64)
    }

    fn reader(&self) -> Result<Box<dyn BlockReader + '_>, SourceError> {
        Ok(Box::new(TarReader { source: self, opened: None, raw: Vec::new() }))
    }

    fn remarks(&self) -> Vec<String> {
        match self.links {
            0 => Vec::new(),
            1 => vec!["1 link was left out, as WebDataset does: its file is not in the archive".to_owned()],
            links => {
                vec![format!(
                    "{links} links were left out, as WebDataset does: their files are not in the archive"
                )]
            }
        }
    }
}

struct TarReader<'a> {
    source: &'a TarSource,
    /// The shard that was read last.
    opened: Option<(usize, DataFile)>,
    raw: Vec<u8>,
}

impl BlockReader for TarReader<'_> {
    fn read(&mut self, block: usize) -> Result<Option<RowBlock>, SourceError> {
        let source = self.source;
        let Some(&[start, end]) = source.starts.get(block..block + 2) else { return Ok(None) };
        let mut columns: Vec<ColumnData> =
            source.schema.columns.iter().map(|column| empty_column(&column.kind)).collect();
        for samples in source.samples[start..end].chunk_by(|one, other| one.shard == other.shard) {
            let shard = samples[0].shard;
            let file = match self.opened.take() {
                Some((opened, file)) if opened == shard => file,
                _ => source.shards[shard].open()?,
            };
            let mut add = |sample| source.add(sample, &file, &mut columns, &mut self.raw);
            let added = samples.iter().try_for_each(&mut add);
            // Asked before a complaint about a sample is passed on: of a file that changed, that one misleads.
            file.check_unchanged()?;
            added?;
            self.opened = Some((shard, file));
        }
        Ok(Some(RowBlock { rows: end - start, columns }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    impl Archive for [u8] {
        fn bytes(&self) -> u64 {
            self.len() as u64
        }

        fn take(&self, start: u64, bytes: usize) -> Result<Vec<u8>, SourceError> {
            Ok(self[start as usize..start as usize + bytes].to_vec())
        }
    }

    impl Archive for &[u8] {
        fn bytes(&self) -> u64 {
            self.len() as u64
        }

        fn take(&self, start: u64, bytes: usize) -> Result<Vec<u8>, SourceError> {
            (**self).take(start, bytes)
        }
    }

    fn entry(kind: u8, name: &str, body: &[u8]) -> Vec<u8> {
        let mut header = vec![0; 512];
        header[..name.len().min(100)].copy_from_slice(&name.as_bytes()[..name.len().min(100)]);
        header[124..135].copy_from_slice(format!("{:011o}", body.len()).as_bytes());
        header[156] = kind;
        header[257..262].copy_from_slice(b"ustar");
        header[148..156].fill(b' ');
        let sum: u32 = header.iter().map(|byte| u32::from(*byte)).sum();
        header[148..155].copy_from_slice(format!("{sum:06o}\0").as_bytes());
        header.extend(body);
        header.resize(header.len().next_multiple_of(512), 0);
        header
    }

    fn named(archive: &[u8]) -> Result<Vec<(String, Vec<u8>)>, &'static str> {
        let members = members(&archive).unwrap()?.files;
        let body =
            |member: &Member| archive[member.start as usize..(member.start + member.bytes) as usize].to_vec();
        Ok(members
            .iter()
            .map(|member| (String::from_utf8_lossy(&member.name).into_owned(), body(member)))
            .collect())
    }

    #[test]
    fn long_names_come_from_the_entries_before() {
        let long = "d/".repeat(80) + "0001.jpg";
        let pax = format!("path={long}\n");
        let pax = format!("{} {pax}", pax.len() + 4);
        for archive in [
            [entry(b'L', "././@LongLink", long.as_bytes()), entry(b'0', "short", b"pixels"), vec![0; 1024]]
                .concat(),
            [entry(b'x', "PaxHeader", pax.as_bytes()), entry(b'0', "short", b"pixels")].concat(),
        ] {
            assert_eq!(named(&archive).unwrap(), [(long.clone(), b"pixels".to_vec())]);
        }
    }

    #[test]
    fn damage_and_missing_ends_are_found() {
        let whole = entry(b'0', "0001.jpg", &[7; 600]);
        assert_eq!(named(&whole[..700]), Err("it is cut off in a file"));
        assert_eq!(named(&whole[..100]), Err("it is cut off in a header"));
        let mut damaged = whole;
        damaged[3] ^= 1;
        assert_eq!(named(&damaged), Err("a header is damaged"));
    }

    #[test]
    fn two_images_of_a_sample_need_names_that_differ() {
        let member = |name: &str| Member { name: name.into(), start: 0, bytes: 0 };
        let add = |names: [&str; 2]| {
            let mut index = Index::default();
            index.add_shard(0, Path::new("a.tar"), &names.map(member)).map(|()| index.columns)
        };
        let error = add(["1.jpg", "1.png"]).unwrap_err().to_string();
        assert_eq!(error, "the sample `1` has two files for the column image: a.tar");
        assert_eq!(add(["1.jpg", "1.mask.png"]).unwrap()[1], ("mask.png".to_owned(), Part::Bytes));
    }

    #[test]
    fn links_are_no_samples_and_are_counted() {
        let archive =
            [entry(b'0', "1.cls", b"3"), entry(b'1', "2.cls", b""), entry(b'2', "3.cls", b"")].concat();
        let found = members(&archive.as_slice()).unwrap().unwrap();
        assert_eq!((found.files.len(), found.links), (1, 2));
    }

    #[test]
    fn a_name_ends_at_the_first_dot_of_the_file() {
        assert_eq!(split_name(b"a.b/0001.seg.png"), Some((&b"a.b/0001"[..], &b"seg.png"[..])));
        assert_eq!(split_name(b"a.b/0001"), None);
        assert_eq!(split_name(b".hidden"), None);
    }

    proptest! {
        #[test]
        fn files_are_found_as_they_were_put(files in prop::collection::vec(("[a-z0-9]{1,20}\\.[a-z]{1,4}", prop::collection::vec(any::<u8>(), 0..1500)), 0..6)) {
            let archive: Vec<u8> = files.iter().flat_map(|(name, body)| entry(b'0', name, body)).collect();
            prop_assert_eq!(named(&archive).unwrap(), files);
        }
    }

    #[test]
    fn no_damaged_archive_panics_or_takes_much_memory() {
        let seed = [
            entry(b'L', "l", b"a-long-name.jpg"),
            entry(b'0', "0001.jpg", b"pixels"),
            entry(b'0', "0001.cls", b"3"),
        ];
        let binary = {
            let mut large = entry(b'0', "0002.jpg", b"");
            large[124..136].copy_from_slice(&[0x80, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2, 0]);
            large
        };
        // Most damage lies in padding, which nobody reads.
        crate::mutation::survive_in_memory(&[seed.concat(), binary, entry(b'0', "3.cls", b"1")], |bytes| {
            named(bytes).is_ok()
        });
    }
}
