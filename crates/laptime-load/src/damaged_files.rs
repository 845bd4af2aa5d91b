//! Damaged files, read whole and in chunks.

use std::path::Path;
use std::sync::Arc;

use crate::chunks::Chunks;
use crate::limits::Limits;
use crate::mutation::{npy, survive_in_memory};
use crate::order::Order;
use crate::source::Source;

/// Opens the file and reads all of it, whole and in small chunks; returns whether it was valid.
fn read_everything(path: &Path) -> bool {
    let limits = Limits { in_memory_bytes: 0, chunk_bytes: 64 };
    let whole = Source::open(path, &Limits::default()).and_then(|source| source.read_whole());
    let chunks = Source::open(path, &limits).and_then(|source| {
        let rows = 0..source.rows();
        let order = Order::Shuffled { seed: 1, epoch: 1 };
        Chunks::new(Arc::new(source), &rows, order).try_for_each(|pass| pass.map(drop))
    });
    assert_eq!(whole.is_ok(), chunks.is_ok(), "whole and in chunks it is the same file");
    if let Err(error) = &whole {
        assert!(error.hint().is_some() && !error.to_string().contains('\x1b'));
    }
    whole.is_ok()
}

/// Mutates the seeds and reads each result as a file of this name.
fn survive(name: &str, seeds: &[Vec<u8>]) {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    survive_in_memory(seeds, |bytes| {
        // A new file each time: some file systems flush one that is truncated and written again.
        let _ = std::fs::remove_file(&path);
        std::fs::write(&path, bytes).unwrap();
        read_everything(&path)
    });
}

#[test]
fn no_damaged_csv_file_panics_or_takes_much_memory() {
    let mut seeds: Vec<Vec<u8>> = vec![
        b"a,b,target\n1,2,3\n4,5,6\n7,8,9\n".to_vec(),
        b"1,2\r\n\r\n\"3\", 4 \r\n-5e3,.6".to_vec(),
        b"\xef\xbb\xbfx,y\n\"1\",\"2\"\n3,4\n".to_vec(),
    ];
    seeds.push((0..60).flat_map(|row| format!("{row},{},{}\n", row * 3, row % 2).into_bytes()).collect());
    survive("damaged.csv", &seeds);
}

#[test]
fn no_damaged_npy_file_panics_or_takes_much_memory() {
    let data: Vec<u8> = (0..96).map(|byte| byte / 2).collect();
    let seeds = [
        npy(1, "<f4", "(8, 3)", &data),
        npy(2, ">f8", "(4, 3)", &data),
        npy(3, "|u1", "(32, 3)", &data),
        npy(1, "<i2", "(16, 3)", &data),
    ];
    survive("damaged.npy", &seeds);
}
