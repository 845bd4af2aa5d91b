//! For tests: what must be true of whole epochs, whatever the options.

use std::path::Path;
use std::sync::Arc;

use proptest::prelude::*;

use super::{Engine, Loader, LoaderOptions, LoaderState, Shuffle, Subset};
use crate::image::ImageTransform;
use crate::pack::{Column, ColumnData, ColumnKind, Element, Pack, PackOptions, PackSchema, PackWriter};
use crate::pack::{Provenance, RowBlock};

/// A pack of `rows` samples: their number as `id`, and `x` = [id, 2 id, 3 id].
fn write(folder: &Path, rows: u64, batch_rows: usize) -> std::path::PathBuf {
    let target = folder.join(format!("{rows}-{batch_rows}.pack"));
    let fixed = |name: &str, element, shape| Column::new(name, ColumnKind::Fixed { element, shape });
    let columns = vec![fixed("x", Element::F32, vec![3]), fixed("id", Element::I64, Vec::new())];
    let options = PackOptions { batch_rows: Some(batch_rows), part_bytes: 3000, ..PackOptions::default() };
    let mut writer =
        PackWriter::create(&target, PackSchema { columns }, Provenance::default(), options).unwrap();
    let x = (0..rows).flat_map(|id| [id as f32, 2.0 * id as f32, 3.0 * id as f32]);
    let x = x.flat_map(f32::to_le_bytes).collect();
    let id = (0..rows).flat_map(|id| (id as i64).to_le_bytes()).collect();
    let columns = vec![ColumnData::Fixed(x), ColumnData::Fixed(id)];
    writer.write(&RowBlock { rows: rows as usize, columns }).unwrap();
    writer.finish().unwrap();
    target
}

fn write_columns(target: &Path, columns: Vec<Column>, rows: usize, data: Vec<ColumnData>) {
    let schema = PackSchema { columns };
    let mut writer =
        PackWriter::create(target, schema, Provenance::default(), PackOptions::default()).unwrap();
    writer.write(&RowBlock { rows, columns: data }).unwrap();
    writer.finish().unwrap();
}

/// The ids of the next batch, and that `x` is theirs; `None` at the end of the epoch.
fn next(loader: &mut Loader) -> Option<Vec<u64>> {
    let batch = loader.next().unwrap()?;
    let numbers = |bytes: &[u8]| i64::from_le_bytes(bytes.try_into().unwrap()) as u64;
    let ids: Vec<u64> = batch.arrays[1].as_slice().chunks_exact(8).map(numbers).collect();
    assert_eq!(batch.arrays[0].shape, [ids.len(), 3]);
    let x = batch.arrays[0].as_slice().chunks_exact(4);
    let x = x.map(|bytes| f32::from_le_bytes(bytes.try_into().unwrap()));
    let expected = ids.iter().flat_map(|&id| [id as f32, 2.0 * id as f32, 3.0 * id as f32]);
    assert!(x.eq(expected));
    Some(ids)
}

fn epoch(loader: &mut Loader) -> Vec<Vec<u64>> {
    std::iter::from_fn(|| next(loader)).collect()
}

#[derive(Clone, Debug)]
struct Case {
    rows: u64,
    batch_rows: usize,
    batch_size: usize,
    world: u64,
    shuffle: Shuffle,
    drop_last: bool,
    threads: usize,
    seed: u64,
    subset: u8,
}

fn cases() -> impl Strategy<Value = Case> {
    let shuffle = prop_oneof![
        Just(Shuffle::None),
        Just(Shuffle::Exact),
        (1_usize..5).prop_map(|blocks| Shuffle::Window { blocks })
    ];
    let sizes = (1_u64..600, 1_usize..70, 1_usize..80, 1_u64..6);
    (sizes, shuffle, any::<bool>(), 0_usize..4, any::<u64>(), 0_u8..3).prop_map(
        |((rows, batch_rows, batch_size, world), shuffle, drop_last, threads, seed, subset)| Case {
            rows,
            batch_rows,
            batch_size,
            world,
            shuffle,
            drop_last,
            threads,
            seed,
            subset,
        },
    )
}

impl Case {
    fn options(&self, rank: u64) -> LoaderOptions {
        let subset = match self.subset {
            1 => Subset::Range(self.rows / 3, self.rows),
            2 => Subset::Samples((0..self.rows).rev().step_by(2).collect()),
            _ => Subset::All,
        };
        LoaderOptions {
            batch_size: self.batch_size,
            shuffle: self.shuffle,
            seed: self.seed,
            drop_last: self.drop_last,
            rank,
            world: self.world,
            threads: Some(self.threads),
            subset,
            prefetch_bytes: 4000,
            ..LoaderOptions::default()
        }
    }

    fn wanted(&self) -> Vec<u64> {
        match self.subset {
            1 => (self.rows / 3..self.rows).collect(),
            2 => {
                let mut samples: Vec<u64> = (0..self.rows).rev().step_by(2).collect();
                samples.reverse();
                samples
            }
            _ => (0..self.rows).collect(),
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(150))]

    #[test]
    fn each_epoch_visits_each_sample_once_and_ranks_have_equal_shares(case in cases(), resume: u64) {
        let folder = tempfile::tempdir().unwrap();
        let path = write(folder.path(), case.rows, case.batch_rows);
        let mut visited = Vec::new();
        let mut sizes = Vec::new();
        for rank in 0..case.world {
            let mut loader = Loader::open(&path, case.options(rank)).unwrap();
            let first = epoch(&mut loader);
            let second = epoch(&mut loader);
            prop_assert_eq!(first.len() as u64, loader.batches());
            // Another number of threads, resumed anywhere, in the second epoch.
            let other = LoaderOptions { threads: Some(2 - case.threads.min(2)), seed: 0, ..case.options(rank) };
            let mut resumed = Loader::open(&path, other).unwrap();
            let batch = resume % (loader.batches() + 1);
            let state = LoaderState { epoch: 1, batch, ..loader.state() };
            resumed.restore(&state).unwrap();
            prop_assert_eq!(resumed.state(), state);
            prop_assert_eq!(&epoch(&mut resumed)[..], &second[batch as usize..]);
            prop_assert_eq!(&epoch(&mut resumed), &epoch(&mut loader));
            loader.set_epoch(0);
            prop_assert_eq!(&epoch(&mut loader), &first);
            sizes.push(first.iter().map(Vec::len).collect::<Vec<_>>());
            visited.push(first);
        }
        prop_assert!(sizes.iter().all(|size| *size == sizes[0]), "{:?}", sizes);
        let mut visited: Vec<u64> = visited.into_iter().flatten().flatten().collect();
        let total = visited.len();
        visited.sort_unstable();
        visited.dedup();
        let wanted = case.wanted();
        let (most, world) = (wanted.len(), case.world as usize);
        if case.drop_last {
            prop_assert_eq!(visited.len(), total, "nothing twice");
            prop_assert!(most - total < world * case.batch_size, "{} of {}", total, most);
            prop_assert!(visited.iter().all(|sample| wanted.binary_search(sample).is_ok()));
        } else {
            prop_assert_eq!(visited, wanted);
            prop_assert!(total - most < world, "{} for {}", total, most);
        }
    }
}

#[test]
fn without_a_shuffle_samples_come_as_they_are_stored() {
    let folder = tempfile::tempdir().unwrap();
    let path = write(folder.path(), 10, 4);
    let options = LoaderOptions { batch_size: 4, ..LoaderOptions::default() };
    let mut loader = Loader::open(path, options).unwrap();
    assert_eq!(epoch(&mut loader), [vec![0, 1, 2, 3], vec![4, 5, 6, 7], vec![8, 9]]);
}

#[test]
fn texts_beside_images_are_left_as_they_are() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.pack");
    let mut photo = Vec::new();
    let encoder = jpeg_encoder::Encoder::new(&mut photo, 90);
    encoder.encode(&[90; 12 * 10 * 3], 12, 10, jpeg_encoder::ColorType::Rgb).unwrap();
    let variable = |rows: [&[u8]; 2]| ColumnData::Variable {
        ends: vec![rows[0].len() as u64, (rows[0].len() + rows[1].len()) as u64],
        bytes: rows.concat(),
    };
    let columns = ["image", "text"].map(|name| Column::new(name, ColumnKind::Bytes)).to_vec();
    let data = vec![variable([&photo, &photo]), variable([b"a cat", b"dogs"])];
    write_columns(&path, columns, 2, data);
    let transform = ImageTransform::new((8, 8));
    let options = LoaderOptions { batch_size: 2, image: Some(transform), ..LoaderOptions::default() };
    let batch = Loader::open(&path, options).unwrap().next().unwrap().unwrap();
    assert_eq!(batch.arrays[0].shape, [2, 3, 8, 8]);
    assert_eq!(batch.arrays[1].as_slice(), b"a catdogs\0");
}

#[test]
fn no_more_sequences_are_made_ahead_than_there_is_room_for() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("a.pack");
    let tokens = Column::new("tokens", ColumnKind::Ragged { element: Element::U8 });
    let data =
        ColumnData::Variable { ends: (1..=64).map(|row| row * 1000).collect(), bytes: vec![7; 64_000] };
    write_columns(&path, vec![tokens], 64, vec![data]);
    let options = LoaderOptions { threads: Some(4), prefetch_bytes: 3 * 1008, ..LoaderOptions::default() };
    let mut loader = Loader::open(&path, options).unwrap();
    assert_eq!(loader.next().unwrap().unwrap().arrays[0].shape, [1, 1000]);
    for _ in 1..64 {
        let ahead = match &loader.engine {
            Engine::Threads(Some(workers)) => workers.made_ahead(),
            _ => 0,
        };
        assert!(ahead <= 3, "{ahead}");
        loader.next().unwrap().unwrap();
    }
}

#[test]
fn loaders_that_share_a_pack_go_on_with_it_when_another_takes_its_name() {
    let folder = tempfile::tempdir().unwrap();
    let path = write(folder.path(), 10, 4);
    let pack = Arc::new(Pack::open(&path).unwrap());
    let options = || LoaderOptions { batch_size: 10, ..LoaderOptions::default() };
    let mut first = Loader::over(Arc::clone(&pack), options()).unwrap();
    std::fs::rename(&path, folder.path().join("old.pack")).unwrap();
    write(folder.path(), 10, 3);
    let mut second = Loader::over(pack, options()).unwrap();
    assert_eq!(epoch(&mut first), epoch(&mut second));
    assert_eq!(second.pack().batch_rows(), 4);
}

#[test]
fn more_threads_than_any_machine_can_use_are_refused() {
    let folder = tempfile::tempdir().unwrap();
    let path = write(folder.path(), 10, 4);
    let options = LoaderOptions { threads: Some(usize::MAX), ..LoaderOptions::default() };
    assert!(Loader::open(path, options).unwrap_err().to_string().contains("at most 4096 threads"));
}

#[test]
fn a_batch_is_not_cheap_before_anything_was_read_and_is_afterwards() {
    let folder = tempfile::tempdir().unwrap();
    let path = write(folder.path(), 10, 4);
    let mut loader = Loader::open(path, LoaderOptions { batch_size: 4, ..LoaderOptions::default() }).unwrap();
    assert!(loader.threads() == 0 && !loader.is_cheap());
    epoch(&mut loader);
    epoch(&mut loader);
    assert!(loader.is_cheap());
}
