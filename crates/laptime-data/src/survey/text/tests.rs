//! Text of any kind, damaged too: counted whole, in pieces and by blocks.

use super::super::format::Format;
use super::block::records_ending_in;
use super::counter::RecordCounter;
use super::dialect::Dialect;
use crate::mutation::survive_in_memory;

fn whole(text: &[u8], dialect: &Dialect) -> u64 {
    let mut counter = RecordCounter::new(dialect);
    counter.feed(&text[usize::from(dialect.top)..]);
    counter.finish()
}

/// The records of all blocks together, which is what a sample of them estimates.
fn by_blocks(text: &[u8], dialect: &Dialect, block_bytes: usize) -> u64 {
    let mut before = b'\n';
    let mut records = 0;
    for block in text.chunks(block_bytes) {
        records += records_ending_in(block, before, dialect);
        before = block.last().copied().unwrap_or(before);
    }
    records + u64::from(text.last().is_some_and(|byte| !b"\r\n".contains(byte)))
}

#[test]
fn blocks_together_have_the_records_of_the_whole() {
    let quoted = "12,\"a text, of\ntwo lines with \"\"quotes\"\"\",3.5\n".repeat(2_000);
    let plain = "1,2,3\n44,55,66\n".repeat(2_000);
    let tabs = "one\ttwo\n".repeat(2_000);
    for (text, format) in [(quoted, Format::Csv), (plain, Format::Csv), (tabs, Format::Tsv)] {
        let dialect = Dialect::of(&text.as_bytes()[..4096], format, false);
        let expected = whole(text.as_bytes(), &dialect);
        for block_bytes in [512, 1000, 4096] {
            assert_eq!(
                by_blocks(text.as_bytes(), &dialect, block_bytes),
                expected,
                "{format:?} {block_bytes}"
            );
        }
    }
}

#[test]
fn no_damaged_text_panics_or_takes_much_memory() {
    let rows: Vec<u8> =
        (0..60).flat_map(|row| format!("{row},\"x\n{row}\",{}\n", row % 2).into_bytes()).collect();
    let seeds = [b"a,b,target\n1,2,3\n4,5,6\n7,8,9\n".to_vec(), b"\xef\xbb\xbfx;y\n\"1\";2\n".to_vec(), rows];
    for format in [Format::Csv, Format::Tsv, Format::JsonLines] {
        survive_in_memory(&seeds, |text| {
            let dialect = Dialect::of(text, format, true);
            by_blocks(text, &dialect, 64);
            // What was damaged mildly has the rows of one of its seeds still.
            [2, 4, 60].contains(&whole(text, &dialect)) ^ (format != Format::Csv)
        });
    }
}
