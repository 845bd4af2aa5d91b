//! Columnar files that were written by their own libraries, and ten thousand damaged ones for each format.

use super::*;
use crate::mutation::{npy, survive_in_memory};

const PARQUET: &[u8] = include_bytes!("../../../../../fixtures/columnar/mixed.parquet");
const ARROW_FILE: &[u8] = include_bytes!("../../../../../fixtures/columnar/mixed.feather");
const ARROW_STREAM: &[u8] = include_bytes!("../../../../../fixtures/columnar/mixed.arrow");
const ARROW_COMPRESSED: &[u8] = include_bytes!("../../../../../fixtures/columnar/compressed.feather");
const NPZ: &[u8] = include_bytes!("../../../../../fixtures/columnar/arrays.npz");
const NPZ_COMPRESSED: &[u8] = include_bytes!("../../../../../fixtures/columnar/compressed.npz");

fn whole(measured: Result<Measured, FileProblem>) -> Contents {
    let measured = measured.unwrap();
    assert!(measured.missing.is_none(), "{:?}", measured.missing);
    measured.contents
}

#[test]
fn parquet_tells_rows_numbers_and_bytes_exactly() {
    let contents = whole(measure_parquet(PARQUET));
    // 100 rows of int64, float32, a text of 10 letters and a list of three float64.
    assert_eq!((contents.rows, contents.numbers, contents.other_columns), (100, 500, 1));
    assert!(contents.decoded_exactly);
    assert_eq!(contents.decoded_bytes, 100 * (8 + 4 + 10 + 3 * 8));
}

#[test]
fn arrow_tells_the_same_as_a_file_and_as_a_stream_compressed_or_not() {
    for bytes in [ARROW_FILE, ARROW_STREAM, ARROW_COMPRESSED] {
        let contents = whole(measure_arrow(bytes));
        assert_eq!((contents.rows, contents.numbers, contents.other_columns), (100, 500, 1));
        // Values, and the offsets of texts and lists in batches of 40 rows.
        let data = 100 * (8 + 4 + 10 + 3 * 8) + 2 * 4 * (100 + 3);
        assert!((data..data + 400).contains(&contents.decoded_bytes), "{}", contents.decoded_bytes);
    }
}

#[test]
fn an_arrow_file_without_its_end_gives_the_rows_before() {
    let measured = measure_arrow(&ARROW_FILE[..ARROW_FILE.len() - 1500]).unwrap();
    assert!((1..100).contains(&measured.contents.rows), "{:?}", measured.contents);
    assert!(matches!(measured.missing, Some(FileProblem::Truncated)));
}

#[test]
fn npz_archives_tell_their_longest_array_and_all_numbers() {
    for bytes in [NPZ, NPZ_COMPRESSED] {
        let contents = whole(measure_npz(bytes));
        assert_eq!((contents.rows, contents.numbers), (50, 50 * 28 + 50));
        assert_eq!(contents.decoded_bytes, 50 * 28 * 4 + 50 * 8);
    }
}

#[test]
fn npy_headers_tell_rows_and_bytes() {
    let contents = whole(measure_npy(&npy(1, "<f4", "(8, 3)", &[0; 96])[..]));
    assert_eq!((contents.rows, contents.numbers, contents.decoded_bytes), (8, 24, 96));
    let text = whole(measure_npy(&npy(1, "<U5", "(2,)", &[0; 40])[..]));
    assert_eq!((text.rows, text.numbers, text.other_columns), (2, 0, 1));
    let short = measure_npy(&npy(2, "<f8", "(1000000000, 1000)", &[0; 96])[..]);
    assert!(matches!(short, Err(FileProblem::Truncated)));
    let huge = measure_npy(&npy(2, "<f8", "(18446744073709551615, 9)", &[0; 96])[..]);
    assert!(matches!(huge, Err(FileProblem::Damaged(_))));
}

/// A Parquet file of 300 bytes with one row group that claims this many rows.
fn claiming(rows: u64) -> Vec<u8> {
    let varint = |mut value: u64| {
        let mut bytes = Vec::new();
        while value >= 0x80 {
            bytes.push(value as u8 | 0x80);
            value >>= 7;
        }
        bytes.push(value as u8);
        bytes
    };
    let rows = varint(rows * 2);
    let column = [&[0x3c, 0x15, 2, 0x46][..], &rows, &[0x16, 20, 0x16, 20, 0, 0]].concat();
    let group = [&[0x19, 0x1c][..], &column, &[0x26], &rows, &[0]].concat();
    let footer = [&[0x15, 2, 0x26][..], &rows, &[0x19, 0x1c], &group[..], &[0]].concat();
    let mut file = b"PAR1".to_vec();
    file.resize(300 - 8 - footer.len(), 0);
    file.extend(&footer);
    file.extend((footer.len() as u32).to_le_bytes());
    file.extend(b"PAR1");
    file
}

#[test]
fn a_parquet_file_of_300_bytes_does_not_have_a_thousand_million_rows() {
    let honest = whole(measure_parquet(&claiming(1_000)[..]));
    assert_eq!((honest.rows, honest.numbers), (1_000, 1_000));
    let hostile = claiming(1_000_000_000);
    assert_eq!(hostile.len(), 300);
    let problem = measure_parquet(&hostile[..]).unwrap_err();
    assert_eq!(problem.to_string(), "claims more than its 300 bytes can hold: 1,000,000,000 rows");
}

#[test]
fn files_that_end_too_early_or_are_something_else_are_distinguished() {
    assert!(matches!(measure_parquet(&PARQUET[..PARQUET.len() / 2]), Err(FileProblem::Truncated)));
    assert!(matches!(measure_parquet(&b"no parquet at all"[..]), Err(FileProblem::NotThat(_))));
    assert!(matches!(measure_arrow(&b"plain text, no arrow"[..]), Err(FileProblem::NotThat(_))));
    assert!(matches!(measure_arrow(&b"FEA1 of long ago"[..]), Err(FileProblem::NotUnderstood(_))));
    assert!(matches!(measure_npz(&NPZ[..NPZ.len() / 2]), Err(FileProblem::Truncated)));
    assert!(matches!(measure_npy(&b""[..]), Err(FileProblem::NotThat(_))));
}

#[test]
fn no_damaged_columnar_file_panics_or_takes_much_memory() {
    survive_in_memory(&[PARQUET.to_vec(), claiming(1_000)], |bytes| measure_parquet(bytes).is_ok());
    let arrows = [ARROW_FILE, ARROW_STREAM, ARROW_COMPRESSED].map(<[u8]>::to_vec);
    survive_in_memory(&arrows, |bytes| measure_arrow(bytes).is_ok_and(|found| found.missing.is_none()));
    let arrays = [npy(1, "<f4", "(8, 3)", &[0; 96]), npy(3, "|u1", "(32, 3)", &[0; 96])];
    survive_in_memory(&arrays, |bytes| measure_npy(bytes).is_ok());
    let archives = [NPZ, NPZ_COMPRESSED].map(<[u8]>::to_vec);
    survive_in_memory(&archives, |bytes| measure_npz(bytes).is_ok());
}
