//! For tests: ten thousand damaged texts or files for each format, none of which may panic or take memory it
//! does not need.

use rand::{Rng, SeedableRng};
use rand_chacha::ChaCha8Rng;

use crate::allocation::largest_during;

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

/// Mutates the seeds and hands each result to `reads`, which returns whether it was still valid.
pub(crate) fn survive_in_memory(seeds: &[Vec<u8>], reads: impl Fn(&[u8]) -> bool) {
    survive_within(MOST_BYTES, seeds, reads);
}

/// The same for what may take more memory at once.
pub(crate) fn survive_within(most_bytes: usize, seeds: &[Vec<u8>], reads: impl Fn(&[u8]) -> bool) {
    let mut rng = ChaCha8Rng::seed_from_u64(2024);
    let mut readable = 0;
    for case in 0..CASES {
        let mut bytes = seeds[case % seeds.len()].clone();
        for _ in 0..=below(&mut rng, 3) {
            mutate(&mut rng, &mut bytes);
        }
        let largest = largest_during(|| readable += usize::from(reads(&bytes)));
        assert!(largest <= most_bytes, "case {case} took {largest} bytes at once");
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
