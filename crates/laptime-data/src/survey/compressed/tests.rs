//! Packed text, whole and by its beginning, damaged and hostile.

use std::time::Duration;

use miniz_oxide::deflate::compress_to_vec;
use ruzstd::encoding::{CompressionLevel, compress_to_vec as zstd_of};

use super::super::SurveyOptions;
use super::*;
use crate::allocation::largest_during;
use crate::mutation::survive_within;

fn gzip_of(text: &[u8]) -> Vec<u8> {
    // With a name, as the program writes it.
    let mut file = b"\x1f\x8b\x08\x08\0\0\0\0\0\x03train.csv\0".to_vec();
    file.extend(compress_to_vec(text, 6));
    file.extend([0; 4]);
    file.extend((text.len() as u32).to_le_bytes());
    file
}

fn zstd(text: &[u8]) -> Vec<u8> {
    zstd_of(text, CompressionLevel::Fastest)
}

fn packed(compression: Compression, text: &[u8]) -> Vec<u8> {
    if compression == Compression::Gzip { gzip_of(text) } else { zstd(text) }
}

fn effort(patience: Duration) -> Effort {
    Effort::of(&SurveyOptions { patience, ..SurveyOptions::default() }, 1, true)
}

const LONG: Duration = Duration::from_secs(600);

fn look(file: &[u8], compression: Compression, patience: Duration) -> Result<Measured, FileProblem> {
    measure_compressed(&file.to_vec(), Format::Csv, compression, effort(patience), &Watch::default())
}

/// Rows that do not pack well; those of the second half are twice as long where they `grow`.
fn table(rows: u32, grow: bool) -> Vec<u8> {
    let mut seed = 1_u32;
    let mut number = || {
        seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        seed >> 4
    };
    let mut text = b"id,x,y\n".to_vec();
    for row in 0..rows {
        let wide = if grow && row > rows / 2 { u64::from(number()) << 60 } else { 1 };
        text.extend(format!("{row:07},{:010},{:010}{wide}\n", number(), number()).into_bytes());
    }
    text
}

#[test]
fn what_is_short_is_unpacked_and_counted() {
    let text = b"a,b\n1,\"x\ny\"\n2,z\n";
    for compression in [Compression::Gzip, Compression::Zstd] {
        let one = packed(compression, text);
        let measured = look(&one, compression, LONG).unwrap();
        let contents = measured.contents;
        assert!(measured.missing.is_none());
        assert_eq!((contents.rows, contents.decoded_bytes), (2, text.len() as u64), "{compression:?}");
        assert_eq!((contents.relative_error, contents.other_columns), (0.0, 1));
        // Members and frames follow one another as if they were one.
        let several = [one, packed(compression, b"3,z\n4,z\n")].concat();
        assert_eq!(look(&several, compression, LONG).unwrap().contents.rows, 4, "{compression:?}");
    }
}

#[test]
fn the_beginning_stands_for_all_and_the_interval_knows() {
    let text = table(400_000, false);
    for compression in [Compression::Gzip, Compression::Zstd] {
        let file = packed(compression, &text);
        let contents = look(&file, compression, Duration::ZERO).map(|found| found.contents);
        // Nothing ends before enough is read to know an error; the time was over at once.
        let contents = contents.unwrap();
        let error = contents.rows as f64 / 400_000.0 - 1.0;
        assert!(error.abs() < 0.03 && contents.relative_error > 0.0, "{compression:?} {error} {contents:?}");
        assert!(error.abs() < 2.0 * contents.relative_error, "{compression:?} {error} {contents:?}");
    }
}

#[test]
fn rows_that_grow_are_within_the_interval_though_only_the_beginning_is_read() {
    let words = ["lap", "time", "of", "the", "epoch", "data", "a", "wait"];
    let mut text = Vec::new();
    let (mut rows, mut seed) = (0, 1_u32);
    while text.len() < 24 << 20 {
        let length = text.len() + 20 + 60 * text.len() / (24 << 20);
        while text.len() < length {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            text.extend(words[(seed >> 29) as usize].as_bytes());
            text.push(b' ');
        }
        text.push(b'\n');
        rows += 1;
    }
    for compression in [Compression::Gzip, Compression::Zstd] {
        let contents = look(&packed(compression, &text), compression, Duration::ZERO).unwrap().contents;
        let error = contents.rows as f64 / f64::from(rows) - 1.0;
        assert!(error < 1.96 * contents.relative_error * (1.0 + error), "{error} {contents:?}");
    }
}

#[test]
fn a_file_without_its_end_gives_the_rows_before() {
    let text = table(40_000, true);
    for compression in [Compression::Gzip, Compression::Zstd] {
        let file = packed(compression, &text);
        let measured = look(&file[..file.len() / 2], compression, LONG).unwrap();
        assert!((1_000..40_000).contains(&measured.contents.rows), "{:?}", measured.contents);
        assert!(matches!(measured.missing, Some(FileProblem::Truncated)), "{:?}", measured.missing);
        assert!(matches!(look(b"plain text", compression, LONG), Err(FileProblem::NotThat(_))));
        assert!(look(b"", compression, LONG).is_err());
    }
}

#[test]
fn bombs_are_unpacked_in_little_memory_and_until_the_time_is_over() {
    let zeros = vec![0; 200 << 20];
    let (gzip, zstd) = (gzip_of(&zeros), zstd(&zeros));
    drop(zeros);
    for (file, compression) in [(gzip, Compression::Gzip), (zstd, Compression::Zstd)] {
        let mut found = None;
        let largest = largest_during(|| found = look(&file, compression, Duration::ZERO).ok());
        assert!(largest <= 16 << 20, "{largest} bytes at once for {compression:?}");
        let contents = found.unwrap().contents;
        assert!(contents.rows <= 1 && contents.relative_error > 0.0, "{contents:?}");
    }
}

#[test]
fn a_window_beyond_what_is_read_is_refused() {
    let mut file = zstd(b"a,b\n");
    // No single segment, and a window of 2 GiB.
    file.splice(4..6, [0, 21 << 3]);
    assert!(matches!(look(&file, Compression::Zstd, LONG), Err(FileProblem::NotUnderstood(_))));
}

#[test]
fn no_damaged_packed_file_panics_or_takes_much_memory() {
    let text = table(20, false);
    for compression in [Compression::Gzip, Compression::Zstd] {
        let seeds = [packed(compression, &text), packed(compression, b"a,b\n1,2\n")];
        // A block of Zstandard has up to 128 KiB of text, and two are held.
        let whole = |bytes: &[u8]| look(bytes, compression, LONG).is_ok_and(|it| it.missing.is_none());
        survive_within(512 << 10, &seeds, whole);
    }
}
