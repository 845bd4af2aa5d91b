//! For tests: packs that are damaged, cut off, interrupted, replaced, not mapped, or on a disk that fails.

use std::fs::{self, OpenOptions};
use std::os::unix::fs::{FileExt, PermissionsExt};
use std::path::{Path, PathBuf};
use std::time::Duration;

use rand::{RngExt, SeedableRng};
use rand_chacha::ChaCha8Rng;

use super::manifest::MANIFEST;
use super::part_file::{Fault, Mapping};
use super::writer::lock;
use super::{Column, ColumnData, ColumnKind, Element, Pack, PackError, PackOptions, PackSchema, PackWriter};
use super::{Provenance, RowBlock};
use crate::loader::{Loader, LoaderError, LoaderOptions, Poll, Shuffle};

const ROWS: usize = 21;

fn schema() -> PackSchema {
    let fixed = |name: &str, element, shape| Column::new(name, ColumnKind::Fixed { element, shape });
    PackSchema {
        columns: vec![
            fixed("x", Element::F32, vec![3]),
            Column::new("text", ColumnKind::Bytes),
            Column::new("tokens", ColumnKind::Ragged { element: Element::I32 }),
            fixed("y", Element::I64, Vec::new()),
        ],
    }
}

/// Rows whose every value follows from their number.
fn block(rows: std::ops::Range<usize>) -> RowBlock {
    let variable = |length: fn(usize) -> usize, element: usize| {
        let (mut ends, mut bytes) = (Vec::new(), Vec::new());
        for row in rows.clone() {
            bytes.extend(vec![row as u8; length(row) * element]);
            ends.push((bytes.len() / element) as u64);
        }
        ColumnData::Variable { ends, bytes }
    };
    let x = rows.clone().flat_map(|row| [row as f32, -1.0, 0.5]).flat_map(f32::to_le_bytes).collect();
    let y = rows.clone().flat_map(|row| (row as i64).to_le_bytes()).collect();
    let columns = vec![
        ColumnData::Fixed(x),
        variable(|row| row % 4, 1),
        variable(|row| row % 3, 4),
        ColumnData::Fixed(y),
    ];
    RowBlock { rows: rows.len(), columns }
}

/// Four rows in a record batch, about two record batches in a part.
fn options() -> PackOptions {
    PackOptions { batch_rows: Some(4), part_bytes: 1500, ..PackOptions::default() }
}

fn writer(path: &Path) -> Result<PackWriter, PackError> {
    PackWriter::create(path, schema(), Provenance::default(), options())
}

fn write(path: &Path) {
    let mut writer = writer(path).unwrap();
    writer.write(&block(0..ROWS)).unwrap();
    writer.finish().unwrap();
}

/// All arrays of an epoch.
fn epoch(pack: Pack) -> Result<Vec<Vec<u8>>, String> {
    let options = LoaderOptions {
        batch_size: 5,
        shuffle: Shuffle::Exact,
        threads: Some(0),
        ..LoaderOptions::default()
    };
    let mut loader = Loader::over(pack, options).map_err(|error| error.to_string())?;
    let mut arrays = Vec::new();
    while let Some(batch) = loader.next().map_err(|error| error.to_string())? {
        arrays.extend(batch.arrays.iter().map(|array| array.as_slice().to_vec()));
    }
    Ok(arrays)
}

fn load(path: &Path) -> Result<Vec<Vec<u8>>, String> {
    Pack::open(path).map_err(|error| error.to_string()).and_then(epoch)
}

/// The files of a pack, writable.
fn files(path: &Path) -> Vec<PathBuf> {
    let mut files: Vec<_> = fs::read_dir(path).unwrap().map(|entry| entry.unwrap().path()).collect();
    for file in &files {
        fs::set_permissions(file, fs::Permissions::from_mode(0o644)).unwrap();
    }
    files.sort();
    files
}

/// Flips one random bit at a time; no flip panics, and none yields another sample.
fn flip_bits(flips: usize) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.pack");
    write(&path);
    let intact = load(&path).unwrap();
    let files = files(&path);
    assert!(files.len() >= 4, "several parts: {files:?}");
    let contents: Vec<_> = files.iter().map(|file| fs::read(file).unwrap()).collect();
    let handles: Vec<_> =
        files.iter().map(|file| OpenOptions::new().write(true).open(file).unwrap()).collect();
    let total: usize = contents.iter().map(Vec::len).sum();
    let mut rng = ChaCha8Rng::seed_from_u64(16);
    let mut refused = 0;
    for _ in 0..flips {
        let mut place = rng.random_range(0..total);
        let mut file = 0;
        while place >= contents[file].len() {
            place -= contents[file].len();
            file += 1;
        }
        let intact_byte = contents[file][place];
        handles[file].write_all_at(&[intact_byte ^ 1 << rng.random_range(0..8_u32)], place as u64).unwrap();
        match load(&path) {
            // A description that only other programs read.
            Ok(loaded) => assert!(loaded == intact, "{:?} at {place}", files[file]),
            Err(_) => refused += 1,
        }
        // With every byte checked, none goes unnoticed.
        let verified = Pack::open(&path).and_then(|pack| pack.verify(&mut |_, _| {}));
        assert!(verified.is_err(), "{:?} at {place}", files[file]);
        handles[file].write_all_at(&[intact_byte], place as u64).unwrap();
    }
    assert!(refused > flips / 4, "{refused} of {flips}");
    assert!(load(&path).unwrap() == intact);
}

#[test]
fn a_flipped_bit_is_found_or_harmless() {
    flip_bits(5_000);
}

#[test]
#[ignore = "takes minutes: cargo test --release -p laptime-load -- --ignored a_million"]
fn a_million_flipped_bits_are_found_or_harmless() {
    flip_bits(1_000_000);
}

#[test]
fn a_pack_cut_off_at_any_byte_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.pack");
    write(&path);
    for file in files(&path) {
        let content = fs::read(&file).unwrap();
        for length in (0..content.len()).rev() {
            OpenOptions::new().write(true).open(&file).unwrap().set_len(length as u64).unwrap();
            assert!(Pack::open(&path).is_err(), "{file:?} with {length} bytes");
        }
        fs::write(&file, &content).unwrap();
    }
    assert!(load(&path).is_ok());
}

#[test]
fn damage_names_the_file_and_the_samples() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.pack");
    write(&path);
    let files = files(&path);
    let part = files.iter().find(|file| file.ends_with("part-00001.arrow")).unwrap();
    let mut content = fs::read(part).unwrap();
    let ten = content.windows(4).position(|bytes| bytes == 10.0_f32.to_le_bytes()).unwrap();
    content[ten] ^= 1;
    fs::write(part, content).unwrap();
    let error = load(&path).unwrap_err();
    assert!(error.contains("samples 8 to 11") && error.contains("part-00001.arrow"), "{error}");
}

#[test]
fn a_pack_is_read_the_same_without_mapping_it() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.pack");
    write(&path);
    let read = Pack::open_with(&path, Mapping::Never).unwrap();
    assert!(!read.is_mapped());
    read.verify(&mut |_, _| {}).unwrap();
    assert_eq!(epoch(read), load(&path));
}

#[test]
fn a_pack_replaced_while_it_is_open_goes_on_as_it_was() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.pack");
    write(&path);
    let (expected, open) = (load(&path).unwrap(), Pack::open(&path).unwrap());
    let again = PackOptions { overwrite: true, ..options() };
    let mut writer = PackWriter::create(&path, schema(), Provenance::default(), again).unwrap();
    writer.write(&block(100..104)).unwrap();
    writer.finish().unwrap();
    assert_eq!(epoch(open).unwrap(), expected);
    assert_eq!(Pack::open(&path).unwrap().rows(), 4);
}

#[test]
fn an_interrupted_pack_has_no_name_and_goes_on_after_its_last_part() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.pack");
    let mut first = writer(&path).unwrap();
    assert!(matches!(writer(&path), Err(PackError::Busy { .. })), "one writer at a time");
    first.write(&block(0..18)).unwrap();
    drop(first);
    assert!(!path.exists());
    let mut second = writer(&path).unwrap();
    let resumed = second.resumed_rows() as usize;
    assert!(resumed >= 8 && resumed.is_multiple_of(4), "{resumed}");
    second.write(&block(resumed..ROWS)).unwrap();
    assert_eq!(second.finish().unwrap().rows, ROWS as u64);
    let whole = folder.path().join("whole.pack");
    write(&whole);
    assert_eq!(load(&path), load(&whole));
    Pack::open(&path).unwrap().verify(&mut |_, _| {}).unwrap();
}

const SOON: Duration = Duration::from_millis(200);

/// A loader with a thread over a pack whose disk does this.
fn failing(path: &Path, fault: Fault, fail_after: Duration) -> Loader {
    write(path);
    let options = LoaderOptions {
        batch_size: 5,
        threads: Some(1),
        warn_after: Duration::from_millis(20),
        fail_after,
        ..LoaderOptions::default()
    };
    Loader::over(Pack::open_with(path, Mapping::Failing(fault)).unwrap(), options).unwrap()
}

#[test]
fn a_read_that_hangs_is_late_at_first_and_then_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let mut loader = failing(&folder.path().join("a.pack"), Fault::Hangs, SOON);
    assert!(matches!(loader.poll(Duration::from_millis(50)).unwrap(), Poll::Waiting { late: true, .. }));
    let error = loader.next().unwrap_err();
    assert!(matches!(error, LoaderError::Stuck { epoch: 0, batch: 0, .. }), "{error}");
    // Others try again.
    assert!(matches!(loader.next().unwrap_err(), LoaderError::Stuck { batch: 0, .. }));
}

#[test]
fn threads_that_hang_at_batches_nobody_wants_any_more_are_noticed() {
    let folder = tempfile::tempdir().unwrap();
    let mut loader = failing(&folder.path().join("a.pack"), Fault::Hangs, SOON);
    assert!(matches!(loader.poll(Duration::from_millis(50)).unwrap(), Poll::Waiting { .. }));
    loader.set_epoch(3);
    assert!(matches!(loader.next().unwrap_err(), LoaderError::Stuck { epoch: 3, .. }));
}

#[test]
fn a_panic_in_a_thread_is_one_clear_error_each_time_it_is_asked_for() {
    let folder = tempfile::tempdir().unwrap();
    let mut loader = failing(&folder.path().join("a.pack"), Fault::Panics, Duration::MAX);
    for _ in 0..3 {
        let error = loader.next().unwrap_err().to_string();
        assert_eq!(error, "a loading thread failed at batch 0 of epoch 0: the disk burns");
    }
}

fn replacing(path: &Path) -> Result<PackWriter, PackError> {
    let again = PackOptions { overwrite: true, ..options() };
    PackWriter::create(path, schema(), Provenance::default(), again)
}

#[test]
fn what_is_no_pack_is_never_replaced() {
    let folder = tempfile::tempdir().unwrap();
    let photos = folder.path().join("photos");
    fs::create_dir(&photos).unwrap();
    fs::write(photos.join("1.jpg"), "pixels").unwrap();
    for target in [&photos, &photos.join("1.jpg")] {
        assert!(matches!(replacing(target), Err(PackError::NotReplaced { .. })), "{target:?}");
    }
    // Nor where it comes while the pack is written.
    let late = folder.path().join("late");
    let mut writer = replacing(&late).unwrap();
    writer.write(&block(0..4)).unwrap();
    fs::rename(&photos, &late).unwrap();
    assert!(matches!(writer.finish(), Err(PackError::Io { doing: "name", .. })));
    assert_eq!(fs::read(late.join("1.jpg")).unwrap(), b"pixels");
}

#[test]
fn a_slash_behind_the_name_changes_nothing() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.pack");
    write(&path);
    let mut writer = replacing(&folder.path().join("a.pack/")).unwrap();
    writer.write(&block(0..4)).unwrap();
    writer.finish().unwrap();
    assert_eq!(Pack::open(&path).unwrap().rows(), 4);
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "nothing beside it");
}

#[test]
fn a_pack_whose_rows_could_not_all_be_written_gets_no_name() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.pack");
    let mut writer = writer(&path).unwrap();
    // The second part cannot be made: its name is taken.
    fs::create_dir(folder.path().join("a.pack.partial/part-00001.arrow")).unwrap();
    assert!(matches!(writer.write(&block(0..18)), Err(PackError::Io { doing: "create", .. })));
    assert!(matches!(writer.write(&block(18..ROWS)), Err(PackError::Unfinished { .. })));
    assert!(matches!(writer.finish(), Err(PackError::Unfinished { .. })));
    assert!(!path.exists());
}

#[test]
fn a_folder_that_was_renamed_before_it_was_locked_is_not_written_to() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.pack.partial");
    fs::create_dir(&path).unwrap();
    let opened = fs::File::open(&path).unwrap();
    fs::rename(&path, folder.path().join("a.pack")).unwrap();
    assert!(matches!(lock(&opened, &path), Err(PackError::Busy { .. })));
    fs::create_dir(&path).unwrap();
    assert!(matches!(lock(&opened, &path), Err(PackError::Busy { .. })));
    lock(&fs::File::open(&path).unwrap(), &path).unwrap();
}

#[test]
fn a_pipe_in_the_place_of_a_pack_keeps_nobody_waiting() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.pack");
    rustix::fs::mkfifoat(rustix::fs::CWD, &path, rustix::fs::Mode::RWXU).unwrap();
    assert!(matches!(Pack::open(&path), Err(PackError::NotAPack { .. })));
}

#[test]
fn what_is_no_pack_is_said_so() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.pack");
    assert!(matches!(Pack::open(&path), Err(PackError::NotFound { .. })));
    fs::create_dir(&path).unwrap();
    assert!(matches!(Pack::open(&path), Err(PackError::NotAPack { .. })));
    assert!(matches!(writer(&path), Err(PackError::Exists { .. })));
    fs::write(path.join(MANIFEST), "{}").unwrap();
    assert!(matches!(Pack::open(&path), Err(PackError::BadManifest { .. })));
    let empty = folder.path().join("empty.pack");
    assert!(matches!(writer(&empty).unwrap().finish(), Err(PackError::Empty { .. })));
    assert!(!empty.exists());
}
