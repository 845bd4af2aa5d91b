//! A dataset: rows to train on, wherever they are.

use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

use crate::batches::Batches;
use crate::chunks::Chunks;
use crate::error::LoadError;
use crate::limits::Limits;
use crate::order::Order;
use crate::pass::Pass;
use crate::source::Source;
use crate::table::Table;

/// Rows to train on, in memory or streamed from a file; cheap to clone.
#[derive(Clone, Debug)]
pub struct Dataset {
    storage: Storage,
    rows: Range<u64>,
}

#[derive(Clone, Debug)]
enum Storage {
    Memory(Arc<Table>),
    Stream(Arc<Source>),
}

impl Dataset {
    /// A dataset of rows that are in memory.
    #[must_use]
    pub fn from_table(table: Table) -> Self {
        let rows = 0..table.rows() as u64;
        Self { storage: Storage::Memory(Arc::new(table)), rows }
    }

    /// Opens a `.csv` or `.npy` file with the target in its last column.
    ///
    /// A file that fits [`Limits::in_memory_bytes`] is read whole, so whatever is wrong with it is found here.
    /// Of a larger one the first chunk is checked, and later trouble comes as an error from [`Self::batches`].
    /// The rows are counted in both cases. The columns of a byte array (`u1`) are taken for pixels and scaled to
    /// 0 to 1, but for the target.
    pub fn open(path: &Path, limits: &Limits) -> Result<Self, LoadError> {
        let source = Source::open(path, limits)?;
        if limits.fit_in_memory(source.rows(), source.columns()) {
            return source.read_whole().map(Self::from_table);
        }
        source.check_first_chunk()?;
        Ok(Self { rows: 0..source.rows(), storage: Storage::Stream(Arc::new(source)) })
    }

    /// Rows of the dataset, which is what an epoch delivers.
    #[must_use]
    pub fn rows(&self) -> u64 {
        self.rows.end - self.rows.start
    }

    /// Features of a row, the target not counted.
    #[must_use]
    pub fn width(&self) -> usize {
        match &self.storage {
            Storage::Memory(table) => table.width(),
            Storage::Stream(source) => source.width(),
        }
    }

    /// Whether the rows are read from the file anew in every epoch.
    #[must_use]
    pub fn is_streamed(&self) -> bool {
        matches!(self.storage, Storage::Stream(_))
    }

    /// Holds the last share of the rows out, for evaluation; at least one row stays for training.
    ///
    /// There is no second part if the share is less than half a row.
    #[must_use]
    pub fn split(&self, held_out: f64) -> (Self, Option<Self>) {
        // A cast from a float saturates, and makes zero of what is not a number.
        let held = (self.rows() as f64 * held_out).round() as u64;
        let held = held.min(self.rows().saturating_sub(1));
        if held == 0 {
            return (self.clone(), None);
        }
        let middle = self.rows.end - held;
        let part = |rows| Self { storage: self.storage.clone(), rows };
        (part(self.rows.start..middle), Some(part(middle..self.rows.end)))
    }

    /// The batches of one epoch, the last one as small as it comes out; a batch size of 0 is taken as 1.
    ///
    /// Of a streamed dataset this starts the thread that reads ahead, so call it just before the epoch.
    #[must_use]
    pub fn batches(&self, batch: usize, order: Order) -> Batches {
        match &self.storage {
            Storage::Memory(table) => {
                // Both ends lie within the table, whose length is a usize.
                let rows = self.rows.start as usize..self.rows.end as usize;
                let pass = Pass::new(Arc::clone(table), rows, order, self.rows.start);
                Batches::from_pass(pass, batch, self.width(), self.rows())
            }
            Storage::Stream(source) => {
                let chunks = Chunks::new(Arc::clone(source), &self.rows, order);
                Batches::from_chunks(chunks, batch, self.width(), self.rows())
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::batch::Batch;
    use crate::mutation::npy;
    use proptest::prelude::*;
    use std::fs;
    use std::io::Write;
    use std::path::PathBuf;
    use tempfile::TempDir;

    const STREAMED: Limits = Limits { in_memory_bytes: 0, chunk_bytes: 100 };
    const SHUFFLED: Order = Order::Shuffled { seed: 5, epoch: 0 };

    /// Both formats of the same rows: the row's number, its negative, and the number again as target.
    fn files(rows: u16) -> (TempDir, [PathBuf; 2]) {
        let folder = tempfile::tempdir().unwrap();
        let paths = ["a.csv", "a.npy"].map(|name| folder.path().join(name));
        let text: String = (0..rows).map(|row| format!("{row},-{row},{row}\n")).collect();
        fs::write(&paths[0], format!("a,b,target\n{text}")).unwrap();
        let numbers = (0..rows).map(f32::from).flat_map(|row| [row, -row, row]);
        let data: Vec<u8> = numbers.flat_map(f32::to_le_bytes).collect();
        fs::write(&paths[1], npy(1, "<f4", &format!("({rows}, 3)"), &data)).unwrap();
        (folder, paths)
    }

    fn collect(batches: Batches) -> Vec<Batch> {
        batches.map(Result::unwrap).collect()
    }

    fn targets(dataset: &Dataset, order: Order) -> Vec<f32> {
        collect(dataset.batches(7, order)).into_iter().flat_map(|batch| batch.targets).collect()
    }

    fn sorted(mut numbers: Vec<f32>) -> Vec<f32> {
        numbers.sort_by(f32::total_cmp);
        numbers
    }

    fn numbers(rows: Range<u16>) -> Vec<f32> {
        rows.map(f32::from).collect()
    }

    #[test]
    fn a_small_file_is_held_in_memory_and_a_large_one_streamed() {
        let (_folder, paths) = files(100);
        for path in &paths {
            let memory = Dataset::open(path, &Limits::default()).unwrap();
            let exact = Dataset::open(path, &Limits { in_memory_bytes: 1200, chunk_bytes: 100 }).unwrap();
            let streamed = Dataset::open(path, &Limits { in_memory_bytes: 1199, chunk_bytes: 100 }).unwrap();
            assert!(!memory.is_streamed() && !exact.is_streamed() && streamed.is_streamed());
            assert!([memory, exact, streamed].iter().all(|set| (set.rows(), set.width()) == (100, 2)));
        }
    }

    #[test]
    fn streamed_in_file_order_the_batches_are_those_from_memory() {
        let (_folder, paths) = files(100);
        for path in &paths {
            let memory = Dataset::open(path, &Limits::default()).unwrap();
            let streamed = Dataset::open(path, &STREAMED).unwrap();
            for batch in [1, 7, 50, 100, 1000, usize::MAX] {
                let expected = collect(memory.batches(batch, Order::AsStored));
                assert_eq!(collect(streamed.batches(batch, Order::AsStored)), expected);
            }
        }
    }

    #[test]
    fn shuffled_every_row_comes_once_with_its_own_target() {
        let (_folder, paths) = files(100);
        for (path, limits) in paths.iter().flat_map(|path| [(path, Limits::default()), (path, STREAMED)]) {
            let dataset = Dataset::open(path, &limits).unwrap();
            for batch in collect(dataset.batches(9, SHUFFLED)) {
                for (row, target) in batch.features.chunks(2).zip(&batch.targets) {
                    assert_eq!(row, [*target, -target]);
                }
            }
            let shuffled = targets(&dataset, SHUFFLED);
            assert_ne!(shuffled, numbers(0..100));
            assert_eq!(sorted(shuffled), numbers(0..100));
        }
    }

    #[test]
    fn seed_and_epoch_alone_decide_the_order() {
        let (_folder, paths) = files(100);
        for (path, limits) in paths.iter().flat_map(|path| [(path, Limits::default()), (path, STREAMED)]) {
            let dataset = Dataset::open(path, &limits).unwrap();
            let again = Dataset::open(path, &limits).unwrap();
            assert_eq!(targets(&dataset, SHUFFLED), targets(&again, SHUFFLED));
            let next = Order::Shuffled { seed: 5, epoch: 1 };
            assert_ne!(targets(&dataset, SHUFFLED), targets(&dataset, next));
        }
    }

    #[test]
    fn chunks_are_shuffled_where_that_is_cheap() {
        let (_folder, [csv, npy]) = files(100);
        let first_rows = |path| targets(&Dataset::open(path, &STREAMED).unwrap(), SHUFFLED)[..8].to_vec();
        assert_eq!(sorted(first_rows(&csv)), numbers(0..8));
        assert_ne!(sorted(first_rows(&npy)), numbers(0..8));
    }

    #[test]
    fn every_batch_but_the_last_is_full() {
        let (_folder, paths) = files(100);
        for (path, limits) in paths.iter().flat_map(|path| [(path, Limits::default()), (path, STREAMED)]) {
            let dataset = Dataset::open(path, &limits).unwrap();
            let sizes: Vec<usize> =
                collect(dataset.batches(30, SHUFFLED)).iter().map(|batch| batch.rows).collect();
            assert_eq!(sizes, [30, 30, 30, 10]);
            assert_eq!(dataset.batches(30, SHUFFLED).size_hint(), (1, Some(4)));
            assert_eq!(collect(dataset.batches(0, SHUFFLED)).len(), 100);
        }
    }

    #[test]
    fn a_split_holds_out_the_last_rows() {
        let (_folder, paths) = files(100);
        for (path, limits) in paths.iter().flat_map(|path| [(path, Limits::default()), (path, STREAMED)]) {
            let (train, held_out) = Dataset::open(path, &limits).unwrap().split(0.25);
            let held_out = held_out.unwrap();
            assert_eq!((train.rows(), held_out.rows()), (75, 25));
            assert_eq!(targets(&train, Order::AsStored), numbers(0..75));
            assert_eq!(targets(&held_out, Order::AsStored), numbers(75..100));
            assert_eq!(sorted(targets(&train, SHUFFLED)), numbers(0..75));
            assert_eq!(sorted(targets(&held_out, SHUFFLED)), numbers(75..100));
            let (first, second) = held_out.split(0.2);
            assert_eq!(targets(&first, Order::AsStored), numbers(75..95));
            assert_eq!(targets(&second.unwrap(), Order::AsStored), numbers(95..100));
        }
    }

    #[test]
    fn a_split_always_leaves_rows_to_train_on() {
        let dataset = Dataset::from_table(Table::new(1, vec![0.0; 4], vec![0.0; 4]));
        for (share, expected) in [(0.0, 4), (-1.0, 4), (f64::NAN, 4), (0.1, 4), (0.2, 3), (1.0, 1), (9.0, 1)]
        {
            let (train, held_out) = dataset.split(share);
            assert_eq!(train.rows(), expected, "{share}");
            assert_eq!(train.rows() + held_out.map_or(0, |held_out| held_out.rows()), 4, "{share}");
        }
        let empty = Dataset::from_table(Table::new(1, Vec::new(), Vec::new()));
        assert!(empty.split(0.5).1.is_none());
        assert_eq!(empty.batches(3, SHUFFLED).count(), 0);
    }

    #[test]
    fn dropping_the_batches_early_lets_go_of_the_file() {
        let (_folder, paths) = files(1000);
        for path in &paths {
            let dataset = Dataset::open(path, &STREAMED).unwrap();
            let Storage::Stream(source) = &dataset.storage else { panic!("streamed") };
            let mut batches = dataset.batches(10, SHUFFLED);
            assert!(batches.next().is_some());
            drop(batches);
            drop(dataset.batches(10, SHUFFLED));
            assert_eq!(Arc::strong_count(source), 1, "no thread holds the file any more");
        }
    }

    #[test]
    fn a_bad_row_is_found_at_once_in_memory_and_in_time_when_streamed() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.csv");
        let rows: String = (0..200).map(|row| format!("{row},1\n")).collect();
        fs::write(&path, format!("{rows}oops,1\n{rows}")).unwrap();
        let at_once = Dataset::open(&path, &Limits::default()).unwrap_err();
        assert!(matches!(at_once, LoadError::NotANumber { line: 201, column: 1, .. }), "{at_once}");

        let mut batches = Dataset::open(&path, &STREAMED).unwrap().batches(10, Order::AsStored);
        let error = batches.find_map(Result::err).unwrap();
        assert!(matches!(error, LoadError::NotANumber { line: 201, column: 1, .. }), "{error}");
        assert!(batches.next().is_none(), "after an error it is over");

        fs::write(&path, format!("oops,1\n{rows}x,1")).unwrap();
        assert!(Dataset::open(&path, &STREAMED).is_ok(), "text in the first row is a header");
        fs::write(&path, format!("1,1\noops,1\n{rows}")).unwrap();
        assert!(Dataset::open(&path, &STREAMED).is_err(), "the first chunk is checked when it is opened");
    }

    #[test]
    fn an_epoch_over_a_file_that_grew_or_shrank_fails() {
        let (_folder, paths) = files(1000);
        for path in &paths {
            let dataset = Dataset::open(path, &STREAMED).unwrap();
            fs::OpenOptions::new().append(true).open(path).unwrap().write_all(b"1,2,3\n").unwrap();
            let error = dataset.batches(10, SHUFFLED).find_map(Result::err).unwrap();
            assert!(matches!(error, LoadError::Changed { .. }), "{error}");
            let dataset = Dataset::open(path, &STREAMED).unwrap();
            fs::OpenOptions::new().write(true).open(path).unwrap().set_len(3000).unwrap();
            let error = dataset.batches(10, SHUFFLED).find_map(Result::err).unwrap();
            assert!(matches!(error, LoadError::Changed { .. }), "{error}");
        }
    }

    #[test]
    fn a_file_written_in_place_while_streamed_is_noticed_by_its_time() {
        let (_folder, paths) = files(1000);
        for path in &paths {
            let dataset = Dataset::open(path, &STREAMED).unwrap();
            let file = fs::OpenOptions::new().write(true).open(path).unwrap();
            file.set_modified(std::time::SystemTime::UNIX_EPOCH).unwrap();
            let error = dataset.batches(10, SHUFFLED).find_map(Result::err).unwrap();
            assert!(matches!(error, LoadError::Changed { .. }), "{error}");
        }
    }

    #[test]
    fn a_file_of_another_kind_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.parquet");
        assert!(matches!(Dataset::open(&path, &STREAMED), Err(LoadError::NotFound { .. })));
        fs::write(&path, b"PAR1").unwrap();
        assert!(matches!(Dataset::open(&path, &STREAMED), Err(LoadError::UnknownFormat { .. })));
        let upper = folder.path().join("A.CSV");
        fs::write(&upper, b"1,2\n").unwrap();
        assert_eq!(Dataset::open(&upper, &STREAMED).unwrap().rows(), 1);
    }

    proptest! {
        #![proptest_config(ProptestConfig { cases: 64, ..ProptestConfig::default() })]

        #[test]
        fn what_is_written_as_csv_is_read_back(
            rows in prop::collection::vec(prop::array::uniform3(-1e30_f32..1e30), 1..80),
            chunk_bytes in 1_u64..400,
            in_memory_bytes in 0_u64..800,
        ) {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("a.csv");
            let text: String = rows.iter().map(|[a, b, c]| format!("{a:?},\"{b}\",{c:e}\r\n")).collect();
            fs::write(&path, text).unwrap();
            let dataset = Dataset::open(&path, &Limits { in_memory_bytes, chunk_bytes }).unwrap();
            prop_assert_eq!(read_back(&dataset), rows);
        }

        #[test]
        fn what_is_written_as_npy_is_read_back(
            rows in prop::collection::vec(prop::array::uniform3(-1e30_f32..1e30), 1..80),
            chunk_bytes in 1_u64..400,
            in_memory_bytes in 0_u64..800,
        ) {
            let folder = tempfile::tempdir().unwrap();
            let path = folder.path().join("a.npy");
            let data: Vec<u8> = rows.iter().flatten().flat_map(|number| number.to_be_bytes()).collect();
            fs::write(&path, npy(2, ">f4", &format!("({}, 3)", rows.len()), &data)).unwrap();
            let dataset = Dataset::open(&path, &Limits { in_memory_bytes, chunk_bytes }).unwrap();
            prop_assert_eq!(read_back(&dataset), rows);
        }
    }

    fn read_back(dataset: &Dataset) -> Vec<[f32; 3]> {
        let rows = |batch: Batch| {
            let pairs = batch.features.chunks(2).zip(&batch.targets);
            pairs.map(|(row, target)| [row[0], row[1], *target]).collect::<Vec<_>>()
        };
        collect(dataset.batches(13, Order::AsStored)).into_iter().flat_map(rows).collect()
    }
}
