//! Damaged logs: never a panic, never a wrong record, and the good blocks are all found.

#![expect(clippy::unwrap_used, reason = "a test fails by panicking")]

mod story;

use std::fs;
use std::path::{Path, PathBuf};

use laptime_core::{Record, Status, Trouble};
use laptime_store::RunReader;

/// Mutations of the whole log; each is read in full.
const MUTATIONS: u64 = 100_000;

struct Damaged {
    folder: tempfile::TempDir,
    log: PathBuf,
    whole: Vec<u8>,
}

impl Damaged {
    fn new() -> Self {
        // In memory where there is such a folder: tens of thousands of files are written.
        let folder = tempfile::tempdir_in("/dev/shm").or_else(|_| tempfile::tempdir()).unwrap();
        story::write(folder.path());
        let log = folder.path().join("rank-00000.000001.ltlog");
        let whole = fs::read(&log).unwrap();
        Self { folder, log, whole }
    }

    /// What is read of these bytes, without what the reader itself adds.
    fn read(&self, bytes: &[u8]) -> Vec<Record> {
        fs::write(&self.log, bytes).unwrap();
        let mut found = story::read(self.folder.path());
        found.retain(|record| {
            !matches!(record, Record::Ended { .. } | Record::Trouble(Trouble::DamagedLog { .. }))
        });
        found
    }

    /// Where each block begins, and the end.
    fn borders(&self) -> Vec<usize> {
        let magic = &self.whole[..8];
        let begins = (0..self.whole.len()).filter(|at| self.whole[*at..].starts_with(magic));
        begins.chain([self.whole.len()]).collect()
    }
}

#[test]
fn a_log_cut_at_any_byte_gives_its_whole_blocks_and_nothing_else() {
    let damaged = Damaged::new();
    let borders = damaged.borders();
    let by_block: Vec<Vec<Record>> = borders.iter().map(|end| damaged.read(&damaged.whole[..*end])).collect();
    for cut in 0..=damaged.whole.len() {
        let blocks = borders.iter().rposition(|border| *border <= cut).unwrap();
        assert_eq!(damaged.read(&damaged.whole[..cut]), by_block[blocks], "cut at {cut}");
    }
}

#[test]
fn any_flipped_bit_of_a_block_costs_that_block_and_is_reported() {
    let damaged = Damaged::new();
    let borders = damaged.borders();
    let block = borders[1]..borders[2];
    let without: Vec<Record> = {
        let mut bytes = damaged.whole[..block.start].to_vec();
        bytes.extend_from_slice(&damaged.whole[block.end..]);
        damaged.read(&bytes)
    };
    for at in block {
        for bit in 0..8 {
            let mut bytes = damaged.whole.clone();
            bytes[at] ^= 1 << bit;
            assert_eq!(damaged.read(&bytes), without, "byte {at}, bit {bit}");
            let records = story::read(damaged.folder.path());
            assert!(
                records.iter().any(|record| matches!(record, Record::Trouble(Trouble::DamagedLog { .. })))
            );
        }
    }
}

/// A small generator of our own: the same damage on every machine and in every version.
struct Dice(u64);

impl Dice {
    fn below(&mut self, bound: usize) -> usize {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) as usize % bound.max(1)
    }
}

fn mutate(bytes: &mut Vec<u8>, dice: &mut Dice) {
    for _ in 0..=dice.below(3) {
        let at = dice.below(bytes.len());
        match dice.below(5) {
            0 => bytes.truncate(at),
            1 => bytes.insert(at.min(bytes.len()), dice.below(256) as u8),
            2 => drop(bytes.drain(at..(at + dice.below(40)).min(bytes.len()))),
            3 => bytes.splice(at..at, vec![0xff; dice.below(20)]).for_each(drop),
            _ => {
                if let Some(byte) = bytes.get_mut(at) {
                    *byte ^= 1 << dice.below(8);
                }
            }
        }
    }
}

#[test]
fn mutated_logs_give_only_records_that_were_written_and_in_their_order() {
    let damaged = Damaged::new();
    let good = damaged.read(&damaged.whole);
    let mut dice = Dice(2026);
    for round in 0..MUTATIONS {
        let mut bytes = damaged.whole.clone();
        mutate(&mut bytes, &mut dice);
        let mut rest = good.iter();
        for record in damaged.read(&bytes) {
            assert!(rest.any(|known| *known == record), "round {round}: {record:?} was never written there");
        }
    }
}

#[test]
fn a_run_without_last_words_was_killed_and_one_with_them_was_not() {
    let damaged = Damaged::new();
    assert!(!damaged.read(&damaged.whole).is_empty());
    let ended = |run: &Path| {
        story::read(run).iter().find_map(|record| match record {
            Record::Ended { status } => Some(*status),
            _ => None,
        })
    };
    assert_eq!(ended(damaged.folder.path()), None);
    let last = damaged.borders()[3];
    damaged.read(&damaged.whole[..last]);
    assert_eq!(ended(damaged.folder.path()), Some(Status::Killed));
}

#[test]
fn a_reader_follows_a_run_that_grows_byte_by_byte() {
    let damaged = Damaged::new();
    fs::write(&damaged.log, []).unwrap();
    let mut reader = RunReader::open(damaged.folder.path()).unwrap();
    let mut found = Vec::new();
    for end in (0..=damaged.whole.len()).step_by(7).chain([damaged.whole.len()]) {
        fs::write(&damaged.log, &damaged.whole[..end]).unwrap();
        reader.poll(&mut |_, record| found.push(record)).unwrap();
    }
    found.retain(|record| !matches!(record, Record::Ended { .. }));
    assert_eq!(found, story::expected());
    assert!(reader.is_closed());
}
