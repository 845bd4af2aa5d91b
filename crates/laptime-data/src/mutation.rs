//! For tests: ten thousand damaged files for each format, none of which may panic or take memory it does not need.

use std::path::Path;
use std::sync::Arc;

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::allocation::largest_during;
use crate::chunks::Chunks;
use crate::limits::Limits;
use crate::order::Order;
use crate::source::Source;

const CASES: usize = 10_000;

/// The files have less than a kilobyte; what is left is buffers of a fixed size.
const MOST_BYTES: usize = 128 << 10;

/// Texts that a file is likely to be damaged with, or an attacker to put there.
const SPLICES: &[&[u8]] = &[
    b"18446744073709551615",
    b"99999999999999999999999",
    b"(4294967296, 4294967296)",
    b"(0, 3)",
    b"True",
    b"'|O'",
    b"'>f8'",
    b"\"",
    b"\n\n",
    b"\r",
    b",,,,",
    b"nan",
    b"1e400",
    b"\xef\xbb\xbf",
    b"\xff\xff\xff\xff",
    b"\0\0\0\0",
];

fn below(rng: &mut ChaCha8Rng, end: usize) -> usize {
    (rng.next_u64() % end.max(1) as u64) as usize
}

fn mutate(rng: &mut ChaCha8Rng, bytes: &mut Vec<u8>) {
    let place = below(rng, bytes.len());
    match below(rng, 6) {
        0 if !bytes.is_empty() => bytes[place] ^= 1 << below(rng, 8),
        1 if !bytes.is_empty() => bytes[place] = rng.next_u64() as u8,
        2 => bytes.truncate(place),
        3 => bytes.insert(place, rng.next_u64() as u8),
        4 => {
            let splice = SPLICES[below(rng, SPLICES.len())];
            let end = (place + below(rng, 2) * splice.len()).min(bytes.len());
            bytes.splice(place..end, splice.iter().copied());
        }
        _ => {
            let end = (place + below(rng, 20)).min(bytes.len());
            let copy = bytes[place..end].to_vec();
            bytes.extend(copy);
        }
    }
}

/// Opens the file and reads all of it, whole and in small chunks; tells whether it was in order.
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

/// Mutates the seeds and reads each result; tells how many were still in order.
fn survive(name: &str, seeds: &[Vec<u8>]) -> usize {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join(name);
    let mut rng = ChaCha8Rng::seed_from_u64(2024);
    let mut readable = 0;
    for case in 0..CASES {
        let mut bytes = seeds[case % seeds.len()].clone();
        for _ in 0..=below(&mut rng, 3) {
            mutate(&mut rng, &mut bytes);
        }
        // A new file each time: some file systems flush one that is truncated and written again.
        let _ = std::fs::remove_file(&path);
        std::fs::write(&path, &bytes).unwrap();
        let largest = largest_during(|| readable += usize::from(read_everything(&path)));
        assert!(largest <= MOST_BYTES, "case {case} took {largest} bytes at once");
    }
    readable
}

/// Mutates the seeds and hands each result to `reads`, which tells whether it was still in order.
pub(crate) fn survive_in_memory(seeds: &[Vec<u8>], reads: impl Fn(&[u8]) -> bool) {
    let mut rng = ChaCha8Rng::seed_from_u64(2024);
    let mut readable = 0;
    for case in 0..CASES {
        let mut bytes = seeds[case % seeds.len()].clone();
        for _ in 0..=below(&mut rng, 3) {
            mutate(&mut rng, &mut bytes);
        }
        let largest = largest_during(|| readable += usize::from(reads(&bytes)));
        assert!(largest <= MOST_BYTES, "case {case} took {largest} bytes at once");
    }
    assert!(
        (100..9_900).contains(&readable),
        "{readable} readable files: the mutations are too mild or wild"
    );
}

/// An NPY file as NumPy writes it.
pub(crate) fn npy(version: u8, code: &str, shape: &str, data: &[u8]) -> Vec<u8> {
    let header = format!("{{'descr': '{code}', 'fortran_order': False, 'shape': {shape}, }}\n");
    let mut bytes = b"\x93NUMPY".to_vec();
    bytes.extend([version, 0]);
    match version {
        1 => bytes.extend((header.len() as u16).to_le_bytes()),
        _ => bytes.extend((header.len() as u32).to_le_bytes()),
    }
    bytes.extend(header.as_bytes());
    bytes.extend(data);
    bytes
}

#[test]
fn no_damaged_csv_file_panics_or_takes_much_memory() {
    let mut seeds: Vec<Vec<u8>> = vec![
        b"a,b,target\n1,2,3\n4,5,6\n7,8,9\n".to_vec(),
        b"1,2\r\n\r\n\"3\", 4 \r\n-5e3,.6".to_vec(),
        b"\xef\xbb\xbfx,y\n\"1\",\"2\"\n3,4\n".to_vec(),
    ];
    seeds.push((0..60).flat_map(|row| format!("{row},{},{}\n", row * 3, row % 2).into_bytes()).collect());
    let readable = survive("damaged.csv", &seeds);
    assert!(
        (500..9_500).contains(&readable),
        "{readable} readable files: the mutations are too mild or wild"
    );
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
    let readable = survive("damaged.npy", &seeds);
    assert!(
        (500..9_500).contains(&readable),
        "{readable} readable files: the mutations are too mild or wild"
    );
}
